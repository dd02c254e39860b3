//! `ipcmark probe-effect`: what observing costs, measured beside uninstrumented launches.

use clap::Args;

use super::factors::WorkersArg;
use super::own_args::OwnArgs;
use super::plugins::{self, BESIDE};
use super::value_parsers::{
    Placements, Probes, Sizes, drawn_seed, placements, probes, sizes, variant,
};
use super::{Common, Failure, exit_codes, run};
use ::run::launch::Interrupt;
use ::run::plan::AvailableRoutes;
use model::counts::{FAMILIES, Family};
use model::duration::in_ns;
use model::mechanism::Carries;
use model::placement::Placement;
use model::probe::{Probe, Scope};
use model::request::{Aim, Named, Request, Stopping};
use model::workload::Workload;

/// A curve, and not too long a wait.
const SIZES: [u64; 3] = [64, 4 << 10, 64 << 10];

/// Flags of `probe-effect`.
#[derive(Args)]
pub struct ProbeEffectArgs {
    /// Mechanisms, with options [default: pipe unix-stream]
    #[arg(value_name = "MECHANISM", value_parser = variant)]
    mechanisms: Vec<String>,
    /// Workloads: latency, throughput
    #[arg(short, long, value_name = "NAME", default_value = Workload::DEFAULT[0].name(),
          value_parser = observed_workload)]
    workload: Workload,
    /// Message sizes [default: 64,4K,64K]
    #[arg(short, long, value_name = "LIST", value_parser = sizes, allow_hyphen_values = true)]
    size: Option<Sizes>,
    /// Where the workers run: same-cpu, same-llc, free and others [default: same-cpu]
    #[arg(short, long, value_name = "PLACE", value_parser = placements)]
    placement: Vec<Placements>,
    #[command(flatten)]
    workers: WorkersArg,
    /// Instrumentation: counters, hardware, single families (software, calls, l1d and so on),
    /// trace-calls, trace-scheduler, trace; :empty makes a trace do nothing
    /// [default: all of these, each trace also empty]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = level)]
    levels: Vec<Probes>,
    /// How many times each level of the kernel is attached [default: 1,2,4]
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [1, 2, 4],
          value_parser = multiple, hide_default_value = true)]
    times: Vec<u8>,
    #[command(flatten)]
    own: OwnArgs,
}

/// `ipcmark probe-effect …`.
pub fn probe_effect(
    common: &Common,
    args: &ProbeEffectArgs,
    interrupt: &Interrupt,
) -> Result<u8, Failure> {
    let shown = args.own.of_run(&args.mechanisms).with_plugins(&BESIDE, interrupt)?;
    let mut request = args.request().map_err(Failure::usage)?;
    if !shown.mechanisms.is_empty() {
        request.mechanisms.clone_from(&shown.mechanisms);
        request.plugins = plugins::all();
    }
    let refused = |probe: &Probe| Some((*probe, machine::available(*probe).err()?));
    let refused: Vec<_> = request.observe.iter().filter_map(refused).collect();
    if refused.len() == request.observe.len() {
        // Of what is only refused there is nothing to measure.
        let (probe, why) = &refused[0];
        let line = format!("no level that was named is available here: {probe}: {why}");
        return Err(Failure { line, code: exit_codes::UNAVAILABLE });
    }
    let plan = run::planned(&request, &AvailableRoutes::default(), interrupt)?;
    let mut cases = plan
        .groups
        .iter()
        .flat_map(|group| group.cases.iter().chain(group.absent.iter().map(|absent| &absent.case)));
    if cases.all(|case| case.variant.traits().carries == Carries::Nothing) {
        return Err(Failure::usage(format!(
            "{}: it carries no messages that could be observed: name one that does, as pipe",
            request.mechanisms.join(", ")
        )));
    }
    run::measure(common, &shown, Some((request, plan)), interrupt)
}

/// How often over.
fn multiple(text: &str) -> Result<u8, String> {
    match text {
        "1" => Ok(1),
        "2" => Ok(2),
        "4" => Ok(4),
        _ => Err(format!("`{text}`: a multiple is 1, 2 or 4")),
    }
}

/// A level; `none` is always measured and may be said.
fn level(text: &str) -> Result<Probes, String> {
    match text {
        "none" => Ok(Probes(Vec::new())),
        _ => probes(text),
    }
}

/// One of those that are measured by default: the cost of observing is known of no other.
fn observed_workload(text: &str) -> Result<Workload, String> {
    let names = Workload::DEFAULT.map(Workload::name);
    let found = Workload::DEFAULT.into_iter().find(|workload| workload.name() == text);
    found.ok_or_else(|| model::nearest::unknown("workload", text, &names))
}

impl ProbeEffectArgs {
    pub fn request(&self) -> Result<Request, String> {
        self.own.check_here()?;
        let workload = self.workload;
        let sizes = self.size.as_ref().map_or(SIZES.to_vec(), |size| size.0.clone());
        let observe = self.levels();
        if observe.is_empty() {
            return Err("--levels: no level is named: name software, trace, … (see --help)".into());
        }
        let mechanisms = if self.mechanisms.is_empty() {
            BESIDE.map(String::from).to_vec()
        } else {
            self.mechanisms.clone()
        };
        let placements = if self.placement.is_empty() {
            vec![Placement::SameCpu]
        } else {
            self.placement.iter().flat_map(|placements| placements.0.clone()).collect()
        };
        Ok(Request {
            mechanisms,
            workloads: vec![(workload, sizes)],
            placements,
            levels: self.workers.0.levels(),
            observe,
            aim: Aim::ProbeEffect,
            stopping: Stopping {
                launches: Some(self.own.launches()),
                budget_ns: self.own.budget.map(in_ns),
                budget_is_hard: self.own.budget.is_some(),
                ..Stopping::default()
            },
            named: Named {
                mechanisms: !self.mechanisms.is_empty(),
                workloads: false,
                sizes: self.size.is_some(),
                placements: !self.placement.is_empty(),
            },
            seed: self.own.seed.map_or_else(drawn_seed, Ok)?,
            ..Request::default()
        })
    }

    /// Every level at every multiple. Counters of the processor are attached once: four times over, a
    /// family is larger than the hardware.
    fn levels(&self) -> Vec<Probe> {
        let asked: Vec<Probe> = if self.levels.is_empty() {
            default_levels()
        } else {
            self.levels.iter().flat_map(|level| level.0.clone()).collect()
        };
        let mut levels = Vec::new();
        for probe in asked {
            let repeats = probe.times == 1
                && !probe.empty
                && !probe.family().is_some_and(Family::is_hardware);
            // Once is the overhead; more often only shows what once costs.
            let more: &[u8] = if repeats { &self.times } else { &[] };
            for times in [probe.times].iter().chain(more) {
                levels.push(Probe { times: *times, ..probe });
            }
        }
        levels.sort();
        levels.dedup();
        levels
    }
}

fn default_levels() -> Vec<Probe> {
    let counters = FAMILIES.iter().copied().map(Probe::counters);
    let traces = Scope::ALL.into_iter().flat_map(|scope| {
        let trace = Probe::trace(scope);
        [trace, Probe { empty: true, ..trace }]
    });
    counters.chain(traces).collect()
}
