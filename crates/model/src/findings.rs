//! What was found about a machine's fitness to measure on: findings, whether they let it pass, and the
//! marks of rounds that were disturbed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of one check.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Finding {
    /// The check's name: `governor`, `locked-memory`, …
    pub check: String,
    /// How much it matters.
    pub level: Level,
    /// What was found.
    pub found: String,
    /// What would be fine.
    pub wanted: String,
    /// What it does to the figures where it isn't.
    pub effect: String,
    /// What to do; never empty.
    pub advice: String,
    /// The command that does it, where there is one. Nobody runs it but the reader.
    pub command: Option<String>,
}

/// How much a finding matters, from little to much.
#[derive(
    JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// As it should be.
    Fine,
    /// It couldn't be read: hidden, not permitted, not shown to a guest.
    Unknown,
    /// Minor: figures hold, but for this setting, or in wider intervals.
    Note,
    /// Serious: what is measured is the disturbance too.
    Warning,
}

/// The checks of what others do: while one of them is unknown, nobody knows whether a machine is quiet, or a round
/// was undisturbed. Of the clock rate and of heat many machines tell nothing; figures then hold for what it was.
const DECISIVE: [&str; 4] = ["load", "steal", "interrupts", "quota"];

impl Finding {
    /// Whether it couldn't be read, and without it nobody knows whether the machine is quiet.
    pub fn leaves_open(&self) -> bool {
        self.level == Level::Unknown && DECISIVE.contains(&&*self.check)
    }

    /// Whether nothing can be measured at all.
    fn forbids(&self) -> bool {
        self.level == Level::Warning && self.check == "calls"
    }

    /// With other advice.
    pub fn advice(self, advice: impl Into<String>) -> Finding {
        Finding { advice: advice.into(), ..self }
    }

    /// With another effect.
    pub fn effect(self, effect: impl Into<String>) -> Finding {
        Finding { effect: effect.into(), ..self }
    }

    /// With a command.
    pub fn command(self, command: impl Into<String>) -> Finding {
        Finding { command: Some(command.into()), ..self }
    }
}

/// A disturbance of one round.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Mark {
    /// The check that noticed it.
    pub check: String,
    /// [`Level::Note`] or [`Level::Warning`].
    pub level: Level,
    /// What was found.
    pub found: String,
}

/// The frequency of a CPU at both ends of an interval.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct CpuFrequency {
    /// The CPU.
    pub cpu: u32,
    /// At its beginning, kHz. `None` where there is no cpufreq, and on x86 before Linux 5.19,
    /// where reading it takes 10 ms.
    pub before_khz: Option<u64>,
    /// At its end, kHz. `None` as above.
    pub after_khz: Option<u64>,
    /// The governor, or the highest frequency it may choose, was changed meanwhile.
    pub changed: Option<String>,
}

/// Whether a machine is fit to measure on.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Fitness {
    /// Nothing was found that shows in the figures.
    Fit,
    /// What would tell can't be read here.
    Unknown,
    /// The figures hold for this machine as it is set up; some of that is of its own making.
    FitWithReservations,
    /// What would be measured is the disturbance too.
    NotFit,
}

impl Fitness {
    /// Sums findings up.
    pub fn of(findings: &[Finding]) -> Fitness {
        let any = |level| findings.iter().any(|finding| finding.level == level);
        if any(Level::Warning) {
            Fitness::NotFit
        } else if findings.is_empty() || findings.iter().any(Finding::leaves_open) {
            Fitness::Unknown
        } else if any(Level::Note) {
            Fitness::FitWithReservations
        } else {
            Fitness::Fit
        }
    }

    /// The answer, and why.
    pub fn sentence(findings: &[Finding]) -> String {
        let named = |level| {
            let names: Vec<&str> = findings
                .iter()
                .filter(|finding| finding.level == level)
                .map(|finding| &*finding.check)
                .collect();
            list(&names)
        };
        let reservations = match named(Level::Note) {
            none if none.is_empty() => none,
            some => format!("with reservations: {some}"),
        };
        let (open, hidden): (Vec<&Finding>, Vec<&Finding>) = findings
            .iter()
            .filter(|finding| finding.level == Level::Unknown)
            .partition(|finding| finding.leaves_open());
        let names =
            |of: &[&Finding]| list(&of.iter().map(|finding| &*finding.check).collect::<Vec<_>>());
        let hidden = match names(&hidden) {
            none if none.is_empty() => none,
            some => format!("; not known here: {some}"),
        };
        let answer = match Fitness::of(findings) {
            Fitness::NotFit if findings.iter().any(Finding::forbids) => {
                "Nothing can be measured here: what every launch needs is missing (calls)".into()
            }
            Fitness::NotFit => {
                let serious = named(Level::Warning);
                format!("Not fit for measuring now: {serious} would be measured too")
            }
            Fitness::Unknown if findings.is_empty() => {
                "Not known whether it is fit to measure on: no check ran".into()
            }
            Fitness::Unknown => {
                let open = names(&open);
                let with = if reservations.is_empty() { "" } else { "; " };
                format!(
                    "Not known whether it is fit to measure on, for want of {open}{with}{reservations}"
                )
            }
            Fitness::FitWithReservations => format!("Fit to measure on, {reservations}"),
            Fitness::Fit => {
                "Fit to measure on: no check found what would show in the figures".into()
            }
        };
        answer + &hidden
    }
}

/// `a`, `a and b`, `a, b and c`.
fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_as_one_speaks() {
        let joined = [&["a"][..], &["a", "b"], &["a", "b", "c"]].map(list);
        assert_eq!(joined, ["a", "a and b", "a, b and c"]);
    }
}
