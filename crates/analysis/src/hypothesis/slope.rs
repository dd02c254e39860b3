//! Claims about what a step costs along a factor that counts: how much each adds, whether all add
//! the same, and whether those of one kind add less than those of another. A round has a slope of its
//! own (Theil and Sen); over rounds stands their median with the interval of its order statistics.

use super::curves::Curve;
use super::parts::refuting;
use super::ratio::decided;
use super::{ALPHA, Decision, TestResult};
use model::factor::Factor;
use model::metric::Unit;
use stats::Interval;

/// How far a level may lie from the straight line, as a share of the whole way, where no margin says.
const STRAIGHT_WITHIN: f64 = 0.1;

/// A curve whose levels are numbers.
pub struct Steps<'a> {
    curve: &'a Curve,
    along: Factor,
    at: Vec<f64>,
    /// Round by round, in the unit of the measure.
    slopes: Vec<f64>,
}

impl<'a> Steps<'a> {
    /// None where the levels aren't numbers, or are fewer than two.
    pub fn of(curve: &'a Curve, along: Factor) -> Result<Steps<'a>, TestResult> {
        let at: Option<Vec<f64>> = curve.levels.iter().map(|level| along.number(level)).collect();
        let at = at.ok_or_else(|| {
            TestResult::not_testable(format!("{along}: its levels are not numbers"))
        })?;
        let slope = |row: &Vec<f64>| {
            let points: Vec<(f64, f64)> = at.iter().copied().zip(row.iter().copied()).collect();
            stats::theil_sen(&points)
        };
        let slopes: Option<Vec<f64>> = curve.rounds.iter().map(slope).collect();
        match slopes {
            Some(slopes) => Ok(Steps { curve, along, at, slopes }),
            None => Err(TestResult::not_testable(format!("{along}: fewer than two levels differ"))),
        }
    }

    fn interval(&self) -> Option<Interval> {
        stats::median_interval(&self.slopes, ALPHA)
    }

    /// Where the slope lies at the error of a refutation; anywhere, of too few rounds.
    fn surest(&self) -> (f64, f64) {
        let found = stats::median_interval(&self.slopes, refuting(self.curve.among));
        found.map_or((f64::NEG_INFINITY, f64::INFINITY), |interval| (interval.low, interval.high))
    }

    /// Whether each step surely adds something; or, if an interval is claimed, as much as that.
    pub fn adds(&self, claimed: Option<(f64, f64)>, of_time: bool) -> TestResult {
        let Some(slope) = self.interval() else { return self.too_few() };
        let text = self.in_words(&slope, of_time);
        let (from, to) = self.surest();
        let (yes, no, text) = match claimed {
            None => (slope.low > 0.0, to <= 0.0, text),
            Some((least, most)) => (
                slope.low >= least && slope.high <= most,
                to < least || from > most,
                format!("{text}; claimed {least} to {most}"),
            ),
        };
        TestResult::new(decided(yes, no), text, None).measuring(&slope, unit(of_time))
    }

    /// Whether a step adds less than one of `other`, in the rounds that both have.
    pub fn add_less_than(&self, other: &Steps, of_time: bool) -> TestResult {
        let own = self.curve.nth.iter().zip(&self.slopes);
        let beside = |round: &usize| {
            let at = other.curve.nth.iter().position(|number| number == round)?;
            Some(other.slopes[at])
        };
        let differences: Vec<f64> =
            own.filter_map(|(round, slope)| Some(slope - beside(round)?)).collect();
        let found = self.interval().zip(other.interval());
        let Some(((mine, theirs), difference)) =
            found.zip(stats::median_interval(&differences, ALPHA))
        else {
            return self.too_few();
        };
        let text = format!(
            "{}; {}; the first less the second: {}",
            self.in_words(&mine, of_time),
            other.in_words(&theirs, of_time),
            amounts(&difference, of_time)
        );
        let surest = stats::median_interval(&differences, refuting(self.curve.among));
        let more = surest.is_some_and(|interval| interval.low >= 0.0);
        let result = TestResult::new(
            decided(difference.high < 0.0, more),
            text,
            Some(stats::sign_test(&differences)),
        );
        result.measuring(&difference, unit(of_time)).over_rounds(differences.len())
    }

    /// Whether all steps add the same: no level is farther from the straight line between the first
    /// and the last than `margin` of the way between these.
    pub fn straight(&self, margin: Option<f64>, of_time: bool) -> TestResult {
        let margin = margin.unwrap_or(STRAIGHT_WITHIN);
        let last = self.at.len() - 1;
        if last < 2 {
            let text = format!("{}: a line through two levels is always straight", self.curve.name);
            return TestResult::not_testable(text);
        }
        let ways: Vec<f64> = self.curve.rounds.iter().map(|round| round[last] - round[0]).collect();
        let Some(way) = stats::median_interval(&ways, ALPHA) else { return self.too_few() };
        if way.low <= 0.0 && way.high >= 0.0 {
            let text = format!("{}: nothing surely changes along {}", self.curve.name, self.along);
            return TestResult::new(Decision::Inconclusive, text, None);
        }
        let share = |level: usize| (self.at[level] - self.at[0]) / (self.at[last] - self.at[0]);
        let off = |level: usize, alpha: f64| {
            let of_round = |values: &Vec<f64>| {
                let line = values[0] + share(level) * (values[last] - values[0]);
                (values[level] - line) / way.estimate
            };
            let off: Vec<f64> = self.curve.rounds.iter().map(of_round).collect();
            // Of several levels any may be off by chance.
            stats::median_interval(&off, alpha / (last - 1) as f64)
        };
        let all: Option<Vec<Interval>> = (1..last).map(|level| off(level, ALPHA)).collect();
        let Some(all) = all else { return self.too_few() };
        let surest = (1..last).filter_map(|level| off(level, refuting(self.curve.among)));
        let farthest = |(_, a): &(usize, &Interval), (_, b): &(usize, &Interval)| {
            a.estimate.abs().total_cmp(&b.estimate.abs())
        };
        let (nth, most) = all.iter().enumerate().max_by(farthest).expect("at least one");
        let slope =
            self.interval().map(|interval| self.in_words(&interval, of_time)).unwrap_or_default();
        let text = format!(
            "{slope}; farthest from a straight line at {}, by {:+.1} % [{:+.1}, {:+.1}] of the way",
            self.curve.levels[nth + 1],
            100.0 * most.estimate,
            100.0 * most.low,
            100.0 * most.high
        );
        let yes = all.iter().all(|interval| interval.low > -margin && interval.high < margin);
        let no =
            surest.into_iter().any(|interval| interval.low > margin || interval.high < -margin);
        TestResult::new(decided(yes, no), text, None)
    }

    fn in_words(&self, slope: &Interval, of_time: bool) -> String {
        let step = match self.along {
            Factor::Routers => "a router".into(),
            Factor::Switches => "a switch".into(),
            Factor::Observe => "each time".into(),
            other => format!("a step of {other}"),
        };
        format!("{}: {} {step}", self.curve.name, amounts(slope, of_time))
    }

    fn too_few(&self) -> TestResult {
        TestResult::too_few_rounds(&self.curve.name, self.curve.rounds.len())
    }
}

/// `+1.94 µs [+1.90, +1.98]`; of a rate in MB/s, as throughputs are.
/// The unit of a slope, per step.
fn unit(of_time: bool) -> &'static str {
    if of_time { Unit::Nanoseconds.name() } else { Unit::BytesPerSecond.name() }
}

fn amounts(interval: &Interval, of_time: bool) -> String {
    let most = interval.low.abs().max(interval.high.abs());
    let (scale, unit) = match (of_time, most) {
        (true, ns) if ns < 1e3 => (1.0, "ns"),
        (true, ns) if ns < 1e6 => (1e3, "µs"),
        (true, _) => (1e6, "ms"),
        (false, _) => (1e6, "MB/s"),
    };
    let decimals = match most / scale {
        interval if interval < 10.0 => 2,
        interval if interval < 100.0 => 1,
        _ => 0,
    };
    let scaled = |value: f64| format!("{:+.decimals$}", value / scale);
    format!(
        "{} {unit} [{}, {}]",
        scaled(interval.estimate),
        scaled(interval.low),
        scaled(interval.high)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twelve rounds of a curve over 0, 1, 2, 4 and 8, with noise of a thousandth.
    fn curve(value: impl Fn(f64) -> f64) -> Curve {
        let at = [0.0, 1.0, 2.0, 4.0, 8.0];
        let row = |round: usize| {
            let noise = |nth: usize| 1.0 + 0.001 * ((round * 7 + nth * 3) % 5) as f64;
            at.iter().enumerate().map(|(nth, x)| value(*x) * noise(nth)).collect()
        };
        Curve {
            name: "it".into(),
            levels: at.iter().map(|value| value.to_string()).collect(),
            rounds: (0..12).map(row).collect(),
            nth: (0..12).collect(),
            among: 1,
        }
    }

    #[test]
    fn each_step_adds_what_it_adds() {
        let routers = curve(|value| 10_000.0 + 2_000.0 * value);
        let steps = Steps::of(&routers, Factor::Routers).ok().unwrap();
        let result = steps.adds(None, true);
        assert_eq!(result.decision, Decision::Supported, "{}", result.effect);
        assert!(
            result.effect.starts_with("it: +2.0") && result.effect.ends_with("a router"),
            "{}",
            result.effect
        );
        assert_eq!(steps.adds(Some((1_900.0, 2_100.0)), true).decision, Decision::Supported);
        assert_eq!(steps.adds(Some((100.0, 200.0)), true).decision, Decision::Refuted);
        assert_eq!(steps.straight(None, true).decision, Decision::Supported);

        let switches = curve(|value| 10_000.0 + 1_000.0 * value);
        let less = Steps::of(&switches, Factor::Switches).ok().unwrap();
        assert_eq!(less.add_less_than(&steps, true).decision, Decision::Supported);
        assert_eq!(steps.add_less_than(&less, true).decision, Decision::Refuted);
    }

    #[test]
    fn steps_that_grow_are_no_line() {
        let bent = curve(|value| 10_000.0 + 200.0 * value * value);
        let steps = Steps::of(&bent, Factor::Routers).ok().unwrap();
        let result = steps.straight(None, true);
        assert_eq!(result.decision, Decision::Refuted, "{}", result.effect);
        let flat = curve(|_| 10_000.0);
        let steps = Steps::of(&flat, Factor::Routers).ok().unwrap();
        assert_ne!(steps.adds(None, true).decision, Decision::Supported);
        assert_eq!(steps.straight(None, true).decision, Decision::Inconclusive);
        let words = Curve { levels: vec!["lab".into(); 5], ..curve(|value| value) };
        assert!(Steps::of(&words, Factor::Route).is_err());
    }
}
