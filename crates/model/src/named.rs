//! What is one of a few, or is written as text: the word of each said once.

use crate::nearest::unknown;

/// Gives an enum without data its words: `ALL` of its values, the `name` of each, and `Display`.
#[macro_export]
macro_rules! named {
    ($what:ident { $($value:ident => $word:expr),+ $(,)? }) => {
        impl $what {
            /// All of them, in this order.
            pub const ALL: [$what; [$($what::$value),+].len()] = [$($what::$value),+];

            /// The name on the command line and in files.
            pub const fn name(self) -> &'static str {
                match self {
                    $($what::$value => $word,)+
                }
            }
        }

        impl std::fmt::Display for $what {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

/// The one of `all` whose `name` is `word`; `what` they are.
///
/// # Errors
/// The nearest right name.
pub fn find<T: Copy, const N: usize>(
    what: &str,
    word: &str,
    all: [T; N],
    name: fn(T) -> &'static str,
) -> Result<T, String> {
    let found = all.into_iter().find(|one| name(*one) == word);
    found.ok_or_else(|| unknown(what, word, &all.map(name)))
}

/// Makes a type the text that it is written as, which `$read` reads: what `#[serde(into = "String", try_from = "String")]`
/// asks for.
macro_rules! as_text {
    ($what:ty, $read:expr) => {
        impl From<$what> for String {
            fn from(value: $what) -> String {
                value.to_string()
            }
        }

        impl TryFrom<String> for $what {
            type Error = String;

            fn try_from(text: String) -> Result<$what, String> {
                $read(&text)
            }
        }
    };
}

pub(crate) use as_text;
