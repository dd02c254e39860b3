//! A plug-in: a mechanism of somebody else's, in a shared library, a program or behind an engine. What it says of itself is asked once, of a
//! process of its own, and kept with the run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{MechanismWords, OptionWords};
use crate::mechanism::{Carries, Framing, Traits, Waits};

/// A plug-in, as it was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Plugin {
    /// What it is called in the run.
    pub name: String,
    /// What its file is.
    #[serde(default)]
    pub kind: Kind,
    /// Its file.
    pub path: String,
    /// SHA-256 of the file, in hexadecimal digits.
    pub sha256: String,
    /// Half a line.
    pub summary: String,
    /// The version of the library below, as that says it.
    pub version: String,
    /// What it is written in.
    pub language: String,
    /// Its licence.
    pub licence: String,
    /// The options that it knows.
    pub options: Vec<OptionWords>,
    /// Bytes, or only a wake-up.
    pub carries: Carries,
    /// Whether boundaries between messages survive.
    pub framing: Framing,
    /// Whether a third process carries messages.
    pub broker: bool,
    /// Whether messages are written and read where both processes share them.
    pub in_place: bool,
    /// Whether it can be asked without waiting, as open loops and many clients need.
    pub without_waiting: bool,
    /// The command that starts it, where it is an engine: a process that makes the timed loops itself, of a file beside which
    /// that command is run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run: Vec<String>,
    /// The command of what carries an engine's messages, started for each launch; empty without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub daemon: Vec<String>,
    /// How long an engine wants to be warmed up at least, in ms.
    #[serde(default, skip_serializing_if = "crate::json::is_default")]
    pub warmup_ms: u64,
    /// How it is with combinations of its options' words, that of the defaults first.
    pub variants: Vec<PluginVariant>,
}

/// What the file of a plug-in is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A shared library with the table of include/ipcmark_plugin.h, loaded by the workers of a launch.
    #[default]
    Library,
    /// A program of the crate `ipcmark-host`, started in place of ipcmark's own for a launch.
    Program,
    /// How an engine is started: a process that makes the timed loops itself.
    Engine,
}

/// A plug-in with options.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PluginVariant {
    /// The options that have not their default.
    pub options: BTreeMap<String, String>,
    /// Bytes of the largest message; null without a limit.
    pub largest: Option<u64>,
    /// 0 sleeps, 1 yields its CPU, 2 spins.
    pub waits: u32,
}

impl Plugin {
    /// One that a study wants and nobody has given: it takes a place, and can't be opened.
    pub fn absent(name: &str, options: Vec<OptionWords>, get: &str) -> Plugin {
        Plugin { name: name.into(), options, summary: get.into(), ..Plugin::default() }
    }

    /// Whether it is only a place in a study.
    pub fn is_absent(&self) -> bool {
        self.path.is_empty()
    }

    /// Whether it is a process of its own, and no library.
    pub fn is_engine(&self) -> bool {
        self.kind == Kind::Engine
    }

    /// What it carries, and how.
    pub fn traits(&self) -> Traits {
        let has_bytes = self.carries == Carries::Bytes;
        let copies = if has_bytes && !self.in_place { 2 } else { 0 };
        Traits { copies, broker: self.broker, ..Traits::host(self.carries, self.framing) }
    }

    /// How it is with these options: what was asked of those of its words, else of the defaults.
    pub fn with(&self, options: &BTreeMap<String, String>) -> PluginVariant {
        let known = self.variants.iter().find(|variant| variant.options == *options);
        known.or(self.variants.first()).cloned().unwrap_or_default()
    }

    /// What a worker does while it waits.
    pub fn waits(&self, options: &BTreeMap<String, String>) -> Waits {
        match self.with(options).waits {
            0 => Waits::Asleep,
            1 => Waits::Yielding,
            _ => Waits::Spinning,
        }
    }

    /// It and its options as a user may write them.
    pub fn words(&self) -> MechanismWords {
        MechanismWords {
            name: self.name.clone(),
            aliases: Vec::new(),
            options: self.options.clone(),
        }
    }

    /// Every option, chosen or not, with its value.
    pub fn all_options(&self, chosen: &BTreeMap<String, String>) -> Vec<(String, String)> {
        let value = |option: &OptionWords| {
            let usual = option.words.first().cloned().unwrap_or_default();
            (option.name.clone(), chosen.get(&option.name).cloned().unwrap_or(usual))
        };
        self.options.iter().map(value).collect()
    }
}

/// The word of a mechanism: `[a-z][a-z0-9-]*`.
///
/// # Errors
/// What is wrong with it.
pub fn name(text: &str) -> Result<String, String> {
    let fits =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let begins = text.starts_with(|letter: char| letter.is_ascii_lowercase());
    match begins && text.chars().all(fits) && text.len() <= 40 {
        true => Ok(text.to_string()),
        false => Err(format!(
            "`{text}`: the name of a mechanism has small letters, digits and `-`, a letter first"
        )),
    }
}

/// The options of a plug-in as it writes them: `wait=sleep|spin slots=64|SIZE`.
///
/// # Errors
/// What is wrong with them.
pub fn options(text: &str) -> Result<Vec<OptionWords>, String> {
    let option = |part: &str| {
        let (name, words) = part
            .split_once('=')
            .ok_or_else(|| format!("option `{part}`: write it as in wait=sleep|spin"))?;
        let words: Vec<&str> = words.split('|').collect();
        let plain: Vec<String> =
            words.iter().filter(|word| **word != "SIZE").map(ToString::to_string).collect();
        if self::name(name).is_err() || name == "name" {
            return Err(format!("option `{part}`: its name has small letters, and isn't `name`"));
        }
        let fits = |letter: char| letter.is_ascii_alphanumeric() || "-_.%".contains(letter);
        let is_word = |word: &String| !word.is_empty() && word.chars().all(fits);
        match !plain.is_empty() && plain.iter().all(is_word) {
            true => Ok(OptionWords {
                name: name.into(),
                takes_size: words.contains(&"SIZE"),
                words: plain,
            }),
            false => Err(format!(
                "option `{part}`: its default, a word, stands first; options are parted by spaces, and words by `|`"
            )),
        }
    };
    text.split_whitespace().map(option).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_written_in_one_line() {
        let found = options("wait=sleep|spin slots=64|SIZE").unwrap();
        assert_eq!(found[0].words, ["sleep", "spin"]);
        assert_eq!((found[1].words.len(), found[1].takes_size), (1, true));
        for wrong in [
            "wait",
            "wait=",
            "=a",
            "wait=|spin",
            "slots=SIZE",
            "wait=a|b,slots=64",
            "Wait=a",
            "name=a",
        ] {
            assert!(options(wrong).unwrap_err().contains("option"), "{wrong}");
        }
        assert!(options("").unwrap().is_empty());
    }

    #[test]
    fn a_name_is_one_that_a_shell_takes() {
        assert_eq!(name("my-ring2").unwrap(), "my-ring2");
        for wrong in ["", "My", "2a", "a:b", "a,b", "a b"] {
            assert!(name(wrong).is_err(), "{wrong}");
        }
    }
}
