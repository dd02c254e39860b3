//! The flags of `run`, parsed into a request.

use std::collections::BTreeMap;
use std::time::Duration;

use ::report::export::Format;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::capacity;
use super::compare::Against;
use super::export::ExportFiles;
use super::factors::FactorArgs;
use super::open_loop::{self, OpenLoopArgs};
use super::peer::PeerArgs;
use super::value_parsers::{
    Depths, Level, Placements, Probes, Rates, Sizes, Suggesting, Task, company, company_names, cpu,
    depths, drawn_seed, every, every_shown_variant, launches, placement_names, placements,
    precision, probe_names, probes, rates, samples, seed, sessions, sizes, task, task_names, tasks,
    variant,
};
use mechanisms::{Entry, MECHANISMS, Variant};
use model::cycles::{CYCLES, MOST_CYCLES};
use model::distinct::distinct;
use model::duration::{self, budget, in_ns};
use model::factor::Factor;
use model::launch::Warmup;
use model::load::{Load, Server};
use model::placement::Placement;
use model::probe::Probe;
use model::request::{Named, Request, Sessions, Stopping};
use model::route::Route;
use model::size;
use model::workload::Workload;
use store::Label;

pub use super::document_output::Script;

/// Budget where none is given: with judging and writing, about a minute.
const DEFAULT_BUDGET: Duration = Duration::from_secs(50);

/// Time between the beginnings of sessions where none is given.
const DEFAULT_EVERY: Duration = Duration::from_secs(120);

/// Flags of `run`.
#[derive(Args, Clone, Default)]
pub struct RunArgs {
    /// Mechanisms, with options: pipe, tcp:nodelay=off, shm:wait=spin [default: all of this machine]
    #[arg(value_name = "MECHANISM", hide_possible_values = true,
          value_parser = Suggesting { parser: variant, words: every_shown_variant })]
    pub mechanisms: Vec<String>,
    #[arg(short, long, value_name = "LIST", value_delimiter = ',', hide_possible_values = true,
          help = tasks(),
          value_parser = Suggesting { parser: task, words: task_names })]
    pub workload: Vec<Task>,
    /// Message sizes: 64, 4K (or 4KB, 4KiB: 4096 bytes), 1..1M:x4 [default: 64 for latency and rate, 64K for throughput]
    #[arg(short, long, value_name = "LIST", value_parser = sizes, allow_hyphen_values = true)]
    pub size: Option<Sizes>,
    /// Where the workers run: free, same-cpu, smt-sibling, same-llc, cross-llc, cross-node, or a
    /// pair of CPUs as in 0,1 or 0,free (with --peer: here, there); every pair of some CPUs as in
    /// 0-3,8, or of all [default: every pinned placement that exists, latency also free; with
    /// --peer, and for -w capacity: free]
    #[arg(short, long, value_name = "PLACE", hide_possible_values = true,
          value_parser = Suggesting { parser: placements, words: placement_names })]
    pub placement: Vec<Placements>,
    /// More sizes: latency also with 4K, throughput also with 64
    #[arg(long, conflicts_with = "size")]
    pub full: bool,
    /// CPU of the initiator; without --responder-cpu the responder is free
    #[arg(long, value_name = "CPU", conflicts_with = "placement",
          value_parser = cpu, allow_negative_numbers = true)]
    pub initiator_cpu: Option<u32>,
    /// CPU of the responder; without --initiator-cpu the initiator is free
    #[arg(long, value_name = "CPU", conflicts_with = "placement",
          value_parser = cpu, allow_negative_numbers = true)]
    pub responder_cpu: Option<u32>,
    #[command(flatten)]
    pub factors: FactorArgs,
    /// Number of slices in which launches are timed, in turns with those that they are compared with; 0
    /// times launches whole, one after the other
    #[arg(long, value_name = "N", default_value_t = CYCLES,
          value_parser = clap::value_parser!(u64).range(..=MOST_CYCLES), allow_negative_numbers = true)]
    pub cycles: u64,
    /// Check every byte of every message (changes what is timed)
    #[arg(long)]
    pub verify: bool,
    /// Measure spinning mechanisms on one CPU too
    #[arg(long)]
    pub spin_on_one_cpu: bool,
    /// Bytes of one throughput transfer [default: as much as lasts 4 ms, or 200 acknowledgements]
    #[arg(long, value_name = "SIZE", value_parser = size::parse, allow_negative_numbers = true)]
    pub total: Option<u64>,
    /// Messages due per second in -w rate: 500, 10k, 1k..64k:x2 [default: 1k]; the first rates to try in -w
    /// capacity [default: 1k to 1M, four times apart]
    #[arg(long, value_name = "N", value_parser = rates, allow_negative_numbers = true)]
    pub rate: Option<Rates>,
    /// Messages that may be under way at once in -w rate: 8, 1,8,64 [default: 1]
    #[arg(long, value_name = "N", value_parser = depths, allow_negative_numbers = true)]
    pub depth: Option<Depths>,
    #[command(flatten)]
    pub open_loop: OpenLoopArgs,
    /// Time each round trip by itself, even if too short for the clock, so that it has percentiles
    #[arg(long)]
    pub unbatched: bool,
    /// Untimed operations, or time, before each launch's first sample
    #[arg(long, value_name = "N|TIME", value_parser = duration::warmup, allow_negative_numbers = true)]
    pub warmup: Option<duration::Warmup>,
    /// Samples per launch; one of a throughput is a whole transfer [default: latency for 20 ms on
    /// one CPU, 35 ms across, down to half of that where the budget is tight; throughput for 20 ms,
    /// three at least; rate for 200 ms]
    #[arg(long, value_name = "N", value_parser = samples, allow_negative_numbers = true)]
    pub samples: Option<u64>,
    /// Exactly this many launches per case [default: as many as the precision needs and the time allows, 12
    /// at least]
    #[arg(long, value_name = "N", value_parser = launches, allow_negative_numbers = true)]
    pub launches: Option<u64>,
    /// Half-width of the interval to reach, as in 2% [default: 2% on one CPU, else 5%]
    #[arg(long, value_name = "SHARE", value_parser = precision, allow_negative_numbers = true)]
    pub precision: Option<f64>,
    /// Time for measuring, as in 30s or 5m [default: 50s, or more for 12 launches a case]
    #[arg(long, value_name = "TIME", visible_alias = "duration", value_parser = budget,
          allow_negative_numbers = true)]
    pub budget: Option<Duration>,
    /// Continue until this many rounds were undisturbed, for up to three times the budget; `compare
    /// --gate` needs 12
    #[arg(long, value_name = "N", value_parser = launches, conflicts_with = "resume",
          allow_negative_numbers = true)]
    pub unmarked: Option<u64>,
    /// Spread the run over this many sessions, for an interval that covers the variation between them;
    /// each has the same part of the budget, or of --launches
    #[arg(long, value_name = "N", value_parser = sessions, conflicts_with = "resume",
          allow_negative_numbers = true)]
    pub sessions: Option<u64>,
    /// Time from the start of one session to the start of the next [default: 2m]
    #[arg(long, value_name = "TIME", value_parser = every, requires = "sessions",
          allow_negative_numbers = true)]
    pub every: Option<Duration>,
    /// Measure at once, even while another run measures on this machine [default: wait for its end,
    /// two minutes at most]
    #[arg(long)]
    pub no_wait: bool,
    /// The reference of ratios, one of the measured mechanisms [default: pipe; between hosts tcp; else
    /// the first]
    #[arg(long, value_name = "MECHANISM", conflicts_with = "resume")]
    pub reference: Option<String>,
    /// Seed of every random choice [default: drawn]
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Instrumentation, in separate launches: counters, hardware, trace, or single families
    /// (software, calls, l1d and so on)
    #[arg(long, value_name = "LIST", value_delimiter = ',', hide_possible_values = true,
          conflicts_with = "command",
          value_parser = Suggesting { parser: probes, words: probe_names })]
    pub observe: Vec<Probes>,
    /// Also measure next to a load, and how much slower that is: hog (busy threads), memory (a stream), quota (half a CPU)
    #[arg(long, value_name = "LIST", value_delimiter = ',', hide_possible_values = true,
          conflicts_with_all = ["command", "resume"],
          value_parser = Suggesting { parser: company, words: company_names })]
    pub beside: Vec<Level>,
    /// Also the energy per round trip or message, where package counters can be read (mostly as root)
    #[arg(long, conflicts_with_all = ["command", "resume"])]
    pub energy: bool,
    /// A name for this run, by which report, export and compare find it
    #[arg(long, value_name = "NAME")]
    pub label: Option<Label>,
    /// Where client and server run, all in the same rounds: local, peer (the host behind --peer),
    /// lab:routers=2,switches=1,delay=1ms (a laboratory that the run makes; needs root) [default:
    /// local; with --peer: peer]
    #[arg(long, value_name = "LIST", value_parser = routes)]
    pub route: Option<Routes>,
    #[command(flatten)]
    pub peer: PeerArgs,
    #[command(flatten)]
    pub arms: super::arms::ArmArgs,
    #[command(flatten)]
    pub plugins: super::plugins::PluginArgs,
    /// Continue an interrupted run: its number, label, or `last`; if it has another host, give the same --peer
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "last",
          conflicts_with_all = ["mechanisms", "workload", "size", "placement", "launches",
                                "route", "rate", "depth", "connections", "server", "arrivals", "response", "service",
                                "bound", "unbatched"])]
    pub resume: Option<String>,
    /// text, json, ndjson (events as they happen), csv, launches, samples, markdown, hgrm (HdrHistogram),
    /// bmf (Bencher)
    #[arg(long, value_name = "FORMAT", default_value = "text", hide_possible_values = true,
          value_parser = shown_or_exported())]
    pub format: Shown,
    /// Write the page with the figures to this file
    #[arg(long, value_name = "FILE")]
    pub html: Option<std::path::PathBuf>,
    /// Write results to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<std::path::PathBuf>,
    #[command(flatten)]
    pub files: ExportFiles,
    #[command(flatten)]
    pub against: Against,
    /// Print the name that each case has in exports, and measure nothing
    #[arg(long)]
    pub list_names: bool,
    /// Whether the claims of a study set the exit code.
    #[arg(skip)]
    pub gate: bool,
    /// Write it as PDF; needs a Typst compiler
    #[arg(long, value_name = "FILE")]
    pub pdf: Option<std::path::PathBuf>,
    /// Largest number of pages of the PDF, or `all` [default: 4]; a study may need more, and says
    /// so
    #[arg(long, value_name = "N|all", value_parser = super::document_output::pages, requires = "pdf")]
    pub pages: Option<super::document_output::Pages>,
}

/// Levels of route, with commas between them.
#[derive(Clone, Debug)]
pub struct Routes(pub Vec<Route>);

fn routes(text: &str) -> Result<Routes, String> {
    Route::parse_list(text).map(Routes)
}

/// How a run is shown once it is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// Verdicts and tables, for a person.
    #[default]
    Text,
    /// For another program.
    Exported(Format),
    /// As a document with its figures.
    Written(Script),
}

/// Reads how a study's run is shown: as any run, but its Markdown is the whole document.
pub fn shown_or_written() -> impl TypedValueParser<Value = Shown> {
    let names = Format::names().map(|(name, _)| name);
    let names = ["text", "typst"].into_iter().chain(names);
    PossibleValuesParser::new(names).map(|name| match Script::named(&name) {
        Some(script) => Shown::Written(script),
        None => Format::named(&name).map_or(Shown::Text, Shown::Exported),
    })
}

/// Reads how a stored run is written up.
pub fn text_or_written() -> impl TypedValueParser<Value = Shown> {
    PossibleValuesParser::new(["text", "markdown", "typst"])
        .map(|name| Script::named(&name).map_or(Shown::Text, Shown::Written))
}

/// Reads how a run is shown.
pub fn shown_or_exported() -> impl TypedValueParser<Value = Shown> {
    let names = Format::names().map(|(name, _)| name);
    let names = std::iter::once("text").chain(names);
    PossibleValuesParser::new(names)
        .map(|name| Format::named(&name).map_or(Shown::Text, Shown::Exported))
}

/// A format of `export`.
pub fn exported() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::names().map(|(name, _)| name).collect::<Vec<_>>())
        .map(|name| Format::named(&name).unwrap_or(Format::Json))
}

impl RunArgs {
    /// What is measured under `loads` where no mechanism is named.
    pub fn usual_mechanisms(&self, loads: &[Load]) -> Vec<String> {
        let local = self.routes().iter().any(Route::is_local);
        let waits = |load: &Load| load.choice().is_some_and(Server::needs_descriptors);
        let several = loads.iter().any(waits);
        let paced = self.workload.iter().any(|task| task.workload().traits().paced);
        let one = paced && loads.iter().any(|load| load.has_rate() && load.choice().is_none());
        let fits = |entry: &&Entry| local || entry.reaches_over_network();
        let options_of = |entry: &Entry| {
            let served = entry.served.iter().filter(|_| several);
            let paced = entry.paced.iter().filter(|_| one);
            let options = entry.measured.iter().chain(served).chain(paced);
            entry.with_each(&options.copied().collect::<Vec<_>>())
        };
        MECHANISMS.iter().filter(fits).flat_map(options_of).collect()
    }

    /// The request that these flags describe.
    pub fn request(&self) -> Result<Request, String> {
        let workloads = if self.workload.is_empty() {
            Workload::DEFAULT.to_vec()
        } else {
            self.workload.iter().map(|task| task.workload()).collect()
        };
        if self.size.is_some() && !workloads.iter().any(|workload| workload.has_size()) {
            return Err("--size: a set-up sends no message: leave it out".into());
        }
        for factor in [Factor::Writers, Factor::Readers] {
            let given = self.factors.levels().contains_key(factor.name());
            if given && !workloads.iter().any(|workload| workload.traits().shares) {
                let key = factor.name();
                return Err(format!("--{key} needs -w shared: add it, or leave --{key} out"));
            }
        }
        let paced = workloads.iter().any(|workload| workload.traits().paced);
        for (flag, given) in [("--rate", self.rate.is_some()), ("--depth", self.depth.is_some())] {
            if given && !paced {
                return Err(format!(
                    "{flag} needs -w rate or -w capacity: add one, or leave {flag} out"
                ));
            }
        }
        let loads = open_loop::loads(self, &workloads)?;
        let mechanisms = match self.mechanisms.as_slice() {
            [] => self.usual_mechanisms(&loads),
            named => named.to_vec(),
        };
        // It may be a plug-in, which nobody knew when the command line was read.
        let reference = match &self.reference {
            Some(name) => Some(Variant::parse(name)?.to_string()),
            None => None,
        };
        if let Some(name) = &reference
            && !mechanisms.iter().any(|mechanism: &String| {
                mechanism == name || mechanism.split(':').next() == Some(name)
            })
        {
            return Err(format!(
                "--reference {name}: isn't measured in this run: name it among the mechanisms"
            ));
        }
        let bound = capacity::asked(self)?;
        let (arms, arm_cleanup) =
            if self.resume.is_none() { self.arms.asked()? } else { Default::default() };
        let sizes = |workload: Workload| match &self.size {
            Some(Sizes(sizes)) if workload.has_size() => sizes.clone(),
            _ if self.full => workload.traits().sizes.to_vec(),
            _ => vec![workload.traits().size],
        };
        Ok(Request {
            except: self.left_out(&mechanisms),
            mechanisms,
            plugins: super::plugins::all(),
            workloads: workloads.into_iter().map(|workload| (workload, sizes(workload))).collect(),
            placements: self.placements(),
            placements_by_workload: self.placements_by_workload(),
            levels: self.factors.levels(),
            cycles: self.cycles,
            verify: self.verify,
            spin_on_one_cpu: self.spin_on_one_cpu,
            total_bytes: self.total,
            loads,
            arrivals: self.open_loop.arrivals(),
            bound,
            // A bound is far beyond what the clock resolves.
            unbatched: self.unbatched || bound.is_some(),
            warmup: match self.warmup {
                None => Warmup::default(),
                Some(duration::Warmup::Operations(operations)) => {
                    Warmup { operations, ns: u64::MAX }
                }
                Some(duration::Warmup::Time(ns)) => Warmup { operations: u64::MAX, ns },
            },
            samples: self.samples,
            stopping: self.stopping(),
            reference,
            sessions: self.sessions()?,
            observe: self.probes(),
            arms,
            arm_cleanup,
            beside: distinct(self.beside.iter().filter_map(|level| level.0)),
            energy: self.energy,
            routes: self.checked_reaches()?,
            // A run that goes on has one already, or none.
            peer: if self.resume.is_none() { self.peer.asked()? } else { None },
            named: self.named(),
            seed: self.seed.map_or_else(drawn_seed, Ok)?,
            ..Request::default()
        })
    }

    fn routes(&self) -> Vec<Route> {
        match (&self.route, &self.peer.command) {
            (Some(Routes(routes)), _) => routes.clone(),
            (None, Some(_)) => vec![Route::Peer],
            (None, None) => vec![Route::Local],
        }
    }

    /// The same, if there is another host exactly where one is needed.
    fn checked_reaches(&self) -> Result<Vec<Route>, String> {
        let routes = self.routes();
        match (routes.contains(&Route::Peer), &self.peer.command) {
            (true, None) => Err("--route peer: which host? add --peer 'ssh HOST'".into()),
            (false, Some(_)) => Err("--peer: nothing is measured to it: add --route peer".into()),
            _ => Ok(routes),
        }
    }

    /// Each probe once, in the order of the words.
    fn probes(&self) -> Vec<Probe> {
        distinct(self.observe.iter().flat_map(|probes| &probes.0).copied())
    }

    pub(super) fn names_cpus(&self) -> bool {
        self.initiator_cpu.or(self.responder_cpu).is_some()
    }

    fn placements(&self) -> Vec<Placement> {
        if self.names_cpus() {
            return vec![Placement::of_cpus(self.initiator_cpu, self.responder_cpu)];
        }
        if !self.placement.is_empty() {
            return self.placement.iter().flat_map(|placements| placements.0.clone()).collect();
        }
        // CPUs of two hosts have no relation to each other, and services run where the scheduler puts them.
        if self.seeks_capacity() || self.routes().iter().any(|route| !route.is_local()) {
            return vec![Placement::Free];
        }
        Placement::PINNED.to_vec()
    }

    /// Where nothing is asked for: wake-ups one way, which answer neither question of a default run.
    fn left_out(&self, mechanisms: &[String]) -> Vec<BTreeMap<String, Vec<String>>> {
        if !self.mechanisms.is_empty() || !self.workload.is_empty() || self.full {
            return Vec::new();
        }
        let no_bytes = |text: &&String| {
            Variant::parse(text).is_ok_and(|variant| !variant.traits().carries.has_size())
        };
        let signals = mechanisms.iter().filter(no_bytes).cloned().collect();
        let levels = |factor: Factor, levels: Vec<String>| (factor.name().to_string(), levels);
        vec![BTreeMap::from([
            levels(Factor::Workload, vec![Workload::Throughput.name().into()]),
            levels(Factor::Mechanism, signals),
        ])]
    }

    /// Where none are asked for, requests and answers are also measured as the kernel places them.
    fn placements_by_workload(&self) -> BTreeMap<Workload, Vec<Placement>> {
        let asked = self.names_cpus() || !self.placement.is_empty();
        if asked || self.routes().iter().any(|route| !route.is_local()) {
            return BTreeMap::new();
        }
        let all = Placement::PINNED.into_iter().chain([Placement::Free]).collect();
        BTreeMap::from([(Workload::Latency, all)])
    }

    /// Each session needs a launch.
    fn sessions(&self) -> Result<Option<Sessions>, String> {
        let Some(count) = self.sessions else { return Ok(None) };
        match self.launches {
            Some(launches) if launches < count => Err(format!(
                "--sessions {count}: {launches} launches leave some without one: give --launches {count} \
                 or more"
            )),
            _ => Ok(Some(Sessions { count, every_ns: in_ns(self.every.unwrap_or(DEFAULT_EVERY)) })),
        }
    }

    /// Whether the largest rate within a bound is asked for.
    pub fn seeks_capacity(&self) -> bool {
        self.workload.contains(&Task::Capacity)
    }

    fn stopping(&self) -> Stopping {
        let given = self.budget.or((self.launches.is_none()).then_some(DEFAULT_BUDGET));
        Stopping {
            launches: self.launches,
            precision: self.precision,
            budget_ns: given.map(in_ns),
            budget_is_hard: self.budget.is_some(),
            unmarked: self.unmarked,
        }
    }
}

impl RunArgs {
    /// Levels that stand among its arguments: what of these is not measured is told, and no success.
    pub(super) fn named(&self) -> Named {
        Named {
            mechanisms: !self.mechanisms.is_empty(),
            workloads: !self.workload.is_empty(),
            sizes: self.size.is_some(),
            placements: self.names_cpus() || !self.placement.is_empty(),
        }
    }
}
