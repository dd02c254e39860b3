//! What is kept of each laboratory: enough to find exactly what was made, and nothing else.
//!
//! A namespace is written down, with its inode, before it gets a name: whatever bears a planned
//! name and another inode is a stranger's. One lock stands over all laboratories of the machine;
//! programs started while one is made hold it too.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::LabError;
use super::asked::Asked;
use super::means::Chosen;
use super::price::Price;
use super::relay::Running;
use super::space::Identity;

/// Where laboratories are kept: only root may write there, and a boot empties it.
const FOLDER: &str = "/run/ipcmark-lab";
/// Where `ip netns` keeps the names of namespaces.
pub const NAMES: &str = "/run/netns";
/// There while [`NAMES`] exists because of a laboratory.
const MADE_NAMES: &str = "made-run-netns";
/// How long to wait for another `lab up` or `lab down`.
const PATIENCE: Duration = Duration::from_secs(60);

/// A namespace that was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Made {
    /// Its name below `/run/netns`.
    pub name: String,
    /// Which one it is.
    pub identity: Identity,
}

impl Made {
    /// Where its name is.
    pub fn path(&self) -> PathBuf {
        Path::new(NAMES).join(&self.name)
    }

    /// Whether the name still means the namespace that was made.
    pub fn is_there(&self) -> bool {
        Identity::at(self.path()) == Some(self.identity)
    }
}

/// A laboratory as it was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// What was asked for.
    pub asked: Asked,
    /// Who impairs the line.
    pub chosen: Chosen,
    /// Its namespaces, in the order of the plan's nodes.
    pub namespaces: Vec<Made>,
    /// The process of the relay.
    pub relay: Option<Running>,
    /// What the relay itself costs.
    pub price: Option<Price>,
    /// Whether all of it was made.
    pub complete: bool,
}

impl State {
    /// The laboratory called `name`, if there is one.
    pub fn read(name: &str) -> Result<Option<State>, LabError> {
        let path = file(name);
        match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(LabError::of(format!("read {}", path.display()))(error)),
            Ok(text) => serde_json::from_slice(&text).map(Some).map_err(LabError::of(format!(
                "{} is of another ipcmark; use that one",
                path.display()
            ))),
        }
    }

    /// As [`State::read`]; it must be there.
    pub fn existing(name: &str) -> Result<State, LabError> {
        let way_out = match name {
            "lab" => "ipcmark lab up makes it".to_string(),
            _ => format!("ipcmark lab up --name {name} makes it, ipcmark lab status shows others"),
        };
        State::read(name)?
            .ok_or_else(|| LabError::Usage(format!("no laboratory `{name}` is up: {way_out}")))
    }

    /// Every laboratory of this machine, by name.
    pub fn all() -> Result<Vec<State>, LabError> {
        let mut names: Vec<String> = fs::read_dir(FOLDER)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".json")?.into()))
            .collect();
        names.sort();
        let states = names.iter().filter_map(|name| State::read(name).transpose());
        states.collect()
    }

    /// Keeps it, in one step.
    pub fn write(&self) -> Result<(), LabError> {
        let path = file(&self.asked.name);
        let fresh = path.with_extension("fresh");
        let text = serde_json::to_string(self).map_err(LabError::of("write JSON"))?;
        fs::write(&fresh, text)
            .and_then(|()| fs::rename(&fresh, &path))
            .map_err(LabError::of(format!("write {}", path.display())))
    }

    /// Forgets it.
    pub fn remove(&self) -> Result<(), LabError> {
        let path = file(&self.asked.name);
        let _ = fs::remove_file(path.with_extension("fresh"));
        let _ = fs::remove_file(counts_file(&self.asked.name));
        fs::remove_file(&path).map_err(LabError::of(format!("remove {}", path.display())))
    }
}

fn file(name: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{name}.json"))
}

/// Where the relay of a laboratory writes down what it did.
pub fn counts_file(name: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{name}.counts"))
}

/// The lock over all laboratories of this machine, and the folder that they are kept in.
pub struct Lock(File);

impl Lock {
    /// Takes it; waits for another `lab up` or `lab down`, and for programs that a killed one left.
    pub fn take() -> Result<Lock, LabError> {
        let failed = |error: io::Error| LabError::Failed(format!("lock {FOLDER}: {error}"));
        let until = Instant::now() + PATIENCE;
        loop {
            fs::create_dir_all(FOLDER).map_err(failed)?;
            let path = Path::new(FOLDER).join("lock");
            let opened = OpenOptions::new().append(true).create(true).open(&path);
            let file = match opened {
                // The last laboratory's `down` has just removed the folder.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened.map_err(failed)?,
            };
            let is_this = |found: fs::Metadata, file: &File| {
                file.metadata().is_ok_and(|it| (it.dev(), it.ino()) == (found.dev(), found.ino()))
            };
            let taken = file.try_lock().is_ok();
            if taken && fs::metadata(&path).is_ok_and(|found| is_this(found, &file)) {
                return Ok(Lock(file));
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
        &self.0
    }

    /// To be called before the first name is given: notes whether `ip netns` will make its folder.
    pub fn note_names(&self) -> Result<(), LabError> {
        if Path::new(NAMES).exists() {
            return Ok(());
        }
        let path = Path::new(FOLDER).join(MADE_NAMES);
        fs::write(&path, "").map_err(LabError::of(format!("write {}", path.display())))
    }

    /// After the last laboratory: removes the folders that were made for them. A folder that holds
    /// anything stays.
    pub fn leave_nothing(self) -> Result<(), LabError> {
        if !State::all()?.is_empty() {
            return Ok(());
        }
        let note = Path::new(FOLDER).join(MADE_NAMES);
        if note.exists() && fs::read_dir(NAMES).is_ok_and(|mut names| names.next().is_none()) {
            // `ip netns` mounts the folder on itself, so that names are seen in other namespaces.
            let _ = rustix::mount::unmount(NAMES, rustix::mount::UnmountFlags::empty());
            let _ = fs::remove_dir(NAMES);
        }
        let _ = fs::remove_file(note);
        let _ = fs::remove_file(Path::new(FOLDER).join("lock"));
        let _ = fs::remove_dir(FOLDER);
        Ok(())
    }
}
