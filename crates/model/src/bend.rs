//! Where the cost of a byte is known to change along a mechanism's sizes, as data: a mechanism declares it,
//! every run keeps it with what it says of its variants, and who judges the run reads it there.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Text that a mechanism declares, or that was stored.
pub type Text = Cow<'static, str>;

/// A size at which a mechanism changes its ways.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Bend {
    /// What lies there; `{pages}` stands for its size in pages, `{NAME}` for what was granted there under
    /// that name.
    pub name: Text,
    /// The size.
    pub at: Length,
    /// Where it is none after all.
    pub only: Only,
    /// How that is known: what was granted, a man page, a file of the kernel.
    pub source: Text,
}

impl Bend {
    /// One that holds in any case.
    pub const fn new(name: &'static str, at: Length, source: &'static str) -> Bend {
        Bend { name: Cow::Borrowed(name), at, only: Only::Always, source: Cow::Borrowed(source) }
    }

    /// This one, on a condition.
    pub const fn only(name: &'static str, at: Length, only: Only, source: &'static str) -> Bend {
        Bend { name: Cow::Borrowed(name), at, only, source: Cow::Borrowed(source) }
    }
}

/// On which condition a size is worth a word.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Only {
    /// On none.
    #[default]
    Always,
    /// Where it is smaller than this.
    Below(Length),
    /// Where it is another than this.
    Beside(Length),
}

/// A number of bytes, by what is known of a curve over sizes and of its machine. Where something of it
/// isn't known, it is none.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Length {
    /// So many.
    Bytes(u64),
    /// A page.
    Page,
    /// What was granted under this name, where it was the same at all sizes: what follows the message
    /// coincides with every one of them.
    Setting(Text),
    /// The last size before less was granted under this name.
    LastBefore(Text),
    /// The first size at which the least was granted under this name.
    FirstWithLeast(Text),
    /// The first of these that is known.
    First(Lengths),
    /// The smallest of those that are known.
    Least(Lengths),
    /// The largest of those that are known.
    Most(Lengths),
    /// All of these together.
    Sum(Lengths),
    /// The first less the others, but not below zero.
    Less(Lengths),
    /// All of these together, times so many.
    Times(Lengths, u64),
    /// All of these together, by so many.
    Share(Lengths, u64),
}

/// Several of them.
pub type Lengths = Cow<'static, [Length]>;

impl Length {
    /// What was granted under `name`.
    pub const fn setting(name: &'static str) -> Length {
        Length::Setting(Cow::Borrowed(name))
    }
}
