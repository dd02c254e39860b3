//! `ipcmark fleet`: the same experiment on every node of an allocation, and between all of them.

use std::path::Path;
use std::time::Duration;

use clap::Args;

use super::args::ResultFiles;
use super::awaited::Awaited;
use super::fleet_report::{self, Judgement};
use super::peer::{Words, words};
use super::progress::StderrProgress;
use super::run::{claim, say_what_is_left};
use super::shown::{Shown, shown_or_written};
use super::value_parsers::{Placements, Sizes, drawn_seed};
use super::value_parsers::{placements, samples, seed, sizes, variant, workload};
use super::{Common, Failure, complain, export, resume, signals};
use ::fleet::{self, network, nodes, plan};
use ::run::campaign::{Conditions, now_utc};
use ::run::launch::Interrupt;
use ::run::launch::peer::simulated;
use analysis::Judged;
use model::distinct::ascending;
use model::duration::in_ns;
use model::placement::Placement;
use model::workload::Workload;
use store::{Concurrent, FleetRequest, Label, NewRun, RunStatus, Store};

/// Tournaments where no number is named: the least of other runs.
const ROUNDS: u64 = stats::LEAST_LAUNCHES as u64;
/// Quiet before timing where nothing else is said: what a pilot elsewhere assumes.
const SETTLE: Duration = Duration::from_millis(70);

/// Flags of `fleet`.
#[derive(Args)]
pub struct FleetArgs {
    /// Mechanisms: those that reach over a network are measured between all pairs, the others on
    /// every node [default: tcp, udp; pipe, unix-stream, shm-ring:wait=futex]
    #[arg(value_name = "MECHANISM", value_parser = variant)]
    mechanisms: Vec<String>,
    /// The nodes, as in a,b,c [default: those of the Slurm allocation that this runs in]
    #[arg(long, value_name = "LIST", value_parser = named, conflicts_with = "simulate")]
    nodes: Option<Nodes>,
    /// The command that starts a program on a node, with {node} for its name: 'ssh {node}', 'ip
    /// netns exec {node}' [default: srun --overlap -N1 -n1 -w {node}]
    #[arg(long, value_name = "COMMAND", value_parser = words)]
    launcher: Option<Words>,
    /// Path of this program on every node [default: as here]
    #[arg(long, value_name = "PATH")]
    program: Option<String>,
    /// The network that is measured, as in 10.1.0.0/16 [default: one that both nodes are in]
    #[arg(long, value_name = "NETWORK", value_parser = is_network)]
    network: Option<String>,
    /// Workloads: latency, throughput, connect [default: latency,throughput]
    #[arg(short, long, value_name = "LIST", value_delimiter = ',', value_parser = workload)]
    workload: Vec<Workload>,
    /// Message sizes [default: 64 for latency, 64K for throughput]
    #[arg(short, long, value_name = "LIST", value_parser = sizes)]
    size: Option<Sizes>,
    /// Where the workers of local mechanisms run: same-cpu, free [default: same-cpu]
    #[arg(short, long, value_name = "PLACE", value_parser = placements)]
    placement: Vec<Placements>,
    /// Tournaments: launches of each pair [default: 12]
    #[arg(long, value_name = "N", value_parser = rounds)]
    rounds: Option<u64>,
    /// Pairs of a turn that are measured at a time: one, all, or both as levels of a factor
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "one",
          value_parser = concurrent)]
    concurrent: Vec<Concurrent>,
    /// Samples per launch of a latency [default: as many as last 35 ms]
    #[arg(long, value_name = "N", value_parser = samples)]
    samples: Option<u64>,
    /// Quiet between set-up and timing [default: 70ms]
    #[arg(long, value_name = "TIME", value_parser = quiet)]
    settle: Option<Duration>,
    /// Don't measure the bounds of the nodes first
    #[arg(long)]
    no_floors: bool,
    /// Plan, store and report a fleet of this many simulated nodes; nothing is measured
    #[arg(long, value_name = "N", value_parser = simulated_nodes)]
    simulate: Option<usize>,
    /// Seed of every random choice [default: drawn]
    #[arg(long, value_name = "N", value_parser = seed)]
    seed: Option<u64>,
    /// A name for this run
    #[arg(long, value_name = "NAME")]
    label: Option<Label>,
    /// Continue an interrupted run, or one that lost nodes: its number, label, or `last`; give the same --launcher
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "last",
          conflicts_with_all = ["mechanisms", "nodes", "workload", "size", "rounds", "simulate"])]
    resume: Option<String>,
    /// text, json, ndjson, csv, hgrm, bmf, markdown (with its figures in FILE.figures), typst
    /// (source)
    #[arg(long, value_name = "FORMAT", default_value = "text", hide_possible_values = true,
          value_parser = shown_or_written())]
    format: Shown,
    #[command(flatten)]
    to: ResultFiles,
}

/// A list of nodes as one argument.
#[derive(Clone)]
struct Nodes(Vec<String>);

fn named(text: &str) -> Result<Nodes, String> {
    nodes::named(text).map(Nodes)
}

fn is_network(text: &str) -> Result<String, String> {
    network(text).map(|_| text.to_string())
}

fn concurrent(text: &str) -> Result<Concurrent, String> {
    match text {
        "1" | "one" => Ok(Concurrent::One),
        "all" => Ok(Concurrent::All),
        _ => Err(format!("`{text}`: write one, all, or one,all")),
    }
}

fn count(text: &str, least: usize, most: usize) -> Result<usize, String> {
    let count: Option<usize> = text.parse().ok();
    count
        .filter(|count| (least..=most).contains(count))
        .ok_or_else(|| format!("`{text}`: write a whole number from {least} to {most}"))
}

fn rounds(text: &str) -> Result<u64, String> {
    count(text, 1, 10_000).map(|count| count as u64)
}

fn simulated_nodes(text: &str) -> Result<usize, String> {
    count(text, 2, nodes::MOST)
}

fn quiet(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .ok()
        .filter(|duration| *duration <= Duration::from_secs(10))
        .ok_or_else(|| format!("`{text}`: write a time of at most 10s, as in 70ms"))
}

impl FleetArgs {
    /// The words that start something on a node.
    fn launcher(&self) -> Result<Vec<String>, Failure> {
        let given = self.launcher.as_ref().map(|launcher| launcher.0.clone());
        given.map_or_else(nodes::by_slurm, Ok).map_err(Failure::usage)
    }

    /// Where this program lies on every node.
    fn program(&self) -> Result<String, String> {
        self.program.clone().map_or_else(super::peer::own_program, Ok)
    }

    pub fn asked(&self) -> Result<FleetRequest, String> {
        let nodes = match (self.simulate, &self.nodes) {
            (Some(many), _) => (0..many).map(|nth| simulated::name(nth, many)).collect(),
            (None, Some(Nodes(named))) => named.clone(),
            (None, None) => nodes::allocated()?,
        };
        let network = |text: &String| {
            mechanisms::Variant::parse(text)
                .is_ok_and(|variant| variant.entry.reaches_over_network())
        };
        let given = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<String>>();
        let (between, local) = match (self.mechanisms.is_empty(), self.simulate.is_some()) {
            (true, true) => (given(&["tcp"]), Vec::new()),
            (true, false) => {
                (given(&["tcp", "udp"]), given(&["pipe", "unix-stream", "shm-ring:wait=futex"]))
            }
            (false, _) => self.mechanisms.iter().cloned().partition(network),
        };
        let workloads = match (self.workload.is_empty(), self.simulate.is_some()) {
            (true, true) => vec![Workload::Latency],
            (true, false) => Workload::DEFAULT.to_vec(),
            (false, _) => self.workload.clone(),
        };
        if let Some(paced) = workloads.iter().find(|workload| workload.traits().paced) {
            return Err(format!(
                "-w {}: many nodes have no open loop yet: see `ipcmark run --peer 'ssh HOST'`",
                paced.name()
            ));
        }
        if let Some(crowd) = workloads.iter().find(|workload| workload.traits().many_connections())
        {
            return Err(format!("-w {}: it is on one host: see `ipcmark run`", crowd.name()));
        }
        let of = |workload: Workload| match &self.size {
            Some(Sizes(sizes)) if workload.has_size() => sizes.clone(),
            _ => vec![workload.traits().size],
        };
        let concurrent = ascending(self.concurrent.clone());
        let placements = if self.placement.is_empty() {
            vec![Placement::SameCpu]
        } else {
            self.placement.iter().flat_map(|placements| placements.0.clone()).collect()
        };
        Ok(FleetRequest {
            nodes,
            launcher: Vec::new(),
            program: self.program()?,
            local,
            between,
            workloads: workloads.into_iter().map(|workload| (workload, of(workload))).collect(),
            placements,
            rounds: self.rounds.unwrap_or(if self.simulate.is_some() { 1 } else { ROUNDS }),
            concurrent: match self.simulate {
                // A simulated agent answers the same when asked one at a time.
                Some(_) => vec![Concurrent::All],
                None => concurrent,
            },
            samples: self.samples,
            settle_ns: in_ns(self.settle.unwrap_or(SETTLE)),
            network: self.network.clone(),
            floors: !self.no_floors,
            simulated: self.simulate.is_some(),
            seed: self.seed.map_or_else(drawn_seed, Ok)?,
        })
    }
}

/// Measures on all nodes, or goes on with that, and shows what came of it.
pub fn fleet(common: &Common, args: &FleetArgs, interrupt: &Interrupt) -> Result<u8, Failure> {
    super::exit_codes::can_measure()?;
    let mut awaited = Awaited::beside_store(common);
    awaited.file("--html", args.to.html.as_deref())?;
    awaited.output(args.format, args.to.output.as_deref())?;
    let (mut store, run) = match &args.resume {
        Some(name) => {
            let mut store = Store::reopen(&common.store_path()?)?;
            let run = claim(&mut store, name, |store, id| require_resumable(args, store, id))?;
            store.resume_run(run)?;
            (store, run)
        }
        None => begin(common, args)?,
    };
    if let Some(label) = &args.label {
        store.set_label(run, label)?;
    }
    let stored = store.run(run)?;
    let Some(mut asked) = stored.fleet.as_ref().map(|fleet| fleet.asked.clone()) else {
        return Err(Failure::other(format!("run {run} vanished from the store")));
    };
    if !asked.simulated {
        // Never as the store says; and nodes, whose names become part of the command, as they were read just now:
        // others may write into the store meanwhile.
        nodes::checked(&asked.nodes).map_err(|why| Failure::usage(format!("run {run}: {why}")))?;
        (asked.launcher, asked.program) =
            (args.launcher()?, args.program().map_err(Failure::usage)?);
    }
    let resume = resume::how(run, &resume::fleet_line(run, &asked));
    room_for(asked.nodes.len());
    let progress = &mut StderrProgress::new(common.quiet);
    let with = Conditions { store: &mut store, interrupt, progress };
    let status = fleet::measure(with, stored, asked)?;
    say_what_is_left(interrupt);
    let found = Judgement::of(&store, run, None)?
        .ok_or_else(|| Failure::other(format!("run {run} has no nodes")))?;
    let shown = match args.format {
        Shown::Exported(format) => {
            export::write(format, args.to.output.as_deref(), &Judged::of(&store, run)?, &store)
        }
        form => fleet_report::show(common, &found, form, args.to.output.as_deref()),
    };
    let page = args.to.html.as_ref().map_or(Ok(()), |html| fleet_report::write_page(html, &found));
    let shown = shown.and(page);
    if let Some(code) = signals::ended(status, interrupt, &shown, &resume) {
        return Ok(code);
    }
    shown?;
    if found.fleet.launches == 0 {
        complain("nothing could be measured; the reasons are listed above");
        return Ok(1);
    }
    Ok(0)
}

/// Stores what is asked, with every case of it.
fn begin(common: &Common, args: &FleetArgs) -> Result<(Store, i64), Failure> {
    // Whatever is wrong with the request is said before anything is stored.
    let mut asked = args.asked().map_err(Failure::usage)?;
    let groups = plan::plan(&asked).map_err(Failure::usage)?;
    // Nothing is started on nodes that are simulated.
    if !asked.simulated {
        asked.launcher = args.launcher()?;
    }
    let mut store = Store::open(&common.store_path()?)?;
    let argv: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let root = Path::new("/");
    let (kind, why_not) = sys::clock::choose(root);
    let request = asked.request();
    let run = store.begin_run(&NewRun {
        started: now_utc(),
        tool: model::tool::name(),
        argv: &argv,
        request: &request,
        host: &machine::host::read(root),
        clock: &sys::clock::measure(kind, why_not).1,
        peer: None,
        labs: &[],
        catalogue: &workload::catalogue(&request.mechanisms),
        fleet: Some(&asked),
    })?;
    plan::store(&mut store, run, &asked, &groups)?;
    Ok((store, run))
}

/// Whether a run can be gone on with: it lacks something, and what starts a program is given again.
fn require_resumable(args: &FleetArgs, store: &Store, id: i64) -> Result<(), Failure> {
    match store.fleet(id)? {
        None => Err(Failure::usage(format!(
            "run {id} was not measured on many nodes: `{}` goes on with it",
            resume::line(&store.run(id)?)
        ))),
        Some((run, fleet))
            if run.status == RunStatus::Complete
                && fleet.nodes.iter().all(|node| node.reason.is_none()) =>
        {
            Err(Failure::usage(format!("run {id} is complete: there is nothing to resume")))
        }
        Some((_, fleet)) if fleet.asked.simulated => Ok(()),
        Some((_, fleet)) => {
            let stored = &fleet.asked;
            // A node's name becomes part of the command.
            nodes::checked(&stored.nodes)
                .map_err(|why| Failure::usage(format!("run {id}: {why}")))?;
            // The program may lie elsewhere by now: then a flag says so.
            let program = || args.program().is_ok_and(|program| program == stored.program);
            let same = args.launcher().is_ok_and(|launcher| launcher == stored.launcher)
                && (args.program.is_some() || program());
            let line = || resume::fleet_line(id, stored);
            if same { Ok(()) } else { Err(resume::refused(id, &line())) }
        }
    }
}

/// Every agent takes three descriptors: allows as many as this process may.
fn room_for(nodes: usize) {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    let wanted = 64 + 4 * nodes as u64;
    if limit.current.is_some_and(|number| number < wanted) {
        limit.current = limit.maximum;
        let _ = setrlimit(Resource::Nofile, limit);
    }
}
