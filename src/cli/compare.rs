//! `ipcmark compare A B`: what a second run is beside the first, case by case.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::awaited::Awaited;
use super::exit_codes::{BISECT_FAILED, BISECT_SKIP};
use super::{Common, Failure, output, pretty, print, step_summary, value_parsers};
use crate::cli::input;
use ::report::compose::{Detail, comparison};
use ::report::export;
use ::report::html;
use analysis::compare::{
    CaseChange, Change, Gate, GateOn, Measured, RunComparison, Terms, arms, compare as judge,
};
use analysis::{EQUIVALENT_WITHIN, Judged, PERCENTILES};
use model::workload::Workload;
use store::Store;

/// Exit code where a case is slower by more than the gate.
pub const REGRESSION: u8 = 3;
/// Exit code where that can't be decided.
pub const INCONCLUSIVE: u8 = 4;

/// Most bytes of a file written by `ipcmark export`: thousands of cases.
const LONGEST_EXPORT: u64 = 64 << 20;

/// Flags of `compare`.
#[derive(Args)]
pub struct CompareArgs {
    /// The run to compare with: number, label, `last~1`, or a file written by `ipcmark export`
    #[arg(value_name = "A")]
    a: String,
    /// The run that is compared with it
    #[arg(value_name = "B")]
    b: String,
    /// Exit with 3 if a case is slower by more than this, as in 5%, with 4 if that is undecided; p99:10% judges a percentile of
    /// each launch, throughput:5% the cases of that workload alone, capacity:20% the largest rates of two searches
    #[arg(long, value_name = "SLOWER", value_parser = held)]
    gate: Option<Held>,
    /// For `git bisect run`: exit with 0 where no case is slower than the gate (5% without --gate), with 1 where one
    /// is, with 125 where that is undecided, and with 128 or more where something fails
    #[arg(long)]
    bisect: bool,
    /// What the gate compares a case with: relative, the common change of all cases in its rounds,
    /// or absolute, its own time in A, as for two kernels
    #[arg(long, value_name = "WHAT", default_value = "relative", requires = "gate",
          value_parser = PossibleValuesParser::new(["relative", "absolute"]).map(gate_on))]
    gate_on: GateOn,
    /// A ratio within this distance of 1 is equivalent [default: 2%]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    margin: Option<f64>,
    /// Compare runs or cases of different machines, programs or settings
    #[arg(long)]
    force: bool,
    /// text, json, markdown, junit or ktap (one test per case, which fails if it is slower, or beyond the
    /// gate)
    #[arg(long, value_name = "FORMAT", default_value = "text", hide_possible_values = true,
          value_parser = ["text", "json", "markdown", "junit", "ktap"])]
    format: String,
    /// Write the page with the figure to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// A stored run that a new one is held against once it is measured.
#[derive(Args, Clone, Debug, Default)]
pub struct Against {
    /// Compare with this run once it is measured: number, label, `last`, or a file written by `ipcmark export`
    #[arg(long, value_name = "RUN|FILE")]
    against: Option<String>,
    /// Exit with 3 if a case is slower than in that run, or than under the first --arm, by more than this, as in 5%; with 4 if
    /// that is undecided; p99:10% judges a percentile of each launch, throughput:5% the cases of that workload alone,
    /// capacity:20% the largest rates
    #[arg(long, value_name = "SLOWER", value_parser = held)]
    gate: Option<Held>,
}

/// What a gate holds, and by how much it may be slower.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    share: f64,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    /// The time of an operation of all cases; of two searches for capacities these.
    Any,
    Percentile(&'static str),
    Workload(Workload),
    Capacity,
}

/// `5%`, `p99:10%`, `throughput:5%`, `capacity:20%`.
fn held(text: &str) -> Result<Held, String> {
    let Some((name, rest)) = text.split_once(':') else {
        return Ok(Held { share: share(text)?, what: What::Any });
    };
    let percentiles = PERCENTILES.map(|(name, _)| name);
    let percentile = percentiles.into_iter().find(|known| *known == name).map(What::Percentile);
    let workload = || Workload::parse(name).ok().map(What::Workload);
    let capacity = || (name == "capacity").then_some(What::Capacity);
    let what = percentile.or_else(workload).or_else(capacity).ok_or_else(|| {
        format!(
            "`{name}`: a gate holds one of {}, capacity, or the cases of a workload as in throughput:5%",
            percentiles.join(", ")
        )
    })?;
    Ok(Held { share: share(rest)?, what })
}

impl Held {
    /// The terms of a comparison that holds this.
    fn terms(held: Option<Held>, gate_on: GateOn) -> Terms {
        let what = held.map(|held| held.what);
        Terms {
            margin: EQUIVALENT_WITHIN,
            gate: held.map(|held| held.share),
            gate_on,
            percentile: what.and_then(|what| match what {
                What::Percentile(name) => Some(name),
                _ => None,
            }),
            workload: what.and_then(|what| match what {
                What::Workload(workload) => Some(workload),
                _ => None,
            }),
            force: false,
        }
    }

    /// Refuses what one of two runs doesn't have.
    fn check(self, runs: [bool; 2]) -> Result<(), Failure> {
        let all_capacities = runs == [true; 2];
        match self.what {
            What::Any => Ok(()),
            What::Capacity if all_capacities => Ok(()),
            What::Capacity => Err(Failure::usage(
                "--gate capacity: one of the runs sought none: measure both with -w capacity",
            )),
            What::Percentile(_) | What::Workload(_) if all_capacities => Err(Failure::usage(
                "--gate: both runs are searches for a capacity: hold that, as in --gate capacity:20%",
            )),
            What::Percentile(_) | What::Workload(_) => Ok(()),
        }
    }
}

/// What a run will be held against: read before anything is measured.
pub struct Baseline {
    name: String,
    measured: Measured,
    gate: Option<Held>,
}

impl Against {
    /// Refuses what has nothing to be held against, or twice.
    ///
    /// # Errors
    /// What to add, or to leave out.
    pub fn fits(&self, has_arms: bool) -> Result<(), String> {
        match (&self.against, self.gate) {
            (None, Some(_)) if !has_arms => {
                Err("--gate: slower than what? add --against RUN, or a second --arm".into())
            }
            (Some(_), _) if has_arms => {
                Err("--against: arms are held against the first of them: leave it out, or --arm"
                    .into())
            }
            _ => Ok(()),
        }
    }

    /// The run that is named, if one is.
    ///
    /// # Errors
    /// It isn't there: nothing was measured.
    pub fn baseline(&self, common: &Common) -> Result<Option<Baseline>, Failure> {
        let Some(name) = &self.against else { return Ok(None) };
        let measured = measured(common, name).map_err(|failure| {
            let line = format!("--against {name}: {}; nothing was measured", failure.line);
            Failure::usage(line)
        })?;
        Ok(Some(Baseline { name: name.clone(), measured, gate: self.gate }))
    }
}

impl Against {
    /// What is asked of the arms of a run.
    pub fn terms(&self) -> Terms {
        Held::terms(self.gate, GateOn::Absolute)
    }

    /// The exit code of a run with arms: that of the worst of them, where a gate asks; else whether anything was measured
    /// under both.
    pub fn exit_code_of_arms(&self, judged: &Judged) -> u8 {
        let found = arms(judged, self.terms());
        if self.gate.is_none() {
            let is_answer = |case: &CaseChange| case.verdict != Change::Incomparable;
            let in_vain = |found: &RunComparison| !found.cases.iter().any(is_answer);
            return if found.iter().any(in_vain) { INCONCLUSIVE } else { 0 };
        }
        let codes: Vec<u8> = found.iter().map(exit_code).collect();
        let any = |code| codes.contains(&code).then_some(code);
        any(REGRESSION).or(any(INCONCLUSIVE)).unwrap_or(0)
    }
}

impl Baseline {
    /// Compares a run that was just measured, and gives the exit code; `shown` says it in words, too.
    pub fn hold(&self, common: &Common, judged: &Judged, shown: bool) -> Result<u8, Failure> {
        let (name, new) = (judged.run.id.to_string(), Measured::of(judged));
        if let Some(held) = self.gate {
            held.check([&self.measured, &new].map(|run| !run.capacity.is_empty()))?;
        }
        let terms = Held::terms(self.gate, GateOn::Relative);
        let found = judge((&self.name, &self.measured), (&name, &new), terms);
        step_summary::add(&comparison(&found, Detail::Summary));
        if shown {
            common.show(&comparison(&found, Detail::Summary))?;
        }
        Ok(if self.gate.is_some() { exit_code(&found) } else { 0 })
    }
}

/// What `--bisect` holds cases to without `--gate`.
const BISECT_GATE: Held = Held { share: 0.05, what: What::Any };

/// Whether a command line asks for the exit codes of `git bisect run`, right or wrong as it may be.
pub fn asks_for_bisect(words: &[OsString]) -> bool {
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    has("compare") && has("--bisect")
}

/// The exit code that git takes for what another code says.
pub fn for_bisect(code: u8) -> u8 {
    match code {
        0 => 0,
        REGRESSION => 1,
        INCONCLUSIVE => BISECT_SKIP,
        failed => BISECT_FAILED.saturating_add(failed % BISECT_FAILED),
    }
}

fn gate_on(word: String) -> GateOn {
    if word == "absolute" { GateOn::Absolute } else { GateOn::Relative }
}

/// `5%`, `0.05`.
fn share(text: &str) -> Result<f64, String> {
    value_parsers::share(text, 1.0, "5%")
}

/// Compares two runs, and shows what came of it.
pub fn compare(common: &Common, args: &CompareArgs) -> Result<u8, Failure> {
    Awaited::beside_store(common).file("--html", args.html.as_deref())?;
    let (a, b) = (measured(common, &args.a)?, measured(common, &args.b)?);
    let gate = args.gate.or(args.bisect.then_some(BISECT_GATE));
    if let Some(held) = gate {
        held.check([&a, &b].map(|run| !run.capacity.is_empty()))?;
    }
    let margin = args.margin.unwrap_or(EQUIVALENT_WITHIN);
    let terms = Terms { margin, force: args.force, ..Held::terms(gate, args.gate_on) };
    let found = judge((&args.a, &a), (&args.b, &b), terms);
    if let Some(path) = &args.html {
        output::write(path, html::render(&comparison(&found, Detail::Full)), "name another file")?;
    }
    step_summary::add(&comparison(&found, Detail::Summary));
    match args.format.as_str() {
        "json" => print(&pretty(&found)?)?,
        "junit" => print(&export::gate::junit(&found))?,
        "ktap" => print(&export::gate::ktap(&found))?,
        "markdown" => print(&export::markdown(&comparison(&found, Detail::Summary)))?,
        _ => common.show(&comparison(&found, Detail::Summary))?,
    }
    Ok(exit_code(&found))
}

fn exit_code(found: &RunComparison) -> u8 {
    match found.outcome {
        None if !found.answers() => INCONCLUSIVE,
        None | Some(Gate::Within) => 0,
        Some(Gate::Beyond) => REGRESSION,
        Some(Gate::Open) => INCONCLUSIVE,
    }
}

/// The run of a file that `ipcmark export` wrote; None where the name is not one of a file.
pub fn of_file(name: &str) -> Option<Result<Measured, Failure>> {
    if !name.contains('/') && !name.ends_with(".json") {
        return None;
    }
    let text = input::text(Path::new(name), LONGEST_EXPORT).map_err(|error| {
        Failure::usage(format!(
            "read {name}: {error}; write it with `ipcmark export last -o {name}`"
        ))
    });
    let parsed = |text: String| {
        Measured::parse(&text).map_err(|why| Failure::usage(format!("{name} {why}")))
    };
    Some(text.and_then(parsed))
}

/// The run that the user named: of the store, or a file.
fn measured(common: &Common, name: &str) -> Result<Measured, Failure> {
    if let Some(found) = of_file(name) {
        return found;
    }
    let store = Store::open_existing(&common.store_path()?)?;
    let id = store.find_run(name)?;
    Ok(Measured::of(&Judged::of(&store, id)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_failure_is_a_verdict_for_git() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert!(asks_for_bisect(&words("ipcmark compare a b --bisect")));
        assert!(!asks_for_bisect(&words("ipcmark compare a b --gate 5%")));
        assert_eq!([0, REGRESSION, INCONCLUSIVE].map(for_bisect), [0, 1, 125]);
        for failed in [1, 2, 5, 101, 129, 141] {
            assert!(for_bisect(failed) >= 128, "{failed}");
        }
    }

    #[test]
    fn a_gate_may_hold_a_percentile() {
        let found = held("p99:10%").unwrap();
        assert_eq!(found, Held { share: 0.1, what: What::Percentile("p99") });
        assert_eq!(held("5%").unwrap().what, What::Any);
        assert_eq!(held("capacity:20%").unwrap().what, What::Capacity);
        let duplex = held("duplex:0.05").unwrap();
        assert_eq!(duplex, Held { share: 0.05, what: What::Workload(Workload::Duplex) });
        let terms = Held::terms(Some(duplex), GateOn::Relative);
        assert_eq!((terms.workload, terms.percentile), (Some(Workload::Duplex), None));
        assert!(held("p98:5%").unwrap_err().contains("p99"));
        assert!(held("p99:").unwrap_err().contains("as in 5%"));
    }

    #[test]
    fn a_share_is_a_percentage_or_a_fraction() {
        assert_eq!((share("5%"), share("0.05"), share("2.5 %")), (Ok(0.05), Ok(0.05), Ok(0.025)));
        for bad in ["", "%", "5", "-5%", "0", "NaN", "five"] {
            assert!(share(bad).unwrap_err().contains("as in 5%"), "{bad}");
        }
    }
}
