//! How a launch is started: by which program, under which arm.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::spec::{Spec, not_started};
use model::arm::{Arm, LAUNCH};
use model::launch::Outcome;
use model::plugin::Kind;

/// How a launch is started.
#[derive(Clone)]
pub struct Launcher {
    program: PathBuf,
    /// The program that loads plug-ins, where there are any.
    host: Option<PathBuf>,
    /// The words before it; where the last one is `launch`, the whole command.
    arm: Arm,
}

impl Launcher {
    /// A launcher that starts `program`, which must be this program.
    pub fn new(program: PathBuf) -> Launcher {
        Launcher { program, host: None, arm: Arm::default() }
    }

    /// The same, with the program that launches of plug-ins are made by.
    pub fn with_host(self, host: Option<PathBuf>) -> Launcher {
        Launcher { host, ..self }
    }

    /// The same under an arm of the command line.
    pub(crate) fn under(&self, arm: &Arm) -> Launcher {
        Launcher { arm: arm.clone(), ..self.clone() }
    }

    /// The command that does `word`, in place of a launch where that is another one.
    pub(crate) fn command(&self, word: &str) -> Command {
        self.command_of(&self.program, word)
    }

    fn command_of(&self, program: &Path, word: &str) -> Command {
        let Some((first, rest)) = self.arm.prefix.split_first() else {
            let mut command = Command::new(program);
            command.arg0("ipcmark").arg(word);
            return command;
        };
        let mut command = Command::new(first);
        if self.arm.is_whole() {
            command.args(&rest[..rest.len().saturating_sub(1)]).arg(word);
        } else {
            command.args(rest).arg(seen_by_others(program)).arg(word);
        }
        command
    }

    /// That of a launch, by the program that can load its mechanism.
    ///
    /// # Errors
    /// It is a plug-in, of another host's command line.
    pub(super) fn launch(&self, spec: &Spec) -> io::Result<Command> {
        let program = match (&spec.plugin, &self.host) {
            (None, _) => &self.program,
            (Some(plugin), Some(_)) if plugin.kind == Kind::Program => Path::new(&plugin.path),
            (Some(_), Some(host)) => host,
            (Some(_), None) => return Err(io::Error::other("plug-ins are of this host alone")),
        };
        Ok(self.command_of(program, LAUNCH))
    }
}

/// A program as another process finds it: what stands before it has an executable of its own, which /proc/self would be.
fn seen_by_others(program: &Path) -> PathBuf {
    match program.strip_prefix("/proc/self") {
        Ok(rest) => PathBuf::from(format!("/proc/{}", std::process::id())).join(rest),
        Err(_) => program.to_path_buf(),
    }
}

/// The outcome of a launch whose process couldn't be started.
pub(crate) fn unstarted(error: &io::Error) -> Outcome {
    not_started("start the launch", error)
}
