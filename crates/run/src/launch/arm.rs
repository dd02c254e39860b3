//! An arm tried before anything is measured: what its command makes of the process that it starts (`ipcmark arm`).

use std::path::Path;

use super::answer::{ANSWERS_WITHIN, Answer, answer, quoted, say};
use super::{Interrupt, Launcher};
use machine::{parse_cpu_list, scheduling};
use model::arm::{Arm, ArmProcess};

/// The hidden word that tells what a process is.
pub const WORD: &str = "arm";

/// Says on standard output what this process is.
pub fn serve() -> i32 {
    say(describe(Path::new("/proc/self")))
}

/// What the process is whose directory of proc(5) that is.
fn describe(process: &Path) -> Result<ArmProcess, String> {
    let read = |file: &str| {
        let path = process.join(file);
        std::fs::read_to_string(&path).map_err(|error| format!("read {}: {error}", path.display()))
    };
    let status = read("status")?;
    let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let cpus = cpus.and_then(|list| parse_cpu_list(list.trim()).ok()).unwrap_or_default();
    let scheduling = scheduling(&read("stat")?);
    Ok(ArmProcess { tool: model::tool::name().into(), cpus, scheduling })
}

/// Tries the command of an arm: what it makes of a process.
///
/// # Errors
/// Why no launch can be made under it, and what to do.
pub fn try_arm(
    launcher: &Launcher,
    arm: &Arm,
    interrupt: &Interrupt,
) -> Result<ArmProcess, String> {
    let said = format!("arm {}: `{}`", arm.name, arm.prefix.join(" "));
    let Answer { status, output, complaint } = answer(launcher.under(arm).command(WORD), interrupt)
        .map_err(|error| format!("{said}: {error}: name a command that is here"))?;
    let starts = "a command must start what follows it, as `chrt -f 50` does";
    let Some(status) = status else {
        let within = ANSWERS_WITHIN.as_secs();
        return Err(format!("{said} started nothing within {within} s, and was ended: {starts}"));
    };
    if !status.success() {
        let how = status.code().map_or_else(|| status.to_string(), |code| code.to_string());
        let why = complaint.map_or(String::new(), |line| format!(": {line}"));
        return Err(format!("{said} ended with {how}{why}"));
    }
    match (serde_json::from_slice(output.trim_end().as_bytes()), output.lines().next()) {
        (Ok(found), _) => Ok(found),
        (Err(_), None) => Err(format!("{said} started nothing: {starts}")),
        (Err(_), Some(first)) => Err(format!(
            "{said} prints `{}` where a launch answers: send that to standard error (>&2)",
            quoted(first)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::host::Scheduling;

    #[test]
    fn a_process_says_what_it_is() {
        let root = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| std::fs::write(root.path().join(name), text).unwrap();
        put("status", "Name:\tx\nCpus_allowed_list:\t0,2-3\n");
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194304 90 0 0 0 0 0 0 0 -51 0 1 0 100 1 1 1 1 1 1 1 1 0 0 0 0 0 0 0 17 1 50 1 0";
        put("stat", stat);
        let found = describe(root.path()).unwrap();
        assert_eq!(found.cpus, [0, 2, 3]);
        let Scheduling { policy, priority, nice } = found.scheduling;
        assert_eq!((policy.as_str(), priority, nice), ("fifo", 50, 0));
        assert!(describe(Path::new("/nowhere")).unwrap_err().contains("/nowhere/status"));
    }
}
