//! Plug-ins found: a library is asked what it is by a process of its own (`ipcmark-host plugin FILE`), never loaded here;
//! a program is asked in the same way (`PROGRAM plugin`); an engine is started, and says it in its first line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::launch::Interrupt;
use crate::launch::answer::{Answer, answer, say};
use mechanisms::engine;
use model::catalogue::OptionWords;
use model::engine::{Line, PROTOCOL};
use model::json::Json;
use model::mechanism::{Carries, Framing};
use model::plugin::{Kind, Plugin, PluginVariant, name, options};
use sys::library;

/// The word that asks a host what a library is.
pub const WORD: &str = "plugin";
/// The program that loads libraries, beside this one.
const HOST: &str = "ipcmark-host";
/// The longest warm-up that an engine may ask for.
const LONGEST_WARMUP_MS: u64 = 5_000;
/// Combinations of options that are asked about; with more only the defaults are.
const MOST_VARIANTS: usize = 256;

/// Where the program that loads libraries is.
///
/// # Errors
/// It isn't there, and how it is built.
pub fn host() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| format!("find this program: {error}"))?;
    let host = own.with_file_name(HOST);
    match host.is_file() {
        true => Ok(host),
        false => Err(format!(
            "a plug-in is loaded by `{HOST}`, which is missing beside {}: `cargo build --release` builds both",
            own.display()
        )),
    }
}

/// Asks what the library, the program or the engine of the file `path` is; it is called `called` in the run, else as it calls itself.
///
/// # Errors
/// Why it is no plug-in, in a line.
pub fn find(path: &Path, called: Option<&str>, interrupt: &Interrupt) -> Result<Plugin, String> {
    let (file, bytes) = read(path)?;
    let plugin = match kind_of(&file, &bytes) {
        Kind::Engine => of_engine(path, &file, &bytes, interrupt)?,
        Kind::Library => of_library(path, &file, interrupt)?,
        Kind::Program => of_program(path, &file, interrupt)?,
    };
    let sha256 = if plugin.sha256.is_empty() { digest(&bytes) } else { plugin.sha256 };
    let called = name(called.unwrap_or(&plugin.name))?;
    Ok(Plugin { name: called, path: text_of(&file)?, sha256, ..plugin })
}

/// What a file is: by its name where it is text, else by what stands in it. A program that doesn't say that it is one of ours
/// is never started: whoever loads libraries refuses it.
fn kind_of(file: &Path, bytes: &[u8]) -> Kind {
    if file.extension().is_some_and(|ends| ends == "toml") {
        return Kind::Engine;
    }
    match bytes.windows(MARK.len()).any(|part| part == MARK.as_bytes()) {
        true => Kind::Program,
        false => Kind::Library,
    }
}

fn of_library(shown: &Path, file: &Path, interrupt: &Interrupt) -> Result<Plugin, String> {
    let shown = shown.display();
    let mut command = Command::new(host()?);
    command.arg(WORD).arg(file);
    let Answer { status, output, complaint } =
        answer(command, interrupt).map_err(|error| format!("start {HOST} for {shown}: {error}"))?;
    let Some(status) = status else {
        return Err(format!("{shown}: loading it never ended: it must start nothing"));
    };
    if !status.success() {
        let why = complaint.unwrap_or_else(|| status.to_string());
        return Err(match status.code() {
            Some(_) => format!("{shown}: {why}"),
            None => format!("{shown}: loading it ended with {status}"),
        });
    }
    let found = Plugin::from_json(output.trim_end().as_bytes());
    found.map_err(|_| {
        format!("{shown}: it prints on standard output when it is loaded: it must not")
    })
}

/// Stands in every program of the crate `ipcmark-host`, which answers with it.
pub(crate) const MARK: &str = "ipcmark-host: a program that measures a mechanism of its own";

/// What a program of the crate `ipcmark-host` answers.
#[derive(Deserialize, Serialize)]
pub(crate) struct Described {
    /// [`MARK`].
    pub mark: String,
    /// The version of that crate: launches are understood by the same version alone.
    pub host: String,
    pub plugin: Plugin,
}

fn of_program(shown: &Path, file: &Path, interrupt: &Interrupt) -> Result<Plugin, String> {
    let shown = shown.display();
    let mut command = Command::new(file);
    command.arg(WORD);
    let Answer { status, output, complaint } =
        answer(command, interrupt).map_err(|error| format!("start {shown}: {error}"))?;
    if !status.is_some_and(|status| status.success()) {
        let why = complaint.map(|last| format!(": {last}")).unwrap_or_default();
        return Err(format!("{shown}: it is no program of the crate ipcmark-host{why}"));
    }
    said_by_program(&output).map_err(|why| format!("{shown}: {why}"))
}

fn said_by_program(output: &str) -> Result<Plugin, String> {
    let found: Result<Described, _> = serde_json::from_slice(output.trim_end().as_bytes());
    let found = found.map_err(|_| "it is no program of the crate ipcmark-host")?;
    let own = env!("CARGO_PKG_VERSION");
    match found.host == own {
        true => Ok(found.plugin),
        false => Err(format!(
            "made with ipcmark-host {}, and this is ipcmark {own}: build it with the same version",
            found.host
        )),
    }
}

/// What the file of an engine says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EngineFile {
    /// The command that starts it, run in the file's folder.
    run: Vec<String>,
    /// The command of what carries its messages, started for each launch: `{folder}` in it is the folder of that.
    daemon: Option<Vec<String>>,
    /// What it needs, and where that is had: told where it can't be started.
    #[serde(default)]
    needs: String,
}

/// What the command of an engine names beside its file; nothing of a library.
///
/// # Errors
/// It isn't the file of an engine, in a line.
pub fn parts(path: &Path) -> Result<Vec<PathBuf>, String> {
    let (file, bytes) = read(path)?;
    match kind_of(&file, &bytes) {
        Kind::Engine => Ok(EngineFile::of(&path.display().to_string(), &bytes)?.parts(&file)),
        Kind::Library | Kind::Program => Ok(Vec::new()),
    }
}

impl EngineFile {
    fn of(shown: &str, bytes: &[u8]) -> Result<EngineFile, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| format!("{shown}: it isn't text"))?;
        let said: EngineFile = toml::from_str(text).map_err(|error| {
            let line = error.message().to_string();
            format!("{shown}: {line}: as in run = [\"python3\", \"mine.py\"]")
        })?;
        let starts_nothing = |words: &Vec<String>| words.first().is_none_or(String::is_empty);
        match (starts_nothing(&said.run), said.daemon.as_ref().is_some_and(starts_nothing)) {
            (true, _) => Err(format!("{shown}: run = [] starts nothing")),
            (_, true) => Err(format!("{shown}: daemon = [] starts nothing: leave it out")),
            (false, false) => Ok(said),
        }
    }

    fn parts(&self, file: &Path) -> Vec<PathBuf> {
        let folder = file.parent().unwrap_or(Path::new("/"));
        let words = self.run.iter().chain(self.daemon.iter().flatten());
        let named = words.map(|word| folder.join(word));
        named.filter(|part| part.is_file()).collect()
    }
}

fn of_engine(
    shown: &Path,
    file: &Path,
    bytes: &[u8],
    interrupt: &Interrupt,
) -> Result<Plugin, String> {
    let shown = shown.display();
    let said = EngineFile::of(&shown.to_string(), bytes)?;
    // What of its command lies beside it is a part of what was measured.
    let mut parts = bytes.to_vec();
    for part in said.parts(file) {
        parts.extend(std::fs::read(part).unwrap_or_default());
    }
    let needs = |why: String| match said.needs.as_str() {
        "" => why,
        needs => format!("{why}: it needs {needs}"),
    };
    let started = Plugin {
        kind: Kind::Engine,
        path: text_of(file)?,
        run: said.run.clone(),
        daemon: said.daemon.clone().unwrap_or_default(),
        sha256: digest(&parts),
        ..Plugin::default()
    };
    let Answer { status, output, complaint } = answer(engine::command(&started), interrupt)
        .map_err(|error| needs(format!("{shown}: start {}: {error}", said.run[0])))?;
    let first = output.lines().next().unwrap_or_default();
    let why = complaint.map(|last| format!(": {last}")).unwrap_or_default();
    let Some(status) = status else {
        return Err(format!("{shown}: it never ended: it must when its standard input does{why}"));
    };
    if !first.starts_with("hello ") {
        let wrong = format!("{shown}: it ended with {status}, and said no `hello …`{why}");
        return Err(needs(wrong));
    }
    let hello = Line::parse(first).map_err(|why| format!("{shown}: {why}"))?;
    of_hello(&hello, started).map_err(|why| format!("{shown}: its hello: {why}"))
}

/// What an engine says of itself.
fn of_hello(hello: &Line, started: Plugin) -> Result<Plugin, String> {
    let protocol = hello.number("protocol")?;
    if protocol != PROTOCOL {
        return Err(format!("it is of protocol {protocol}, and this program of {PROTOCOL}"));
    }
    let one_of =
        |key: &str, words: &[&str]| match words.iter().position(|word| *word == hello.text(key)) {
            None if hello.text(key).is_empty() => Ok(0),
            None => Err(format!("{key}={}: {}", hello.text(key), words.join(" or "))),
            Some(nth) => Ok(nth),
        };
    let largest = match hello.text("largest") {
        "" => None,
        _ => Some(hello.number("largest")?),
    };
    let warmup_ms = match hello.text("warmup_ms") {
        "" => 0,
        _ => hello.number("warmup_ms")?,
    };
    if warmup_ms > LONGEST_WARMUP_MS {
        return Err(format!("warmup_ms={warmup_ms}: at most {LONGEST_WARMUP_MS}"));
    }
    one_of("null", &["no", "yes"])?;
    let waits = one_of("waits", &["sleeps", "yields", "spins"])? as u32;
    let text = |key| hello.text(key).to_string();
    Ok(Plugin {
        name: name(hello.text("name"))?,
        summary: text("summary"),
        version: text("version"),
        language: text("language"),
        licence: text("licence"),
        options: options(hello.text("options"))?,
        carries: [Carries::Bytes, Carries::Signal][one_of("carries", &["bytes", "wakeup"])?],
        framing: [Framing::Stream, Framing::Message][one_of("framing", &["stream", "messages"])?],
        broker: one_of("broker", &["no", "yes"])? == 1,
        warmup_ms,
        variants: vec![PluginVariant { largest, waits, ..PluginVariant::default() }],
        ..started
    })
}

/// A file and its bytes.
fn read(path: &Path) -> Result<(PathBuf, Vec<u8>), String> {
    let shown = path.display();
    let failed = |error| format!("read {shown}: {error}; name a library, or an engine's file");
    let file = path.canonicalize().map_err(failed)?;
    let bytes = std::fs::read(&file).map_err(failed)?;
    Ok((file, bytes))
}

fn text_of(file: &Path) -> Result<String, String> {
    let text = file.to_str().ok_or_else(|| format!("{}: its path isn't text", file.display()))?;
    Ok(text.to_string())
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Says on standard output what the library of this process's second argument is.
pub fn serve() -> i32 {
    let path = std::env::args_os().nth(2).map(PathBuf::from);
    say(path.ok_or_else(|| "no library".to_string()).and_then(|path| describe(&path)))
}

fn describe(path: &Path) -> Result<Plugin, String> {
    let library = library::Plugin::load(path)?;
    let facts = library.facts();
    let known = options(&facts.options)?;
    let carries = match facts.carries {
        0 => Carries::Bytes,
        1 => Carries::Signal,
        2 => Carries::Nothing,
        other => {
            return Err(format!(
                "carries = {other}: IPCMARK_BYTES, IPCMARK_WAKEUP or IPCMARK_NOTHING"
            ));
        }
    };
    let framing = match facts.framing {
        0 => Framing::Stream,
        1 => Framing::Message,
        other => return Err(format!("framing = {other}: IPCMARK_STREAM or IPCMARK_MESSAGES")),
    };
    let plugin = Plugin {
        name: name(&facts.name)?,
        summary: facts.summary,
        version: facts.version,
        language: facts.language,
        licence: facts.licence,
        options: known,
        carries,
        framing,
        broker: facts.broker,
        in_place: facts.in_place && library.lends(),
        without_waiting: facts.without_waiting,
        ..Plugin::default()
    };
    let variant = |options: BTreeMap<String, String>| {
        let all = plugin.all_options(&options);
        PluginVariant { largest: library.largest(&all), waits: library.waits(&all), options }
    };
    let variants: Vec<PluginVariant> =
        combinations(&plugin.options).into_iter().map(variant).collect();
    match variants.iter().all(|variant| variant.waits <= 2) {
        true => Ok(Plugin { variants, ..plugin }),
        false => Err("waits() gives none of IPCMARK_SLEEPS, IPCMARK_YIELDS, IPCMARK_SPINS".into()),
    }
}

/// Every combination of the words of options, the defaults first; an option that has its default isn't in one.
pub(crate) fn combinations(options: &[OptionWords]) -> Vec<BTreeMap<String, String>> {
    let many = options.iter().map(|option| option.words.len()).product::<usize>();
    let mut all = vec![BTreeMap::new()];
    for option in options.iter().filter(|_| many <= MOST_VARIANTS) {
        let longer = |known: &BTreeMap<String, String>| {
            let chosen = option.words.iter().skip(1).map(|word| {
                let mut longer = known.clone();
                longer.insert(option.name.clone(), word.clone());
                longer
            });
            std::iter::once(known.clone()).chain(chosen).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_is_stands_in_it() {
        let own = std::fs::read("/proc/self/exe").unwrap();
        assert_eq!(kind_of(Path::new("/x/libmine.so"), &own), Kind::Program);
        assert_eq!(kind_of(Path::new("/x/mine.toml"), b"run = []"), Kind::Engine);
        assert_eq!(kind_of(Path::new("/x/mine"), b"#!/bin/sh"), Kind::Library);
    }

    #[test]
    fn a_program_of_another_version_is_refused() {
        let said = |host: &str| {
            let plugin = Plugin { name: "mine".into(), ..Plugin::default() };
            let described = Described { mark: MARK.into(), host: host.into(), plugin };
            said_by_program(&serde_json::to_string(&described).unwrap())
        };
        assert_eq!(said(env!("CARGO_PKG_VERSION")).unwrap().name, "mine");
        assert!(said("0.0.9").unwrap_err().contains("ipcmark-host 0.0.9"));
        assert!(said_by_program("").unwrap_err().contains("no program of the crate"));
    }

    #[test]
    fn every_combination_is_asked_about_the_defaults_first() {
        let found = combinations(&options("wait=sleep|spin slots=1|2|4").unwrap());
        assert_eq!((found.len(), found[0].len()), (6, 0));
        assert!(found.contains(&BTreeMap::from([
            ("wait".to_string(), "spin".to_string()),
            ("slots".to_string(), "4".to_string()),
        ])));
    }
}
