//! The command of a run, as it can be given to a shell again.

use std::borrow::Cow;

use super::FleetRequest;
use model::request::Request;

/// `ipcmark` and the words that followed it, quoted where a shell would take one apart.
pub fn command_line(argv: &[String]) -> String {
    let words = argv.iter().skip(1).map(|word| quoted(word));
    std::iter::once("ipcmark".into()).chain(words).collect::<Vec<Cow<str>>>().join(" ")
}

/// The same command with another time for measuring, `budget`.
pub fn with_budget(argv: &[String], budget: &str) -> String {
    let mut kept: Vec<String> = Vec::new();
    let mut words = argv.iter();
    while let Some(word) = words.next() {
        match word.split_once('=').map_or(word.as_str(), |(flag, _)| flag) {
            "--budget" | "--duration" if word.contains('=') => {}
            "--budget" | "--duration" => drop(words.next()),
            _ => kept.push(word.clone()),
        }
    }
    let end = kept.iter().position(|word| word == "--").unwrap_or(kept.len());
    kept.splice(end..end, ["--budget".to_string(), budget.to_string()]);
    command_line(&kept)
}

/// The words of our own that shells leave as they are stay readable: `tcp:nodelay=off`, `last~1`.
fn quoted(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "%+=:,./~_-".contains(c);
    if !word.is_empty() && word.chars().all(plain) && !word.starts_with('~') {
        return word.into();
    }
    // Only a zero byte can't be quoted, and no argument holds one (execve(2)).
    shlex::try_quote(word).unwrap_or_else(|_| word.into())
}

/// `ipcmark run --resume` with all that it must be told again.
pub fn resume_run(run: i64, asked: &Request) -> Vec<String> {
    let mut words = words(["run", "--resume", &run.to_string()]);
    for plugin in asked.plugins.iter().filter(|plugin| !plugin.is_absent()) {
        words.extend(["--plugin".into(), format!("{}:name={}", plugin.path, plugin.name)]);
    }
    for arm in &asked.arms {
        words.extend(["--arm".into(), format!("{}={}", arm.name, joined(&arm.prefix))]);
    }
    for (arm, command) in asked.arms.iter().filter_map(|arm| Some((arm, arm.setup.as_ref()?))) {
        words.extend(["--arm-setup".into(), format!("{}={command}", arm.name)]);
    }
    words.extend(asked.arm_cleanup.iter().flat_map(|text| ["--arm-cleanup".into(), text.clone()]));
    let Some(peer) = &asked.peer else { return words };
    words.extend(["--peer".into(), joined(&peer.command)]);
    if peer.deployed {
        words.push("--deploy".into());
    } else {
        words.extend(unless_own("--peer-program", &peer.program));
    }
    if !peer.addresses.is_empty() {
        let addresses: Vec<String> = peer.addresses.iter().map(ToString::to_string).collect();
        words.extend(["--peer-address".into(), addresses.join(",")]);
    }
    words
}

/// `ipcmark fleet --resume` with all that it must be told again.
pub fn resume_fleet(run: i64, asked: &FleetRequest) -> Vec<String> {
    let mut words = words(["fleet", "--resume", &run.to_string()]);
    if !asked.simulated {
        words.extend(["--launcher".into(), joined(&asked.launcher)]);
        words.extend(unless_own("--program", &asked.program));
    }
    words
}

fn words(after: [&str; 3]) -> Vec<String> {
    std::iter::once("ipcmark").chain(after).map(String::from).collect()
}

/// The words of a command as one, which a shell's rules take apart again.
fn joined(command: &[String]) -> String {
    shlex::try_join(command.iter().map(String::as_str)).unwrap_or_default()
}

/// A flag that isn't needed where the program is the one that runs.
fn unless_own(flag: &str, program: &str) -> Vec<String> {
    let own = std::env::current_exe().is_ok_and(|path| path.to_str() == Some(program));
    if own { Vec::new() } else { vec![flag.into(), program.into()] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line;
    use model::arm::Arm;
    use model::peer::PeerRequest;

    #[test]
    fn a_longer_budget_takes_the_place_of_the_one_that_was_given() {
        let longer = |line: &str| {
            with_budget(&line.split(' ').map(str::to_string).collect::<Vec<_>>(), "10m")
        };
        assert_eq!(longer("./ipcmark"), "ipcmark --budget 10m");
        let expected = "ipcmark run pipe -s 64 --budget 10m";
        for given in ["--budget 3s", "--duration 3s", "--budget=3s", "--duration=3s"] {
            assert_eq!(longer(&format!("ipcmark run {given} pipe -s 64")), expected);
        }
        assert_eq!(longer("ipcmark run -- pipe"), "ipcmark run --budget 10m -- pipe");
    }

    #[test]
    fn a_shell_takes_it_as_it_was_given() {
        let line = |words: &[&str]| {
            command_line(&words.iter().map(|word| word.to_string()).collect::<Vec<_>>())
        };
        assert_eq!(line(&["/usr/bin/ipcmark"]), "ipcmark");
        assert_eq!(
            line(&["ipcmark", "run", "tcp:nodelay=off", "-s", "1..1M:x4"]),
            "ipcmark run tcp:nodelay=off -s 1..1M:x4"
        );
        let given = ["ipcmark", "run", "--peer", "ssh -o 'A b' host", "", "~x", "last~1", "$HOME"];
        let said = line(&given);
        let script = format!("ipcmark() {{ printf '%s\\n' ipcmark \"$@\"; }}; {said}");
        let shell = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8(shell.stdout).unwrap().lines().collect::<Vec<_>>(), given);
    }

    #[test]
    fn what_starts_a_program_is_given_again() {
        let own = std::env::current_exe().unwrap().to_str().unwrap().to_string();
        let command = ["sh", "-c", "it's; exec \"$@\"", "sh"].map(String::from).to_vec();
        let peer = PeerRequest { command: command.clone(), program: own, ..PeerRequest::default() };
        let to = |peer: PeerRequest| Request { peer: Some(peer), ..Request::default() };
        let words = resume_run(3, &to(peer.clone()));
        assert_eq!(words[..5], ["ipcmark", "run", "--resume", "3", "--peer"]);
        assert_eq!((words.len(), shlex::split(&words[5])), (6, Some(command)));
        // The whole line is one that a shell takes apart again.
        assert_eq!(shlex::split(&command_line(&words)), Some(words));

        let more = |peer: PeerRequest| resume_run(3, &to(peer))[6..].to_vec();
        let addresses = vec!["10.0.0.2".parse().unwrap(), "fd00::2".parse().unwrap()];
        let there = PeerRequest { program: "/opt/it".into(), addresses, ..peer.clone() };
        assert_eq!(
            more(there),
            ["--peer-program", "/opt/it", "--peer-address", "10.0.0.2,fd00::2"]
        );
        assert_eq!(more(PeerRequest { deployed: true, ..peer }), ["--deploy"]);
        assert_eq!(resume_run(3, &Request::default()).len(), 4);
        let arm = |name: &str, prefix: &[&str]| Arm {
            name: name.into(),
            prefix: prefix.iter().map(ToString::to_string).collect(),
            setup: Some(format!("set {name}")),
            process: None,
        };
        let arms = vec![arm("a", &[]), arm("rt", &["sh", "-c", "exec \"$@\"", "sh"])];
        let asked = Request { arms, arm_cleanup: Some("set off".into()), ..Request::default() };
        let words = resume_run(3, &asked);
        assert_eq!(words[4..6], ["--arm", "a="]);
        let prefix = words[7].strip_prefix("rt=").and_then(shlex::split);
        assert_eq!(prefix, Some(asked.arms[1].prefix.clone()));
        assert_eq!(
            words[8..],
            ["--arm-setup", "a=set a", "--arm-setup", "rt=set rt", "--arm-cleanup", "set off"]
        );
    }
}
