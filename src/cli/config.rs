//! Files of defaults for flags: `$XDG_CONFIG_HOME/ipcmark.toml` (else `~/.config/ipcmark.toml`), then
//! `./ipcmark.toml`, whose words come before the other's. A key is the long name of a flag, for every
//! command that has it; in a table such as `[run]` for that command alone.
//!
//! Only what says how to measure or to show is taken from a file: a flag that starts a program, reaches
//! another host or names a file to be written is given on the command line, or not at all. A file that
//! another user owns, or may write, is not read.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde::Serialize;
use toml::Value;

use super::factors::plain;
use super::own_engines::{WRITABLE_BY_OTHERS, user_folder};
use model::nearest::unknown;

/// The flags that a file may give a default for, beside those of factors.
const FLAGS: [&str; 49] = [
    "arrivals",
    "beside",
    "blocking",
    "bound",
    "budget",
    "bytes",
    "color",
    "concurrent",
    "connections",
    "cpus",
    "cycles",
    "depth",
    "energy",
    "every",
    "format",
    "full",
    "initiator-cpu",
    "launches",
    "levels",
    "margin",
    "no-floors",
    "no-wait",
    "observe",
    "placement",
    "precision",
    "quick",
    "quiet",
    "rate",
    "reference",
    "responder-cpu",
    "response",
    "rounds",
    "samples",
    "seed",
    "server",
    "service",
    "sessions",
    "settle",
    "size",
    "spin-on-one-cpu",
    "teach",
    "times",
    "total",
    "unbatched",
    "unmarked",
    "verbose",
    "verify",
    "warmup",
    "workload",
];

/// Those of every command.
const COMMON: [&str; 3] = ["color", "quiet", "verbose"];

/// The name of a file of defaults.
const NAME: &str = "ipcmark.toml";
/// Most bytes of one: more are a slip.
const LONGEST: u64 = 64 << 10;

/// The defaults of all files, the later before the earlier.
#[derive(Clone, Debug, Default)]
pub struct Config {
    settings: Vec<Setting>,
    /// Of each file that was not read, a line that says why.
    pub unread: Vec<String>,
}

/// A default for a flag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The file that says so.
    pub file: PathBuf,
    /// The command that it is for; null for every one that has the flag.
    pub command: Option<String>,
    /// The flag's long name.
    pub key: String,
    /// Its values, as on the command line.
    pub values: Vec<String>,
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let of = self.command.as_ref().map_or(String::new(), |command| format!("{command}: "));
        write!(f, "{of}--{} {} ({})", self.key, self.values.join(","), self.file.display())
    }
}

impl Config {
    /// Reads the files that there are, for the flags of `command`.
    ///
    /// # Errors
    /// One line with the file and the key that is wrong.
    pub fn read(command: &Command) -> Result<Config, String> {
        let mut config = Config::default();
        for path in user_file().into_iter().chain([PathBuf::from(NAME)]) {
            match text(&path) {
                Ok(None) => {}
                Ok(Some(text)) => config.settings.extend(parse(&path, &text, command)?),
                Err(why) => config.unread.push(format!("{}: not read: {why}", path.display())),
            }
        }
        Ok(config)
    }

    /// `command` with these defaults.
    pub fn apply(&self, mut command: Command) -> Command {
        for setting in &self.settings {
            command = setting.apply(command, setting.command.is_none());
        }
        command
    }

    /// What was taken from files in place of a flag that the command line doesn't have.
    pub fn used(&self, mut matches: &ArgMatches) -> Vec<Setting> {
        let mut commands = Vec::new();
        while let Some((name, below)) = matches.subcommand() {
            commands.push(name);
            matches = below;
        }
        let is_meant = |setting: &&Setting| {
            setting.command.as_deref().is_none_or(|command| commands.contains(&command))
        };
        let is_default = |setting: &&Setting| {
            let id = setting.key.replace('-', "_");
            let known = matches.ids().any(|known| known.as_str() == id);
            known && matches.value_source(&id) == Some(clap::parser::ValueSource::DefaultValue)
        };
        let mut found: Vec<Setting> = Vec::new();
        for setting in self.settings.iter().filter(is_meant).filter(is_default) {
            found.retain(|other| other.key != setting.key);
            found.push(setting.clone());
        }
        found
    }

    /// Every default of every file.
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }
}

impl Setting {
    /// `command` and the commands below it with this default; `meant` says whether it is for this one.
    fn apply(&self, command: Command, meant: bool) -> Command {
        let id = flag(&command, &self.key).filter(|_| meant).map(|arg| arg.get_id().clone());
        let command = match id {
            None => command,
            Some(id) => command.mut_arg(id, |arg| {
                let takes_values = arg.get_action().takes_values();
                arg.default_values(self.values.clone()).hide_default_value(takes_values)
            }),
        };
        command.mut_subcommands(|below| {
            let meant = meant || self.command.as_deref() == Some(below.get_name());
            self.apply(below, meant)
        })
    }
}

fn flag<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|argument| argument.get_long() == Some(name))
}

/// The flag of a command, or of one below it.
fn flag_within<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    let below = || command.get_subcommands().find_map(|command| flag_within(command, name));
    flag(command, name).or_else(below)
}

/// The file of the user, wherever they are.
fn user_file() -> Option<PathBuf> {
    user_folder().map(|config| config.join(NAME))
}

/// The text of a file that is the user's alone to change; None where there is none.
fn text(path: &Path) -> Result<Option<String>, String> {
    // Asked before it is opened: opening alone can do something to a device.
    match std::fs::metadata(path) {
        Ok(about) if !about.is_file() => return Err("it is no file".into()),
        _ => {}
    }
    // And what is opened is what is asked about then: not waiting for a FIFO's writer, nor a device's reader.
    let mut options = OpenOptions::new();
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    options.read(true).custom_flags(flags.bits() as i32);
    let file: File = match options.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let about = file.metadata().map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("it is no file".into());
    }
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Err("it belongs to another user: copy it, or give the flags".into());
    }
    if about.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(format!("others may write it: `chmod go-w {}`", path.display()));
    }
    let mut text = String::new();
    let read = file.take(LONGEST + 1).read_to_string(&mut text);
    match read {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err("it is no text".into()),
        Err(error) => Err(error.to_string()),
        Ok(_) if text.len() as u64 > LONGEST => Err(format!("it is longer than {LONGEST} bytes")),
        Ok(_) => Ok(Some(text)),
    }
}

/// The defaults in a file.
fn parse(path: &Path, text: &str, command: &Command) -> Result<Vec<Setting>, String> {
    let table: toml::Table = toml::from_str(text).map_err(|error| {
        let before = error.span().map_or("", |span| text.get(..span.start).unwrap_or_default());
        let line = before.matches('\n').count() + 1;
        format!("{}:{line}: {}", path.display(), error.message().replace('\n', " "))
    })?;
    let mut settings = Vec::new();
    for (key, value) in &table {
        let Value::Table(of_command) = value else {
            settings.push(setting(path, command, None, key, value)?);
            continue;
        };
        let Some(below) =
            command.find_subcommand(key).filter(|subcommand| !subcommand.is_hide_set())
        else {
            let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
            let names: Vec<&str> = shown.map(Command::get_name).collect();
            return Err(format!("{}: {}", path.display(), unknown("command", key, &names)));
        };
        for (key, value) in of_command {
            settings.push(setting(path, below, Some(below.get_name()), key, value)?);
        }
    }
    Ok(settings)
}

/// One default, compared with its flag.
fn setting(
    path: &Path,
    within: &Command,
    command: Option<&str>,
    key: &str,
    value: &Value,
) -> Result<Setting, String> {
    let of = command.map_or(String::new(), |command| format!("{command}."));
    let wrong = |why: String| format!("{}: {of}{key}: {why}", path.display());
    let found = flag_within(within, key);
    let flags: Vec<&str> = FLAGS.into_iter().chain(plain().map(|(row, _)| row.key)).collect();
    if !flags.contains(&key) {
        return Err(wrong(match found {
            Some(_) => format!("isn't taken from a file: give --{key} on the command line"),
            None => unknown("flag", key, &flags),
        }));
    }
    let Some(arg) = found else {
        return Err(wrong(if COMMON.contains(&key) {
            "is for every command: write it before the first table".into()
        } else {
            format!("`ipcmark {}` has no such flag", command.unwrap_or_default())
        }));
    };
    let one = |value: &Value| match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Boolean(is) => Ok(is.to_string()),
        _ => Err(wrong("write a word, a number, true or false, or a list of them".into())),
    };
    let values = match value {
        Value::Array(all) => all.iter().map(one).collect::<Result<Vec<_>, _>>()?,
        value => vec![one(value)?],
    };
    let values: Vec<String> = match (arg.get_action(), arg.get_value_delimiter()) {
        (ArgAction::Append, Some(_)) => {
            values.iter().flat_map(|value| value.split(',')).map(str::to_string).collect()
        }
        (ArgAction::Append, None) => values,
        _ => vec![values.join(",")],
    };
    check(arg, &values).map_err(wrong)?;
    Ok(Setting { file: path.into(), command: command.map(str::to_string), key: key.into(), values })
}

/// Whether a flag takes these values, as its own parser decides.
fn check(arg: &Arg, values: &[String]) -> Result<(), String> {
    let is_switch = matches!(arg.get_action(), ArgAction::SetTrue | ArgAction::Count);
    let action = if is_switch { ArgAction::Set } else { arg.get_action().clone() };
    let alone = Arg::new("value")
        .allow_hyphen_values(true)
        .action(action)
        .value_parser(arg.get_value_parser().clone());
    let alone = if values.len() > 1 { alone.num_args(1..) } else { alone };
    let words = std::iter::once("ipcmark").chain(values.iter().map(String::as_str));
    let parsed = Command::new("ipcmark").arg(alone).try_get_matches_from(words);
    parsed.map(|_| ()).map_err(|error| {
        let text = super::in_one_line(&error);
        let said = text.split_once("'[value]': ").or_else(|| text.split_once("'[value]...': "));
        said.map_or(text.as_str(), |pair| pair.1).trim_end_matches(" (see --help)").to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, inotify, mknodat};

    /// Opening a device can do something.
    #[test]
    fn what_is_no_file_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let (fifo, link) = (folder.path().join("fifo"), folder.path().join("link"));
        mknodat(CWD, &fifo, FileType::Fifo, 0o600.into(), 0).unwrap();
        std::os::unix::fs::symlink(&fifo, &link).unwrap();
        let seen = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
        inotify::add_watch(&seen, &fifo, inotify::WatchFlags::OPEN).unwrap();
        for path in [&fifo, &link] {
            assert_eq!(text(path), Err("it is no file".into()));
        }
        let mut room = [std::mem::MaybeUninit::uninit(); 256];
        let opened = inotify::Reader::new(&seen, &mut room).next().is_ok();
        assert!(!opened, "it was opened");
    }
}
