//! What is asked of a run: factors and levels, and when a group of cases has been measured enough.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arm::Arm;
use crate::capacity::TailBound;
use crate::choice::Need;
use crate::company::Company;
use crate::cycles::CYCLES;
use crate::distinct::distinct;
use crate::factor::{FACTORS, Factor};
use crate::launch::Warmup;
use crate::load::Load;
use crate::peer::PeerRequest;
use crate::placement::Placement;
use crate::plugin::Plugin;
use crate::probe::Probe;
use crate::route::Route;
use crate::total::Total;
use crate::workload::{Arrivals, Workload};

/// An experiment as it was asked for. Stored with the run.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Request {
    /// Variants, as text.
    pub mechanisms: Vec<String>,
    /// The plug-ins among them, as they were found.
    #[serde(default)]
    pub plugins: Vec<Plugin>,
    /// Workloads, and the message sizes of each, in bytes; of a connect, the one that mechanisms
    /// are opened for.
    pub workloads: Vec<(Workload, Vec<u64>)>,
    /// Placements.
    pub placements: Vec<Placement>,
    /// Those of single workloads, instead of the ones above.
    pub placements_by_workload: BTreeMap<Workload, Vec<Placement>>,
    /// Levels of the factors that any workload and any mechanism takes ([`crate::factor::Plain`]), by their keys; the
    /// usual one of a factor that isn't here.
    pub levels: BTreeMap<String, Vec<String>>,
    /// In how many cycles launches are timed that take turns; 0 times each whole, one after the other.
    pub cycles: u64,
    /// Check every message.
    pub verify: bool,
    /// Measure spinning mechanisms on one CPU too.
    pub spin_on_one_cpu: bool,
    /// Bytes of one throughput transfer; None lets a pilot choose, unless there are `totals`.
    pub total_bytes: Option<u64>,
    /// What one throughput transfer carries, where that is varied; else empty.
    pub totals: Vec<Total>,
    /// What open loops carry, and over how many connections closed ones go, each level by itself.
    pub loads: Vec<Load>,
    /// What a percentile of their response times may be at most: then the largest load that keeps it is sought, and all
    /// loads that differ in their rate alone are compared in one group.
    pub bound: Option<TailBound>,
    /// Whether each round trip is timed by itself, however short.
    pub unbatched: bool,
    /// How these messages arrive.
    pub arrivals: Arrivals,
    /// Untimed operations before each launch's first sample.
    pub warmup: Warmup,
    /// Samples per launch; None lets a pilot choose.
    pub samples: Option<u64>,
    /// The same of single workloads, before the one above.
    pub samples_by_workload: BTreeMap<Workload, u64>,
    /// Instrumentation in launches of their own, beside those of every case that are results.
    pub observe: Vec<Probe>,
    /// Levels, by the name of their factor, to which observing keeps; all of a factor that has none.
    pub observe_only: BTreeMap<String, Vec<String>>,
    /// Further cases that are observed, of the same form.
    pub observe_also: Vec<BTreeMap<String, Vec<String>>>,
    /// What runs beside launches of every case, each in launches of its own; the quiet ones are results.
    pub beside: Vec<Company>,
    /// Whether the energy of launches is read, where it can be.
    pub energy: bool,
    /// Cases that are not measured, by levels of the same form.
    pub except: Vec<BTreeMap<String, Vec<String>>>,
    /// What the run is for: how it is written up.
    pub aim: Aim,
    /// The arms under each of which every case is measured, the one that others are held against first; empty where
    /// there are none.
    #[serde(default)]
    pub arms: Vec<Arm>,
    /// The shell command that undoes what the arms' set-ups did.
    pub arm_cleanup: Option<String>,
    /// Where the two halves of a launch are.
    pub routes: Vec<Route>,
    /// Of the mechanisms, those that are measured between hosts; empty means all that can be.
    pub elsewhere: Vec<String>,
    /// The host on which responders are that are not here; None where there is no other one.
    pub peer: Option<PeerRequest>,
    /// How a group ends.
    pub stopping: Stopping,
    /// The variant or mechanism that ratios are to; None takes `pipe`, or `tcp` between hosts.
    pub reference: Option<String>,
    /// Stretches of time over which the run is spread; None measures all at once.
    pub sessions: Option<Sessions>,
    /// The study that asks, if one does.
    pub study: Option<StudyText>,
    /// Flags that stood in a file of defaults, with the file, and not on the command line.
    pub defaults: Vec<String>,
    /// Seed of every random choice; below 2^53, so that JSON keeps it exactly.
    pub seed: u64,
    /// Which of its levels the user named; of the others the usual ones are measured.
    pub named: Named,
}

/// Levels that a user named, by an argument or a flag: what of these is not measured is told, and no success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Named {
    /// Mechanisms, or variants of them.
    pub mechanisms: bool,
    /// Workloads.
    pub workloads: bool,
    /// Message sizes.
    pub sizes: bool,
    /// Placements, each by its name.
    pub placements: bool,
}

/// Nothing yet: processes that take turns on one CPU, bytes untouched, until they are precise.
impl Default for Request {
    fn default() -> Request {
        Request {
            mechanisms: Vec::new(),
            plugins: Vec::new(),
            workloads: Vec::new(),
            placements: vec![Placement::SameCpu],
            placements_by_workload: BTreeMap::new(),
            levels: BTreeMap::new(),
            cycles: CYCLES,
            verify: false,
            spin_on_one_cpu: false,
            total_bytes: None,
            totals: Vec::new(),
            loads: vec![Load::USUAL],
            bound: None,
            unbatched: false,
            arrivals: Arrivals::default(),
            warmup: Warmup::default(),
            samples: None,
            samples_by_workload: BTreeMap::new(),
            observe: Vec::new(),
            observe_only: BTreeMap::new(),
            observe_also: Vec::new(),
            beside: Vec::new(),
            energy: false,
            except: Vec::new(),
            aim: Aim::Comparison,
            arms: Vec::new(),
            arm_cleanup: None,
            routes: vec![Route::Local],
            elsewhere: Vec::new(),
            peer: None,
            stopping: Stopping::default(),
            reference: None,
            sessions: None,
            study: None,
            defaults: Vec::new(),
            seed: 0,
            named: Named::default(),
        }
    }
}

/// What a run is for: how it is written up, from the store too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aim {
    /// Which is best: `ipcmark run`, and studies.
    #[default]
    Comparison,
    /// Where the time goes: `ipcmark explain`; with what each part is, if `teach`.
    Explanation {
        /// Whether each part is explained too.
        teach: bool,
    },
    /// What to use for a need: `ipcmark choose`.
    Choice(Need),
}

impl Aim {
    /// What is needed, where that is asked.
    pub fn need(&self) -> Option<Need> {
        match self {
            Aim::Choice(need) => Some(*need),
            _ => None,
        }
    }
}

/// A study as its author wrote it: kept with the run, which can be written up by it again.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct StudyText {
    /// Its name, or its file.
    pub name: String,
    /// TOML.
    pub text: String,
}

/// Most launches of a case: more are a slip.
pub const MOST_LAUNCHES: u64 = 10_000;

/// A run in several stretches of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Sessions {
    /// How many; at least 2.
    pub count: u64,
    /// From the beginning of one to that of the next, in ns; at once where a session takes longer.
    pub every_ns: u64,
}

impl Sessions {
    /// How long the pauses between them last at most, in ns.
    pub fn pauses_ns(self) -> u64 {
        (self.count - 1) * self.every_ns
    }
}

/// When a group of cases has been measured enough.
#[derive(Default, Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Stopping {
    /// Exactly so many launches a case; None lets time and precision decide, from 12 on.
    pub launches: Option<u64>,
    /// Relative half-width of the interval that is enough, of every case; None asks it of nine of ten: 10 % of
    /// transfers, else 2 % where both workers share a CPU and 5 % elsewhere.
    pub precision: Option<f64>,
    /// Wall time of measuring, in ns; None sets no limit.
    pub budget_ns: Option<u64>,
    /// Whether the budget may end a case with less than 12 launches. The default run doesn't let it.
    pub budget_is_hard: bool,
    /// So many undisturbed rounds; up to three times the time or the launches are spent for them.
    pub unmarked: Option<u64>,
}

impl Stopping {
    /// The half-width asked of a case of `workload`, relative to its median or ratio.
    pub fn asked(&self, workload: Workload, shares_one_cpu: bool) -> f64 {
        let usual = if workload.traits().transfers {
            0.10
        } else if shares_one_cpu {
            0.02
        } else {
            0.05
        };
        self.precision.unwrap_or(usual)
    }

    /// How many of so many cases are to have that precision: nine of ten unless one was asked for.
    pub fn enough_of(&self, cases: usize) -> usize {
        if self.precision.is_some() { cases } else { (9 * cases).div_ceil(10) }
    }
}

/// Why a case isn't measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Absence {
    /// It makes no sense, or the machine lacks the place.
    NotApplicable,
    /// The mechanism can't be had here.
    Unavailable,
}

impl Request {
    /// Whether its first rounds screen. What a user named has all rounds, and so has whatever asks for more than what is
    /// best.
    pub fn screens(&self) -> bool {
        let whole = self.study.is_some() || self.sessions.is_some() || self.bound.is_some();
        let beside = !(self.observe.is_empty() && self.beside.is_empty() && self.arms.is_empty());
        let more = beside || self.aim != Aim::Comparison;
        let fixed = self.stopping.launches.is_some() || self.stopping.unmarked.is_some();
        !(self.named.mechanisms || whole || more || fixed)
    }

    /// The levels of a plain factor.
    pub fn levels_of(&self, factor: Factor) -> Vec<String> {
        let usual = || factor.row().usual.map(str::to_string).into_iter().collect();
        self.levels.get(factor.name()).cloned().unwrap_or_else(usual)
    }

    /// Every combination of levels of the plain factors, the first of each first.
    pub fn combinations(&self) -> Vec<Vec<(Factor, String)>> {
        let mut all = vec![Vec::new()];
        for factor in FACTORS.iter().filter(|row| row.plain.is_some()).map(|row| row.factor) {
            let levels = self.levels_of(factor);
            let longer = |known: Vec<(Factor, String)>| {
                let one = |level: &String| [&known[..], &[(factor, level.clone())]].concat();
                levels.iter().map(one).collect::<Vec<_>>()
            };
            all = all.into_iter().flat_map(longer).collect();
        }
        all
    }

    /// The same, but what is named twice is asked for once: two cases of a run never have the same name.
    pub fn each_level_once(mut self) -> Request {
        fn once<T: PartialEq>(levels: &mut Vec<T>) {
            *levels = distinct(std::mem::take(levels));
        }
        once(&mut self.mechanisms);
        once(&mut self.placements);
        once(&mut self.totals);
        once(&mut self.loads);
        once(&mut self.routes);
        self.placements_by_workload.values_mut().for_each(once);
        self.levels.values_mut().for_each(once);
        self.workloads.iter_mut().for_each(|(_, sizes)| once(sizes));
        once(&mut self.workloads);
        self
    }

    /// Samples of a launch of `workload`; None lets a pilot choose.
    pub fn samples_of(&self, workload: Workload) -> Option<u64> {
        self.samples_by_workload.get(&workload).copied().or(self.samples)
    }

    /// Every load that `workload` is measured at, of what was not asked the one that it has by itself; None where it has
    /// none.
    pub fn loads_of(&self, workload: Workload) -> Vec<Option<Load>> {
        let (traits, usual) = (workload.traits(), Load::of(workload, None));
        let takes = traits.paced || traits.many_connections();
        let own = |load: &&Load| takes && load.has_rate() == traits.paced;
        let told = |load: &Load| Some(Load { server: load.choice(), ..*load });
        let loads: Vec<_> = self.loads.iter().filter(own).map(told).collect();
        if loads.is_empty() { vec![usual] } else { loads }
    }

    /// Every level of what one transfer carries.
    pub fn totals(&self) -> Vec<Total> {
        match (self.totals.is_empty(), self.total_bytes) {
            (false, _) => self.totals.clone(),
            (true, Some(bytes)) => vec![Total::Bytes(bytes)],
            (true, None) => vec![Total::Long],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_of_ten_are_enough_unless_a_precision_was_asked() {
        let usual = Stopping::default();
        assert_eq!([20, 3, 0].map(|number| usual.enough_of(number)), [18, 3, 0]);
        let asked = Stopping { precision: Some(0.01), ..usual };
        assert_eq!(asked.enough_of(20), 20);
        assert_eq!(asked.asked(Workload::Throughput, true), 0.01);
        let usual =
            [(Workload::Latency, true), (Workload::Latency, false), (Workload::Throughput, true)];
        assert_eq!(usual.map(|pair| Stopping::default().asked(pair.0, pair.1)), [0.02, 0.05, 0.10]);
    }
}
