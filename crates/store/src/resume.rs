//! The words that go on with a run. What starts a program is never taken from a store, so that it stands
//! among them: who goes on with the run sees it, and gives it again.

use super::FleetRequest;
use model::peer::PeerRequest;

/// `ipcmark run --resume` with all that it must be told again.
pub fn resume_run(run: i64, peer: Option<&PeerRequest>) -> Vec<String> {
    let mut words = words(["run", "--resume", &run.to_string()]);
    let Some(peer) = peer else { return words };
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
    let own = std::env::current_exe().is_ok_and(|own| own.to_str() == Some(program));
    if own { Vec::new() } else { vec![flag.into(), program.into()] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line;

    #[test]
    fn what_starts_a_program_is_given_again() {
        let own = std::env::current_exe().unwrap().to_str().unwrap().to_string();
        let command = ["sh", "-c", "it's; exec \"$@\"", "sh"].map(String::from).to_vec();
        let peer = PeerRequest { command: command.clone(), program: own, ..PeerRequest::default() };
        let words = resume_run(3, Some(&peer));
        assert_eq!(words[..5], ["ipcmark", "run", "--resume", "3", "--peer"]);
        assert_eq!((words.len(), shlex::split(&words[5])), (6, Some(command)));
        // The whole line is one that a shell takes apart again.
        assert_eq!(shlex::split(&command_line(&words)), Some(words));

        let more = |peer: PeerRequest| resume_run(3, Some(&peer))[6..].to_vec();
        let addresses = vec!["10.0.0.2".parse().unwrap(), "fd00::2".parse().unwrap()];
        let there = PeerRequest { program: "/opt/it".into(), addresses, ..peer.clone() };
        assert_eq!(
            more(there),
            ["--peer-program", "/opt/it", "--peer-address", "10.0.0.2,fd00::2"]
        );
        assert_eq!(more(PeerRequest { deployed: true, ..peer }), ["--deploy"]);
        assert_eq!(resume_run(3, None).len(), 4);
    }
}
