//! At which cases of a study probes look: levels of `[observed]`, which must be measured.

use std::collections::BTreeMap;

use super::declared::Reader;
use super::factor::Factor;
use super::format::Study;

impl Reader<'_> {
    /// Where probes look: levels that are measured.
    pub(super) fn observed(
        &self,
        study: &Study,
        levels: &BTreeMap<Factor, Vec<String>>,
    ) -> Result<BTreeMap<String, Vec<String>>, String> {
        let Some(only) = &study.observed else { return Ok(BTreeMap::new()) };
        let of = [
            (Factor::Mechanism, &only.mechanism),
            (Factor::Workload, &only.workload),
            (Factor::Size, &only.size),
            (Factor::Total, &only.total),
            (Factor::Placement, &only.placement),
            (Factor::Workers, &only.workers),
        ];
        let mut found = BTreeMap::new();
        for (factor, words) in
            of.into_iter().filter_map(|(factor, it)| Some((factor, it.as_ref()?)))
        {
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
