//! Capacity: the largest rate of an open loop at which a percentile of the response time stays within a bound. It is
//! a question about the workload `rate`, not another timed loop: here is how it is written, what one launch says of
//! it, and which rates are tried.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::duration;
use crate::launch::Punctuality;
use crate::named::as_text;

/// Its name among the workloads of the command line.
pub const NAME: &str = "capacity";
/// What it is, for `--help`.
pub const SUMMARY: &str = "the largest rate at which --bound holds";

/// A bound is no shorter than the clocks resolve, and no longer than anybody waits for an answer.
const LONGEST_NS: u64 = 60_000_000_000;
/// Percentiles in thousandths of a percent: from the median on, which half the messages decide.
const PERCENTILES: std::ops::RangeInclusive<u32> = 50_000..=99_999;

/// A percentile of the response time, and what it may be at most: `p99:200us`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TailBound {
    /// The percentile, in thousandths of a percent: 99,900 is p99.9.
    thousandths: u32,
    /// What it may be at most, in ns.
    pub ns: u64,
}

impl TailBound {
    /// The percentile as a probability: 0.99.
    pub fn probability(&self) -> f64 {
        f64::from(self.thousandths) / 100_000.0
    }

    /// The percentile alone: `p99.9`.
    pub fn percentile(&self) -> String {
        let written = format!("{:.3}", f64::from(self.thousandths) / 1_000.0);
        format!("p{}", written.trim_end_matches('0').trim_end_matches('.'))
    }

    /// Messages that a launch needs for the percentile.
    pub fn messages_needed(&self) -> u64 {
        stats::samples_needed(self.probability())
    }

    /// Messages of a launch, one of which takes so many ns: as many as it needs and a tenth more, and what fills the
    /// time that makes a tick of the kernel one of many disturbances.
    pub fn messages(&self, each_ns: f64) -> u64 {
        let filling = (LASTING_NS / each_ns.max(1.0)).ceil() as u64;
        filling.max(self.messages_needed() * 11 / 10)
    }

    /// What a launch says of it, by its response times in ticks (in any order), how it kept its schedule, and how much of
    /// a CPU its server used. Where the rate was not offered, a bound that was broken says nothing of the mechanism.
    /// Response times of a launch that fell behind only show how long it was: it breaks every bound.
    pub fn judge(
        &self,
        ticks: &mut [u64],
        ns_per_tick: f64,
        kept: Option<&Punctuality>,
        server_cpus: Option<f64>,
    ) -> BoundedLaunch {
        let messages = ticks.len() as u64;
        if messages == 0 {
            return BoundedLaunch { ns: 0.0, standing: Standing::Short };
        }
        ticks.sort_unstable();
        let ns = stats::mid_quantile(ticks, self.probability()) * ns_per_tick;
        // A late sender only adds to a time that counts from when a message was due: it voids what broke the bound alone.
        let standing = if messages < self.messages_needed() {
            Standing::Short
        } else if ns <= self.ns as f64 && !kept.is_some_and(Punctuality::is_overloaded) {
            Standing::Passes
        } else if kept.is_some_and(|punctuality| punctuality.is_void(messages, server_cpus)) {
            Standing::Void
        } else {
            Standing::Breaks
        };
        BoundedLaunch { ns, standing }
    }
}

/// What a launch at one rate lasts, in ns, unless the percentile takes longer: six of the kernel's ticks (250 Hz).
const LASTING_NS: f64 = 25e6;

/// What one launch says of a bound.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct BoundedLaunch {
    /// The percentile of its response times, in ns.
    pub ns: f64,
    /// What follows.
    pub standing: Standing,
}

/// Whether a launch keeps a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It served what was due, and its percentile is within the bound, however late its sender was.
    Passes,
    /// It fell behind, or its percentile is beyond the bound.
    Breaks,
    /// It broke the bound, and the rate was not offered: its sender may be why.
    Void,
    /// It has too few messages for the percentile.
    Short,
}

/// What most launches at a rate do; None where they say neither.
pub fn majority(launches: impl IntoIterator<Item = Standing>) -> Option<Standing> {
    let all: Vec<Standing> = launches.into_iter().collect();
    let most =
        |of: Standing| 2 * all.iter().filter(|standing| **standing == of).count() > all.len();
    [Standing::Passes, Standing::Breaks, Standing::Void]
        .into_iter()
        .find(|standing| most(*standing))
}

/// Rates that are tried first, a factor of four apart; the last are beyond what a generator sends.
const COARSE: [u64; 6] = [1_000, 4_000, 16_000, 64_000, 250_000, 1_000_000];
/// A launch at the lowest of them may last so many seconds: a p99.9 takes 4,057 messages.
const LONGEST_S: u64 = 2;
/// The largest step between finer rates.
const STEP: f64 = 1.26;

/// The rates that are tried first where none are asked for, the lowest one at which a launch has the messages that
/// `bound` takes within two seconds.
pub fn coarse(bound: &TailBound) -> Vec<u64> {
    let fits = |rate: &u64| bound.messages(f64::INFINITY) <= LONGEST_S * rate;
    COARSE.into_iter().filter(fits).collect()
}

/// A rate that was tried, with what each of its launches said.
pub type Tried = (u64, Vec<Standing>);

/// Of rates that were tried, in ascending order, the finer ones to try next: from the one below the last at which
/// most launches that say something passed (or any did, where most never do), which stands in where that passed by luck, up to the one
/// that follows it. Where none passed it is the lowest alone that broke the bound, whose launches are then enough to be sure.
pub fn finer(tried: &[Tried]) -> Vec<u64> {
    let stands = |at: usize| majority(tried[at].1.iter().copied());
    let says = |standing: &Standing| matches!(standing, Standing::Passes | Standing::Breaks);
    let most =
        |at: &usize| majority(tried[*at].1.iter().copied().filter(says)) == Some(Standing::Passes);
    let any = |at: &usize| tried[*at].1.contains(&Standing::Passes);
    let all = || (0..tried.len()).rev();
    let Some(last) = all().find(most).or_else(|| all().find(any)) else {
        let lowest = tried.iter().find(|pair| pair.1.contains(&Standing::Breaks));
        return lowest.map(|pair| pair.0).into_iter().collect();
    };
    let low = tried[last].0;
    let mut rates: Vec<u64> = Vec::new();
    rates.extend(last.checked_sub(1).filter(any).map(|at| tried[at].0));
    rates.push(low);
    if let Some((high, _)) = tried.get(last + 1) {
        rates.extend(between(low, *high));
        // Where the generator ends nothing is learnt of the mechanism again.
        rates.extend((stands(last + 1) != Some(Standing::Void)).then_some(*high));
    }
    rates
}

/// Launches after which a rate above one that broke the bound in all of them is tried no more.
const FEW_LAUNCHES: u64 = 3;
/// Launches that make sure of a rate that broke the bound in all of them, with an error of 1.6 %.
pub const SURE_LAUNCHES: u64 = 6;
/// The rounds after which it is worth while to ask what is [`hopeless`]: some launches may say nothing.
pub const LOOKS: [u64; 3] = [FEW_LAUNCHES, SURE_LAUNCHES, 2 * SURE_LAUNCHES];

/// Of rates that were tried, in ascending order and with their launches in the order of rounds, which need no further
/// launches where only the lowest matters: those that broke the bound in the first six launches which say something,
/// those above one that did in the first three, and those that passed in none of the first twelve, offered or not.
pub fn hopeless(tried: &[Tried]) -> Vec<bool> {
    let broke = |at: usize, launches: u64| {
        let says = |standing: &&Standing| matches!(standing, Standing::Passes | Standing::Breaks);
        let first = tried[at].1.iter().filter(says).take(launches as usize);
        let broke = first.take_while(|standing| **standing == Standing::Breaks).count();
        broke as u64 == launches
    };
    let never = |at: usize| {
        let all = &tried[at].1;
        let passes = |standing: &Standing| !matches!(standing, Standing::Breaks | Standing::Void);
        all.len() as u64 >= 2 * SURE_LAUNCHES
            && !all.iter().take(2 * SURE_LAUNCHES as usize).any(passes)
    };
    let hopeless = |at| {
        broke(at, SURE_LAUNCHES)
            || never(at)
            || (0..at).any(|lower| broke(lower, FEW_LAUNCHES) || never(lower))
    };
    (0..tried.len()).map(hopeless).collect()
}

/// Rates between two, in equal steps of at most [`STEP`], in two digits.
fn between(low: u64, high: u64) -> Vec<u64> {
    let whole = (high as f64 / low as f64).ln();
    let steps = (whole / STEP.ln() - 1e-3).ceil().max(1.0) as u32;
    let at =
        |nth: u32| in_two_digits(low as f64 * (whole * f64::from(nth) / f64::from(steps)).exp());
    let mut rates: Vec<u64> =
        (1..steps).map(at).filter(|number| low < *number && *number < high).collect();
    rates.dedup();
    rates
}

fn in_two_digits(rate: f64) -> u64 {
    let unit = 10f64.powf(rate.log10().floor() - 1.0).max(1.0);
    ((rate / unit).round() * unit) as u64
}

/// As it is written.
impl fmt::Display for TailBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.percentile(), duration::format_ns(self.ns))
    }
}

impl FromStr for TailBound {
    type Err = String;

    fn from_str(text: &str) -> Result<TailBound, String> {
        let wrong = || {
            format!(
                "`{text}`: write a percentile from p50 to p99.999 and a time up to 1m, as in p99:200us"
            )
        };
        let (percentile, time) = text.split_once(':').ok_or_else(wrong)?;
        let thousandths = percentile.strip_prefix('p').and_then(thousandths).ok_or_else(wrong)?;
        let ns = humantime::parse_duration(time).ok().map(duration::in_ns);
        let ns = ns.filter(|number| (1..=LONGEST_NS).contains(number)).ok_or_else(wrong)?;
        Ok(TailBound { thousandths, ns })
    }
}

/// `99.9` as 99,900.
fn thousandths(text: &str) -> Option<u32> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !plain(whole) || !plain(part) || part.len() > 3 || whole.len() > 2 {
        return None;
    }
    let thousandths = format!("{whole}{part:0<3}").parse().ok()?;
    PERCENTILES.contains(&thousandths).then_some(thousandths)
}

as_text!(TailBound, str::parse);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read_as_they_are_written() {
        for (text, probability, ns) in [
            ("p99:200us", 0.99, 200_000),
            ("p50:1ms", 0.5, 1_000_000),
            ("p99.9:1500ns", 0.999, 1_500),
            ("p99.999:2s", 0.99999, 2_000_000_000),
            ("p75.25:50us", 0.7525, 50_000),
        ] {
            let bound: TailBound = text.parse().unwrap();
            assert_eq!((bound.probability(), bound.ns), (probability, ns));
            assert_eq!(bound.to_string(), text);
            assert_eq!(serde_json::to_value(bound).unwrap(), text);
        }
        assert_eq!("p99.90:1000us".parse::<TailBound>().unwrap().to_string(), "p99.9:1ms");
    }

    #[test]
    fn what_is_no_bound_is_refused_with_the_way_out() {
        let bad = [
            "",
            "p99",
            "99:1ms",
            "p99:",
            "p99:0s",
            "p99:2m",
            "p49:1ms",
            "p100:1ms",
            "p99.9999:1ms",
            "p:1ms",
            "p9.:1ms",
            "p+9:1ms",
            "p99:1",
            "p99:-1us",
            "200us",
        ];
        for text in bad {
            let error = text.parse::<TailBound>().unwrap_err();
            assert!(error.contains("write a percentile from p50 to p99.999"), "{error}");
        }
    }

    fn kept(share: f64, sender_late: u64) -> Punctuality {
        Punctuality {
            late: 0,
            median_ns: 0.0,
            max_ns: 0.0,
            due_per_sec: 1_000.0,
            served_per_sec: 1_000.0 * share,
            deepest: 1,
            generators: 1,
            sender_late,
            held: None,
            idle: None,
            tolerance_ns: 0.0,
        }
    }

    #[test]
    fn a_launch_passes_by_its_percentile_where_it_kept_its_schedule() {
        let bound: TailBound = "p99:100us".parse().unwrap();
        let standing_of = |slow: usize, kept: Punctuality, server_cpus: f64| {
            // No two take the same time: of ticks that tie the quantile lies between them.
            let time = |nth| if nth < slow { 200_000 } else { 10_000 } + nth as u64;
            let mut ticks: Vec<u64> = (0..1_000).map(time).collect();
            bound.judge(&mut ticks, 1.0, Some(&kept), Some(server_cpus)).standing
        };
        let standing = |slow, kept| standing_of(slow, kept, 0.5);
        assert_eq!(standing(5, kept(1.0, 0)), Standing::Passes);
        assert_eq!(standing(20, kept(1.0, 0)), Standing::Breaks);
        assert_eq!(standing(0, kept(0.98, 0)), Standing::Breaks, "it fell behind");
        assert_eq!(standing(20, kept(0.98, 11)), Standing::Void, "it was not offered the rate");
        assert_eq!(standing(20, kept(1.0, 500)), Standing::Void, "its sender may be why");
        assert_eq!(standing(5, kept(1.0, 500)), Standing::Passes, "lateness only adds to a time");
        assert_eq!(standing(5, kept(0.98, 500)), Standing::Void, "not all that was due was served");
        let idle = |share, idle| Punctuality { idle: Some(idle), ..kept(share, 0) };
        assert_eq!(standing(0, idle(0.98, 0.04)), Standing::Void, "its calls took all of the time");
        assert_eq!(standing(0, idle(0.98, 0.06)), Standing::Breaks, "it waited for answers");
        assert_eq!(standing_of(0, idle(0.98, 0.04), 0.95), Standing::Breaks, "so did the server's");
        assert_eq!(standing(20, idle(1.0, 0.04)), Standing::Breaks, "all were offered");
        assert_eq!(
            standing(5, kept(1.0, 10)),
            Standing::Passes,
            "one in a hundred is on time enough"
        );
        let few = bound.judge(&mut [10_000; 367], 1.0, Some(&kept(1.0, 0)), None);
        assert_eq!((few.standing, few.ns), (Standing::Short, 10_000.0));
        assert_eq!(bound.judge(&mut [], 1.0, None, None).standing, Standing::Short);
    }

    #[test]
    fn a_launch_has_the_messages_of_its_percentile_and_25_milliseconds() {
        let bound: TailBound = "p99:100us".parse().unwrap();
        assert_eq!((bound.messages(1e6), bound.messages(1e4)), (404, 2_500));
        assert_eq!(coarse(&bound), COARSE);
        let deep: TailBound = "p99.9:100us".parse().unwrap();
        assert_eq!(coarse(&deep)[0], 4_000);
        let deepest: TailBound = "p99.999:100us".parse().unwrap();
        assert_eq!(coarse(&deepest), [250_000, 1_000_000]);
    }

    #[test]
    fn finer_rates_are_those_around_the_last_that_passed() {
        use Standing::{Breaks, Passes, Short, Void};
        let tried = |all: &[(u64, Standing)]| -> Vec<Tried> {
            all.iter().map(|(rate, standing)| (*rate, vec![*standing; 3])).collect()
        };
        let between = [20_000, 25_000, 32_000, 40_000, 51_000];
        let around = [&[4_000, 16_000][..], &between, &[64_000]].concat();
        let usual = [
            (1_000, Passes),
            (4_000, Passes),
            (16_000, Passes),
            (64_000, Breaks),
            (250_000, Breaks),
        ];
        assert_eq!(finer(&tried(&usual)), around);
        let idle = [(1_000, Breaks), (4_000, Breaks), (16_000, Passes), (64_000, Breaks)];
        assert_eq!(finer(&tried(&idle)), around[1..], "a low rate that breaks it is no upper end");
        let void = [(4_000, Passes), (16_000, Passes), (64_000, Void)];
        assert_eq!(finer(&tried(&void)), around[..around.len() - 1]);
        assert_eq!(
            finer(&tried(&[(1_000, Passes), (4_000, Passes)])),
            [1_000, 4_000],
            "all passed"
        );
        assert_eq!(finer(&tried(&[(1_000, Breaks), (4_000, Breaks)])), [1_000], "none did");
        assert_eq!(finer(&tried(&[(1_000, Void), (4_000, Breaks)])), [4_000]);
        assert_eq!(finer(&tried(&[(1_000, Void), (4_000, Void)])), [0; 0]);
        assert_eq!(finer(&tried(&[(1_000, Short)])), [0; 0]);
        assert_eq!(finer(&[(1_000, Vec::new())]), [0; 0]);
        assert_eq!(finer(&tried(&[(10, Passes), (11, Breaks)])), [10, 11]);
        // A launch in which the sender was late says nothing against a rate.
        let late = [
            (4_000, vec![Passes; 2]),
            (16_000, vec![Void; 2]),
            (64_000, vec![Passes, Void]),
            (250_000, vec![Breaks; 2]),
        ];
        assert_eq!(finer(&late)[0], 64_000);
        // Most never pass, and some do: the last of these.
        let noisy = [
            (4_000, vec![Breaks, Passes, Breaks]),
            (16_000, vec![Breaks, Passes, Breaks]),
            (64_000, vec![Breaks; 3]),
        ];
        assert_eq!(finer(&noisy), around);
    }

    #[test]
    fn most_launches_decide() {
        use Standing::{Breaks, Passes, Short, Void};
        assert_eq!(majority([Passes, Breaks, Passes]), Some(Passes));
        assert_eq!(majority([Passes, Breaks]), None);
        assert_eq!(majority([Void, Void, Passes]), Some(Void));
        assert_eq!((majority([Short; 3]), majority([])), (None, None));
    }

    #[test]
    fn what_surely_breaks_the_bound_is_tried_no_more_nor_what_is_above_it() {
        use Standing::{Breaks, Passes, Void};
        let of = |launches: [&[Standing]; 3]| {
            let tried: Vec<Tried> =
                launches.iter().zip(1..).map(|(launch, nth)| (nth, launch.to_vec())).collect();
            hopeless(&tried)
        };
        assert_eq!(of([&[Breaks; 2], &[], &[]]), [false, false, false]);
        assert_eq!(of([&[Breaks; 3], &[], &[Passes; 3]]), [false, true, true]);
        assert_eq!(of([&[Passes; 3], &[Breaks; 3], &[Breaks; 3]]), [false, false, true]);
        assert_eq!(of([&[Breaks; 6], &[Breaks; 3], &[]]), [true, true, true]);
        assert_eq!(
            of([&[Passes; 3], &[Void; 12], &[]]),
            [false, true, true],
            "it can't be offered"
        );
        assert_eq!(of([&[Void; 11], &[], &[]]), [false, false, false]);
        let once = [[Void; 6], [Passes, Void, Void, Void, Void, Void]].concat();
        assert_eq!(of([&once, &[], &[]]), [false, false, false]);
        let late = [Breaks, Breaks, Void, Breaks, Breaks, Breaks, Breaks];
        assert_eq!(of([&late[..3], &[], &[]]), [false, false, false]);
        assert_eq!(of([&late, &[], &[]]), [true, true, true]);
        let once = [Breaks, Breaks, Passes, Breaks, Breaks, Breaks, Breaks, Breaks, Breaks];
        assert_eq!(of([&once, &once, &[Breaks; 6]]), [false, false, true]);
    }
}
