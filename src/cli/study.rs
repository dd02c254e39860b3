//! `ipcmark study`: experiments that were written down before they are run.

use model::words::counted;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};

use super::args::{ResultFiles, RunArgs, TakenArgs};
use super::arms::ArmArgs;
use super::export::ExportFiles;
use super::forecast::Forecast;
use super::peer::PeerArgs;
use super::plugins::{self, PluginArgs};
use super::routes::Routes;
use super::shown::{Shown, shown_or_written};
use super::value_parsers::{drawn_seed, launches, samples, seed};
use super::{Common, Failure, complain, document_output, print, run, signals};
use crate::cli::input;
use ::report::{Block, Document, Row, Section, Table, Text};
use ::run::launch::Interrupt;
use ::run::plan::Plan;
use model::arm::Arm;
use model::duration::{budget, in_ns};
use model::factor::Factor;
use model::request::Request;
use model::route::Route;
use study::builtin;
use study::format;
use study::validated::{ValidatedStudy, validate, wanted};

/// Flags of `study`.
#[derive(Args)]
pub struct StudyArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List the built-in studies
    List,
    /// Print a study's text, to read or to copy
    Show {
        /// Its name, or a file
        #[arg(value_name = "NAME|FILE")]
        name: String,
    },
    /// Run a study: measure, store, and write it up
    Run(Box<StudyRunArgs>),
}

/// Flags of `study run`.
#[derive(Args)]
struct StudyRunArgs {
    /// Its name, or a file
    #[arg(value_name = "NAME|FILE")]
    name: String,
    /// Show what would be measured, and how long it would take; measure nothing
    #[arg(long)]
    dry_run: bool,
    /// Time for measuring, as in 5m [default: the study's]
    #[arg(long, value_name = "TIME", visible_alias = "duration", value_parser = budget,
          allow_negative_numbers = true)]
    budget: Option<Duration>,
    /// Launches of each case [default: the study's]
    #[arg(long, value_name = "N", value_parser = launches, allow_negative_numbers = true)]
    launches: Option<u64>,
    /// Samples of each launch [default: the study's]
    #[arg(long, value_name = "N", value_parser = samples, allow_negative_numbers = true)]
    samples: Option<u64>,
    /// Exit with 3 where a claim is refuted, else with 4 where one is not supported
    #[arg(long)]
    gate: bool,
    /// Measure at once, even while another run measures on this machine
    #[arg(long)]
    no_wait: bool,
    /// Seed of every random choice [default: drawn]
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    seed: Option<u64>,
    #[command(flatten)]
    plugins: PluginArgs,
    #[command(flatten)]
    arms: ArmArgs,
    #[command(flatten)]
    peer: PeerArgs,
    #[command(flatten)]
    to: ResultFiles,
    /// Write the paper as PDF [default: the study's name and .pdf]; needs a Typst compiler
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pdf: Option<Option<PathBuf>>,
    /// text, markdown (the paper, its figures in FILE.figures), typst (its source), json,
    /// ndjson, csv, hgrm, bmf
    #[arg(long, value_name = "FORMAT", default_value = "text", hide_possible_values = true,
          value_parser = shown_or_written())]
    format: Shown,
    #[command(flatten)]
    files: ExportFiles,
}

/// `ipcmark study …`.
pub fn study(common: &Common, args: &StudyArgs) -> Result<u8, Failure> {
    match &args.what {
        What::List => list(common),
        What::Show { name } => {
            print(&text_of(name)?.1)?;
            Ok(0)
        }
        What::Run(args) => run_study(common, args, &signals::take_over()?),
    }
}

fn list(common: &Common) -> Result<u8, Failure> {
    let mut table =
        Table::new("`ipcmark study run 001` runs one of them; a file of your own does as well")
            .words([("name", 0), ("what it asks", 0)]);
    for (name, text) in builtin::all() {
        let declared = validate(text, name, &workload::catalogue(&[])).map_err(Failure::other)?;
        let title = Text::new().strong(&declared.study.title);
        let asked = title.plain(format!(": {}", declared.study.question.trim()));
        table.rows.push(Row::new([Text::new().code(name), asked]));
    }
    let mut document = Document::new("Studies");
    document.sections.push(Section::new("studies", "Built in").with(table));
    common.show(&document)?;
    Ok(0)
}

/// A study's name in errors, and its text: a file where there is one, else a built-in.
fn text_of(name: &str) -> Result<(String, String), Failure> {
    if name.ends_with(".toml") || name.contains('/') {
        let text = input::text(Path::new(name), format::LONGEST_STUDY)
            .map_err(|error| Failure::usage(format!("read {name}: {error}; name a TOML file")))?;
        return Ok((name.to_string(), text));
    }
    let text = builtin::find(name).map_err(Failure::usage)?;
    Ok((name.to_string(), text.to_string()))
}

fn run_study(common: &Common, args: &StudyRunArgs, interrupt: &Interrupt) -> Result<u8, Failure> {
    let (name, text) = text_of(&args.name)?;
    let declared = validate(&text, &name, &workload::catalogue(&[])).map_err(Failure::usage)?;
    let wanted = wanted(&declared.study).map_err(Failure::usage)?;
    args.plugins.of_study(&wanted, interrupt)?;
    let mut request = declared.request.clone();
    request.plugins = plugins::all();
    request.seed = match args.seed {
        Some(seed) => seed,
        None => drawn_seed().map_err(Failure::other)?,
    };
    if let Some(budget) = args.budget {
        request.stopping.budget_ns = Some(in_ns(budget));
        request.stopping.budget_is_hard = true;
    }
    request.stopping.launches = args.launches.or(request.stopping.launches);
    if args.samples.is_some() {
        request.samples = args.samples;
        request.samples_by_workload.clear();
    }
    request.peer = args.peer.asked().map_err(Failure::usage)?;
    if request.peer.is_some() && !request.routes.contains(&Route::Peer) {
        return Err(Failure::usage(format!(
            "--peer: {name} measures nothing to another host: its route has no level peer"
        )));
    }
    let named = declared.levels.get(&Factor::Arm).map_or(&[][..], Vec::as_slice);
    (request.arms, request.arm_cleanup) = args.arms.of_study(named).map_err(Failure::usage)?;
    if args.dry_run && request.arms.is_empty() {
        request.arms =
            named.iter().map(|name| Arm { name: name.clone(), ..Arm::default() }).collect();
    }
    if request.arms.len() != named.len() {
        let each: Vec<String> = named.iter().map(|name| format!("--arm {name}='…'")).collect();
        let (all, each) = (named.join(", "), each.join(" "));
        return Err(Failure::usage(format!(
            "{name} compares the arms {all}: give each its command, {each}"
        )));
    }
    let plan = run::planned(&request, &Routes::foreseen(&request), interrupt)?;
    let forecast = Forecast::of(&request, &plan);
    if args.dry_run {
        return dry(common, &declared, &forecast, &request, &plan);
    }
    if let Some(why) = forecast.too_little(&declared) {
        complain(&why);
    }
    if let Some(why) = forecast.too_shallow(&declared, &request, &plan) {
        complain(&why);
    }
    let named = || PathBuf::from(&name).with_extension("pdf");
    let pdf = args.pdf.as_ref().map(|path| path.clone().unwrap_or_else(named));
    let args = RunArgs {
        to: args.to.clone(),
        pdf,
        format: args.format,
        files: args.files.clone(),
        arms: args.arms.clone(),
        peer: args.peer.clone(),
        taken: TakenArgs { no_wait: args.no_wait, ..TakenArgs::default() },
        gate: args.gate,
        ..RunArgs::default()
    };
    document_output::can_print(args.pdf.as_deref())?;
    run::ask(common, &args, request, interrupt)
}

/// What would be measured, and how long about.
fn dry(
    common: &Common,
    declared: &ValidatedStudy,
    forecast: &Forecast,
    request: &Request,
    plan: &Plan,
) -> Result<u8, Failure> {
    let Forecast { cases, asked, .. } = *forecast;
    let absent: Vec<_> = plan.groups.iter().flat_map(|group| &group.absent).collect();
    let mut section = Section::new("plan", "What would be measured");
    section.blocks.push(Block::paragraph(format!(
        "{} of cases that are compared, {}, {} each: {}, {:.0} s or more{}.",
        counted(plan.groups.iter().filter(|group| !group.cases.is_empty()).count() as u64, "group"),
        counted(cases as u64, "case"),
        counted(asked, "launch"),
        counted(cases as u64 * asked, "launch"),
        forecast.all_s(),
        match forecast.budget_s {
            Some(budget) => format!(" (the budget ends it after {budget:.0} s)"),
            None => String::new(),
        }
    )));
    if let Some(why) = forecast.too_little(declared) {
        section.blocks.push(Block::warning(format!("Too few rounds: {why}.")));
    }
    if let Some(why) = forecast.too_shallow(declared, request, plan) {
        section.blocks.push(Block::warning(format!("Too few samples: {why}.")));
    }
    let mut reasons: Vec<String> = absent.iter().map(|absent| absent.reason.clone()).collect();
    reasons.sort();
    reasons.dedup();
    if !reasons.is_empty() {
        section.blocks.push(Block::paragraph(format!(
            "{} can't be measured here:",
            counted(absent.len() as u64, "case")
        )));
        section.blocks.push(Block::List(reasons.into_iter().map(Text::from).collect()));
    }
    let mut document = Document::new(declared.study.title.clone());
    document.subtitle = declared.study.question.trim().to_string();
    document.sections.push(section);
    common.show(&document)?;
    Ok(0)
}
