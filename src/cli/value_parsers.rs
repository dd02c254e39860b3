//! The words of the flags: each is parsed once, at the door.

use std::time::Duration;

use clap::builder::{PossibleValue, TypedValueParser};

use super::own_engines;
use mechanisms::Variant;
use model::capacity::{self, TailBound};
use model::catalogue;
use model::company::{Company, QUIET};
use model::counts::Family;
use model::launch::MOST_SAMPLES;
use model::load::{self, Service};
use model::placement::Placement;
use model::probe::{Probe, Scope};
use model::request::MOST_LAUNCHES;
use model::size;
use model::workload::{Arrivals, Workload};

/// Largest seed: JSON readers keep integers below 2^53 exactly.
const LARGEST_SEED: u64 = (1 << 53) - 1;

/// Most CPUs whose pairs are measured in one run: 8,128 of them.
const MOST_CPUS: usize = 128;

#[derive(Clone)]
pub struct Probes(pub Vec<Probe>);

#[derive(Clone)]
pub struct Sizes(pub Vec<u64>);

#[derive(Clone)]
pub struct Rates(pub Vec<u64>);

#[derive(Clone)]
pub struct Level(pub Option<Company>);

#[derive(Clone)]
pub struct Depths(pub Vec<u32>);

#[derive(Clone)]
pub struct Placements(pub Vec<Placement>);

/// Rates of an open loop.
pub fn rates(text: &str) -> Result<Rates, String> {
    load::rates(text).map(Rates)
}

/// How many messages may be under way.
pub fn depths(text: &str) -> Result<Depths, String> {
    load::depths(text).map(Depths)
}

/// A variant in the one way it is written. Where plug-ins are given, what is none yet may be one of them: it is looked at again
/// once they are known.
pub fn variant(text: &str) -> Result<String, String> {
    let brings = |word: std::ffi::OsString| {
        let word = word.to_string_lossy();
        word.starts_with("--plugin") || word.starts_with("--engine")
    };
    match Variant::parse(text) {
        Err(_) if std::env::args_os().any(brings) => Ok(text.to_string()),
        Err(_) if own_engines::named(catalogue::name(text))?.is_some() => Ok(text.to_string()),
        parsed => parsed.map(|variant| variant.to_string()),
    }
}

/// What `run` is asked to do: a workload, or to find the largest rate of one within a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    Workload(Workload),
    Capacity,
}

impl Task {
    /// The workload whose launches are made.
    pub fn workload(self) -> Workload {
        match self {
            Task::Workload(workload) => workload,
            Task::Capacity => Workload::Rate,
        }
    }
}

pub fn task(text: &str) -> Result<Task, String> {
    if text == capacity::NAME {
        Ok(Task::Capacity)
    } else {
        among(text, &task_names()).map(Task::Workload)
    }
}

/// A workload of those that launches are made of.
pub fn workload(text: &str) -> Result<Workload, String> {
    among(text, &Workload::ALL.map(|workload| workload.name().to_string()))
}

/// The workload called so; where there is none, `names` are what might have been meant.
fn among(text: &str, names: &[String]) -> Result<Workload, String> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Workload::ALL
        .into_iter()
        .find(|workload| workload.name() == text)
        .ok_or_else(|| model::nearest::unknown("workload", text, &names))
}

/// What can be done, each with what it is, and what is done where nothing is named.
pub fn tasks(default: &str) -> String {
    let named = |name: &str, summary: &str| match summary {
        "" => name.to_string(),
        summary => format!("{name} ({summary})"),
    };
    let workloads =
        Workload::ALL.into_iter().map(|workload| named(workload.name(), workload.traits().summary));
    let all: Vec<String> = workloads.chain([named(capacity::NAME, capacity::SUMMARY)]).collect();
    format!("What is done: {} [default: {default}]", all.join(", "))
}

pub fn task_names() -> Vec<String> {
    let workloads = Workload::ALL.iter().map(|workload| workload.name());
    workloads.chain([capacity::NAME]).map(String::from).collect()
}

/// A percentile of the response time, and what it may be at most.
pub fn bound(text: &str) -> Result<TailBound, String> {
    text.parse()
}

pub fn placement_names() -> Vec<String> {
    let pinned = Placement::PINNED.iter().map(ToString::to_string);
    ["free".to_string(), "all".to_string()].into_iter().chain(pinned).collect()
}

pub fn sizes(text: &str) -> Result<Sizes, String> {
    size::parse_list(text, size::message).map(Sizes)
}

/// Every pair of CPUs, each once: of those that this process may use (`all`), or of a list with a range; None
/// of other placements.
fn pairs(text: &str) -> Option<Result<Placements, String>> {
    let number = |text: &str| text.trim().parse::<u32>().is_ok();
    let is_range = |text: &str| text.split_once('-').is_some_and(|(a, b)| number(a) && number(b));
    let cpus = if text == "all" {
        let allowed = sys::affinity::Affinity::here();
        allowed.map(|set| set.cpus()).map_err(|error| format!("sched_getaffinity: {error}"))
    } else if text.split(',').any(is_range) {
        machine::parse_cpu_list(text).map_err(|error| error.to_string())
    } else {
        return None;
    };
    Some(cpus.and_then(|cpus: Vec<u32>| {
        let above = |first: &u32| {
            let first = *first;
            cpus.iter()
                .filter(move |cpu| **cpu > first)
                .map(move |cpu| Placement::Cpus(first, *cpu))
        };
        match cpus.len() {
            0 | 1 => Err(format!(
                "`{text}`: a pair needs two CPUs, and only one is available: use same-cpu"
            )),
            2..=MOST_CPUS => Ok(Placements(cpus.iter().flat_map(above).collect())),
            many => {
                Err(format!("`{text}`: pairs of {many} CPUs: name {MOST_CPUS} at most, as in 0-15"))
            }
        }
    }))
}

/// A list of names, one pair of CPUs (whatever holds a number is meant as a pair), or every pair of some.
pub fn placements(text: &str) -> Result<Placements, String> {
    if let Some(pairs) = pairs(text) {
        return pairs;
    }
    let is_cpu = |part: &str| part.trim().parse::<i64>().is_ok();
    if !text.split(',').any(is_cpu) {
        return text.split(',').map(Placement::parse).collect::<Result<_, _>>().map(Placements);
    }
    let pair = Placement::parse(text).map_err(|_| {
        format!("`{text}`: a pair is two CPUs, INITIATOR,RESPONDER, as in 0,1, or 0,free")
    });
    Ok(Placements(vec![pair?]))
}

pub fn cpu(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("`{text}` is not a CPU: write its number, as in 0"))
}

/// A seed that JSON can hold.
pub fn seed(text: &str) -> Result<u64, String> {
    let seed: Option<u64> = text.parse().ok();
    seed.filter(|seed| *seed <= LARGEST_SEED)
        .ok_or_else(|| format!("`{text}`: write a whole number from 0 to {LARGEST_SEED}"))
}

/// Sessions of a run: one alone has nothing that differs between them.
pub fn sessions(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(count @ 2..=100) => Ok(count),
        _ => Err(format!("`{text}`: write a number of sessions from 2 to 100")),
    }
}

/// The time from one session to the next.
pub fn every(text: &str) -> Result<Duration, String> {
    match model::duration::parse(text)? {
        time if time <= Duration::from_secs(7 * 24 * 3600) => Ok(time),
        _ => Err(format!("`{text}` is more than a week: write 2m, or 1h")),
    }
}

/// A share, as in `2%`.
pub fn precision(text: &str) -> Result<f64, String> {
    share(text, 0.5, "2%")
}

/// A share of at most `most`, written as the `example` is, or as `0.02`.
pub fn share(text: &str, most: f64, example: &str) -> Result<f64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let share: Option<f64> = number.trim().parse().ok().map(|value: f64| value / scale);
    share.filter(|share| (0.0001..=most).contains(share)).ok_or_else(|| {
        format!("`{text}`: write a share from 0.01% to {}%, as in {example}", 100.0 * most)
    })
}

fn count(text: &str, most: u64) -> Result<u64, String> {
    let count: Option<u64> = text.parse().ok();
    count
        .filter(|count| (1..=most).contains(count))
        .ok_or_else(|| format!("`{text}`: write a whole number from 1 to {most}"))
}

pub fn samples(text: &str) -> Result<u64, String> {
    count(text, MOST_SAMPLES)
}

pub fn launches(text: &str) -> Result<u64, String> {
    count(text, MOST_LAUNCHES)
}

/// Every mechanism, in the variants that it wants shown.
pub fn every_shown_variant() -> Vec<String> {
    Variant::shown().iter().map(ToString::to_string).collect()
}

/// Instrumentation, one or several by one word.
pub fn probes(text: &str) -> Result<Probes, String> {
    Probe::each_of(text).map(Probes)
}

/// The words that [`probes`] begins with.
pub fn probe_names() -> Vec<String> {
    let groups = ["counters", "hardware"].map(String::from);
    let traces = Scope::ALL.map(|scope| scope.name().to_string());
    let families = Family::ALL.map(|family| family.name().to_string());
    groups.into_iter().chain(traces).chain(families).collect()
}

/// How messages arrive.
pub fn arrivals(text: &str) -> Result<Arrivals, String> {
    text.parse()
}

/// What a server works over each request.
pub fn service(text: &str) -> Result<Service, String> {
    text.parse()
}

/// The words that [`arrivals`] begins with.
pub fn arrival_words() -> Vec<String> {
    Arrivals::WORDS.map(String::from).to_vec()
}

/// What runs beside; None is quiet.
pub fn company(text: &str) -> Result<Level, String> {
    Company::level(text).map(Level)
}

/// The words that [`company`] takes.
pub fn company_names() -> Vec<String> {
    [QUIET].into_iter().chain(Company::ALL.map(Company::name)).map(String::from).collect()
}

/// A parser that also tells completions the words to begin with; other words may be right too.
#[derive(Clone)]
pub struct Suggesting<P, W = fn() -> Vec<String>> {
    pub parser: P,
    pub words: W,
}

impl<P, W> TypedValueParser for Suggesting<P, W>
where
    P: TypedValueParser,
    W: Fn() -> Vec<String> + Clone + Send + Sync + 'static,
{
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<P::Value, clap::Error> {
        self.parser.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.words)().into_iter().map(PossibleValue::new)))
    }
}

/// A seed of the system's own choice.
pub fn drawn_seed() -> Result<u64, String> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| format!("getrandom: {error}; give a --seed"))?;
    Ok(u64::from_le_bytes(bytes) & LARGEST_SEED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_checked_at_the_door() {
        assert_eq!(variant("uds").as_deref(), Ok("unix-stream"));
        assert!(variant("pip").unwrap_err().contains("did you mean `pipe`"));
        assert!(task("latencies").unwrap_err().contains("did you mean `latency`"));
        assert_eq!(
            (task("rate"), task("capacity")),
            (Ok(Task::Workload(Workload::Rate)), Ok(Task::Capacity))
        );
        assert!(workload("capacity").is_err());
        assert!(placements("same-cpus").err().unwrap().contains("did you mean `same-cpu`"));
        assert!(sizes("1TiB").is_err() && sizes("2G").is_err() && sizes("0").is_err());
        assert!(precision("2%") == Ok(0.02) && precision("0.02") == Ok(0.02));
        assert!(precision("0").is_err() && precision("abc").is_err());
        assert!(launches("0").is_err() && samples("abc").is_err());
    }

    #[test]
    fn placements_may_be_listed_or_be_a_pair() {
        assert_eq!(placements("0,1").ok().unwrap().0, [Placement::Cpus(0, 1)]);
        assert_eq!(placements("free,1").ok().unwrap().0, [Placement::ResponderCpu(1)]);
        let two = placements("same-cpu,free").ok().unwrap().0;
        assert_eq!(two, [Placement::SameCpu, Placement::Free]);
        let three = placements("0-1,3").ok().unwrap().0;
        assert_eq!(three, [(0, 1), (0, 3), (1, 3)].map(|(a, b)| Placement::Cpus(a, b)));
        assert!(placements("1-1").err().unwrap().contains("two CPUs"));
        assert!(placements("0-200").err().unwrap().contains("128 at most"));
    }
}
