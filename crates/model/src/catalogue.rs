//! What a build can measure: its mechanisms with their options, and the properties of each variant.
//! Code that parses a variant as a user wrote it, or analyses results, asks the catalogue; it is kept
//! with every run.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bend::Bend;
use crate::mechanism::{Carries, Traits, Waits};
use crate::metric::{Measured, Metric};
use crate::nearest::unknown;
use crate::size;
use crate::workload::Workload;

/// The option of a mechanism that says how it recovers what is lost; its first word means that it doesn't.
pub const RECOVERY: &str = "reliability";
/// Nagle's algorithm off, or on.
pub const NODELAY: &str = "nodelay";
/// The option that says which share is lost on purpose.
pub const LOSS: &str = "loss";
/// The option that says which share of bits is turned over on purpose.
pub const FLIPS: &str = "flips";
/// The option that says how many are lost in a row.
pub const BURST: &str = "burst";

/// The option that names a server that already runs.
pub const CONNECT: &str = "connect";
/// Values of it, beside no server: where a Unix socket listens, and where a socket of this host does.
pub const PATH: &str = "PATH";
pub const LOOPBACK: &str = "ADDRESS:PORT";
/// The longest name of a Unix socket (unix(7)), less the byte that ends it.
const LONGEST_PATH: usize = 107;

/// What a build can measure, and what it is.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Catalogue {
    /// Every mechanism, in the order in which lists and tables show them.
    pub mechanisms: Vec<MechanismWords>,
    /// The variants that a run is about.
    pub variants: Vec<Described>,
    /// What each workload yields.
    pub metrics: Vec<Measured>,
}

/// A mechanism as a user may write it.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct MechanismWords {
    /// Its name, before the `:`.
    pub name: String,
    /// Other names that it is taken by; nothing in runs that older builds kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The options that it knows.
    pub options: Vec<OptionWords>,
}

impl MechanismWords {
    /// Whether `name` is its name, or another one of it.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }

    /// Its option of that name; None where it knows none.
    pub fn option(&self, name: &str) -> Option<&OptionWords> {
        self.options.iter().find(|option| option.name == name)
    }
}

/// An option as a user may write it.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct OptionWords {
    /// Its name, before the `=`.
    pub name: String,
    /// Words it takes; the first is the default. What is in capitals stands for a plain number, as
    /// in a man page: `MICROSECONDS`, `reed-solomon-K-M`; of `PERCENT` and `SHARE` a decimal one. `PATH` stands for the path
    /// of a socket, and `ADDRESS:PORT` for a port of this host.
    pub words: Vec<String>,
    /// Whether it also takes a size in bytes.
    pub takes_size: bool,
}

/// The properties of a variant.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Described {
    /// The variant, as it is written: `tcp:nodelay=off`.
    pub variant: String,
    /// What it carries, and how.
    pub traits: Traits,
    /// What a worker does while it waits.
    pub waits: Waits,
    /// Where its curves over sizes are known to bend; nothing in runs that older builds kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bends: Vec<Bend>,
}

impl Described {
    /// Whether a waiting worker busy-waits, with or without yielding its CPU.
    pub fn spins(&self) -> bool {
        self.waits != Waits::Asleep
    }
}

impl Catalogue {
    /// The option of that name of the first mechanism that knows it, and that mechanism.
    pub fn option(&self, name: &str) -> Option<(&MechanismWords, &OptionWords)> {
        self.mechanisms.iter().find_map(|mechanism| Some((mechanism, mechanism.option(name)?)))
    }

    /// What a variant of the run is; None of another one.
    pub fn variant(&self, text: &str) -> Option<&Described> {
        self.variants.iter().find(|variant| variant.variant == text)
    }

    /// What a variant of the run carries; bytes, where nothing is known of it.
    pub fn carries(&self, text: &str) -> Carries {
        self.variant(text).map_or(Carries::Bytes, |variant| variant.traits.carries)
    }

    /// What a workload yields of a variant of the run.
    pub fn metric(&self, workload: Workload, variant: &str) -> Metric {
        let found = self.metrics.iter().find(|metric| metric.workload == workload);
        match self.carries(variant) {
            Carries::Bytes => found.map(|measured| measured.bytes.clone()),
            _ => found.map(|measured| measured.signals.clone()),
        }
        .unwrap_or_else(|| Metric::undeclared(workload))
    }

    /// A variant in the one way it is written: `pipe:capacity=64K` for `pipe:capacity=65536`.
    ///
    /// # Errors
    /// What is wrong with it, and the nearest right word.
    pub fn written(&self, text: &str) -> Result<String, String> {
        let (name, options) = parse(&self.mechanisms, text)?;
        Ok(write(name, &options))
    }
}

/// A variant as it is written: its options by name.
pub fn write(name: &str, options: &BTreeMap<String, String>) -> String {
    let mut text = name.to_string();
    for (nth, (key, value)) in options.iter().enumerate() {
        text.push(if nth == 0 { ':' } else { ',' });
        text.push_str(&format!("{key}={value}"));
    }
    text
}

/// The mechanism that a variant names; nothing is checked.
pub fn name(text: &str) -> &str {
    text.split(':').next().unwrap_or_default()
}

/// The options that a variant names, as they are written; nothing is checked.
pub fn options(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split_once(':').into_iter().flat_map(|(_, rest)| rest.split(','));
    pairs
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key.into(), value.into()))
        .collect()
}

/// Reads `name` or `name:option=value,option=value`: the name (that of the mechanism, where it was called
/// by an alias), and the options as they are written.
///
/// # Errors
/// What is wrong with it, and the nearest right word.
pub fn parse<'a>(
    mechanisms: &'a [MechanismWords],
    text: &str,
) -> Result<(&'a str, BTreeMap<String, String>), String> {
    let (name, rest) = match text.split_once(':') {
        Some((name, rest)) => (name, Some(rest)),
        None => (text, None),
    };
    let mechanism =
        mechanisms.iter().find(|mechanism| mechanism.is_called(name)).ok_or_else(|| {
            let names: Vec<&str> = mechanisms.iter().map(|mechanism| &*mechanism.name).collect();
            unknown("mechanism", name, &names)
        })?;
    let name = &*mechanism.name;
    let mut options = BTreeMap::new();
    for pair in rest.into_iter().flat_map(|rest| rest.split(',')) {
        let (key, value) = pair.split_once('=').ok_or_else(|| {
            let hint = if options.contains_key(CONNECT) { "; a path has no comma" } else { "" };
            format!("{name}: `{pair}` is no option: write option=value{hint}")
        })?;
        let known: Vec<&str> = mechanism.options.iter().map(|option| &*option.name).collect();
        let option = mechanism
            .option(key)
            .ok_or_else(|| unknown(&format!("option of {name}"), key, &known))?;
        if options.insert(key.to_string(), option.value(name, value)?).is_some() {
            return Err(format!("{name}: {key} is set twice: leave one out"));
        }
    }
    Ok((name, options))
}

impl OptionWords {
    /// A value in the one way it is written.
    ///
    /// # Errors
    /// What is wrong with it, and the nearest right word.
    pub fn value(&self, mechanism: &str, value: &str) -> Result<String, String> {
        let holds_a_number = |word: &str| word.contains(|c: char| c.is_ascii_uppercase());
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        if words.contains(&value) && !holds_a_number(value) {
            return Ok(value.to_string());
        }
        if let Some(written) = words.iter().find_map(|word| place(word, value)) {
            return written.map_err(|why| format!("{mechanism}: {}={value}: {why}", self.name));
        }
        let patterns = words.iter().filter(|word| holds_a_number(word));
        if let Some(written) = patterns.filter_map(|word| fitted(word, value)).next() {
            return Ok(written);
        }
        if self.takes_size {
            if let Ok(bytes) = size::parse(value) {
                return Ok(size::format(bytes));
            }
            let words = words.join(", ");
            return Err(format!("{mechanism}: {}={value}: takes {words} or a size", self.name));
        }
        Err(unknown(&format!("value of {mechanism}:{}", self.name), value, &words))
    }
}

/// `value` in the one way it is written, where `word` stands for the place of a socket; or what is wrong with it.
fn place(word: &str, value: &str) -> Option<Result<String, String>> {
    match word {
        PATH => Some(path(value)),
        LOOPBACK => Some(loopback(value)),
        _ => None,
    }
}

fn path(value: &str) -> Result<String, String> {
    match value {
        _ if !value.starts_with('/') => {
            Err("write the path of the server's socket from `/` on, as in /run/echo.sock".into())
        }
        _ if value.len() > LONGEST_PATH => {
            Err(format!("the path of a Unix socket has at most {LONGEST_PATH} bytes"))
        }
        _ if value.contains(char::is_control) => {
            Err("a path with a control character has no name in a report".into())
        }
        _ => Ok(value.into()),
    }
}

fn loopback(value: &str) -> Result<String, String> {
    let example = "write an address and a port, as in 127.0.0.1:9000 or [::1]:9000";
    let address: SocketAddr = value.parse().map_err(|_| example.to_string())?;
    match address {
        _ if address.port() == 0 => Err(format!("no server listens at port 0: {example}")),
        _ if !address.ip().is_loopback() => {
            Err("only loopback addresses of this host: another host is measured with --peer".into())
        }
        _ => Ok(address.to_string()),
    }
}

/// `value` in the one way it is written, where it is `word` with a number for each run of capitals.
fn fitted(word: &str, value: &str) -> Option<String> {
    let Some(at) = word.find(|c: char| c.is_ascii_uppercase()) else {
        return (word == value).then(|| value.to_string());
    };
    let value = value.strip_prefix(&word[..at])?;
    let rest = word[at..].trim_start_matches(|c: char| c.is_ascii_uppercase());
    let capitals = &word[at..word.len() - rest.len()];
    let decimal = matches!(capitals, "PERCENT" | "SHARE");
    // A number ends where what follows it in the word begins.
    let end = rest.chars().next().map_or(Some(value.len()), |next| value.find(next))?;
    let written =
        if decimal { decimal_number(&value[..end])? } else { number(&value[..end])?.to_string() };
    Some(format!("{}{written}{}", &word[..at], fitted(rest, &value[end..])?))
}

/// A number such as 5, 0.1 or 1e-4, not negative.
fn decimal_number(text: &str) -> Option<String> {
    let plain = text.starts_with(|c: char| c.is_ascii_digit());
    let number: f64 = text.parse().ok().filter(|value: &f64| plain && value.is_finite())?;
    // Short where it is small, and digits where it isn't: 0.1 and 1e-4.
    Some(if number != 0.0 && number < 1e-2 { format!("{number:e}") } else { number.to_string() })
}

/// A plain number of one to nine digits: what a count of anything fits in.
fn number(text: &str) -> Option<u32> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() < 10;
    text.parse().ok().filter(|_| plain)
}

/// The loss at which nothing is lost.
pub const NO_LOSS: &str = "0%";

/// A mechanism without its losses, which are factors: what a study calls it.
pub fn without_losses(mechanism: &str) -> String {
    let mut others = options(mechanism);
    others.retain(|name, _| ![LOSS, BURST].contains(&name.as_str()));
    write(name(mechanism), &others)
}

/// Whether a mechanism is written with its losses.
pub fn has_losses(mechanism: &str) -> bool {
    let chosen = options(mechanism);
    [LOSS, BURST].iter().any(|option| chosen.contains_key(*option))
}

/// The value of an option of a mechanism, where it is written.
pub fn value_of(mechanism: &str, option: &str) -> Option<String> {
    options(mechanism).remove(option)
}

/// The loss of a mechanism.
pub fn loss(mechanism: &str) -> String {
    value_of(mechanism, LOSS).unwrap_or_else(|| NO_LOSS.into())
}

/// How long its bursts are; None where nothing is lost, which stands for bursts of any length.
pub fn burst(mechanism: &str) -> Option<String> {
    (loss(mechanism) != NO_LOSS).then(|| value_of(mechanism, BURST).unwrap_or_else(|| "1".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_server_is_a_path_or_a_port_of_this_host() {
        let written = |word: &str, value: &str| place(word, value).unwrap();
        assert_eq!(written(PATH, "/a=b:c d/é").as_deref(), Ok("/a=b:c d/é"));
        for (value, is) in [
            ("127.0.0.1:9000", "127.0.0.1:9000"),
            ("127.9.9.9:1", "127.9.9.9:1"),
            ("[0:0::1]:80", "[::1]:80"),
        ] {
            assert_eq!(written(LOOPBACK, value).as_deref(), Ok(is));
        }
        let long = format!("/{}", "x".repeat(LONGEST_PATH));
        for (word, value, why) in [
            (PATH, "echo.sock", "from `/` on"),
            (PATH, "", "from `/` on"),
            (PATH, &*long, "107 bytes"),
            (PATH, "/a\nb", "control character"),
            (LOOPBACK, "10.0.0.1:9000", "--peer"),
            (LOOPBACK, "0.0.0.0:9000", "--peer"),
            (LOOPBACK, "[::ffff:127.0.0.1]:9000", "--peer"),
            (LOOPBACK, "127.0.0.1:0", "port 0"),
            (LOOPBACK, "localhost:9000", "an address and a port"),
            (LOOPBACK, "127.0.0.1", "an address and a port"),
        ] {
            let error = written(word, value).unwrap_err();
            assert!(error.contains(why), "{value}: {error}");
        }
        assert!(place("MICROSECONDS", "5").is_none());
    }

    #[test]
    fn what_is_in_capitals_is_a_number() {
        let of = |word, value| fitted(word, value);
        let is = |text: &str| Some(text.to_string());
        assert_eq!(of("reed-solomon-K-M", "reed-solomon-4-03"), is("reed-solomon-4-3"));
        assert_eq!(of("reed-solomon-K-M+arq", "reed-solomon-4-3+arq"), is("reed-solomon-4-3+arq"));
        assert_eq!(of("PERCENT%", "5.0%"), is("5%"));
        assert_eq!(of("PERCENT%", "0.001%"), is("1e-3%"));
        assert_eq!(of("SHARE", "0.0001"), is("1e-4"));
        for (word, wrong) in [
            ("reed-solomon-K-M", "reed-solomon-4"),
            ("reed-solomon-K-M", "reed-solomon-4-3+arq"),
            ("PERCENT%", "5"),
            ("PERCENT%", "-5%"),
            ("PERCENT%", "inf%"),
            ("SHARE", "NaN"),
            ("SHARE", ""),
        ] {
            assert_eq!(of(word, wrong), None, "{wrong}");
        }
    }
}
