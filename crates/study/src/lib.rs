//! What is asked: factors and levels in, cases in comparison groups out.
//!
//! A request is the product of its levels. Cases that will be compared with each other form a
//! group: same workload, size, placement and workers; the mechanisms differ. What can't be
//! measured stays in the plan as a row with its reason.

#[cfg(not(feature = "schema"))]
extern crate schemaless as schemars;

pub mod builtin;
mod claim_test;
mod claims;
pub mod columns;
pub mod counted;
pub mod expression;
pub mod factor;
pub mod figure;
pub mod format;
pub mod losses;
mod observed;
mod open_loop;
mod outputs;
pub mod paper;
mod reader;
pub mod size_bound;
mod table;
pub mod validated;

use model::case::Case;
use model::request::Request;
use std::collections::BTreeMap;

use model::factor::Factor;

/// Whether `case` is to be observed by its probe; what has no level of a factor stands for each
/// of them.
pub fn observes(request: &Request, case: &Case) -> bool {
    let takes = |only: &BTreeMap<String, Vec<String>>| {
        only.iter().all(|pair| level(pair, case).is_none_or(|level| pair.1.contains(&level)))
    };
    takes(&request.observe_only) || request.observe_also.iter().any(takes)
}

/// Whether `case` is not to be measured: it has one of each level of an exception.
pub fn leaves_out(request: &Request, case: &Case) -> bool {
    let has = |except: &BTreeMap<String, Vec<String>>| {
        except.iter().all(|pair| level(pair, case).is_some_and(|level| pair.1.contains(&level)))
    };
    request.except.iter().any(has)
}

/// The level that `case` has of a factor by its name.
fn level((name, _): (&String, &Vec<String>), case: &Case) -> Option<String> {
    Factor::parse(name).ok()?.of(case)
}

#[cfg(test)]
mod tests {
    use model::catalogue::Catalogue;

    /// What this build can measure.
    pub fn catalogue() -> Catalogue {
        workload::catalogue(&[])
    }

    /// Asserts that `study` with `from` replaced by `to` is refused in one line with these words.
    #[track_caller]
    pub fn refused(study: &str, (from, to): (&str, &str), words: &[&str]) {
        assert!(study.contains(from), "{from}");
        let error = crate::validated::validate(&study.replace(from, to), "s.toml", &catalogue())
            .unwrap_err();
        assert_eq!(error.lines().count(), 1, "{error}");
        for word in words {
            assert!(error.contains(word), "`{word}` isn't in: {error}");
        }
    }
}
