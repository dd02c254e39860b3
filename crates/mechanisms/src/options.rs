//! Options of mechanisms: `tcp:nodelay=off`, `unix-stream:buffer=message`.
//!
//! Each mechanism declares what it knows; text is checked against the declaration once, at
//! the door, and a wrong word is answered with the nearest right one.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use super::{Entry, MECHANISMS, Scope, Traits, Waits, plugin};
use model::catalogue::{self, Catalogue, Described, MechanismWords, OptionWords};
use model::metric::Measured;
use model::plugin::Plugin;
use model::size;

/// One option that a mechanism knows.
#[derive(Debug)]
pub struct OptionSpec {
    /// Its name, before the `=`.
    pub name: &'static str,
    /// One line for `list`.
    pub summary: &'static str,
    /// Words it takes; the first is the default. What is in capitals stands for a plain number, as
    /// in a man page: `MICROSECONDS`, `reed-solomon-K-M`; of `PERCENT` and `SHARE` a decimal one; or for a place of a server
    /// ([`catalogue::PATH`], [`catalogue::LOOPBACK`]).
    pub words: &'static [&'static str],
    /// Whether it also takes a size in bytes.
    pub takes_size: bool,
}

/// The value of an option that takes words or a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice<'a> {
    /// One of the declared words.
    Word(&'a str),
    /// A size in bytes.
    Size(usize),
}

/// Chosen options. An option that isn't named has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Options(BTreeMap<String, String>);

impl Options {
    /// Those that are chosen; who calls has checked them.
    pub fn of(chosen: BTreeMap<String, String>) -> Options {
        Options(chosen)
    }

    /// The value of an option of `specs`: what was chosen, else the default.
    pub fn get<'a>(&'a self, specs: &'static [OptionSpec], name: &str) -> Choice<'a> {
        let spec = specs.iter().find(|spec| spec.name == name).expect("a declared option");
        match self.0.get(name) {
            None => Choice::Word(spec.words[0]),
            Some(text) if spec.words.contains(&text.as_str()) => Choice::Word(text),
            Some(text) => Choice::Size(size::parse(text).expect("checked at the door") as usize),
        }
    }

    /// The number chosen for an option of `specs`; None where it has a word.
    pub fn number(&self, specs: &'static [OptionSpec], name: &str) -> Option<u32> {
        let spec = specs.iter().find(|spec| spec.name == name).expect("a declared option");
        let text = self.0.get(name).filter(|text| !spec.words.contains(&text.as_str()))?;
        Some(text.parse().expect("checked at the door"))
    }

    /// With another value of an option, as it is spelled.
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Options {
        self.0.insert(name.into(), value.into());
        self
    }

    /// An option of `specs` as it is written: what was chosen, else the default.
    pub fn text<'a>(&'a self, specs: &'static [OptionSpec], name: &str) -> &'a str {
        let spec = specs.iter().find(|spec| spec.name == name).expect("a declared option");
        self.0.get(name).map_or(spec.words[0], String::as_str)
    }

    /// The chosen options, by name.
    pub fn chosen(&self) -> &BTreeMap<String, String> {
        &self.0
    }
}

/// A mechanism with options.
#[derive(Clone)]
pub struct Variant {
    /// The mechanism's row.
    pub entry: &'static Entry,
    /// Its options, checked.
    pub options: Options,
}

/// Every mechanism and option as a user may write it.
fn words() -> &'static [MechanismWords] {
    static WORDS: LazyLock<Vec<MechanismWords>> = LazyLock::new(|| {
        let option = |spec: &OptionSpec| OptionWords {
            name: spec.name.into(),
            words: spec.words.iter().map(|word| word.to_string()).collect(),
            takes_size: spec.takes_size,
        };
        let mechanism = |entry: &Entry| MechanismWords {
            name: entry.name.into(),
            aliases: entry.aliases.iter().map(|alias| alias.to_string()).collect(),
            options: entry.options.iter().map(option).collect(),
        };
        MECHANISMS.iter().map(mechanism).collect()
    });
    &WORDS
}

/// What this build has, with `metrics`, and what each of `variants` is; those that are none are left out.
pub fn catalogue<'a>(
    variants: impl IntoIterator<Item = &'a String>,
    metrics: Vec<Measured>,
) -> Catalogue {
    let mut found: Vec<Described> = Vec::new();
    for variant in variants.into_iter().filter_map(|variant| Variant::parse(variant).ok()) {
        let (traits, waits) = (variant.traits(), variant.waits());
        let bends = variant.entry.bends.to_vec();
        let described = Described { variant: variant.to_string(), traits, waits, bends };
        if !found.contains(&described) {
            found.push(described);
        }
    }
    let plugins = plugin::registered().into_iter().filter_map(|entry| entry.plugin);
    let mechanisms = words().iter().cloned().chain(plugins.map(Plugin::words)).collect();
    Catalogue { mechanisms, variants: found, metrics }
}

impl Entry {
    /// This mechanism with each of some options: `tcp`, `tcp:nodelay=off`.
    pub fn with_each(&self, options: &[&str]) -> Vec<String> {
        let spelled = |options: &&str| match *options {
            "" => self.name.to_string(),
            options => format!("{}:{options}", self.name),
        };
        options.iter().map(spelled).collect()
    }
}

impl Variant {
    /// Every mechanism, in the variants that it wants shown.
    pub fn shown() -> Vec<Variant> {
        let names = MECHANISMS.iter().flat_map(|entry| entry.with_each(entry.shown));
        names.map(|name| Variant::parse(&name).expect("a shown variant parses")).collect()
    }

    /// Parses `name` or `name:option=value,option=value`; an alias is as good as the name.
    pub fn parse(text: &str) -> Result<Variant, String> {
        if let Some((entry, plugin)) = plugin::of(catalogue::name(text)) {
            let (_, options) = catalogue::parse(&[plugin.words()], text)?;
            return Ok(Variant { entry, options: Options(options) });
        }
        let (name, options) = catalogue::parse(words(), text)?;
        let entry = MECHANISMS.iter().find(|entry| entry.name == name).expect("its words are here");
        Ok(Variant { entry, options: Options(options) })
    }

    /// What it carries, and how, with these options.
    pub fn traits(&self) -> Traits {
        self.entry.traits(&self.options)
    }

    /// What a worker does while it waits.
    pub fn waits(&self) -> Waits {
        self.entry.waits(&self.options)
    }

    /// Whether it goes over IPv6.
    pub fn is_ipv6(&self) -> bool {
        let has = self.entry.options.iter().any(|option| option.name == "family");
        has && self.options.get(self.entry.options, "family") == Choice::Word("6")
    }

    /// Whether a waiting worker busy-waits, with or without yielding its CPU.
    pub fn busy_waits(&self) -> bool {
        self.waits() != Waits::Asleep
    }
}

impl Entry {
    /// Whether a word that is no mechanism begins with its name, or with another one of it.
    pub fn is_meant(&self, word: &str) -> bool {
        word.starts_with(self.name) || self.aliases.contains(&catalogue::name(word))
    }

    /// Whether its workers may be on two hosts.
    pub fn reaches_over_network(&self) -> bool {
        self.traits(&Options::default()).scope == Scope::Network
    }
}

impl PartialEq for Variant {
    fn eq(&self, other: &Variant) -> bool {
        self.entry.name == other.entry.name && self.options == other.options
    }
}

impl fmt::Debug for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&catalogue::write(self.entry.name, &self.options.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_word_is_answered_with_the_nearest() {
        let error = |text| Variant::parse(text).unwrap_err();
        assert!(error("pip").contains("did you mean `pipe`?"));
        assert!(error("tcp:nodely=on").contains("did you mean `nodelay`?"));
        assert!(error("tcp:nodelay=onn").contains("did you mean `on`?"));
        assert!(error("pipe:capacity=abc").contains("or a size"));
        assert!(error("null:x=1").contains("it has none"));
        assert!(error("tcp:nodelay").contains("option=value"));
        for empty in ["tcp:", "tcp:nodelay=on,", "tcp:,nodelay=on"] {
            assert!(error(empty).contains("option=value"), "{empty}");
        }
        assert!(error("tcp:nodelay=off,nodelay=on").contains("nodelay is set twice"));
        assert!(Variant::parse(&"x".repeat(1 << 20)).unwrap_err().len() < 1000);
        assert!(error("zzz").contains("choose one of noop, pipe"));
    }

    #[test]
    fn an_alias_is_as_good_as_the_name_and_written_as_the_name() {
        let written = |text| Variant::parse(text).unwrap().to_string();
        assert_eq!(written("uds"), "unix-stream");
        assert_eq!(written("unix:buffer=message"), "unix-stream:buffer=message");
        assert_eq!(written("shm:wait=spin"), written("shm-ring:wait=spin"));
        assert_eq!(written("mq"), "posix-queue");
        let error = Variant::parse("uds:bufer=message").unwrap_err();
        assert!(error.contains("option of unix-stream"), "{error}");
    }

    #[test]
    fn sizes_and_numbers_are_written_one_way() {
        let written = |text| Variant::parse(text).unwrap().to_string();
        assert_eq!(written("pipe:capacity=65536"), "pipe:capacity=64K");
        assert_eq!(written("tcp:busy-poll=050"), "tcp:busy-poll=50");
    }

    #[test]
    fn a_number_is_plain_digits() {
        let number = |text| {
            let variant = Variant::parse(text).unwrap();
            variant.options.number(variant.entry.options, "busy-poll")
        };
        assert_eq!(number("tcp:busy-poll=50"), Some(50));
        assert_eq!(number("udp:busy-poll=off"), None);
        assert_eq!(number("udp"), None);
        for wrong in ["4K", "-1", "+1", "1.5", "", "MICROSECONDS", "1234567890"] {
            let error = Variant::parse(&format!("tcp:busy-poll={wrong}")).unwrap_err();
            assert!(error.contains("MICROSECONDS"), "{error}");
        }
        let error = Variant::parse("tcp:busy-poll=of").unwrap_err();
        assert!(error.contains("did you mean `off`?"), "{error}");
    }
}
