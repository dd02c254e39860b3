//! What a plug-in costs beside what is built in: `c-pipe` over `pipe`, `c-null` over `noop`, in the same rounds.
//!
//! `c-pipe` passes (`ok`) where its whole 95 % interval lies within 3 % of `pipe` on one CPU and 5 % across, and fails
//! (`OVER`, `UNDER`) where all of it lies outside; where an end of the gate lies inside, this run can't tell: `open`.
//!
//! `cargo bench --bench plugin [-- --quick]`. Exit code 1 when a gate is missed or something failed, 4 when one stays open.
//! Skipped where there is no C compiler.

mod common;

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde_json::Value;

use common::quick;
use common::runs::{measure, read};

/// Time of the run, whole and quickly.
const BUDGETS: [&str; 2] = ["60s", "15s"];
const GATES: [(&str, [f64; 2]); 2] = [("same-cpu", [0.97, 1.03]), ("same-llc", [0.95, 1.05])];
const SOURCES: [&str; 2] = ["c-pipe", "c-null"];

/// The plug-in of that name, compiled into `folder`; None where there is no compiler.
fn compile(folder: &Path, name: &str) -> Result<Option<PathBuf>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = folder.join(format!("lib{name}.so"));
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-shared", "-fPIC", "-I"]).arg(root.join("include")).arg("-o").arg(&library);
    match cc.arg(root.join(format!("engines/{name}/{name}.c"))).status() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Ok(status) if status.success() => Ok(Some(library)),
        Ok(status) => Err(format!("cc {name}.c: {status}")),
        Err(error) => Err(format!("cc: {error}")),
    }
}

fn main() -> ExitCode {
    match compare() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn array<'a>(whole: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    whole[key].as_array().into_iter().flatten()
}

fn text<'a>(whole: &'a Value, key: &str) -> &'a str {
    whole[key].as_str().unwrap_or_default()
}

fn compare() -> Result<ExitCode, String> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).map_err(|e| e.to_string())?;
    let mut words = format!(
        "run pipe noop c-pipe c-null --reference pipe -w latency -s 64,64K -p same-cpu,same-llc --budget {}",
        BUDGETS[usize::from(quick())]
    );
    for name in SOURCES {
        let Some(library) = compile(folder.path(), name)? else {
            println!("skipped: there is no C compiler (cc) for the plug-ins");
            return Ok(ExitCode::SUCCESS);
        };
        words.push_str(&format!(" --plugin {}", library.display()));
    }
    let run = read(&measure(folder.path(), &words, 0)?)?;
    let (mut missed, mut open) = (false, false);
    println!("c-pipe over pipe, round trips\n\nplacement    bytes  ratio, 95 %           gate");
    for group in array(&run, "comparisons") {
        let place = text(group, "placement");
        let gate = GATES.iter().find(|(name, _)| *name == place).map(|(_, gate)| gate);
        let own = array(group, "standings").find(|standing| text(standing, "variant") == "c-pipe");
        let (Some([least, most]), Some(standing)) = (gate, own) else { continue };
        let [value, low, high] = ["ratio", "low", "high"].map(|key| standing[key].as_f64());
        let (Some(value), Some(low), Some(high)) = (value, low, high) else {
            return Err(format!("too few launches for an interval: {standing}"));
        };
        let word = match (low, high) {
            (low, high) if *least <= low && high <= *most => "ok",
            (low, _) if low > *most => "OVER",
            (_, high) if high < *least => "UNDER",
            _ => "open",
        };
        missed |= ["OVER", "UNDER"].contains(&word);
        open |= word == "open";
        println!(
            "{place:<9} {:>8}  {value:.3} [{low:.3}, {high:.3}]  {word:<5} {least}–{most}",
            group["message_bytes"].to_string()
        );
    }
    println!("\nA round trip of nothing, ns: the clock, the loop and four calls\n");
    for name in ["noop", "c-null"] {
        let cases = array(&run, "results").filter(|case| text(case, "mechanism") == name);
        let each: Vec<String> = cases
            .map(|case| {
                let ns = case["value"]["median"].as_f64().unwrap_or(f64::NAN);
                format!("{} {ns:.1}", text(case, "placement"))
            })
            .collect();
        println!("{name:<7} {}", each.join(", "));
    }
    Ok(ExitCode::from(if missed { 1 } else { 4 * u8::from(open) }))
}
