//! What launches beside a load came to, over the quiet launches of the same case in the same rounds.

use schemars::JsonSchema;
use serde::Serialize;

use super::observed::{asked, is_beside};
use super::paired::{CaseRatio, log_ratios};
use super::{ALPHA, CaseResult, EQUIVALENT_WITHIN, Status};
use stats::Verdict;

/// A case beside a load.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Accompanied {
    /// Its launches, judged as if they were results; in exports what was asked.
    #[serde(flatten, serialize_with = "asked")]
    #[schemars(with = "super::observed::Asked")]
    pub case: CaseResult,
    /// What became of it.
    pub status: Status,
    /// Why it isn't ok, with the remedy.
    pub reason: Option<String>,
    /// Launches beside a load.
    pub launches: u64,
    /// Rounds that have both.
    pub rounds: usize,
    /// Median time per operation over the quiet one, paired by rounds; null where too few rounds have both.
    pub median: Option<CaseRatio>,
    /// The same of the time of all operations of a launch, which the median may not show: a quota stops
    /// few of them, each for long.
    pub whole: Option<CaseRatio>,
    /// Sign-test p of `median`, corrected by Holm over all cases beside a load of the run.
    pub p: Option<f64>,
    /// `faster`, `slower`, `equivalent`, `inconclusive`: than in quiet.
    pub verdict: Option<&'static str>,
    /// Index of the result that it is compared with.
    #[serde(skip)]
    pub quiet: Option<usize>,
}

impl Accompanied {
    /// Judges the launches of `case`, which had company; `plain` are the results of its group, whose first has the
    /// index `first`.
    pub(super) fn of(case: CaseResult, plain: &[CaseResult], first: usize) -> Accompanied {
        let quiet = plain.iter().position(|other| is_beside(other, &case));
        let ratios = quiet.map(|at| case.log_ratios_to(&plain[at])).unwrap_or_default();
        let median = CaseRatio::of(&ratios);
        let others =
            |case: &CaseResult| case.others_by_round.get("mean").cloned().unwrap_or_default();
        Accompanied {
            status: case.status,
            reason: case.reason.clone(),
            launches: case.launches,
            rounds: ratios.iter().flatten().count(),
            p: median.as_ref().map(|median| median.p),
            median,
            whole: quiet
                .and_then(|at| CaseRatio::of(&log_ratios(&others(&case), &others(&plain[at])))),
            verdict: None,
            quiet: quiet.map(|at| first + at),
            case,
        }
    }
}

/// Corrects all cases beside a load as one family, and says of each what it came to.
pub(super) fn assign(accompanied: &mut [Accompanied], results: &[CaseResult]) {
    let family: Vec<f64> = accompanied.iter().filter_map(|accompanied| accompanied.p).collect();
    let mut corrected = stats::holm(&family).into_iter();
    for entry in accompanied {
        entry.p = entry.p.and_then(|_| corrected.next());
        let compared = entry.p.zip(entry.quiet).filter(|_| entry.median.is_some());
        entry.verdict = compared.map(|(p, quiet)| {
            let ratios = entry.case.shared_log_ratios_to(&results[quiet]);
            match stats::verdict(&ratios, p, EQUIVALENT_WITHIN, ALPHA) {
                // Others that came and went are in both.
                _ if entry.case.disturbed => "inconclusive",
                Verdict::Faster => "faster",
                Verdict::Slower => "slower",
                Verdict::Equivalent => "equivalent",
                Verdict::Inconclusive { .. } => "inconclusive",
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;
    use model::company::Company;

    /// A quiet case of 4 µs, and the same beside a load, which takes so many times as long.
    fn judged(seed: u64, times: f64) -> Accompanied {
        let mut machine = Machine::seeded(seed);
        let quiet = machine.plain("pipe", 64, 4_000.0);
        let other = machine.plain("pipe", 64, times * 4_000.0);
        let mut case = machine.results[other].clone();
        case.beside = Some(Company::Hog);
        for it in [&mut machine.results[quiet], &mut case] {
            it.others_by_round.insert("mean", it.by_round.clone());
        }
        // All operations together take twice that.
        let means = case.others_by_round.get_mut("mean").unwrap();
        means.iter_mut().flatten().for_each(|ns| *ns *= 2.0);
        let plain = &machine.results[..=quiet];
        let mut all = vec![Accompanied::of(case, plain, 0)];
        assign(&mut all, &machine.results);
        all.remove(0)
    }

    #[test]
    fn a_case_in_company_is_held_against_the_quiet_one_of_its_rounds() {
        let slow = judged(1, 3.0);
        let median = slow.median.unwrap();
        assert_eq!((slow.quiet, slow.verdict), (Some(0), Some("slower")));
        assert!(median.low < 3.0 && 3.0 < median.high, "{median:?}");
        let whole = slow.whole.unwrap();
        assert!((whole.ratio / median.ratio / 2.0 - 1.0).abs() < 1e-9, "{whole:?}");
        assert_eq!(slow.rounds, slow.case.by_round.len());
        let same = judged(2, 1.0);
        assert!(matches!(same.verdict, Some("equivalent" | "inconclusive")), "{same:?}");
    }
}
