//! `--peer`: the other host of a run, from the words of the command line to an agent that answers.

use std::net::IpAddr;

use clap::Args;

use super::Failure;
use ::run::launch::Interrupt;
use ::run::launch::peer::Peer;
use model::peer::PeerRequest;

/// Flags of the other host.
#[derive(Args, Clone, Default)]
pub struct PeerArgs {
    /// Measure to another host through this command: 'ssh host', 'ip netns exec b', 'docker exec -i
    /// c'. The same program must be there, or see --deploy
    #[arg(long = "peer", value_name = "COMMAND", value_parser = words)]
    pub command: Option<Words>,
    /// Path of this program on the other host [default: as here]
    #[arg(long = "peer-program", value_name = "PATH")]
    pub program: Option<String>,
    /// Address of the other host, where ipcmark can't find it; two addresses for IPv4 and IPv6
    #[arg(long = "peer-address", value_name = "ADDRESS", value_delimiter = ',')]
    pub addresses: Vec<IpAddr>,
    /// Copy this program to the other host over the same command first; the copy is removed as soon
    /// as it runs
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
    pub fn asked(&self) -> Result<Option<PeerRequest>, String> {
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
        Ok(Some(PeerRequest {
            command: command.clone(),
            program,
            addresses,
            deployed: self.deploy,
        }))
    }

    fn checked_addresses(&self) -> Result<Vec<IpAddr>, String> {
        for address in &self.addresses {
            if address.is_unspecified() || address.is_multicast() {
                return Err(format!(
                    "--peer-address {address}: name one address of the other host"
                ));
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

    /// The other host of a run that goes on, as these flags name it again; None where they don't name what is
    /// `stored`. Nothing is taken from there.
    pub fn again(&self, stored: &PeerRequest) -> Result<Option<PeerRequest>, String> {
        if self.command.is_none() {
            return Ok(None);
        }
        // The program may lie elsewhere by now, or have another address: then a flag says so.
        let program = self.program.is_some() || self.deploy;
        let addresses = !self.addresses.is_empty() || stored.addresses.is_empty();
        Ok(self.asked()?.filter(|asked| {
            let same = (&asked.program, asked.deployed) == (&stored.program, stored.deployed);
            asked.command == stored.command && (program || same) && addresses
        }))
    }

    /// Starts the agent there, which is copied first if that is wanted.
    pub fn start(&self, asked: PeerRequest, interrupt: &Interrupt) -> Result<Peer, Failure> {
        Peer::start(asked, interrupt).map_err(|why| match interrupt.signal() {
            Some(signal) => Failure { line: why.0, code: 128 + signal as u8 },
            None => Failure::other(why.0),
        })
    }
}

/// Where this program lies.
pub fn own_program() -> Result<String, String> {
    let path = std::env::current_exe().map_err(|error| format!("find this program: {error}"))?;
    let path =
        path.to_str().ok_or("this program's path isn't text: name it with --peer-program")?;
    Ok(path.to_string())
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
            let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
            let command = Some(words("ssh host").unwrap());
            PeerArgs { command, addresses, ..PeerArgs::default() }.asked()
        };
        assert_eq!(of(&["10.0.0.2", "fd00::2"]).unwrap().unwrap().addresses.len(), 2);
        for wrong in [&["10.0.0.2", "10.0.0.3"][..], &["0.0.0.0"], &["::"], &["224.0.0.1"]] {
            assert!(of(wrong).is_err(), "{wrong:?}");
        }
        let given = |command: &str| PeerArgs {
            command: Some(words(command).unwrap()),
            ..PeerArgs::default()
        };
        let stored = given("ssh host").asked().unwrap().unwrap();
        let again = |args: &PeerArgs, stored: &PeerRequest| args.again(stored).unwrap();
        assert_eq!(again(&given("ssh host"), &stored).as_ref(), Some(&stored));
        assert_eq!(again(&PeerArgs::default(), &stored), None);
        assert_eq!(again(&given("ssh other"), &stored), None);
        // Nothing but what is given: neither a program, nor an address.
        let program = Some("/bin/there".to_string());
        for foreign in [
            PeerRequest { program: "/tmp/planted".into(), ..stored.clone() },
            PeerRequest { deployed: true, ..stored.clone() },
        ] {
            assert_eq!(again(&given("ssh host"), &foreign), None);
            let named = PeerArgs { program: program.clone(), ..given("ssh host") };
            let named = again(&named, &foreign).unwrap();
            assert_eq!((named.program.as_str(), named.deployed), ("/bin/there", false));
            assert!(again(&PeerArgs { deploy: true, ..given("ssh host") }, &foreign).is_some());
        }
        let elsewhere = PeerRequest { addresses: vec!["10.0.0.2".parse().unwrap()], ..stored };
        assert_eq!(again(&given("ssh host"), &elsewhere), None);

        let alone = PeerArgs { deploy: true, ..PeerArgs::default() }.asked().unwrap_err();
        assert!(alone.contains("--deploy") && alone.contains("--peer"), "{alone}");
    }
}
