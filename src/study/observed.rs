//! At which cases of a study probes look: levels of `[observed]`, and of each `[[observed.also]]`,
//! all of which must be measured.

use std::collections::BTreeMap;

use super::declared::Reader;
use super::factor::Factor;
use super::format::{Levels, Study};

/// Levels by the name of their factor: a case is observed if it has one of each.
type Only = BTreeMap<String, Vec<String>>;

impl Reader<'_> {
    /// Where probes look, and where also.
    pub(super) fn observed(
        &self,
        study: &Study,
        levels: &BTreeMap<Factor, Vec<String>>,
    ) -> Result<(Only, Vec<Only>), String> {
        if let Some(words) = study.vary.also.iter().find_map(any_word) {
            let span = words.each(self.text).next().map_or(0..0, |(_, span)| span);
            return Err(self.at(span, "also goes with [observed]: [[observed.also]]"));
        }
        let Some(only) = &study.observed else { return Ok(Default::default()) };
        let also: Result<Vec<Only>, String> =
            only.also.iter().map(|it| self.kept_to(it, levels)).collect();
        Ok((self.kept_to(only, levels)?, also?))
    }

    fn kept_to(
        &self,
        only: &Levels,
        levels: &BTreeMap<Factor, Vec<String>>,
    ) -> Result<Only, String> {
        let mut found = BTreeMap::new();
        for (factor, words) in named(only) {
            let wanted = self.words(factor, words)?;
            if let Some(stray) = wanted.iter().find(|it| !levels[&factor].contains(it)) {
                let span = words.each(self.text).next().map_or(0..0, |(_, span)| span);
                return Err(self.at(span, format!("{factor} `{stray}` isn't measured: add it")));
            }
            found.insert(factor.name().to_string(), wanted);
        }
        Ok(found)
    }
}

fn named(only: &Levels) -> impl Iterator<Item = (Factor, &super::format::Words)> {
    let of = [
        (Factor::Mechanism, &only.mechanism),
        (Factor::Workload, &only.workload),
        (Factor::Size, &only.size),
        (Factor::Total, &only.total),
        (Factor::Placement, &only.placement),
        (Factor::Workers, &only.workers),
        (Factor::Observe, &only.observe),
    ];
    of.into_iter().filter_map(|(factor, it)| Some((factor, it.as_ref()?)))
}

fn any_word(levels: &Levels) -> Option<&super::format::Words> {
    named(levels).next().map(|it| it.1)
}
