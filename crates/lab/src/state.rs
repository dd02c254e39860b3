//! What is kept of each laboratory: enough to find exactly what was made, and nothing else.
//!
//! A namespace is written down, with its inode, before it gets a name: whatever bears a planned
//! name and another inode is a stranger's. One lock stands over all laboratories of the machine;
//! programs started while one is made hold it too.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::folder::{FOLDER, Folder, refused};
use super::means::Chosen;
use super::price::Price;
use super::relay::counts_file;
use super::space::Identity;
use super::{LabError, Plan};
use model::lab::LabRequest;
use sys::identity::ProcessIdentity;

/// Where `ip netns` keeps the names of namespaces.
pub const NAMES: &str = "/run/netns";
/// There while [`NAMES`] exists because of a laboratory.
const MADE_NAMES: &str = "made-run-netns";
/// How long to wait for another `lab up` or `lab down`.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Made {
    /// Its name below `/run/netns`.
    pub name: String,
    pub identity: Identity,
}

impl Made {
    pub fn path(&self) -> PathBuf {
        Path::new(NAMES).join(&self.name)
    }

    /// Whether the name still means the namespace that was made.
    pub fn is_there(&self) -> bool {
        Identity::at(self.path()) == Some(self.identity)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub asked: LabRequest,
    /// The process that it is to end with; None for one that stays until `lab down`.
    pub owner: Option<ProcessIdentity>,
    /// Who impairs the line.
    pub chosen: Chosen,
    /// Its namespaces, in the order of the plan's nodes.
    pub namespaces: Vec<Made>,
    pub relay: Option<ProcessIdentity>,
    /// What the relay itself costs.
    pub price: Option<Price>,
    pub complete: bool,
}

impl State {
    /// The laboratory called `name`, if there is one.
    ///
    /// # Errors
    /// If its file is another's, or says what no `lab up` writes.
    pub fn read(name: &str) -> Result<Option<State>, LabError> {
        Folder::existing()?.map_or(Ok(None), |folder| State::read_in(&folder, name))
    }

    /// Whether something is kept of the laboratory called `name`, even if a kill cut off writing it.
    ///
    /// # Errors
    /// As [`State::read`].
    pub fn is_begun(name: &str) -> Result<bool, LabError> {
        let Some(folder) = Folder::existing()? else { return Ok(false) };
        Ok(folder.is_unfinished(&file(name))? || State::read_in(&folder, name)?.is_some())
    }

    fn read_in(folder: &Folder, name: &str) -> Result<Option<State>, LabError> {
        let Some(text) = folder.read(&file(name))? else { return Ok(None) };
        let path = format!("{FOLDER}/{}", file(name));
        let state: State = serde_json::from_slice(&text)
            .map_err(LabError::of(format!("{path} is of another ipcmark; use that one")))?;
        if state.is_as_made(name) {
            Ok(Some(state))
        } else {
            Err(refused(&path, "names what no laboratory of that name has"))
        }
    }

    /// Whether it names just the namespaces that a laboratory of that name has.
    fn is_as_made(&self, name: &str) -> bool {
        let asked = &self.asked;
        if asked.name != name || model::lab::name(name).is_err() || !asked.is_in_bounds() {
            return false;
        }
        let plan = Plan::of(asked);
        let planned = (0..plan.nodes.len()).map(|node| plan.namespace(node));
        planned.eq(self.namespaces.iter().map(|made| made.name.clone()))
    }

    /// As [`State::read`]; it must be there.
    pub fn existing(name: &str) -> Result<State, LabError> {
        let remedy = match name {
            "lab" => "`ipcmark lab up` makes it".to_string(),
            _ => format!(
                "`ipcmark lab up --name {name}` makes it, `ipcmark lab status` shows others"
            ),
        };
        State::read(name)?
            .ok_or_else(|| LabError::Usage(format!("no laboratory `{name}` is up: {remedy}")))
    }

    /// Every laboratory of this machine, by name.
    ///
    /// # Errors
    /// As [`State::read`], of any of them.
    pub fn all() -> Result<Vec<State>, LabError> {
        State::each()?.into_iter().collect()
    }

    /// Every laboratory of this machine, or why its state can't be read.
    ///
    /// # Errors
    /// If the folder is another's.
    pub fn each() -> Result<Vec<Result<State, LabError>>, LabError> {
        let Some(folder) = Folder::existing()? else { return Ok(Vec::new()) };
        let names = folder.names()?;
        let names = names.iter().filter_map(|name| name.strip_suffix(ENDING));
        Ok(names.filter_map(|name| State::read_in(&folder, name).transpose()).collect())
    }

    /// Keeps it, in one step.
    pub fn write(&self) -> Result<(), LabError> {
        let text = serde_json::to_string(self).map_err(LabError::of("write JSON"))?;
        Folder::made()?.write(&file(&self.asked.name), &text)
    }

    pub fn remove(&self) -> Result<(), LabError> {
        let Some(folder) = Folder::existing()? else { return Ok(()) };
        let (state, counts) = (file(&self.asked.name), counts_file(&self.asked.name));
        for name in [format!("{state}.fresh"), format!("{counts}.fresh"), counts, state] {
            folder.remove(&name)?;
        }
        Ok(())
    }
}

/// What the files of laboratories end with.
const ENDING: &str = ".json";

/// The name of the file of laboratory `name`.
fn file(name: &str) -> String {
    format!("{name}{ENDING}")
}

const LOCK: &str = "lock";

/// The lock over all laboratories of this machine, and the folder that they are kept in.
pub struct Lock {
    file: File,
    folder: Folder,
}

impl Lock {
    /// Takes it; waits for another `lab up` or `lab down`, and for programs that a killed one left.
    pub fn take() -> Result<Lock, LabError> {
        let until = Instant::now() + PATIENCE;
        loop {
            let folder = Folder::made()?;
            let file = match folder.lock_file(LOCK) {
                // The last laboratory's `down` has just removed the folder.
                Err(_) if !folder.is_current() => continue,
                file => file?,
            };
            if file.try_lock().is_ok() && folder.is_current() && folder.holds(LOCK, &file) {
                folder.drop_unfinished(&[ENDING, MADE_NAMES])?;
                return Ok(Lock { file, folder });
            }
            if Instant::now() > until {
                return Err(LabError::Failed(format!(
                    "lock {FOLDER}: another lab up or lab down has held it for {} s: wait for its end",
                    PATIENCE.as_secs()
                )));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// What programs that are started under it hold.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// To be called before the first name is given: notes whether `ip netns` will make its folder.
    pub fn note_names(&self) -> Result<(), LabError> {
        if Path::new(NAMES).exists() {
            return Ok(());
        }
        self.folder.write(MADE_NAMES, "")
    }

    /// After the last laboratory: removes the folders that were made for them. A folder that holds
    /// anything stays.
    pub fn leave_nothing(self) -> Result<(), LabError> {
        if self.folder.names()?.iter().any(|name| name.ends_with(ENDING)) {
            return Ok(());
        }
        let made_names = self.folder.read(MADE_NAMES)?.is_some();
        if made_names && fs::read_dir(NAMES).is_ok_and(|mut names| names.next().is_none()) {
            // `ip netns` mounts the folder on itself, so that names are seen in other namespaces.
            let _ = rustix::mount::unmount(NAMES, rustix::mount::UnmountFlags::empty());
            let _ = fs::remove_dir(NAMES);
        }
        self.folder.remove(MADE_NAMES)?;
        self.folder.remove(LOCK)?;
        self.folder.leave();
        Ok(())
    }
}
