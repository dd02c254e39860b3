//! What a study would take, before anything is measured: rounds in its budget, and whether so few can
//! decide its claims. Rough: pilots, which know better, are part of measuring.

use std::time::Duration;

use ::report::units;
use ::run::plan::{Case, Plan};
use analysis::hypothesis::needed;
use model::request::Request;
use model::workload::Workload;
use stats::LEAST_LAUNCHES;
use study::expression::is_percentile;
use study::validated::ValidatedStudy;

/// What surrounds a launch takes about, in s, and what it times where a pilot chooses how much.
const LAUNCH_S: f64 = 0.045;
const TIMED_S: f64 = 0.03;
/// A round trip where its workers share a CPU, what it takes more where they may be on two, and to another host; a
/// message of a transfer; and each byte of either.
const ROUND_TRIP_S: f64 = 10e-6;
const APART_S: f64 = 30e-6;
const FAR_S: f64 = 100e-6;
const MESSAGE_S: f64 = 1e-6;
const BYTE_S: f64 = 0.5e-9;

/// The deepest percentile that a study's claims and tables name, and how many samples a launch
/// needs for it.
fn deepest(declared: &ValidatedStudy) -> Option<(&str, u64)> {
    let study = &declared.study;
    let claims = study.hypothesis.iter().flat_map(|hypothesis| &hypothesis.of);
    let words = claims.chain(study.table.iter().flat_map(|spec| &spec.show));
    let needed = words
        .map(|word| word.get_ref().as_str())
        .filter(|text| is_percentile(text))
        .filter_map(|text| {
            let percent: f64 = text.trim_start_matches('p').parse().ok()?;
            Some((text, stats::samples_needed(percent / 100.0)))
        });
    needed.max_by_key(|pair| pair.1)
}

/// What the quick floors take at most, in s.
const FLOORS_S: f64 = 1.5;
/// The share of a budget that may be exceeded without a word.
const TOLERATED: f64 = 0.2;

/// That a choice will take longer than its budget: floors and one launch of each case come before its rounds, and one
/// round there is in any case.
pub fn beyond_budget(request: &Request, plan: &Plan) -> Option<String> {
    request.aim.need()?;
    let budget = request.stopping.budget_ns? as f64 / 1e9;
    let messages = request.bound.map_or(0, |bound| bound.messages_needed());
    let cases = plan.groups.iter().flat_map(|group| &group.cases);
    let rates: Vec<u64> = cases.map(|case| case.load.map_or(0, |load| load.per_second)).collect();
    let least_s = least_s(&rates, messages, budget);
    (least_s > (1.0 + TOLERATED) * budget).then(|| {
        format!(
            "this will take about {} at least, beyond the budget of {}: floors, a pilot of each of {} and one round of \
             them need that; name fewer mechanisms, or give more time",
            units::duration(least_s * 1e9),
            units::duration(budget * 1e9),
            units::counted(rates.len() as u64, "case")
        )
    })
}

/// Of a budget pilots may take two thirds, and rounds have the rest.
fn least_s(rates: &[u64], messages: u64, budget: f64) -> f64 {
    let launch = |rate: &u64| LAUNCH_S + messages as f64 / *rate.max(&1) as f64;
    let pilots = rates.len() as f64 * LAUNCH_S;
    let round: f64 = rates.iter().map(launch).sum();
    FLOORS_S + pilots.max(budget * 2.0 / 3.0) + round.max(budget / 3.0)
}

/// A study's cases, and the time for them.
pub struct Forecast {
    pub cases: usize,
    /// Rounds that are asked for.
    pub asked: u64,
    /// Time for measuring, in s; None sets no limit.
    pub budget_s: Option<f64>,
    /// What one round of every group takes about, in s.
    round_s: f64,
}

impl Forecast {
    pub fn of(request: &Request, plan: &Plan) -> Forecast {
        let cases = || plan.groups.iter().flat_map(|group| &group.cases);
        let stopping = &request.stopping;
        Forecast {
            cases: cases().count(),
            asked: stopping.launches.unwrap_or(LEAST_LAUNCHES as u64),
            budget_s: stopping.budget_ns.map(|number| number as f64 / 1e9),
            round_s: cases().map(|case| launch_s(request, case)).sum(),
        }
    }

    /// What all rounds that are asked for take about, in s.
    pub fn all_s(&self) -> f64 {
        self.asked as f64 * self.round_s
    }

    /// Rounds that there will be about.
    fn rounds(&self) -> u64 {
        let fit = |budget: f64| (budget / self.round_s) as u64;
        self.budget_s
            .filter(|_| self.cases > 0)
            .map_or(self.asked, |budget_s| fit(budget_s).min(self.asked))
    }

    /// That launches hold too few samples for a percentile that the study shows, and what would be enough; None where
    /// they hold enough, or a pilot chooses.
    pub fn too_shallow(
        &self,
        declared: &ValidatedStudy,
        request: &Request,
        plan: &Plan,
    ) -> Option<String> {
        let (percentile, needed) = deepest(declared)?;
        let of = |workload: &Workload| request.samples_of(*workload);
        let samples = request.workloads.iter().filter_map(|workload| of(&workload.0));
        let samples = samples.max().filter(|sample| *sample < needed)?;
        // Samples depend on each other: there must be more than the independent ones.
        let enough = 10u64.pow(needed.ilog10() + 1);
        let mut deeper = request.clone();
        deeper.samples = Some(enough);
        deeper.samples_by_workload.clear();
        let time = (Forecast::of(&deeper, plan).all_s()).ceil();
        Some(format!(
            "{percentile} needs {needed} samples a launch, which holds {samples}: there it says how many are \
             missing; add --samples {enough} --budget {}s",
            Duration::from_secs_f64(time).as_secs()
        ))
    }

    /// That so few rounds can't decide some claims, and what would be enough; None where they can.
    pub fn too_little(&self, declared: &ValidatedStudy) -> Option<String> {
        let rounds = self.rounds();
        let (claims, enough) = needed(declared).undecided_by(usize::try_from(rounds).ok()?)?;
        let all = declared.study.hypothesis.len();
        let which = if claims == all {
            "none of its claims".to_string()
        } else {
            format!("{} of its {}", all - claims, units::counted(all as u64, "claim"))
        };
        let time = (enough as f64 * self.round_s).ceil();
        let short_of_time = rounds < self.asked;
        let has = match self.budget_s.filter(|_| short_of_time) {
            Some(budget) => format!(
                "a budget of {} is for about {}",
                units::duration(budget * 1e9),
                units::counted(rounds, "round")
            ),
            None => {
                let verb = if rounds == 1 { "is" } else { "are" };
                format!("{} {verb} asked for", units::counted(rounds, "round"))
            }
        };
        let mut options = Vec::new();
        if (enough as u64) > self.asked {
            options.push(format!("--launches {enough}"));
        }
        if self.budget_s.is_some_and(|budget_s| budget_s < time) {
            options.push(format!("--budget {}s", Duration::from_secs_f64(time).as_secs()));
        }
        Some(format!(
            "{has}, in which {which} can be decided: {enough} rounds are enough, about {}; add {}",
            units::duration(time * 1e9),
            options.join(" ")
        ))
    }
}

fn launch_s(request: &Request, case: &Case) -> f64 {
    let Some(samples) = request.samples_of(case.workload) else { return LAUNCH_S + TIMED_S };
    let bytes = case.message_bytes.unwrap_or(0);
    let messages = case.total.and_then(|total| total.messages(bytes));
    let sample = match messages {
        Some(messages) => messages as f64 * (MESSAGE_S + bytes as f64 * BYTE_S),
        None => round_trip_s(case, bytes),
    };
    LAUNCH_S + samples as f64 * sample
}

fn round_trip_s(case: &Case, bytes: u64) -> f64 {
    let apart = if case.place.shares_one_cpu() { 0.0 } else { APART_S };
    let far = if case.route.is_local() { 0.0 } else { FAR_S };
    let path = case.route.chain().map_or(0.0, |chain| chain.round_trip_ns(bytes) / 1e9);
    ROUND_TRIP_S + apart + far + path + 2.0 * bytes as f64 * BYTE_S
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_before_a_choice_and_one_round_are_counted_where_they_take_more_than_their_share()
    {
        assert_eq!(least_s(&[1_000_000], 100, 30.0), FLOORS_S + 30.0);
        assert!(least_s(&[1_000_000], 100, 30.0) < (1.0 + TOLERATED) * 30.0);
        // Most of a launch at a low rate is waiting for messages to be due.
        let slow = [1000, 2000, 4000].repeat(17);
        let round = 17.0 * 368.0 * (1.0 + 0.5 + 0.25) / 1000.0 + 51.0 * LAUNCH_S;
        let least = least_s(&slow, 368, 4.0);
        assert!((least - (FLOORS_S + 4.0 * 2.0 / 3.0 + round)).abs() < 1e-9, "{least}");
        let many = least_s(&[1_000_000; 200], 0, 4.0);
        assert!((many - (FLOORS_S + 400.0 * LAUNCH_S)).abs() < 1e-9, "{many}");
    }
}
