//! `--plugin`: mechanisms of shared libraries, of programs and of other languages' processes, beside those that are built in.

use std::path::PathBuf;

use clap::Args;

use super::Failure;
use super::own_engines;
use ::run::launch::Interrupt;
use ::run::plugin::find;
use mechanisms::{Entry, MECHANISMS, Variant, register, registered};
use model::catalogue;
use model::plugin::Plugin;
use store::StoredRun;

/// What `run` measures a plug-in beside where no mechanism is named.
pub const BESIDE: [&str; 2] = ["pipe", "unix-stream"];

/// Flags of plug-ins.
#[derive(Args, Clone, Debug, Default)]
pub struct PluginArgs {
    /// Also measure your own mechanism: a shared library with the table of ipcmark_plugin.h, a program of the crate
    /// ipcmark-host, or the .toml that says how an engine in another language is started; with its name and options, as in
    /// ./libmine.so:name=mine-pr,wait=spin
    #[arg(
        long = "plugin",
        visible_alias = "engine",
        value_name = "FILE[:OPTIONS]",
        value_parser = asked
    )]
    plugins: Vec<Asked>,
}

/// A plug-in that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Asked {
    path: PathBuf,
    name: Option<String>,
    /// As they follow the name of a mechanism.
    options: String,
}

fn asked(text: &str) -> Result<Asked, String> {
    let (path, rest) = text.split_once(':').unwrap_or((text, ""));
    if !path.contains('/') {
        return Err(format!("`{path}`: write the path of a file, as in ./{path}"));
    }
    let parts: Vec<&str> = rest.split(',').filter(|part| !part.is_empty()).collect();
    let named = |part: &&&str| part.starts_with("name=");
    let name = parts.iter().find(named).map(|part| part["name=".len()..].to_string());
    let options: Vec<&str> = parts.iter().copied().filter(|part| !named(&part)).collect();
    Ok(Asked { path: path.into(), name, options: options.join(",") })
}

impl PluginArgs {
    /// Finds each, and makes it a mechanism of this process; gives the variants that are asked for.
    ///
    /// # Errors
    /// Which is none, and why.
    pub fn register(&self, interrupt: &Interrupt) -> Result<Vec<Variant>, Failure> {
        let mut variants = Vec::new();
        for asked in &self.plugins {
            let refused = |why| Failure::usage(format!("--plugin: {why}"));
            let found = find(&asked.path, asked.name.as_deref(), interrupt);
            super::signals::unless_stopped(interrupt)?;
            let plugin = found.map_err(refused)?;
            register(&plugin).map_err(refused)?;
            let text = match asked.options.as_str() {
                "" => plugin.name.clone(),
                options => format!("{}:{options}", plugin.name),
            };
            variants.push(Variant::parse(&text).map_err(Failure::usage)?);
        }
        Ok(variants)
    }
}

/// Finds those of `mechanisms` that are in a folder of the user's own; whether there are any.
pub fn register_kept(mechanisms: &[String], interrupt: &Interrupt) -> Result<bool, Failure> {
    let mut any = false;
    for text in mechanisms {
        let name = catalogue::name(text);
        let is_known = |entry: &Entry| entry.name == name || entry.aliases.contains(&name);
        if MECHANISMS.iter().any(is_known) || registered().into_iter().any(is_known) {
            continue;
        }
        let Some(kept) = own_engines::named(name).map_err(Failure::usage)? else { continue };
        let found = find(&kept.path, Some(name), interrupt);
        super::signals::unless_stopped(interrupt)?;
        register(&found.map_err(Failure::usage)?).map_err(Failure::usage)?;
        any = true;
    }
    Ok(any)
}

impl PluginArgs {
    /// Has a plug-in, or a place for it, for each that a study wants: one that is given, or kept.
    ///
    /// # Errors
    /// One can't be had, or is given in vain.
    pub fn of_study(&self, wanted: &[Plugin], interrupt: &Interrupt) -> Result<(), Failure> {
        self.register(interrupt)?;
        for given in all() {
            if wanted.iter().all(|place| place.name != given.name) {
                let line = format!("--plugin: the study has no place for {}", given.name);
                return Err(Failure::usage(line));
            }
        }
        for place in wanted {
            if all().iter().any(|given| given.name == place.name) {
                continue;
            }
            if !register_kept(std::slice::from_ref(&place.name), interrupt)? {
                register(place).map_err(Failure::usage)?;
            }
        }
        Ok(())
    }
}

/// The plug-ins of this process.
pub fn all() -> Vec<Plugin> {
    registered().into_iter().filter_map(|entry| entry.plugin.cloned()).collect()
}

/// Whether the plug-ins of a run that goes on were given again, the same files: none is taken from a store but the
/// places of those that nobody gave.
pub fn are_those_of(run: &StoredRun) -> bool {
    let known = run.request.plugins.iter().cloned();
    let (places, given): (Vec<Plugin>, Vec<Plugin>) = known.partition(Plugin::is_absent);
    all() == given && places.iter().all(|place| register(place).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_its_name_and_its_options_behind_it() {
        let found = asked("./libmine.so:name=mine-pr,wait=spin,slots=64").unwrap();
        assert_eq!(found.name.as_deref(), Some("mine-pr"));
        assert_eq!(
            (found.path, found.options.as_str()),
            ("./libmine.so".into(), "wait=spin,slots=64")
        );
        assert_eq!(asked("/opt/libmine.so").unwrap().name, None);
        assert!(asked("libmine.so").unwrap_err().contains("./libmine.so"));
    }
}
