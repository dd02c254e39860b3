//! Where a claim says that a peak lies: a size, or a part of the machine's last-level cache, for
//! claims that a curve turns where the cache ends.

use model::size;

/// A size as a claim may name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeBound {
    /// Bytes.
    Bytes(u64),
    /// The last-level cache of the machine that was measured, divided by this.
    Cache(u64),
}

impl SizeBound {
    /// Reads `64K`, `llc` or `llc/8`.
    ///
    /// # Errors
    /// What it isn't, and what to write.
    pub fn parse(word: &str) -> Result<SizeBound, String> {
        let Some(rest) = word.strip_prefix("llc") else {
            return size::parse(word).map(SizeBound::Bytes);
        };
        let divisor = match rest.strip_prefix('/') {
            Some(number) => number.parse().ok().filter(|it| *it > 0),
            None => rest.is_empty().then_some(1),
        };
        divisor.map(SizeBound::Cache).ok_or_else(|| {
            format!(
                "`{word}`: write llc for the last-level cache, llc/8 for a part of it, or a size"
            )
        })
    }

    /// In bytes, on a machine whose last-level cache has `llc` of them, if that is known.
    pub fn bytes(self, llc: Option<u64>) -> Option<u64> {
        match self {
            SizeBound::Bytes(bytes) => Some(bytes),
            SizeBound::Cache(divisor) => llc.map(|it| it / divisor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_or_a_part_of_the_cache() {
        let llc = Some(32 << 20);
        let bytes = |word| SizeBound::parse(word).unwrap().bytes(llc);
        assert_eq!(bytes("64K"), Some(65536));
        assert_eq!(bytes("llc"), llc);
        assert_eq!(bytes("llc/8"), Some(4 << 20));
        assert_eq!(SizeBound::parse("llc/8").unwrap().bytes(None), None);
        for word in ["llc/0", "llc/", "llc2", "l3", ""] {
            assert!(SizeBound::parse(word).is_err(), "{word}");
        }
    }
}
