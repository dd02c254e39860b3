//! `ipcmark engine`: a mechanism of one's own, begun and checked.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};

use super::own_engines;
use super::{Common, Failure, complain, run, say, signals};
use ::run::conformance::check;
use ::run::launch::Interrupt;
use ::run::plugin::find;
use model::launch::Outcome;

/// Flags of `engine`.
#[derive(Args)]
pub struct EngineArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Check that every byte of messages of many sizes arrives, by every call that it has; exit code 1 if not
    Check {
        /// Plug-ins (./libmine.so) and engine files (./engine.toml)
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// List those that a run finds by name: in $IPCMARK_ENGINES, else in ~/.config/ipcmark/engines
    List,
    /// Write a small working example, to change
    New {
        /// c (a plug-in), python, node, go, java (engines)
        #[arg(value_enum, hide_possible_values = true)]
        language: Language,
        /// The folder to create
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Language {
    C,
    Python,
    Node,
    Go,
    Java,
}

/// A file of the skeleton: its name, and what is in it.
macro_rules! files {
    ($($name:literal: $path:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../", $path)))),+]
    };
}

impl Language {
    fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Language::C => files! {
                "mine.c": "engines/c-pipe/c-pipe.c",
                "ipcmark_plugin.h": "include/ipcmark_plugin.h",
            },
            Language::Python => files! {
                "ipcmark_engine.py": "engines/python/ipcmark_engine.py",
                "multiprocessing_pipe.py": "engines/python/multiprocessing_pipe.py",
                "engine.toml": "engines/python/engine.toml",
            },
            Language::Node => files! {
                "ipcmark_engine.js": "engines/node/ipcmark_engine.js",
                "unix_socket.js": "engines/node/unix_socket.js",
                "engine.toml": "engines/node/engine.toml",
            },
            Language::Go => files! {
                "go.mod": "engines/go/go.mod",
                "ipcmark/engine.go": "engines/go/ipcmark/engine.go",
                "unix-socket/main.go": "engines/go/unix-socket/main.go",
                "engine.toml": "engines/go/engine.toml",
            },
            Language::Java => files! {
                "IpcmarkEngine.java": "engines/java/IpcmarkEngine.java",
                "UnixSocket.java": "engines/java/UnixSocket.java",
                "engine.toml": "engines/java/engine.toml",
            },
        }
    }

    /// What builds it in the new folder, and the file that is checked then.
    fn next(self) -> (&'static str, &'static str) {
        match self {
            Language::C => ("cc -O2 -shared -fPIC -I . -o libmine.so mine.c", "./libmine.so"),
            Language::Python | Language::Node => ("", "./engine.toml"),
            Language::Go => ("go build -o bin/ ./unix-socket", "./engine.toml"),
            Language::Java => ("javac -d bin *.java", "./engine.toml"),
        }
    }
}

/// `ipcmark engine …`.
pub fn engine(common: &Common, args: &EngineArgs, interrupt: &Interrupt) -> Result<u8, Failure> {
    match &args.what {
        What::Check { files } => {
            let mut codes = Vec::new();
            for file in files {
                codes.push(checked(common, file, interrupt)?);
            }
            Ok(codes.into_iter().max().unwrap_or(0))
        }
        What::List => list(),
        What::New { language, folder } => written(*language, folder),
    }
}

/// A line for each: its name, and the file. None is loaded, or started.
fn list() -> Result<u8, Failure> {
    let all = own_engines::all();
    for kept in &all {
        match kept {
            Ok(kept) => say(&format!("{:<16}  {}\n", kept.name, kept.path.display()))?,
            Err(why) => complain(why),
        }
    }
    if all.is_empty() {
        let folders: Vec<String> =
            own_engines::folders().iter().map(|folder| folder.display().to_string()).collect();
        say(&format!(
            "none in {}; ${} names other folders\n",
            folders.join(", "),
            own_engines::FOLDERS
        ))?;
    }
    Ok(0)
}

fn written(language: Language, folder: &Path) -> Result<u8, Failure> {
    let shown = folder.display();
    let failed = |error| Failure::usage(format!("make {shown}: {error}; name a new folder"));
    // Nothing that is there is written over.
    std::fs::create_dir(folder).map_err(failed)?;
    for (name, text) in language.files() {
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().unwrap_or(folder)).map_err(failed)?;
        std::fs::write(&file, text).map_err(failed)?;
    }
    let (build, file) = language.next();
    let build = if build.is_empty() { String::new() } else { format!(" && {build}") };
    say(&format!("cd {shown}{build}, then `ipcmark engine check {file}`\n"))?;
    Ok(0)
}

fn checked(common: &Common, file: &Path, interrupt: &Interrupt) -> Result<u8, Failure> {
    let plugin = find(file, None, interrupt).map_err(Failure::usage)?;
    mechanisms::register(&plugin).map_err(Failure::usage)?;
    let launcher = run::launcher_of(std::slice::from_ref(&plugin))?;
    say(&format!("{} {}, {}: {}\n", plugin.name, plugin.version, plugin.language, plugin.summary))?;
    let (mut right, mut wrong) = (0, 0);
    let before = inventory();
    // What it can't do here, or between processes, is no fault of it.
    let mut absent = BTreeSet::new();
    check(&launcher, &plugin, interrupt, |check| {
        let line = match &check.outcome {
            Outcome::Ok => {
                right += 1;
                if common.verbose == 0 {
                    return;
                }
                format!("ok      {}: {}\n", check.variant, check.what())
            }
            Outcome::Unavailable(why) => {
                absent
                    .insert(format!("absent  {}: {}; {}\n", check.variant, why.reason, why.remedy));
                return;
            }
            outcome => {
                wrong += 1;
                format!("FAILED  {}: {}: {}\n", check.variant, check.what(), why(outcome))
            }
        };
        if say(&line).is_err() {
            complain("nobody reads the result");
        }
    });
    signals::unless_stopped(interrupt)?;
    absent.iter().try_for_each(|line| say(line))?;
    for path in inventory().difference(&before) {
        say(&format!("left    {}, meanwhile: by this, or by another program\n", path.display()))?;
    }
    say(&format!("{right} of {} checks hold\n", right + wrong))?;
    Ok(u8::from(wrong > 0 || right == 0))
}

/// What stands where libraries leave things: shared memory, queues, files for a moment.
fn inventory() -> BTreeSet<PathBuf> {
    let folders = [Path::new("/dev/shm"), Path::new("/dev/mqueue"), &std::env::temp_dir()];
    let entries = folders.into_iter().flat_map(|folder| std::fs::read_dir(folder).ok());
    entries.flatten().flatten().map(|entry| entry.path()).collect()
}

fn why(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Ok => String::new(),
        Outcome::NotApplicable { reason } | Outcome::Failed { reason } => reason.clone(),
        Outcome::Unavailable(why) => format!("{}; {}", why.reason, why.remedy),
    }
}
