//! Options of mechanisms: `tcp:nodelay=off`, `unix-stream:buffer=message`.
//!
//! Each mechanism declares what it knows; text is checked against the declaration once, at
//! the door, and a wrong word is answered with the nearest right one.

use model::nearest::unknown;
use std::collections::BTreeMap;
use std::fmt;

use super::{Entry, MECHANISMS, Reach, Traits, Waits};
use model::size;

/// One option that a mechanism knows.
#[derive(Debug)]
pub struct OptionSpec {
    /// Its name, before the `=`.
    pub name: &'static str,
    /// One line for `list`.
    pub summary: &'static str,
    /// Words it takes; the first is the default. What is in capitals stands for a plain number, as
    /// in a man page: `MICROSECONDS`, `reed-solomon-K-M`; of `PERCENT` and `SHARE` a decimal one.
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

    /// Parses `name` or `name:option=value,option=value`.
    pub fn parse(text: &str) -> Result<Variant, String> {
        let (name, rest) = match text.split_once(':') {
            Some((name, rest)) => (name, Some(rest)),
            None => (text, None),
        };
        let entry = MECHANISMS.iter().find(|entry| entry.name == name).ok_or_else(|| {
            let names: Vec<_> = MECHANISMS.iter().map(|entry| entry.name).collect();
            unknown("mechanism", name, &names)
        })?;
        let mut options = BTreeMap::new();
        for pair in rest.into_iter().flat_map(|rest| rest.split(',')) {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| format!("{name}: `{pair}` is no option: write option=value"))?;
            let known: Vec<_> = entry.options.iter().map(|spec| spec.name).collect();
            let spec = entry
                .options
                .iter()
                .find(|spec| spec.name == key)
                .ok_or_else(|| unknown(&format!("option of {name}"), key, &known))?;
            if options.insert(key.to_string(), checked(spec, name, value)?).is_some() {
                return Err(format!("{name}: {key} is set twice: leave one out"));
            }
        }
        Ok(Variant { entry, options: Options(options) })
    }

    /// What it carries, and how, with these options.
    pub fn traits(&self) -> Traits {
        (self.entry.traits)(&self.options)
    }

    /// What a worker does while it waits.
    pub fn waits(&self) -> Waits {
        (self.entry.waits)(&self.options)
    }

    /// Whether it goes over IPv6.
    pub fn is_ipv6(&self) -> bool {
        let has = self.entry.options.iter().any(|it| it.name == "family");
        has && self.options.get(self.entry.options, "family") == Choice::Word("6")
    }

    /// Whether a waiting worker burns its CPU, offered to others or not.
    pub fn burns(&self) -> bool {
        self.waits() != Waits::Asleep
    }
}

impl Entry {
    /// Whether its workers may be on two hosts.
    pub fn reaches_over_network(&self) -> bool {
        (self.traits)(&Options::default()).reach == Reach::Network
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
        f.write_str(self.entry.name)?;
        for (nth, (key, value)) in self.options.0.iter().enumerate() {
            write!(f, "{}{key}={value}", if nth == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}

fn checked(spec: &OptionSpec, mechanism: &str, value: &str) -> Result<String, String> {
    let holds_a_number = |word: &str| word.contains(|c: char| c.is_ascii_uppercase());
    if spec.words.contains(&value) && !holds_a_number(value) {
        return Ok(value.to_string());
    }
    let patterns = spec.words.iter().filter(|word| holds_a_number(word));
    if let Some(written) = patterns.filter_map(|word| fitted(word, value)).next() {
        return Ok(written);
    }
    if spec.takes_size {
        if let Ok(bytes) = size::parse(value) {
            return Ok(size::format(bytes));
        }
        let words = spec.words.join(", ");
        return Err(format!("{mechanism}: {}={value}: takes {words} or a size", spec.name));
    }
    Err(unknown(&format!("value of {mechanism}:{}", spec.name), value, spec.words))
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
    let written = match decimal {
        true => decimal_number(&value[..end])?,
        false => number(&value[..end])?.to_string(),
    };
    Some(format!("{}{written}{}", &word[..at], fitted(rest, &value[end..])?))
}

/// A number such as 5, 0.1 or 1e-4, not negative.
fn decimal_number(text: &str) -> Option<String> {
    let plain = text.starts_with(|c: char| c.is_ascii_digit());
    let number: f64 = text.parse().ok().filter(|it: &f64| plain && it.is_finite())?;
    // Short where it is small, and digits where it isn't: 0.1 and 1e-4.
    Some(if number != 0.0 && number < 1e-2 { format!("{number:e}") } else { number.to_string() })
}

/// A plain number of one to nine digits: what a count of anything fits in.
fn number(text: &str) -> Option<u32> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() < 10;
    text.parse().ok().filter(|_| plain)
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
        assert!(error("zzz").contains("choose one of null, pipe"));
    }

    #[test]
    fn sizes_and_numbers_are_written_one_way() {
        let written = |text| Variant::parse(text).unwrap().to_string();
        assert_eq!(written("pipe:capacity=65536"), "pipe:capacity=64K");
        assert_eq!(written("tcp:busy-poll=050"), "tcp:busy-poll=50");
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
