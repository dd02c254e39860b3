//! What a study says of open loops: rates, depths, connections and answers, and what all of them share; and of the
//! connections of closed ones.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::Range;

use toml::Spanned;

use super::format::{self, Fixed};
use super::reader::Reader;
use model::case::Case;
use model::distinct::distinct;
use model::factor::Factor;
use model::load::{self, Levels, Load};
use model::request::Request;
use model::size::{self, parse_list};
use model::workload::{Arrivals, Workload};

/// Levels, and where they are named.
type Named<T> = (Vec<T>, Range<usize>);

/// The levels of a factor that a list in one word names: `1k..64k:x2`.
///
/// # Errors
/// A sentence with the way out.
pub(super) fn listed(factor: Factor, word: &str) -> Result<Vec<String>, String> {
    let levels: Vec<String> = match factor {
        Factor::Rate => load::rates(word)?.into_iter().map(model::rate::format).collect(),
        Factor::Response => answers(word)?.into_iter().map(size::format).collect(),
        Factor::Depth => load::depths(word)?.iter().map(u32::to_string).collect(),
        _ => load::connection_counts(word)?.iter().map(u32::to_string).collect(),
    };
    Ok(levels)
}

fn answers(word: &str) -> Result<Vec<u64>, String> {
    parse_list(word, size::message)
}

/// The levels of a load's factors, as far as cases of `request` have any.
pub(super) fn levels(request: &Request) -> BTreeMap<Factor, Vec<String>> {
    let loads = || {
        let of = |(workload, _): &(Workload, Vec<u64>)| {
            let workload = *workload;
            request.loads_of(workload).into_iter().map(move |load| (workload, load))
        };
        request.workloads.iter().flat_map(of)
    };
    let of = |factor: Factor| {
        let all = loads().filter_map(|(workload, load)| {
            factor.of(&Case { load, ..Case::usual(String::new(), workload) })
        });
        (factor, distinct(all))
    };
    Factor::OF_LOAD.into_iter().map(of).collect()
}

impl Reader<'_> {
    /// What loops of `workloads` carry, and how messages arrive in open ones.
    pub(super) fn loads(
        &self,
        (fixed, vary): (&Fixed, &format::Levels),
        workloads: &[Workload],
    ) -> Result<(Vec<Load>, Arrivals), String> {
        let mut levels = Levels::default();
        let rates = self.all_of(Factor::Rate, (fixed, vary), load::rates)?;
        let arrivals =
            self.said(&fixed.arrivals, |text| text.parse::<Arrivals>())?.unwrap_or_default();
        if let Some(per_second) = arrivals.per_second() {
            levels.rates = vec![per_second];
            if let Some((_, span)) = &rates {
                let what = format!(
                    "`{arrivals}` comes to {per_second} messages a second: leave `rate` out"
                );
                return Err(self.at(span.clone(), what));
            }
        }
        if let Some((rates, _)) = rates {
            levels.rates = rates;
        }
        let depths = self.all_of(Factor::Depth, (fixed, vary), load::depths)?;
        if let Some((depths, _)) = depths {
            levels.depths = depths;
        }
        let (connections, span) = self
            .all_of(Factor::Connections, (fixed, vary), load::connection_counts)?
            .unwrap_or((Vec::new(), 0..0));
        levels.connections = connections;
        levels.responses = self
            .all_of(Factor::Response, (fixed, vary), answers)?
            .map_or(Vec::new(), |pair| pair.0);
        levels.shared.server = self.said(&fixed.server, str::parse)?;
        levels.shared.service = self.said(&fixed.service, |text| text.parse())?.unwrap_or_default();
        let loads = levels.of(workloads).map_err(|error| self.at(span, error))?;
        Ok((loads, arrivals))
    }

    /// All levels of a factor that is fixed, or varied, and where they are named; None where they aren't.
    fn all_of<T: Clone + PartialEq>(
        &self,
        factor: Factor,
        (fixed, vary): (&Fixed, &format::Levels),
        parse: impl Fn(&str) -> Result<Vec<T>, String>,
    ) -> Result<Option<Named<T>>, String> {
        let words = fixed.of(factor).or(vary.of(factor));
        let Some(words) = words.map(|words| words.each(self.text).collect::<Vec<_>>()) else {
            return Ok(None);
        };
        let mut levels = Vec::new();
        for (word, span) in &words {
            levels.extend(parse(word).map_err(|error| self.at(span.clone(), error))?);
        }
        let span = words.first().map_or(0..0, |word| word.1.clone());
        if levels.is_empty() {
            return Err(self.at(span, format!("{factor} has no level")));
        }
        Ok(Some((distinct(levels), span)))
    }

    /// What `word` says, if it is there.
    fn said<T, E: Display>(
        &self,
        word: &Option<Spanned<String>>,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Option<T>, String> {
        let Some(word) = word else { return Ok(None) };
        parse(word.get_ref()).map(Some).map_err(|error| self.at(word.span(), error))
    }
}
