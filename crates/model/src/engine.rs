//! Lines between a launch and an engine: a word, and `key=value` behind it, parted by spaces. What would part them stands as in
//! an address: `%20`.

use std::collections::BTreeMap;
use std::fmt::Write;

/// The version of the lines; an engine of another one is refused.
pub const PROTOCOL: u64 = 1;

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    pub word: String,
    pub fields: BTreeMap<String, String>,
}

impl Line {
    /// A word, with nothing behind it yet.
    pub fn of(word: &str) -> Line {
        Line { word: word.into(), fields: BTreeMap::new() }
    }

    /// The same with one field more.
    pub fn with(mut self, key: &str, value: impl ToString) -> Line {
        self.fields.insert(key.into(), value.to_string());
        self
    }

    /// # Errors
    /// What is no field.
    pub fn parse(text: &str) -> Result<Line, String> {
        let mut parts = text.split_ascii_whitespace();
        let word = parts.next().unwrap_or_default().to_string();
        let field = |part: &str| {
            let (key, value) = part.split_once('=').ok_or_else(|| {
                format!("`{part}` is no key=value (a space in a value is written %20)")
            })?;
            Ok((key.to_string(), decoded(value)?))
        };
        Ok(Line { word, fields: parts.map(field).collect::<Result<_, String>>()? })
    }

    /// A field's text; nothing where it is missing.
    pub fn text(&self, key: &str) -> &str {
        self.fields.get(key).map_or("", String::as_str)
    }

    /// A field's number.
    ///
    /// # Errors
    /// It is missing, or no number.
    pub fn number(&self, key: &str) -> Result<u64, String> {
        let text = self.text(key);
        text.parse().map_err(|_| format!("`{}` has no number in {key}={text}", self.word))
    }
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.word)?;
        self.fields.iter().try_for_each(|(key, value)| write!(f, " {key}={}", encoded(value)))
    }
}

fn encoded(value: &str) -> String {
    value.bytes().fold(String::new(), |mut text, byte| {
        match byte {
            b'%' | 0..=b' ' | 127.. => write!(text, "%{byte:02X}").expect("into memory"),
            _ => text.push(char::from(byte)),
        }
        text
    })
}

fn decoded(value: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    let mut rest = value.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        let digits = || std::str::from_utf8(behind.get(..2)?).ok();
        let code = || u8::from_str_radix(digits()?, 16).ok();
        match (first, code()) {
            (b'%', Some(code)) => {
                bytes.push(code);
                rest = &behind[2..];
            }
            (b'%', None) => return Err(format!("`{value}`: % begins two hexadecimal digits")),
            _ => bytes.push(*first),
        }
    }
    String::from_utf8(bytes).map_err(|_| format!("`{value}` is no text"))
}

/// The bytes that an end sends to be checked: what a seed makes of a generator that is a line in any language.
#[derive(Clone, Debug)]
pub struct Pattern(u32);

impl Pattern {
    pub fn of(seed: u32) -> Pattern {
        Pattern(seed)
    }
}

impl Iterator for Pattern {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Some((self.0 >> 24) as u8)
    }
}

/// FNV-1a of 32 bits of the bytes that came.
pub fn sum(bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(0x811C_9DC5, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(16_777_619))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let line = Line::of("hello").with("summary", "100 % of π, a=b").with("protocol", 1);
        assert_eq!(line.to_string(), "hello protocol=1 summary=100%20%25%20of%20%CF%80,%20a=b");
        assert_eq!(Line::parse(&line.to_string()).unwrap(), line);
        assert_eq!(line.number("protocol"), Ok(1));
        assert!(line.number("summary").unwrap_err().contains("no number"));
        for wrong in ["hello there", "hello a=%2", "hello a=%zz", "hello a=%FF"] {
            assert!(Line::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_checked_is_known_to_every_language() {
        let bytes: Vec<u8> = Pattern::of(1).take(4).collect();
        assert_eq!(bytes, [60, 94, 129, 180]);
        assert_eq!(sum(b"ipcmark".iter().copied()), 0x30C0_DB68);
    }
}
