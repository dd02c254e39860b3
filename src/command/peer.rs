//! `--peer`: the other host of a run, from the words of the command line to an agent that answers.

use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use clap::Args;

use super::{Failure, complain};
use crate::launch::Interrupt;
use crate::launch::peer::{Asked, Peer};

/// How long copying this program may take: a password may have to be typed.
const COPIED_WITHIN: Duration = Duration::from_secs(120);
/// How long removing the copy may take.
const REMOVED_WITHIN: Duration = Duration::from_secs(5);
/// How often it is looked whether that is done.
const LOOKED_AT: Duration = Duration::from_millis(5);

/// Flags of the other host.
#[derive(Args, Clone, Default)]
pub struct PeerArgs {
    /// Measure to another host, which this command reaches: 'ssh host', 'ip netns exec b',
    /// 'docker exec -i c'. The same program must be there, or see --deploy
    #[arg(long = "peer", value_name = "COMMAND", value_parser = words)]
    pub command: Option<Words>,
    /// Where this program lies on the other host [default: where it lies here]
    #[arg(long = "peer-program", value_name = "PATH")]
    pub program: Option<String>,
    /// Address of the other host for what is measured, where it can't be learned; two for IPv4 and
    /// IPv6
    #[arg(long = "peer-address", value_name = "ADDRESS", value_delimiter = ',')]
    pub addresses: Vec<IpAddr>,
    /// Copy this program to the other host over the same command first, and remove it at the end
    #[arg(long, conflicts_with = "program")]
    pub deploy: bool,
}

/// The words of a command, as a shell would split them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words(pub Vec<String>);

/// Splits as a shell does.
pub fn words(text: &str) -> Result<Words, String> {
    match shlex::split(text) {
        None => Err("a quote is open, or nothing follows a backslash: close it".into()),
        Some(words) if words.first().is_some_and(|first| !first.is_empty()) => Ok(Words(words)),
        Some(_) => Err("no command: write one such as 'ssh host'".into()),
    }
}

impl PeerArgs {
    /// The other host that these flags ask for.
    ///
    /// # Errors
    /// Flags of another host without one, or two addresses of one family.
    pub fn asked(&self) -> Result<Option<Asked>, String> {
        let Some(Words(command)) = &self.command else {
            let alone = [
                (self.program.is_some(), "--peer-program"),
                (!self.addresses.is_empty(), "--peer-address"),
                (self.deploy, "--deploy"),
            ];
            return match alone.iter().find(|(given, _)| *given) {
                Some((_, flag)) => Err(format!("{flag}: of which host? name it with --peer")),
                None => Ok(None),
            };
        };
        let addresses = self.checked_addresses()?;
        let program = self.program.clone().map_or_else(own_program, Ok)?;
        Ok(Some(Asked { command: command.clone(), program, addresses, deployed: self.deploy }))
    }

    fn checked_addresses(&self) -> Result<Vec<IpAddr>, String> {
        for it in &self.addresses {
            if it.is_unspecified() || it.is_multicast() {
                return Err(format!("--peer-address {it}: name one address of the other host"));
            }
        }
        match &*self.addresses {
            [a, b, ..] if a.is_ipv4() == b.is_ipv4() => {
                Err(format!("--peer-address: {a} and {b}: name one of each family at most"))
            }
            [_, _, c, ..] => Err(format!("--peer-address: {c}: name one of each family at most")),
            _ => Ok(self.addresses.clone()),
        }
    }

    /// The other host of a run that goes on, `stored` as it was asked for then.
    pub fn again(&self, stored: &Asked) -> Result<Asked, String> {
        let mut asked = stored.clone();
        if let Some(program) = &self.program {
            asked.program.clone_from(program);
        }
        // What was copied there is gone.
        asked.deployed = self.deploy || asked.deployed && self.program.is_none();
        if !self.addresses.is_empty() {
            asked.addresses = self.checked_addresses()?;
        }
        Ok(asked)
    }

    /// Starts the agent there, which is copied first if that is wanted.
    pub fn start(&self, mut asked: Asked, interrupt: &Interrupt) -> Result<Met, Failure> {
        let deployed = match asked.deployed {
            true => Some(Deployed::to(&asked.command, interrupt)?),
            false => None,
        };
        if let Some(deployed) = &deployed {
            asked.program.clone_from(&deployed.path);
        }
        let peer = Peer::start(asked, interrupt).map_err(|why| match interrupt.signal() {
            Some(signal) => Failure { line: why.0, code: 128 + signal as u8 },
            None => Failure::other(why.0),
        })?;
        Ok(Met { peer, _deployed: deployed })
    }
}

/// Another host that answers. What was copied there is removed when this is dropped.
pub struct Met {
    /// The agent.
    pub peer: Peer,
    _deployed: Option<Deployed>,
}

/// Where this program lies.
pub fn own_program() -> Result<String, String> {
    let path = std::env::current_exe().map_err(|error| format!("find this program: {error}"))?;
    let path =
        path.to_str().ok_or("this program's path isn't text: name it with --peer-program")?;
    Ok(path.to_string())
}

/// A copy of this program on the other host.
struct Deployed {
    command: Vec<String>,
    path: String,
}

impl Deployed {
    /// Copies this program over `command`.
    fn to(command: &[String], interrupt: &Interrupt) -> Result<Deployed, Failure> {
        let failed = |what: String| {
            Failure::other(format!(
                "--deploy: {what}; does `{}` give a shell where /tmp can be written and executed?",
                command.join(" ")
            ))
        };
        let mut bytes = [0; 16];
        rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
            .map_err(|error| failed(format!("getrandom: {error}")))?;
        let name: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let copy = Deployed { command: command.to_vec(), path: format!("/tmp/ipcmark.{name}") };
        let program = File::open("/proc/self/exe")
            .map_err(|error| failed(format!("read this program: {error}")))?;
        // Where a shell splits it once more (ssh), the same is done by both shells.
        let script = format!("cat > {0} && chmod 700 {0}", copy.path);
        match copy.run(&["sh", "-c", &script], program.into(), COPIED_WITHIN, Some(interrupt)) {
            Ok(Some(status)) if status.success() => Ok(copy),
            Ok(Some(status)) => Err(failed(format!("copying there ended with {status}"))),
            Ok(None) => Err(match interrupt.signal() {
                Some(signal) => Failure {
                    line: "--deploy: interrupted before the copy was there".into(),
                    code: 128 + signal as u8,
                },
                None => {
                    failed(format!("the copy wasn't there after {} s", COPIED_WITHIN.as_secs()))
                }
            }),
            Err(error) => Err(Failure::usage(format!(
                "--peer: start `{}`: {error}; give a command that runs its arguments elsewhere, as \
                 in 'ssh host'",
                command[0]
            ))),
        }
    }

    /// How `words` end over there; None where they don't `within` that time, or a signal comes
    /// first: then they are killed.
    fn run(
        &self,
        words: &[&str],
        stdin: Stdio,
        within: Duration,
        interrupt: Option<&Interrupt>,
    ) -> io::Result<Option<ExitStatus>> {
        let (first, rest) = self.command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(first);
        command.args(rest).args(words).stdin(stdin).stdout(Stdio::null());
        let mut child = command.spawn()?;
        let until = Instant::now() + within;
        while Instant::now() < until && interrupt.is_none_or(|it| it.signal().is_none()) {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            std::thread::sleep(LOOKED_AT);
        }
        child.kill()?;
        child.wait()?;
        Ok(None)
    }
}

impl Drop for Deployed {
    fn drop(&mut self) {
        match self.run(&["rm", "-f", &self.path], Stdio::null(), REMOVED_WITHIN, None) {
            Ok(Some(status)) if status.success() => {}
            _ => complain(&format!("--deploy: {} may still be on the other host", self.path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_does() {
        let split = |text| words(text).unwrap().0;
        assert_eq!(split("ssh host"), ["ssh", "host"]);
        assert_eq!(split("  ip  netns exec b "), ["ip", "netns", "exec", "b"]);
        assert_eq!(
            split(r#"ssh -o "Proxy \"x\" y" 'a b'c"#),
            ["ssh", "-o", r#"Proxy "x" y"#, "a bc"]
        );
        assert_eq!(split(r#"a\ b "" '\'"#), ["a b", "", "\\"]);
        assert_eq!(split(r#""a\n$""#), [r"a\n$"]);
        for wrong in ["", "   ", "''", "ssh 'host", "ssh \"host", "ssh \\"] {
            assert!(words(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_asked_and_asked_again_goes_together() {
        let of = |addresses: &[&str]| {
            let addresses = addresses.iter().map(|it| it.parse().unwrap()).collect();
            let command = Some(words("ssh host").unwrap());
            PeerArgs { command, addresses, ..PeerArgs::default() }.asked()
        };
        assert_eq!(of(&["10.0.0.2", "fd00::2"]).unwrap().unwrap().addresses.len(), 2);
        for wrong in [&["10.0.0.2", "10.0.0.3"][..], &["0.0.0.0"], &["::"], &["224.0.0.1"]] {
            assert!(of(wrong).is_err(), "{wrong:?}");
        }
        let stored = Asked { program: "/tmp/gone".into(), deployed: true, ..Asked::default() };
        let again = |args: PeerArgs| args.again(&stored).unwrap();
        assert!(again(PeerArgs::default()).deployed, "the copy is gone: it is copied anew");
        let program = Some("/bin/there".to_string());
        let named = again(PeerArgs { program, ..PeerArgs::default() });
        assert_eq!((named.program.as_str(), named.deployed), ("/bin/there", false));

        let alone = PeerArgs { deploy: true, ..PeerArgs::default() }.asked().unwrap_err();
        assert!(alone.contains("--deploy") && alone.contains("--peer"), "{alone}");
    }
}
