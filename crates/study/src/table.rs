//! A table of a study whose keys are factors, beside keys of its own: so that a further factor is a key of every such
//! table.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, Range};

use serde::de::value::StringDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};
use toml::Spanned;

use model::factor::Factor;
use model::nearest::unknown;

/// The keys of a table that are no factors.
pub trait Own: DeserializeOwned {
    /// Whether a factor has levels here.
    fn takes(factor: Factor) -> bool;
}

/// One or several words: `"pipe"`, or `["pipe", "tcp"]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct Words(Spanned<OneOrMany>);

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl Words {
    /// Each word with its place in `text`, from which this was read.
    pub fn each<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (&'a str, Range<usize>)> {
        let words = match self.0.get_ref() {
            OneOrMany::One(word) => std::slice::from_ref(word),
            OneOrMany::Many(words) => words,
        };
        let whole = self.0.span();
        words.iter().map(move |word| {
            let within = text.get(whole.clone()).unwrap_or_default();
            let start = whole.start + within.find(word.as_str()).unwrap_or(0);
            (word.as_str(), start..whole.end)
        })
    }
}

/// Levels by their factor, and the rest of the table.
#[derive(Clone, Debug, Default)]
pub struct Table<T> {
    levels: BTreeMap<Factor, Words>,
    own: T,
}

impl<T> Table<T> {
    /// The levels of a factor, where they are named.
    pub fn of(&self, factor: Factor) -> Option<&Words> {
        self.levels.get(&factor)
    }

    /// Every factor that is named, with its levels.
    pub fn named(&self) -> impl Iterator<Item = (Factor, &Words)> {
        self.levels.iter().map(|(factor, words)| (*factor, words))
    }
}

impl<T> Deref for Table<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.own
    }
}

impl<'de, T: Own> Deserialize<'de> for Table<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Table<T>, D::Error> {
        struct Read<T>(PhantomData<T>);

        impl<'de, T: Own> Visitor<'de> for Read<T> {
            type Value = Table<T>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Table<T>, A::Error> {
                let mut levels = BTreeMap::new();
                let rest = Rest { table, levels: &mut levels, own: &[], takes: T::takes };
                let own = T::deserialize(rest)?;
                Ok(Table { levels, own })
            }
        }

        from.deserialize_map(Read(PhantomData))
    }
}

/// What is left of a table for its own keys: those of factors go elsewhere.
struct Rest<'a, A> {
    table: A,
    levels: &'a mut BTreeMap<Factor, Words>,
    own: &'static [&'static str],
    takes: fn(Factor) -> bool,
}

impl<'de, A: MapAccess<'de>> Deserializer<'de> for Rest<'_, A> {
    type Error = A::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_map(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        own: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.own = own;
        visitor.visit_map(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Rest<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        loop {
            match self.table.next_key_seed(KeyOf { own: self.own, takes: self.takes })? {
                None => return Ok(None),
                Some(Key::Factor(factor)) => {
                    self.levels.insert(factor, self.table.next_value()?);
                }
                Some(Key::Own(key)) => {
                    let key: StringDeserializer<A::Error> = key.into_deserializer();
                    return seed.deserialize(key).map(Some);
                }
            }
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.table.next_value_seed(seed)
    }
}

enum Key {
    Factor(Factor),
    Own(String),
}

/// Reads a key, where an error still knows its line.
struct KeyOf {
    own: &'static [&'static str],
    takes: fn(Factor) -> bool,
}

impl<'de> DeserializeSeed<'de> for KeyOf {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Key, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyOf {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<Key, E> {
        let factors = Factor::ALL.into_iter().filter(|factor| (self.takes)(*factor));
        if let Some(factor) = factors.clone().find(|factor| factor.name() == key) {
            return Ok(Key::Factor(factor));
        }
        if self.own.contains(&key) {
            return Ok(Key::Own(key.to_string()));
        }
        let known: Vec<&str> = factors.map(Factor::name).chain(self.own.iter().copied()).collect();
        Err(E::custom(unknown("key", key, &known)))
    }
}
