//! Where a claim says that a peak lies: a size, or a part of one of the machine's caches, for claims that a
//! curve turns where that cache ends.

use model::size;

/// A size as a claim may name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeBound {
    Bytes(u64),
    /// A cache of the machine that was measured, divided by this.
    Cache(Cache, u64),
}

/// A cache that a claim may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// The second level.
    Second,
    Last,
}

/// Bytes of a machine's caches, where they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caches {
    /// Of the second level.
    pub second: Option<u64>,
    pub last: Option<u64>,
}

impl SizeBound {
    /// Reads `64K`, `llc`, `llc/8` or `l2/8`.
    ///
    /// # Errors
    /// What it isn't, and what to write.
    pub fn parse(word: &str) -> Result<SizeBound, String> {
        let named = [("llc", Cache::Last), ("l2", Cache::Second)];
        let of = |(name, cache): (&str, Cache)| Some((word.strip_prefix(name)?, cache));
        let Some((rest, cache)) = named.into_iter().find_map(of) else {
            return size::parse(word).map(SizeBound::Bytes);
        };
        let divisor = match rest.strip_prefix('/') {
            Some(number) => number.parse().ok().filter(|number| *number > 0),
            None => rest.is_empty().then_some(1),
        };
        divisor.map(|divisor| SizeBound::Cache(cache, divisor)).ok_or_else(|| {
            format!(
                "`{word}`: write llc for the last-level cache, l2 for the second, llc/8 for a part, or a \
                 size"
            )
        })
    }

    /// In bytes, on a machine with such `caches`; None where that one isn't known.
    pub fn bytes(self, caches: Caches) -> Option<u64> {
        match self {
            SizeBound::Bytes(bytes) => Some(bytes),
            SizeBound::Cache(Cache::Second, divisor) => {
                caches.second.map(|second| second / divisor)
            }
            SizeBound::Cache(Cache::Last, divisor) => caches.last.map(|number| number / divisor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_or_a_part_of_a_cache() {
        let caches = Caches { second: Some(1 << 20), last: Some(32 << 20) };
        let bytes = |word| SizeBound::parse(word).unwrap().bytes(caches);
        assert_eq!(bytes("64K"), Some(65536));
        assert_eq!(bytes("llc"), caches.last);
        assert_eq!(bytes("llc/8"), Some(4 << 20));
        assert_eq!(bytes("l2/8"), Some(128 << 10));
        let unknown = Caches { second: None, ..caches };
        assert_eq!(SizeBound::parse("l2/8").unwrap().bytes(unknown), None);
        for word in ["llc/0", "llc/", "llc2", "l2/", "l3", ""] {
            assert!(SizeBound::parse(word).is_err(), "{word}");
        }
    }
}
