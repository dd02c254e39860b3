//! Plug-ins found: a library is asked what it is by a process of its own (`ipcmark-host plugin FILE`), never loaded here.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::launch::Interrupt;
use crate::launch::answer::{Answer, answer};
use model::catalogue::OptionWords;
use model::mechanism::{Carries, Framing};
use model::plugin::{Plugin, PluginVariant, name, options};
use sys::library;

/// The word that asks a host what a library is.
pub const WORD: &str = "plugin";
/// The program that loads libraries, beside this one.
const HOST: &str = "ipcmark-host";
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

/// Asks what the library of `path` is; it is called `called` in the run, else as it calls itself.
///
/// # Errors
/// Why it is no plug-in, in a line.
pub fn find(path: &Path, called: Option<&str>, interrupt: &Interrupt) -> Result<Plugin, String> {
    let shown = path.display();
    let file = path.canonicalize().map_err(|error| format!("{shown}: {error}"))?;
    let bytes = std::fs::read(&file).map_err(|error| format!("read {shown}: {error}"))?;
    let mut command = Command::new(host()?);
    command.arg(WORD).arg(&file);
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
    let found: Result<Plugin, _> = serde_json::from_str(output.trim_end());
    let plugin = found.map_err(|_| {
        format!("{shown}: it prints on standard output when it is loaded: it must not")
    })?;
    let sha256 = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let path = file.to_str().ok_or_else(|| format!("{shown}: its path isn't text"))?.to_string();
    let called = name(called.unwrap_or(&plugin.name))?;
    Ok(Plugin { name: called, path, sha256, ..plugin })
}

/// Says on standard output what the library of this process's second argument is.
pub fn serve() -> i32 {
    let path = std::env::args_os().nth(2).map(PathBuf::from);
    let said = path
        .ok_or_else(|| "no library".to_string())
        .and_then(|path| describe(&path))
        .and_then(|found| serde_json::to_string(&found).map_err(|error| error.to_string()))
        .and_then(|text| writeln!(io::stdout(), "{text}").map_err(|error| error.to_string()));
    match said {
        Ok(()) => 0,
        Err(why) => {
            let _ = writeln!(io::stderr(), "{why}");
            1
        }
    }
}

fn describe(path: &Path) -> Result<Plugin, String> {
    let library = library::Plugin::load(path)?;
    let facts = library.facts();
    let known = options(&facts.options)?;
    let carries = match facts.carries {
        0 => Carries::Bytes,
        1 => Carries::Signal,
        other => return Err(format!("carries = {other}: IPCMARK_BYTES or IPCMARK_WAKEUP")),
    };
    let framing = match facts.framing {
        0 => Framing::Stream,
        1 => Framing::Message,
        other => return Err(format!("framing = {other}: IPCMARK_STREAM or IPCMARK_MESSAGES")),
    };
    let plugin = Plugin {
        name: name(&facts.name)?,
        path: String::new(),
        sha256: String::new(),
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
        variants: Vec::new(),
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
fn combinations(options: &[OptionWords]) -> Vec<BTreeMap<String, String>> {
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
    fn every_combination_is_asked_about_the_defaults_first() {
        let found = combinations(&options("wait=sleep|spin slots=1|2|4").unwrap());
        assert_eq!((found.len(), found[0].len()), (6, 0));
        assert!(found.contains(&BTreeMap::from([
            ("wait".to_string(), "spin".to_string()),
            ("slots".to_string(), "4".to_string()),
        ])));
    }
}
