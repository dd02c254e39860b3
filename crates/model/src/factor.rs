//! What a case can differ in: [`FACTORS`], one row each. From it come the keys and levels of studies, selectors, flags,
//! keys of files of defaults, names and columns of exports, and what tells two cases of a run apart.

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};

use crate::alignment::Alignment;
use crate::arm;
use crate::case::Case;
use crate::catalogue;
use crate::company::{Company, QUIET};
use crate::lab::hops;
use crate::launch::Workers;
use crate::load::{self, Load};
use crate::memory::Memory;
use crate::nearest::unknown;
use crate::placement::Placement;
use crate::probe::Probe;
use crate::rate;
use crate::route::{Chain, Route};
use crate::size;
use crate::total::Total;
use crate::workload::{Policy, Workload};

/// The level of [`Factor::Observe`] without instrumentation: that of every result.
pub const UNOBSERVED: &str = "none";

/// A factor: its row of [`FACTORS`] says what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Factor {
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
    /// What happens to the bytes of a message.
    Payload,
    /// Where message buffers begin.
    Align,
    /// On which node of the machine memory lies.
    Memory,
    /// What is added to the niceness of workers.
    Nice,
    /// Writers that share a connection.
    Writers,
    /// Readers that share a connection.
    Readers,
    /// Where the two halves of a launch are.
    Route,
    /// Routers between the hosts of a laboratory: follows from [`Factor::Route`].
    Routers,
    /// Switches between them: the same.
    Switches,
    /// The command or the setting under which launches are made.
    Arm,
    /// Instrumentation.
    Observe,
    /// What runs beside a launch.
    Beside,
    /// Share of datagrams lost, of mechanisms that survive it.
    Loss,
    /// How many of them are lost in a row.
    Burst,
}

/// The level of a factor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// The case has none: a wake-up has no size.
    Absent,
    /// It is so, or it isn't.
    Flag(bool),
    /// A number.
    Count(u64),
    /// A word.
    Word(String),
    /// What one transfer carries: a word, or a number of bytes.
    Total(Total),
    /// The CPUs of both workers.
    Cpus([u32; 2]),
    /// Nodes of a fleet.
    Nodes(Vec<String>),
}

impl Serialize for Level {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Level::Absent => to.serialize_none(),
            Level::Flag(is_so) => is_so.serialize(to),
            Level::Count(number) => number.serialize(to),
            Level::Word(word) => word.serialize(to),
            Level::Total(total) => total.serialize(to),
            Level::Cpus(cpus) => cpus.serialize(to),
            Level::Nodes(nodes) => nodes.serialize(to),
        }
    }
}

/// What exports have of a case in a column.
pub type LevelOf = fn(&Case) -> Level;

/// A row of [`FACTORS`].
pub struct Row {
    pub factor: Factor,
    /// Its key in a study, its flag, its key in a file of defaults.
    pub key: &'static str,
    pub summary: &'static str,
    /// The level of cases of which nothing is said; None of mechanisms, of which one must be named, and of what another
    /// factor or the workload says.
    pub usual: Option<&'static str>,
    /// The level of a case; None where it has none.
    of: fn(&Case) -> Option<String>,
    /// A level in the one way that it is written everywhere, or what is wrong with it and the nearest right word.
    written: fn(&str) -> Result<String, String>,
    /// What exports have of it: each column with the level of a case.
    pub columns: &'static [(&'static str, LevelOf)],
    /// Whether it is how a case is done rather than what: `compare` pairs cases of two runs that differ in it, and says so.
    pub loose: bool,
    /// Of a factor that any workload and any mechanism takes: what a run says of it.
    pub plain: Option<Plain>,
}

impl Row {
    /// The level of a case; None where it has none.
    pub fn level(&self, case: &Case) -> Option<String> {
        (self.of)(case)
    }
}

/// The factors in which cases that `compare` pairs may differ.
pub fn loose() -> impl Iterator<Item = &'static Row> {
    FACTORS.iter().filter(|row| row.loose)
}

/// What a run says of a factor that any workload and any mechanism takes. Each combination of levels is measured in
/// groups of its own; where they mean nothing to a mechanism it is measured at the first of them alone.
pub struct Plain {
    /// What its flag says in `--help`.
    pub help: &'static str,
    /// A level's name there.
    pub value_name: &'static str,
    pub levels: &'static [&'static str],
    pub all: Option<&'static str>,
    /// Gives a case a level as it is written.
    pub set: fn(&mut Case<()>, &str),
    /// What it is called beside the other conditions of a case: `, bytes written`; empty where it is usual, or told elsewhere.
    pub words: fn(&Case<()>) -> Cow<'static, str>,
}

/// The load of a case, as far as it is an open loop's.
fn open(case: &Case) -> Option<Load> {
    case.load.filter(Load::has_rate)
}

fn word(word: impl ToString) -> Level {
    Level::Word(word.to_string())
}

fn count(number: Option<impl Into<u64>>) -> Level {
    number.map_or(Level::Absent, |number| Level::Count(number.into()))
}

fn shared(case: &Case) -> bool {
    case.workload == Workload::Shared
}

/// Most writers, and readers, of a connection.
pub const MOST_MEMBERS: u32 = 256;

/// A number of writers, or readers, in the one way.
fn members(word: &str) -> Result<String, String> {
    match word.parse::<u32>() {
        Ok(number @ 1..=MOST_MEMBERS) => Ok(number.to_string()),
        _ => Err(format!("`{word}`: 1 to {MOST_MEMBERS} share a connection")),
    }
}

fn niceness(word: &str) -> Result<u32, String> {
    match word.parse() {
        Ok(nice @ 0..=19) => Ok(nice),
        _ => Err(format!("`{word}`: 0 to 19 are added; --arm less='nice -n -5' takes away")),
    }
}

/// `, 4 writers`; nothing of one.
fn several(workload: Workload, number: u32, what: &str) -> Cow<'static, str> {
    match number {
        _ if workload != Workload::Shared => "".into(),
        1 => "".into(),
        _ => format!(", {number} {what}").into(),
    }
}

fn carried(case: &Case, level: impl ToString) -> Level {
    case.message_bytes.map_or(Level::Absent, |_| word(level))
}

const NOT_PLAIN: Row = Row {
    factor: Factor::Mechanism,
    key: "",
    summary: "",
    usual: None,
    of: |_| None,
    written: |word| Ok(word.to_string()),
    columns: &[],
    loose: false,
    plain: None,
};

/// Every factor, in the order in which exports have them.
pub const FACTORS: [Row; 24] = [
    Row {
        factor: Factor::Mechanism,
        key: "mechanism",
        summary: "The variant of a mechanism.",
        of: |case| Some(catalogue::without_losses(&case.variant)),
        written: |word| {
            if catalogue::has_losses(word) {
                return Err(format!("`{word}`: loss and burst are factors: fix or vary them"));
            }
            Ok(word.to_string())
        },
        columns: &[("variant", |case| word(&case.variant))],
        ..NOT_PLAIN
    },
    Row {
        factor: Factor::Workload,
        key: "workload",
        summary: "What is measured over the mechanism.",
        usual: Some("latency"),
        of: |case| Some(case.workload.name().to_string()),
        written: |word| Workload::parse(word).map(|workload| workload.name().to_string()),
        columns: &[("workload", |case| word(case.workload.name()))],
        ..NOT_PLAIN
    },
    Row {
        factor: Factor::Size,
        key: "size",
        summary: "Bytes of a message.",
        usual: Some("64"),
        of: |case| case.message_bytes.map(size::format),
        written: |word| size::message(word).map(size::format),
        columns: &[("message_bytes", |case| count(case.message_bytes))],
        ..NOT_PLAIN
    },
    Row {
        factor: Factor::Total,
        key: "total",
        summary: "What one transfer carries, in throughput.",
        usual: Some("long"),
        of: |case| case.total.map(|total| total.to_string()),
        written: |word| Total::parse(word).map(|total| total.to_string()),
        columns: &[("total", |case| case.total.map_or(Level::Absent, Level::Total))],
        loose: true,
        ..NOT_PLAIN
    },
    Row {
        factor: Factor::Rate,
        key: "rate",
        summary: "Messages due per second in an open loop.",
        of: |case| open(case).map(|load| rate::format(load.per_second)),
        written: |word| rate::parse(word).map(rate::format),
        columns: &[("asked_per_sec", |case| count(open(case).map(|load| load.per_second)))],
        ..NOT_PLAIN
    },
    Row {
        factor: Factor::Depth,
        key: "depth",
        summary: "Messages that may be under way at once on one of its connections.",
        of: |case| open(case).map(|load| load.depth.to_string()),
        written: |word| load::depth(word).map(|depth| depth.to_string()),
        columns: &[("depth", |case| count(open(case).map(|load| load.depth)))],
        ..NOT_PLAIN
    },
    Row {
        factor: Factor::Connections,
        key: "connections",
        summary: "Connections of an open loop, or of a closed loop that has several.",
        of: |case| case.load.map(|load| load.connections.to_string()),
        written: |word| load::connections(word).map(|connections| connections.to_string()),
        columns: &[
            ("connections", |case| count(case.load.map(|load| load.connections))),
            ("server", |case| {
                let choice = case.load.and_then(|load| load.choice());
                choice.map_or(Level::Absent, |server| word(server.name()))
            }),
        ],
        ..NOT_PLAIN
    },
    Row {
        factor: Factor::Response,
        key: "response",
        summary: "Bytes of an answer in an open loop.",
        of: |case| open(case)?.response.map(size::format),
        written: |word| size::message(word).map(size::format),
        columns: &[
            ("response_bytes", |case| count(open(case).and_then(|load| load.response))),
            ("service", |case| open(case).map_or(Level::Absent, |load| word(load.service))),
        ],
        ..NOT_PLAIN
    },
    Row {
        factor: Factor::Route,
        key: "route",
        summary: "Where the two halves of a launch are.",
        usual: Some("local"),
        of: |case| Some(case.route.to_string()),
        written: |word| Route::parse(word).map(|route| route.to_string()),
        columns: &[("route", |case| word(&case.route))],
        ..NOT_PLAIN
    },
    Row {
        factor: Factor::Routers,
        key: "routers",
        summary: "Routers between the hosts of a laboratory: follows from route.",
        of: |case| case.route.chain().map(|chain: &Chain| chain.routers.to_string()),
        written: |word| hops(word).map(|hops| hops.to_string()),
        ..NOT_PLAIN
    },
    Row {
        factor: Factor::Switches,
        key: "switches",
        summary: "Switches between the hosts of a laboratory: follows from route.",
        of: |case| case.route.chain().map(|chain: &Chain| chain.switches.to_string()),
        written: |word| hops(word).map(|hops| hops.to_string()),
        ..NOT_PLAIN
    },
    Row {
        factor: Factor::Placement,
        key: "placement",
        summary: "Where the workers run.",
        usual: Some("same-cpu"),
        of: |case| Some(case.placement.to_string()),
        written: |word| Placement::parse(word).map(|placement| placement.to_string()),
        columns: &[
            ("placement", |case| word(case.placement)),
            ("cpus", |case| case.place.cpus.map_or(Level::Absent, |(a, b)| Level::Cpus([a, b]))),
        ],
        ..NOT_PLAIN
    },
    Row {
        factor: Factor::Workers,
        key: "workers",
        summary: "Processes or threads.",
        usual: Some("process"),
        of: |case| Some(case.workers.name().to_string()),
        written: |word| Workers::parse(word).map(|workers| workers.name().to_string()),
        columns: &[("workers", |case| word(case.workers.name()))],
        loose: false,
        plain: Some(Plain {
            help: "process, thread, or both",
            value_name: "KIND",
            levels: &["process", "thread"],
            all: Some("both"),
            set: |case, word| case.workers = Workers::parse(word).unwrap_or(case.workers),
            words: |_| "".into(),
        }),
    },
    Row {
        factor: Factor::Payload,
        key: "payload",
        summary: "What happens to the bytes of a message.",
        usual: Some("untouched"),
        of: |case| Some(case.payload.name().to_string()),
        written: |word| Policy::parse(word).map(|policy| policy.name().to_string()),
        columns: &[("payload", |case| word(case.payload.name()))],
        loose: true,
        plain: Some(Plain {
            help: "What happens to the bytes: untouched, written, read, or several of these",
            value_name: "POLICY",
            levels: &["untouched", "written", "read"],
            all: None,
            set: |case, word| case.payload = Policy::parse(word).unwrap_or(case.payload),
            words: |case| match case.payload {
                Policy::Untouched => "".into(),
                Policy::Written => ", bytes written".into(),
                Policy::Read => ", bytes written and read".into(),
            },
        }),
    },
    Row {
        factor: Factor::Align,
        key: "align",
        summary: "Where message buffers begin.",
        usual: Some("malloc"),
        of: |case| case.message_bytes.map(|_| case.align.to_string()),
        written: |word| Alignment::parse(word).map(|align| align.to_string()),
        columns: &[("align", |case| carried(case, case.align))],
        loose: true,
        plain: Some(Plain {
            help: "Where message buffers begin: malloc (16 bytes into a cache line, as large blocks of malloc \
                   do), line, page, or several of these",
            value_name: "WHERE",
            levels: &["malloc", "line", "page"],
            all: None,
            set: |case, word| case.align = Alignment::parse(word).unwrap_or(case.align),
            words: |case| match case.align {
                _ if case.message_bytes.is_none() => "".into(),
                Alignment::Malloc => "".into(),
                Alignment::Line => ", buffers at a line".into(),
                Alignment::Page => ", buffers at a page".into(),
            },
        }),
    },
    Row {
        factor: Factor::Memory,
        key: "memory",
        summary: "The memory node on which memory lies.",
        usual: Some("free"),
        of: |case| Some(case.memory.to_string()),
        written: |word| Memory::parse(word).map(|memory| memory.to_string()),
        columns: &[("memory", |case| word(case.memory))],
        loose: true,
        plain: Some(Plain {
            help: "On which node memory lies: free (the kernel's choice), local (that of the CPU that touches it first), \
                   node:N, or several of these; what lies elsewhere fails",
            value_name: "NODE",
            levels: &Memory::WORDS,
            all: None,
            set: |case, word| case.memory = Memory::parse(word).unwrap_or(case.memory),
            words: |case| match case.memory {
                Memory::Free => "".into(),
                Memory::Local => ", memory local".into(),
                Memory::Node(node) => format!(", memory on node {node}").into(),
            },
        }),
    },
    Row {
        factor: Factor::Nice,
        key: "nice",
        summary: "Added to the niceness of the workers.",
        usual: Some("0"),
        of: |case| Some(case.nice.to_string()),
        written: |word| niceness(word).map(|nice| nice.to_string()),
        columns: &[("nice", |case| count(Some(case.nice)))],
        loose: true,
        plain: Some(Plain {
            help: "Added to the niceness of the workers, as by nice(1): 0 to 19, or several of these",
            value_name: "N",
            levels: &["0", "10", "19"],
            all: None,
            set: |case, word| case.nice = niceness(word).unwrap_or(case.nice),
            words: |case| {
                if case.nice == 0 { "".into() } else { format!(", nice {}", case.nice).into() }
            },
        }),
    },
    Row {
        factor: Factor::Writers,
        key: "writers",
        summary: "Writers that share each connection of `shared`.",
        usual: Some("1"),
        of: |case| shared(case).then(|| case.writers.to_string()),
        written: members,
        columns: &[("writers", |case| count(shared(case).then_some(case.writers)))],
        loose: false,
        plain: Some(Plain {
            help: "Writers that share each connection of -w shared, or several of these numbers",
            value_name: "N",
            levels: &["1", "2", "4", "8"],
            all: None,
            set: |case, word| case.writers = word.parse().unwrap_or(case.writers),
            words: |case| several(case.workload, case.writers, "writers"),
        }),
    },
    Row {
        factor: Factor::Readers,
        key: "readers",
        summary: "Readers that share each connection of `shared`.",
        usual: Some("1"),
        of: |case| shared(case).then(|| case.readers.to_string()),
        written: members,
        columns: &[("readers", |case| count(shared(case).then_some(case.readers)))],
        loose: false,
        plain: Some(Plain {
            help: "Readers that share each connection of -w shared, or several of these numbers",
            value_name: "N",
            levels: &["1", "2", "4", "8"],
            all: None,
            set: |case, word| case.readers = word.parse().unwrap_or(case.readers),
            words: |case| several(case.workload, case.readers, "readers"),
        }),
    },
    Row {
        factor: Factor::Arm,
        key: "arm",
        summary: "The command or the setting under which launches are made: `--arm`.",
        of: |case| case.arm.clone(),
        written: arm::name,
        columns: &[("arm", |case| case.arm.as_ref().map_or(Level::Absent, word))],
        ..NOT_PLAIN
    },
    Row {
        factor: Factor::Observe,
        key: "observe",
        summary: "Instrumentation.",
        usual: Some(UNOBSERVED),
        of: |case| Some(observed(case.observe)),
        written: |word| match word {
            UNOBSERVED => Ok(word.to_string()),
            _ => word.parse::<Probe>().map(|probe| probe.to_string()),
        },
        ..NOT_PLAIN
    },
    Row {
        factor: Factor::Beside,
        key: "beside",
        summary: "What runs beside a launch.",
        usual: Some(QUIET),
        of: |case| Some(Company::word(case.beside).to_string()),
        written: |word| Company::level(word).map(|beside| Company::word(beside).to_string()),
        ..NOT_PLAIN
    },
    Row {
        factor: Factor::Loss,
        key: "loss",
        summary: "Share of datagrams lost, for mechanisms that tolerate losses.",
        usual: Some(catalogue::NO_LOSS),
        of: |case| Some(catalogue::loss(&case.variant)),
        ..NOT_PLAIN
    },
    Row {
        factor: Factor::Burst,
        key: "burst",
        summary: "How many datagrams are lost in a row.",
        usual: Some("1"),
        of: |case| catalogue::burst(&case.variant),
        ..NOT_PLAIN
    },
];

impl Factor {
    pub const ALL: [Factor; FACTORS.len()] = {
        let mut all = [Factor::Mechanism; FACTORS.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = FACTORS[at].factor;
            at += 1;
        }
        all
    };

    pub const OF_LOAD: [Factor; 4] =
        [Factor::Rate, Factor::Depth, Factor::Connections, Factor::Response];

    pub fn row(self) -> &'static Row {
        const { &FACTORS }
            .iter()
            .find(|row| row.factor == self)
            .expect("a factor without a row: see this file's test")
    }

    /// Its key in a study.
    pub fn name(self) -> &'static str {
        self.row().key
    }

    /// The factor called `name`.
    ///
    /// # Errors
    /// The nearest right name.
    pub fn parse(name: &str) -> Result<Factor, String> {
        let found = FACTORS.iter().find(|row| row.key == name).map(|row| row.factor);
        found.ok_or_else(|| unknown("factor", name, &FACTORS.map(|row| row.key)))
    }

    /// The level of `case`; None where this means nothing to it.
    pub fn of(self, case: &Case) -> Option<String> {
        (self.row().of)(case)
    }

    /// A level in the one way it is written everywhere: `64K` for `65536`. What a catalogue has to say of
    /// mechanisms and their losses is said where a study is read.
    ///
    /// # Errors
    /// What is wrong with it, and the nearest right word.
    pub fn level(self, word: &str) -> Result<String, String> {
        (self.row().written)(word)
    }

    /// A level as a number, where it is one: bytes, messages a second, how many there are, how often a probe is attached.
    pub fn number(self, level: &str) -> Option<f64> {
        match self {
            Factor::Size | Factor::Response => size::parse(level).ok().map(|bytes| bytes as f64),
            Factor::Rate => rate::parse(level).ok().map(|rate| rate as f64),
            Factor::Observe if level == UNOBSERVED => Some(0.0),
            Factor::Observe => level.parse::<Probe>().ok().map(|probe| f64::from(probe.times)),
            _ => level.parse().ok(),
        }
    }

    /// Whether it is a part of a load.
    pub fn is_of_load(self) -> bool {
        Factor::OF_LOAD.contains(&self)
    }

    /// Whether its levels follow from another factor's: it chooses cases, and varies nothing.
    pub fn follows(self) -> bool {
        matches!(self, Factor::Routers | Factor::Switches)
    }

    /// Whether it tells where client and server run.
    pub fn is_of_reach(self) -> bool {
        self == Factor::Route || self.follows()
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The level of [`Factor::Observe`] of a case that `probe` observes, or nothing.
pub fn observed(probe: Option<Probe>) -> String {
    probe.map_or_else(|| UNOBSERVED.to_string(), |probe| probe.to_string())
}

/// What the plain factors of a case are called that aren't usual: `, bytes written, buffers at a page`.
pub fn conditions<V>(case: &Case<V>) -> String {
    let case = case.with(|_| ());
    FACTORS.iter().filter_map(|row| Some((row.plain.as_ref()?.words)(&case))).collect()
}

#[cfg(test)]
mod tests;
