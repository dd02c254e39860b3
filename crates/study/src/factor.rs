//! Factors and their levels: how a study's words choose cases.

use std::collections::BTreeMap;
use std::fmt;

use super::format::Selector;
use super::losses;
use model::alignment::Alignment;
use model::case::Case;
use model::company::Company;
use model::lab::hops;
use model::launch::Workers;
use model::load::{self, Load};
use model::nearest::unknown;
use model::placement::Placement;
use model::probe::Probe;
use model::rate;
use model::route::Route;
use model::size;
use model::total::Total;
use model::workload::{Policy, Workload};

/// The level of [`Factor::Observe`] without instrumentation: that of every result.
pub const UNOBSERVED: &str = "none";

/// What can be varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Factor {
    /// The variant of a mechanism.
    Mechanism,
    /// What is done over it.
    Workload,
    /// Bytes of a message.
    Size,
    /// What one transfer of a throughput carries.
    Total,
    /// Messages due per second in an open loop.
    Rate,
    /// Messages that may be under way at once on one of its connections.
    Depth,
    /// Connections of an open loop, or of a closed one of several.
    Connections,
    /// Bytes of an answer in an open loop.
    Response,
    /// Where the workers run.
    Placement,
    /// Processes or threads.
    Workers,
    /// Where message buffers begin.
    Align,
    /// Where the two halves of a launch are.
    Route,
    /// Routers between the hosts of a laboratory: follows from [`Factor::Route`].
    Routers,
    /// Switches between them: the same.
    Switches,
    /// Instrumentation.
    Observe,
    /// What runs beside a launch.
    Beside,
    /// Share of datagrams lost, of mechanisms that survive it.
    Loss,
    /// How many of them are lost in a row.
    Burst,
}

impl Factor {
    /// Every factor.
    pub const ALL: [Factor; 18] = [
        Factor::Mechanism,
        Factor::Workload,
        Factor::Size,
        Factor::Total,
        Factor::Rate,
        Factor::Depth,
        Factor::Connections,
        Factor::Response,
        Factor::Placement,
        Factor::Workers,
        Factor::Align,
        Factor::Route,
        Factor::Routers,
        Factor::Switches,
        Factor::Observe,
        Factor::Beside,
        Factor::Loss,
        Factor::Burst,
    ];

    /// Those of a load.
    pub const OF_LOAD: [Factor; 4] =
        [Factor::Rate, Factor::Depth, Factor::Connections, Factor::Response];

    /// Whether it is a part of a load.
    pub fn is_of_load(self) -> bool {
        Factor::OF_LOAD.contains(&self)
    }

    /// The level of the load of a case of `workload` that `said` so; none where it has none of this factor.
    pub fn of_load(self, workload: Workload, said: Option<Load>) -> Option<String> {
        let load = Load::of(workload, said)?;
        let open = Some(load).filter(Load::has_rate);
        match self {
            Factor::Rate => open.map(|it| rate::format(it.per_second)),
            Factor::Depth => open.map(|it| it.depth.to_string()),
            Factor::Connections => Some(load.connections.to_string()),
            Factor::Response => open?.response.map(size::format),
            _ => None,
        }
    }

    /// A level as a number, where it is one: bytes, messages a second, how many there are.
    pub fn number(self, level: &str) -> Option<f64> {
        match self {
            Factor::Size | Factor::Response => size::parse(level).ok().map(|bytes| bytes as f64),
            Factor::Rate => rate::parse(level).ok().map(|rate| rate as f64),
            _ => level.parse().ok(),
        }
    }

    /// Whether its levels follow from another factor's: it chooses cases, and varies nothing.
    pub fn follows(self) -> bool {
        matches!(self, Factor::Routers | Factor::Switches)
    }

    /// Whether it tells where client and server run.
    pub fn is_of_reach(self) -> bool {
        self == Factor::Route || self.follows()
    }

    /// The level of `route`; none where it has none of this factor.
    pub fn of_reach(self, route: &Route) -> Option<String> {
        let chain = route.chain();
        match self {
            Factor::Route => Some(route.to_string()),
            Factor::Routers => chain.map(|it| it.routers.to_string()),
            Factor::Switches => chain.map(|it| it.switches.to_string()),
            _ => None,
        }
    }

    /// Its key in a study.
    pub fn name(self) -> &'static str {
        match self {
            Factor::Mechanism => "mechanism",
            Factor::Workload => "workload",
            Factor::Size => "size",
            Factor::Total => "total",
            Factor::Rate => "rate",
            Factor::Depth => "depth",
            Factor::Connections => "connections",
            Factor::Response => "response",
            Factor::Placement => "placement",
            Factor::Workers => "workers",
            Factor::Align => "align",
            Factor::Route => "route",
            Factor::Routers => "routers",
            Factor::Switches => "switches",
            Factor::Observe => "observe",
            Factor::Beside => "beside",
            Factor::Loss => "loss",
            Factor::Burst => "burst",
        }
    }

    /// The factor called `name`.
    ///
    /// # Errors
    /// The nearest right name.
    pub fn parse(name: &str) -> Result<Factor, String> {
        let names = Factor::ALL.map(Factor::name);
        Factor::ALL
            .into_iter()
            .find(|factor| factor.name() == name)
            .ok_or_else(|| unknown("factor", name, &names))
    }

    /// The level of `case`; none of a size or total that means nothing to it.
    pub fn of(self, case: &Case) -> Option<String> {
        match self {
            Factor::Mechanism => Some(losses::without(&case.variant)),
            Factor::Workload => Some(case.workload.name().to_string()),
            Factor::Size => case.message_bytes.map(size::format),
            Factor::Total => case.total.map(|it| it.to_string()),
            Factor::Rate | Factor::Depth | Factor::Connections | Factor::Response => {
                self.of_load(case.workload, case.load)
            }
            Factor::Placement => Some(case.placement.to_string()),
            Factor::Workers => Some(case.workers.name().to_string()),
            Factor::Align => case.message_bytes.map(|_| case.align.to_string()),
            Factor::Route | Factor::Routers | Factor::Switches => self.of_reach(&case.route),
            Factor::Observe => Some(observed(case.observe)),
            Factor::Beside => Some(Company::word(case.beside).to_string()),
            Factor::Loss => Some(losses::loss(&case.variant)),
            Factor::Burst => losses::burst(&case.variant),
        }
    }

    /// A level in the one way it is written everywhere: `64K` for `65536`. What a catalogue has to say of
    /// mechanisms and their losses was said where the study was read.
    ///
    /// # Errors
    /// What is wrong with it, and the nearest right word.
    pub fn level(self, word: &str) -> Result<String, String> {
        match self {
            Factor::Mechanism => {
                if losses::are_in(word) {
                    return Err(format!("`{word}`: loss and burst are factors: fix or vary them"));
                }
                Ok(word.to_string())
            }
            Factor::Loss | Factor::Burst => Ok(word.to_string()),
            Factor::Workload => workload(word).map(|it| it.name().to_string()),
            Factor::Size => size::message(word).map(size::format),
            Factor::Total => Total::parse(word).map(|it| it.to_string()),
            Factor::Rate => rate::parse(word).map(rate::format),
            Factor::Depth => load::depth(word).map(|it| it.to_string()),
            Factor::Connections => load::connections(word).map(|it| it.to_string()),
            Factor::Response => size::message(word).map(size::format),
            Factor::Placement => Placement::parse(word).map(|it| it.to_string()),
            Factor::Workers => workers(word).map(|it| it.name().to_string()),
            Factor::Align => Alignment::parse(word).map(|it| it.to_string()),
            Factor::Route => Route::parse(word).map(|it| it.to_string()),
            Factor::Routers | Factor::Switches => hops(word).map(|it| it.to_string()),
            Factor::Beside => Company::level(word).map(|it| Company::word(it).to_string()),
            Factor::Observe if word == UNOBSERVED => Ok(word.to_string()),
            Factor::Observe => word.parse::<Probe>().map(|it| it.to_string()),
        }
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Levels that choose cases; a factor that isn't named may have any level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen(BTreeMap<Factor, String>);

impl Chosen {
    /// Whether a case is chosen whose levels `level` gives; none of a factor that means nothing to
    /// it, of which it stands for every level.
    pub fn takes(&self, level: impl Fn(Factor) -> Option<String>) -> bool {
        self.0.iter().all(|(factor, wanted)| level(*factor).is_none_or(|it| it == *wanted))
    }

    /// The level asked of a factor.
    pub fn level(&self, factor: Factor) -> Option<&str> {
        self.0.get(&factor).map(String::as_str)
    }

    /// As this, with one more level.
    pub fn with(&self, factor: Factor, level: &str) -> Chosen {
        let mut levels = self.0.clone();
        levels.insert(factor, level.to_string());
        Chosen(levels)
    }

    /// Whether the two don't differ in a factor that both name.
    pub fn agrees_with(&self, other: &Chosen) -> bool {
        self.0.iter().all(|(factor, it)| other.level(*factor).is_none_or(|level| level == it))
    }

    /// The levels that `other` doesn't share: what distinguishes the two; all of them, if nothing does.
    pub fn apart_from(&self, other: &Chosen) -> Chosen {
        let differs = |(factor, level): &(&Factor, &String)| other.0.get(factor) != Some(*level);
        let own = self.0.iter().filter(differs).map(|(factor, it)| (*factor, it.clone()));
        let own = Chosen(own.collect());
        if own.0.is_empty() { self.clone() } else { own }
    }

    /// Levels written as plain words, as published figures are.
    ///
    /// # Errors
    /// The factor or level that isn't one.
    pub fn of_words(words: &BTreeMap<String, String>) -> Result<Chosen, String> {
        let level = |(name, word): (&String, &String)| {
            let factor = Factor::parse(name)?;
            Ok((factor, factor.level(word)?))
        };
        words.iter().map(level).collect::<Result<_, String>>().map(Chosen)
    }
}

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let levels: Vec<&str> = self.0.values().map(String::as_str).collect();
        f.write_str(&levels.join(", "))
    }
}

/// Normalises the selector of a claim, table or figure that has been checked.
pub fn chosen(selector: &Selector) -> Chosen {
    let level = |(name, word): (&String, &toml::Spanned<String>)| {
        let factor = Factor::parse(name).ok()?;
        Some((factor, factor.level(word.get_ref()).ok()?))
    };
    Chosen(selector.iter().filter_map(level).collect())
}

/// The level of [`Factor::Observe`] of a case that `probe` observes, or nothing.
pub fn observed(probe: Option<Probe>) -> String {
    probe.map_or_else(|| UNOBSERVED.to_string(), |probe| probe.to_string())
}

/// The workload called `word`.
///
/// # Errors
/// The nearest right name.
pub fn workload(word: &str) -> Result<Workload, String> {
    let names: Vec<&str> = Workload::ALL.iter().map(|it| it.name()).collect();
    let found = Workload::ALL.into_iter().find(|it| it.name() == word);
    found.ok_or_else(|| unknown("workload", word, &names))
}

/// The kind of workers called `word`.
///
/// # Errors
/// The nearest right name.
pub fn workers(word: &str) -> Result<Workers, String> {
    match word {
        "process" => Ok(Workers::Process),
        "thread" => Ok(Workers::Thread),
        _ => Err(unknown("kind of workers", word, &["process", "thread"])),
    }
}

/// The payload policy called `word`.
///
/// # Errors
/// The nearest right name.
pub fn policy(word: &str) -> Result<Policy, String> {
    let all = [Policy::Untouched, Policy::Written, Policy::Read];
    let names = all.map(Policy::name);
    all.into_iter()
        .find(|it| it.name() == word)
        .ok_or_else(|| unknown("payload policy", word, &names))
}
