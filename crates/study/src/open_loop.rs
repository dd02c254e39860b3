//! What a study says of open loops: rates, depths and connections, and what all of them share; and of the connections
//! of closed ones.

use std::fmt::Display;

use toml::Spanned;

use super::format::Fixed;
use super::validated::Reader;
use model::load::{self, Levels, Load};
use model::size;
use model::workload::{Arrivals, Workload};

impl Reader<'_> {
    /// What loops of `workloads` carry, and how messages arrive in open ones.
    pub(super) fn loads(
        &self,
        fixed: &Fixed,
        workloads: &[Workload],
    ) -> Result<(Vec<Load>, Arrivals), String> {
        let mut levels = Levels::default();
        let arrivals = self.said(&fixed.arrivals, |it| it.parse::<Arrivals>())?.unwrap_or_default();
        if let Some(per_second) = arrivals.per_second() {
            levels.rates = vec![per_second];
            if let Some(word) = &fixed.rate {
                let what = format!(
                    "`{arrivals}` comes to {per_second} messages a second: leave `rate` out"
                );
                return Err(self.at(word.span(), what));
            }
        }
        if let Some(rates) = self.said(&fixed.rate, load::rates)? {
            levels.rates = rates;
        }
        if let Some(depths) = self.said(&fixed.depth, load::depths)? {
            levels.depths = depths;
        }
        if let Some(connections) = self.said(&fixed.connections, load::connection_counts)? {
            levels.connections = connections;
        }
        levels.shared.server = self.said(&fixed.server, str::parse)?;
        levels.shared.response = self.said(&fixed.response, size::message)?;
        levels.shared.service = self.said(&fixed.service, |it| it.parse())?.unwrap_or_default();
        let span = fixed.connections.as_ref().map_or(0..0, Spanned::span);
        let loads = levels.of(workloads).map_err(|error| self.at(span, error))?;
        Ok((loads, arrivals))
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
