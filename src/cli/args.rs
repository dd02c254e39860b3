//! The flags of `run`: what they ask for is in `request.rs`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::compare::Against;
use super::export::ExportFiles;
use super::factors::FactorArgs;
use super::open_loop::OpenLoopArgs;
use super::peer::PeerArgs;
use super::shown::{Shown, shown_or_exported};
use super::value_parsers::{
    Depths, Level, Placements, Probes, Rates, Sizes, Suggesting, Task, company, company_names, cpu,
    depths, every, every_shown_variant, launches, placement_names, placements, precision,
    probe_names, probes, rates, samples, seed, sessions, sizes, task, task_names, tasks, variant,
};
use model::cycles::{CYCLES, MOST_CYCLES};
use model::duration::{self, budget};
use model::route::Route;
use model::size;
use model::workload::Workload;
use store::Label;

/// How a run is taken, by whatever command.
#[derive(Args, Clone, Default)]
pub struct TakenArgs {
    /// Measure at once, even while another run measures on this machine [default: wait for its end,
    /// two minutes at most]
    #[arg(long)]
    pub no_wait: bool,
    /// Seed of every random choice [default: drawn]
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// A name for this run, by which report, export and compare find it
    #[arg(long, value_name = "NAME")]
    pub label: Option<Label>,
}

/// The files of what is found.
#[derive(Args, Clone, Default)]
pub struct ResultFiles {
    /// Write the page with the figures to this file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write results to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Flags of `run`.
#[derive(Args, Clone, Default)]
pub struct RunArgs {
    /// Mechanisms, with options: pipe, tcp:nodelay=off, shm:wait=spin [default: all of this machine]
    #[arg(value_name = "MECHANISM", hide_possible_values = true,
          value_parser = Suggesting { parser: variant, words: every_shown_variant })]
    pub mechanisms: Vec<String>,
    #[arg(short, long, value_name = "LIST", value_delimiter = ',', hide_possible_values = true,
          help = tasks(&Workload::DEFAULT.map(Workload::name).join(",")),
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
    /// Time each launch in this many slices, in turns with the launches that it is compared with; 0 times
    /// each launch whole, one after the other
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
    /// Time each round trip by itself, so that there are percentiles, even if it is too short for the clock
    #[arg(long)]
    pub unbatched: bool,
    /// Untimed operations, or time, before each launch's first sample
    #[arg(long, value_name = "N|TIME", value_parser = duration::warmup, allow_negative_numbers = true)]
    pub warmup: Option<duration::Warmup>,
    /// Samples per launch; a sample of throughput is a whole transfer [default: in latency as many as
    /// last 20 ms on one CPU and 35 ms across CPUs, or half of that where the budget is tight; in
    /// throughput 20 ms, three at least; in rate 200 ms]
    #[arg(long, value_name = "N", value_parser = samples, allow_negative_numbers = true)]
    pub samples: Option<u64>,
    /// This many launches per case, fewer where --budget ends first [default: as many as the precision needs and the time allows, 12
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
    #[command(flatten)]
    pub taken: TakenArgs,
    /// The reference of ratios, one of the measured mechanisms [default: pipe; between hosts tcp; else
    /// the first]
    #[arg(long, value_name = "MECHANISM", conflicts_with = "resume")]
    pub reference: Option<String>,
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
    /// Also measure the energy per round trip or message, where package counters can be read (mostly as root)
    #[arg(long, conflicts_with_all = ["command", "resume"])]
    pub energy: bool,
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
    #[command(flatten)]
    pub to: ResultFiles,
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
    /// Write the document as PDF; needs a Typst compiler
    #[arg(long, value_name = "FILE")]
    pub pdf: Option<PathBuf>,
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
