//! What a study would take, before anything is measured: rounds in its budget, and whether so few can
//! decide its claims. Rough: pilots, which know better, are part of measuring.

use std::time::Duration;

use ::report::units;
use ::run::plan::{Case, Plan};
use analysis::hypothesis::needed;
use model::request::Request;
use stats::LEAST_LAUNCHES;
use study::validated::ValidatedStudy;

/// What a launch takes about, with what surrounds it, in s: the 20 ms that it is for are in that.
const LAUNCH_S: f64 = 0.045;
/// A round trip, and a message of a transfer, where their number is fixed.
const ROUND_TRIP_S: f64 = 20e-6;
const MESSAGE_S: f64 = 1e-6;

/// A study's cases, and the time for them.
pub struct Forecast {
    /// Cases of a round.
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
            budget_s: stopping.budget_ns.map(|it| it as f64 / 1e9),
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
        self.budget_s.filter(|_| self.cases > 0).map_or(self.asked, |it| fit(it).min(self.asked))
    }

    /// That so few rounds can't decide some claims, and what would be enough; None where they can.
    pub fn too_little(&self, declared: &ValidatedStudy) -> Option<String> {
        let rounds = self.rounds();
        let (claims, enough) = needed(declared).undecided_by(usize::try_from(rounds).ok()?)?;
        let all = declared.study.hypothesis.len();
        let which = if claims == all {
            "none of its claims".to_string()
        } else {
            format!("{} of its {all} claims", all - claims)
        };
        let time = (enough as f64 * self.round_s).ceil();
        let short_of_time = rounds < self.asked;
        let has = match self.budget_s.filter(|_| short_of_time) {
            Some(budget) => format!(
                "a budget of {} is for about {}",
                units::duration(budget * 1e9),
                counted(rounds)
            ),
            None => format!("{} are asked for", counted(rounds)),
        };
        let mut options = Vec::new();
        if (enough as u64) > self.asked {
            options.push(format!("--launches {enough}"));
        }
        if self.budget_s.is_some_and(|it| it < time) {
            options.push(format!("--budget {}s", Duration::from_secs_f64(time).as_secs()));
        }
        Some(format!(
            "{has}, in which {which} can be decided: {enough} rounds are enough, about {}; add {}",
            units::duration(time * 1e9),
            options.join(" ")
        ))
    }
}

fn counted(rounds: u64) -> String {
    if rounds == 1 { "1 round".into() } else { format!("{rounds} rounds") }
}

fn launch_s(request: &Request, case: &Case) -> f64 {
    let samples = request.samples_of(case.workload).unwrap_or(0);
    let messages = case.total.zip(case.message_bytes).and_then(|(it, size)| it.messages(size));
    let sample = messages.map_or(ROUND_TRIP_S, |it| it as f64 * MESSAGE_S);
    LAUNCH_S + samples as f64 * sample
}
