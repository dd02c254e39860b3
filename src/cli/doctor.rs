//! `ipcmark doctor`: is this machine fit to measure on? Advice, never a change.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::config::Setting;
use super::{Common, Failure, pretty, print};
use ::report::compose::findings;
use ::report::{Block, Document, Section, Text, Verdict, VerdictKind, units};
use machine::doctor::{examine, usual_cpus};
use machine::{Topology, format_cpu_list, parse_cpu_list};
use model::findings::{Finding, Fitness};
use model::host::Host;

/// How long the machine is observed: a hundred ticks for each CPU.
const LOOK: Duration = Duration::from_secs(1);

/// Flags of `doctor`.
#[derive(Args)]
pub struct DoctorArgs {
    /// The CPUs that workers will run on, as in 0-3,8 [default: those that a run would choose]
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// text, or json: one object with every finding
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json"],
          hide_possible_values = true)]
    format: String,
}

#[derive(Serialize)]
struct Answer<'a> {
    schema_version: u32,
    tool: &'a str,
    fitness: Fitness,
    sentence: String,
    cpus: &'a [u32],
    look_ns: u64,
    findings: &'a [Finding],
    /// Flags that files give a default for.
    defaults: &'a [Setting],
}

/// Observes the machine, and prints what was found.
pub fn doctor(common: &Common, args: &DoctorArgs) -> Result<u8, Failure> {
    let root = Path::new("/");
    let host = machine::host::read(root);
    let cpus = match &args.cpus {
        Some(list) => named(root, list)?,
        None => {
            let online = host.cpus_online.clone().unwrap_or_default();
            usual_cpus(root, host.limits.affinity.as_ref().unwrap_or(&online))
        }
    };
    let findings = examine(root, &host, &cpus, LOOK);
    match args.format.as_str() {
        "json" => print(&json(&cpus, &findings, common.config.settings())?)?,
        _ => {
            let mut document = document(&host, &cpus, &findings);
            document.sections.extend(defaults(common.config.settings()));
            common.show(&document)?;
        }
    }
    Ok(0)
}

/// The CPUs of a list; each must be online.
fn named(root: &Path, list: &str) -> Result<Vec<u32>, Failure> {
    let cpus = parse_cpu_list(list).map_err(|error| Failure::usage(format!("--cpus: {error}")))?;
    let Ok(topology) = Topology::read(root) else { return Ok(cpus) };
    match cpus.iter().find(|cpu| topology.cpu(**cpu).is_none()) {
        Some(cpu) => Err(Failure::usage(format!(
            "--cpus {list}: CPU {cpu} is not online; choose among {}",
            format_cpu_list(&topology.online())
        ))),
        None => Ok(cpus),
    }
}

fn json(cpus: &[u32], findings: &[Finding], defaults: &[Setting]) -> Result<String, Failure> {
    pretty(&Answer {
        schema_version: 1,
        tool: model::tool::name(),
        fitness: Fitness::of(findings),
        sentence: Fitness::sentence(findings),
        cpus,
        look_ns: LOOK.as_nanos() as u64,
        findings,
        defaults,
    })
}

/// What files say of flags, where there are any.
fn defaults(settings: &[Setting]) -> Option<Section> {
    let line = |setting: &Setting| Text::new().code(setting.to_string());
    let mut section = Section::new("defaults", "Defaults from files");
    section.blocks.push(Block::List(settings.iter().map(line).collect()));
    (!settings.is_empty()).then_some(section)
}

fn document(host: &Host, cpus: &[u32], found: &[Finding]) -> Document {
    let mut document = Document::new("Is this machine fit to measure on?");
    document.subtitle = format!(
        "{}, Linux {}; CPUs {} would be used; observed for {}",
        host.processor.name_or_unknown(),
        host.kernel.release.as_deref().unwrap_or("unknown"),
        format_cpu_list(cpus),
        units::duration(LOOK.as_nanos() as f64)
    );
    let kind = match Fitness::of(found) {
        Fitness::Fit => VerdictKind::Good,
        Fitness::FitWithReservations => VerdictKind::Neutral,
        Fitness::Unknown => VerdictKind::Unknown,
        Fitness::NotFit => VerdictKind::Bad,
    };
    let advice = "This is advice: no setting was changed, and none will be. The same checks run \
                  around each round of a run, and mark it.";
    let verdict = Verdict::new(kind, Fitness::sentence(found) + ".", advice);
    document.sections.push(Section::new("answer", "Answer").with(verdict));
    document.sections.extend(findings::sections(found));
    document
}
