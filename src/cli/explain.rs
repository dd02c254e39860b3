//! `ipcmark explain`: where a message's time goes, by traced launches beside unobserved ones.

use std::time::Duration;

use clap::Args;

use super::args::{ResultFiles, RunArgs, TakenArgs};
use super::export::ExportFiles;
use super::factors::WorkersArg;
use super::plugins::{BESIDE, PluginArgs};
use super::shown::{Shown, shown_or_exported};
use super::value_parsers::{
    Placements, Probes, Sizes, Task, launches, placements, probes, sizes, variant,
};
use super::{Common, Failure, exit_codes, run};
use ::run::launch::Interrupt;
use ::run::plan::{Absent, AvailableRoutes};
use model::duration::budget;
use model::mechanism::Carries;
use model::placement::Placement;
use model::probe::{Probe, Scope};
use model::request::Aim;
use model::workload::Workload;

/// Flags of `explain`.
#[derive(Args)]
pub struct ExplainArgs {
    /// Mechanisms, with options; with several, also what their differences consist of
    #[arg(value_name = "MECHANISM", required = true, value_parser = variant)]
    mechanisms: Vec<String>,
    /// Message sizes; three or more separate copying from the rest [default: 1,4K,64K]
    #[arg(short, long, value_name = "LIST", value_parser = sizes, allow_hyphen_values = true)]
    size: Option<Sizes>,
    /// Where the workers run, as for `run` [default: every pinned placement that exists]
    #[arg(short, long, value_name = "PLACE", value_parser = placements)]
    placement: Vec<Placements>,
    #[command(flatten)]
    workers: WorkersArg,
    /// Explain each part, and give a command that would change it
    #[arg(long)]
    teach: bool,
    /// Launches of each case, unobserved and traced [default: 12]
    #[arg(long, value_name = "N", value_parser = launches, allow_negative_numbers = true)]
    launches: Option<u64>,
    /// Time for measuring, as in 30s or 5m [default: as long as the launches take]
    #[arg(long, value_name = "TIME", visible_alias = "duration", value_parser = budget,
          allow_negative_numbers = true)]
    budget: Option<Duration>,
    #[command(flatten)]
    taken: TakenArgs,
    /// text, json, ndjson, csv, markdown and others, as for `run`
    #[arg(long, value_name = "FORMAT", default_value = "text", hide_possible_values = true,
          value_parser = shown_or_exported())]
    format: Shown,
    #[command(flatten)]
    to: ResultFiles,
    #[command(flatten)]
    files: ExportFiles,
    #[command(flatten)]
    plugins: PluginArgs,
    /// Refused, with the reason.
    #[arg(long, value_name = "COMMAND", hide = true)]
    peer: Option<String>,
}

/// `ipcmark explain …`.
pub fn explain(common: &Common, args: &ExplainArgs, interrupt: &Interrupt) -> Result<u8, Failure> {
    let asked = asked(args).map_err(Failure::usage)?.with_plugins(&BESIDE, interrupt)?;
    if let Err(refusal) = machine::available(Probe::trace(Scope::All)) {
        let line = format!("explain needs a trace of the kernel: {refusal}");
        return Err(Failure { line, code: exit_codes::UNAVAILABLE });
    }
    let mut request = asked.request().map_err(Failure::usage)?;
    request.aim = Aim::Explanation { teach: args.teach };
    // Its own workload, usual sizes and placements are nobody's wish.
    request.named.workloads = false;
    request.named.sizes = args.size.is_some();
    request.named.placements = !args.placement.is_empty();
    // A round trip is decomposed one by one, and half of a short launch is enough of them.
    request.stopping.launches = Some(args.launches.unwrap_or(stats::LEAST_LAUNCHES as u64));
    let plan = run::planned(&request, &AvailableRoutes::default(), interrupt)?;
    if plan.groups.iter().flat_map(|group| &group.cases).all(|case| case.observe.is_none()) {
        let absent = plan.groups.iter().flat_map(|group| &group.absent);
        let mut absent =
            absent.filter(|absent| absent.case.variant.traits().carries != Carries::Nothing);
        return Err(match absent.next() {
            Some(Absent { case, reason, .. }) => Failure {
                line: format!("nothing to take apart: {}: {reason}", case.variant),
                code: exit_codes::UNAVAILABLE,
            },
            None => Failure::usage("nothing to take apart: name a mechanism that carries messages"),
        });
    }
    run::measure(common, &asked, Some((request, plan)), interrupt)
}

/// The same as flags of `run`.
pub fn asked(args: &ExplainArgs) -> Result<RunArgs, String> {
    if args.peer.is_some() {
        return Err("--peer: instrumentation sees the workers of one kernel, and half of a round trip can't be told \
                    from a wait: leave it out, or measure with `ipcmark run --peer 'ssh HOST'`"
            .into());
    }
    let default_sizes = || sizes("1,4K,64K");
    let observe: Vec<Probes> =
        ["trace", "trace:times=2"].into_iter().map(probes).collect::<Result<_, _>>()?;
    let pinned = || Placements(Placement::PINNED.to_vec());
    Ok(RunArgs {
        workload: vec![Task::Workload(Workload::Latency)],
        size: Some(args.size.clone().map_or_else(default_sizes, Ok)?),
        placement: if args.placement.is_empty() { vec![pinned()] } else { args.placement.clone() },
        factors: args.workers.0.clone(),
        observe,
        mechanisms: args.mechanisms.clone(),
        budget: args.budget,
        launches: args.launches,
        taken: args.taken.clone(),
        format: args.format,
        to: args.to.clone(),
        files: args.files.clone(),
        plugins: args.plugins.clone(),
        ..RunArgs::default()
    })
}
