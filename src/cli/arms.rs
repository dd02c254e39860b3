//! `--arm`, `--arm-setup`, `--arm-cleanup`: the commands under which every case is measured. They come from the command
//! line alone, and what undoes a set-up is held by a process that outlives this one, however it ends.

use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use rustix::process::setsid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use super::{Failure, PROGRAM, complain};
use ::run::campaign::shell;
use ::run::launch::arm::try_arm;
use ::run::launch::{Interrupt, Launcher};
use model::arm::{Arm, name};
use model::request::Request;

/// The hidden word that starts the process which cleans up.
pub const WATCH: &str = "arm-watch";
/// How long a clean-up may take.
const CLEANS_WITHIN: Duration = Duration::from_secs(60);
/// How long it is waited for once a signal has come: it ends without this process, too.
const HURRIED: Duration = Duration::from_millis(1200);
/// How often it is looked whether it has ended.
const LOOKED_AT: Duration = Duration::from_millis(5);

/// The flags of arms.
#[derive(Args, Clone, Debug, Default)]
pub struct ArmArgs {
    /// Also measure every case under this command, in the same rounds: a name and a command prefix, as in rt='chrt
    /// -f 50'; the prefix may be empty. A command that ends in launch is run as it is: new='./other/ipcmark launch'.
    /// The first arm is the baseline
    #[arg(long = "arm", value_name = "NAME=PREFIX", value_parser = arm)]
    arms: Vec<Arm>,
    /// Run this shell command before launches of an arm in each round, as in on='sysctl -w x=1'
    #[arg(long = "arm-setup", value_name = "NAME=COMMAND", value_parser = set_up, requires = "arms")]
    setups: Vec<(String, String)>,
    /// Run this shell command after the run, however it ends, to undo the set-ups
    #[arg(long = "arm-cleanup", value_name = "COMMAND", requires = "setups")]
    cleanup: Option<String>,
}

/// `rt=chrt -f 50`.
fn arm(text: &str) -> Result<Arm, String> {
    let (called, prefix) = named(text, "rt='chrt -f 50'")?;
    let words = shlex::split(prefix);
    let prefix =
        words.ok_or("a quote is open, or nothing follows a backslash: close it".to_string())?;
    Ok(Arm { name: called, prefix, ..Arm::default() })
}

fn set_up(text: &str) -> Result<(String, String), String> {
    let (called, command) = named(text, "on='sysctl -w x=1'")?;
    match command.trim() {
        "" => Err(format!("{called}: no command: write one, or `{called}=true`")),
        command => Ok((called, command.to_string())),
    }
}

fn named<'a>(text: &'a str, example: &str) -> Result<(String, &'a str), String> {
    let (called, rest) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}`: write a name and a command, as in {example}"))?;
    Ok((name(called)?, rest))
}

impl ArmArgs {
    /// Those of two commands, A and B.
    ///
    /// # Errors
    /// What is wrong with a command.
    pub fn of_two(a: &str, b: &str) -> Result<ArmArgs, String> {
        let arms = [("A", a), ("B", b)].map(|(called, prefix)| arm(&format!("{called}={prefix}")));
        Ok(ArmArgs { arms: arms.into_iter().collect::<Result<_, _>>()?, ..ArmArgs::default() })
    }

    /// The arms that a study names, in its order, and what undoes their set-ups.
    ///
    /// # Errors
    /// One that it doesn't name; what is wrong with a command.
    pub fn of_study(&self, named: &[String]) -> Result<(Vec<Arm>, Option<String>), String> {
        let (mut arms, cleanup) = self.asked()?;
        let place = |arm: &Arm| named.iter().position(|name| *name == arm.name);
        if let Some(stranger) = arms.iter().find(|arm| place(arm).is_none()) {
            let name = &stranger.name;
            return Err(match named {
                [] => format!(
                    "--arm {name}: the study names no arms: add `arm = [\"{name}\", …]` to [vary] of a copy of it"
                ),
                named => format!("--arm {name}: the arms of the study are {}", named.join(", ")),
            });
        }
        arms.sort_by_key(place);
        Ok((arms, cleanup))
    }

    pub fn are_given(&self) -> bool {
        !self.arms.is_empty()
    }

    /// The arms, each with its set-up, and what undoes these.
    ///
    /// # Errors
    /// What contradicts itself, or can't be undone.
    pub fn asked(&self) -> Result<(Vec<Arm>, Option<String>), String> {
        let mut arms = self.arms.clone();
        if let [only] = arms.as_slice() {
            let other = format!("--arm {0}: one arm is compared with nothing", only.name);
            return Err(format!("{other}: name another one, as in --arm plain="));
        }
        for (nth, arm) in arms.iter().enumerate() {
            if arms[..nth].iter().any(|earlier| earlier.name == arm.name) {
                return Err(format!("--arm {0}: stands there twice: give each a name", arm.name));
            }
        }
        for (called, command) in &self.setups {
            let Some(arm) = arms.iter_mut().find(|arm| arm.name == *called) else {
                return Err(format!(
                    "--arm-setup {called}: there is no such arm: add --arm {called}="
                ));
            };
            if arm.setup.replace(command.clone()).is_some() {
                return Err(format!(
                    "--arm-setup {called}: stands there twice: join both by ` && `"
                ));
            }
        }
        if !self.setups.is_empty() {
            if let Some(arm) = arms.iter().find(|arm| arm.setup.is_none()) {
                return Err(format!(
                    "--arm-setup: arm {0} has none, and what another one's leaves would stay: add \
                     --arm-setup {0}='COMMAND' that undoes it",
                    arm.name
                ));
            }
            if self.cleanup.is_none() {
                return Err("--arm-setup: what undoes it when the run is over? add --arm-cleanup 'COMMAND', or \
                     --arm-cleanup true"
                    .into());
            }
        }
        Ok((arms, self.cleanup.clone()))
    }

    /// The arms of a run that goes on, as the command line names them again.
    ///
    /// # Errors
    /// None where they aren't what the run was begun with.
    pub fn again(&self, stored: &Request) -> Result<Option<Vec<Arm>>, String> {
        let (arms, cleanup) = self.asked()?;
        let before: Vec<Arm> = stored.arms.iter().map(Arm::asked).collect();
        Ok((arms == before && cleanup == stored.arm_cleanup).then_some(arms))
    }
}

/// Tries every arm, and keeps with the request what its command makes of a process.
///
/// # Errors
/// The first under which no launch can be made.
pub fn try_all(request: &mut Request, interrupt: &Interrupt) -> Result<(), Failure> {
    let launcher = Launcher::new(PROGRAM.into());
    for arm in &mut request.arms {
        let found = try_arm(&launcher, arm, interrupt);
        super::signals::unless_stopped(interrupt)?;
        arm.process = Some(found.map_err(Failure::usage)?);
    }
    Ok(())
}

/// Holds the command that undoes what arms set up.
pub struct Cleanup<'a> {
    child: Child,
    interrupt: &'a Interrupt,
}

impl<'a> Cleanup<'a> {
    /// Has a process stand by that runs `command` when this one has ended, in whatever way.
    ///
    /// # Errors
    /// It can't be started: then nothing may be set up.
    pub fn stand_by(command: &str, interrupt: &'a Interrupt) -> Result<Cleanup<'a>, Failure> {
        let failed = |error: io::Error| {
            Failure::other(format!("start the process that runs --arm-cleanup: {error}"))
        };
        let mut child = Command::new(PROGRAM)
            .args([WATCH, command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let stands = child.stdout.take().map(|mut ready| ready.read_exact(&mut [0]));
        match stands {
            Some(Ok(())) => Ok(Cleanup { child, interrupt }),
            _ => Err(failed(io::ErrorKind::UnexpectedEof.into())),
        }
    }
}

/// Has it clean up, and waits for that.
impl Drop for Cleanup<'_> {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let began = Instant::now();
        while let Ok(None) = self.child.try_wait() {
            let hurried = self.interrupt.signal().is_some() && began.elapsed() > HURRIED;
            if hurried || began.elapsed() > CLEANS_WITHIN {
                complain("--arm-cleanup still runs; it ends by itself");
                return;
            }
            std::thread::sleep(LOOKED_AT);
        }
    }
}

/// The process that stands by (`ipcmark arm-watch COMMAND`): it has no terminal to hear signals from, and cleans up as soon as
/// its input ends, which is when its owner has.
pub fn watch() -> i32 {
    let Some(command) = std::env::args().nth(2) else { return 2 };
    for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        let heard = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let _ = signal_hook::flag::register(number, heard);
    }
    if setsid().is_err()
        || io::stdout().write_all(b".").and_then(|()| io::stdout().flush()).is_err()
    {
        return 1;
    }
    let mut byte = [0];
    loop {
        match io::stdin().read(&mut byte) {
            Ok(0) => break,
            Err(error) if error.kind() != io::ErrorKind::Interrupted => break,
            _ => {}
        }
    }
    let waits = |time| {
        std::thread::sleep(time);
        true
    };
    match shell(&command, CLEANS_WITHIN, waits) {
        Ok(()) => 0,
        Err(why) => {
            super::undone::keep(&command, &why);
            complain(&format!("--arm-cleanup {why}: `{command}`; undo by hand what arms have set"));
            1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(arms: &[&str], setups: &[&str], cleanup: Option<&str>) -> Result<usize, String> {
        let arms: Vec<Arm> = arms.iter().map(|text| arm(text)).collect::<Result<_, _>>()?;
        let setups = setups.iter().map(|text| set_up(text)).collect::<Result<_, _>>()?;
        let cleanup = cleanup.map(String::from);
        ArmArgs { arms, setups, cleanup }.asked().map(|(arms, _)| arms.len())
    }

    #[test]
    fn arms_are_told_apart_and_every_set_up_is_undone() {
        assert_eq!(args(&["plain=", "rt=chrt -f 50"], &[], None), Ok(2));
        assert_eq!(args(&["a=", "b="], &["a=x 0", "b=x 1"], Some("x 0")), Ok(2));
        for (arms, setups, cleanup, word) in [
            (&["rt=chrt"][..], &[][..], None, "--arm plain="),
            (&["a=", "a="], &[], None, "twice"),
            (&["rt"], &[], None, "rt='chrt -f 50'"),
            (&["a b="], &[], None, "letters"),
            (&["a=", "b='"], &[], None, "quote"),
            (&["a=", "b="], &["c=x"], Some("y"), "--arm c="),
            (&["a=", "b="], &["a=x", "a=y"], Some("y"), "twice"),
            (&["a=", "b="], &["a=x"], Some("y"), "--arm-setup b="),
            (&["a=", "b="], &["a=x", "b=y"], None, "--arm-cleanup"),
            (&["a=", "b="], &["a= ", "b=y"], Some("y"), "a=true"),
        ] {
            let error = args(arms, setups, cleanup).unwrap_err();
            assert!(error.contains(word) && !error.contains('\n'), "{arms:?}: {error}");
        }
    }

    #[test]
    fn a_run_goes_on_under_the_arms_that_it_was_begun_with() {
        let two = |a, b| ArmArgs::of_two(a, b).unwrap();
        let mut stored = Request { arms: two("", "nice").asked().unwrap().0, ..Request::default() };
        stored.arms[1].process = try_process();
        assert_eq!(two("", "nice").again(&stored).unwrap().unwrap().len(), 2);
        assert_eq!(two("", "nice -n 5").again(&stored).unwrap(), None);
        assert_eq!(ArmArgs::default().again(&stored).unwrap(), None);
    }

    fn try_process() -> Option<model::arm::ArmProcess> {
        Some(model::arm::ArmProcess {
            tool: "ipcmark".into(),
            cpus: vec![0],
            scheduling: model::host::Scheduling { policy: "other".into(), priority: 0, nice: 10 },
        })
    }
}
