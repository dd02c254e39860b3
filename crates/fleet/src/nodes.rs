//! Which nodes there are, and the command that starts something on one of them. Inside an allocation
//! the engine says so (`SLURM_JOB_NODELIST`, unfolded by `scontrol show hostnames`); elsewhere they
//! are named. Nothing is scheduled here, and no node is asked for.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use machine::program;

/// What stands for the node in a launcher's words.
pub const NODE: &str = "{node}";
/// How a step on one node is started where nothing else is said.
const SLURM: [&str; 6] = ["srun", "--overlap", "-N1", "-n1", "-w", NODE];
/// Most nodes of a fleet.
pub const MOST: usize = 4096;

/// Nodes as they were named, separated by commas.
///
/// # Errors
/// A name that is empty, is there twice, or could be taken for a flag.
pub fn named(text: &str) -> Result<Vec<String>, String> {
    let names: Vec<String> = text.split(',').map(|part| part.trim().to_string()).collect();
    checked(&names)?;
    Ok(names)
}

/// Whether these may be the nodes of a fleet, and parts of a command's words.
///
/// # Errors
/// As [`named`].
pub fn checked(names: &[String]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for name in names {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-:@%".contains(c);
        if name.is_empty() || name.starts_with('-') || !name.chars().all(plain) {
            return Err(format!("`{name}` is no name of a node: write them as in a,b,c"));
        }
        if !seen.insert(name) {
            return Err(format!("node `{name}` is named twice: name each once"));
        }
    }
    match names.len() {
        1 => Err("one node is no fleet: name two or more, as in a,b,c".into()),
        many if many > MOST => Err(format!("{many} nodes: at most {MOST}")),
        _ => Ok(()),
    }
}

/// The nodes of the allocation that this process is in.
///
/// # Errors
/// Where there is none, or it can't be unfolded; with the remedy.
pub fn allocated() -> Result<Vec<String>, String> {
    let list = ["SLURM_JOB_NODELIST", "SLURM_NODELIST"]
        .into_iter()
        .find_map(|text| std::env::var(text).ok());
    let Some(list) = list else {
        return Err(
            "which nodes? run it inside salloc or sbatch, or name them with --nodes a,b,c".into()
        );
    };
    let remedy = "name them with --nodes a,b,c";
    let output = program::find("scontrol")
        .and_then(|scontrol| {
            let mut command = Command::new(scontrol);
            command.args(["show", "hostnames", &list]).stdin(Stdio::null()).output()
        })
        .map_err(|error| format!("start `scontrol show hostnames`: {error}; {remedy}"))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("scontrol show hostnames {list}: {}; {remedy}", why.trim()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let names = text.lines().map(|line| line.trim().to_string()).filter(|text| !text.is_empty());
    let names: Vec<String> = names.collect();
    checked(&names)?;
    Ok(names)
}

/// The words by which Slurm starts a step on one node.
///
/// # Errors
/// There is no Slurm here; with the remedy.
pub fn by_slurm() -> Result<Vec<String>, String> {
    let remedy = "name another command with --launcher, as in 'ssh {node}'";
    let srun = program::find(SLURM[0]).map_err(|error| format!("srun: {error}; {remedy}"))?;
    let srun = srun
        .into_os_string()
        .into_string()
        .map_err(|path| format!("srun: its path, {}, isn't text; {remedy}", path.display()))?;
    let words = SLURM[1..].iter().map(ToString::to_string);
    Ok(std::iter::once(srun).chain(words).collect())
}

/// The words that start something on `node`.
pub fn command(launcher: &[String], node: &str) -> Vec<String> {
    launcher.iter().map(|word| word.replace(NODE, node)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_named_once_each() {
        assert_eq!(named("a, b,c-01.rack").unwrap(), ["a", "b", "c-01.rack"]);
        for (wrong, why) in [
            ("", "no name"),
            ("a", "no fleet"),
            ("a,,b", "no name"),
            ("a,b,a", "twice"),
            ("a,-x", "no name"),
            ("a,b;reboot", "no name"),
            ("n[1-3]", "no name"),
        ] {
            assert!(named(wrong).unwrap_err().contains(why), "{wrong}");
        }
        let many = (0..=MOST).map(|number| format!("n{number}")).collect::<Vec<_>>().join(",");
        assert!(named(&many).unwrap_err().contains("at most"));
    }

    #[test]
    fn a_launcher_gets_the_node() {
        let words = SLURM.map(String::from);
        assert_eq!(command(&words, "n7").join(" "), "srun --overlap -N1 -n1 -w n7");
        let inside = ["ssh".to_string(), "root@{node}.rack".to_string()];
        assert_eq!(command(&inside, "n7"), ["ssh", "root@n7.rack"]);
    }
}
