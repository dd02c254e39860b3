//! Which cases of a study are observed: levels of `[observed]`, and of each `[[observed.also]]`,
//! all of which must be measured. By levels of the same form `[[vary.except]]` leaves cases out.

use std::collections::BTreeMap;

use super::format::{Levels, Study};
use super::reader::Reader;
use model::factor::Factor;

/// Levels by the name of their factor: a case is observed if it has one of each.
type Only = BTreeMap<String, Vec<String>>;

impl Reader<'_> {
    /// The observed levels, and the further cases.
    pub(super) fn observed(
        &self,
        study: &Study,
        levels: &BTreeMap<Factor, Vec<String>>,
    ) -> Result<(Only, Vec<Only>), String> {
        if let Some((_, words)) = study.vary.also.iter().flat_map(Levels::named).next() {
            let span = words.each(self.text).next().map_or(0..0, |(_, span)| span);
            return Err(self.at(span, "also goes with [observed]: [[observed.also]]"));
        }
        let Some(only) = &study.observed else { return Ok(Default::default()) };
        let also: Result<Vec<Only>, String> =
            only.also.iter().map(|table| self.kept_to(table, levels)).collect();
        Ok((self.kept_to(only, levels)?, also?))
    }

    pub(super) fn left_out(
        &self,
        study: &Study,
        levels: &BTreeMap<Factor, Vec<String>>,
    ) -> Result<Vec<Only>, String> {
        let found: Vec<Only> = study
            .vary
            .except
            .iter()
            .map(|table| self.kept_to(table, levels))
            .collect::<Result<_, String>>()?;
        if found.iter().any(BTreeMap::is_empty) {
            Err(format!("{}: [[vary.except]] names no level: it leaves out all", self.file))
        } else {
            Ok(found)
        }
    }

    fn kept_to(
        &self,
        only: &Levels,
        levels: &BTreeMap<Factor, Vec<String>>,
    ) -> Result<Only, String> {
        let mut found = BTreeMap::new();
        for (factor, words) in only.named() {
            let wanted = self.words(factor, words)?;
            if let Some(stray) = wanted.iter().find(|text| !levels[&factor].contains(text)) {
                let span = words.each(self.text).next().map_or(0..0, |(_, span)| span);
                return Err(self.at(span, format!("{factor} `{stray}` isn't measured: add it")));
            }
            found.insert(factor.name().to_string(), wanted);
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::catalogue;
    use crate::validated::validate;

    const STUDY: &str = r#"version = 1
title = "Small"
question = "Does looking matter?"
[variables]
cause = { size = "bytes of a message", observe = "instrumentation" }
effect = { latency = "round trip" }
[vary]
mechanism = ["pipe", "unix-stream"]
size = ["64", "4K"]
observe = ["none", "software", "trace:times=2"]
[observed]
mechanism = "pipe"
size = "4K"
"#;

    #[test]
    fn a_level_that_is_not_measured_is_named_with_its_line() {
        let text = STUDY.replace("size = \"4K\"\n", "size = \"8K\"\n");
        let error = validate(&text, "s.toml", &catalogue()).unwrap_err();
        assert!(error.starts_with("s.toml:13:") && error.contains("`8K`"), "{error}");
        let error = validate(&STUDY.replace("\"software\"", "\"softwar\""), "s.toml", &catalogue())
            .unwrap_err();
        assert!(error.starts_with("s.toml:10:") && error.contains("trace-calls"), "{error}");
    }
}
