//! Where a store may lie: in a folder that nobody else can put something into, unless its user names
//! another; and never behind a symbolic link that a stranger laid into a folder that all may write.

use std::fs::{DirBuilder, Metadata};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::{Store, StoreError};

const WRITABLE_FOR_ALL: u32 = 0o002;
const STICKY: u32 = 0o1000;
const ROOT: u32 = 0;
/// The user that a user namespace shows for one that it doesn't map (user_namespaces(7)): of a folder above a
/// user's own that is the root outside.
const UNKNOWN: u32 = 65534;

impl Store {
    /// `$IPCMARK_STORE`, else `ipcmark/runs.sqlite` below `$XDG_DATA_HOME` or `~/.local/share`.
    ///
    /// # Errors
    /// Where there is no home, or others may change what is in the folders that lead there.
    pub fn default_path() -> Result<PathBuf, StoreError> {
        if let Some(path) = named("IPCMARK_STORE") {
            return Ok(path);
        }
        let data = named("XDG_DATA_HOME").filter(|path| path.is_absolute());
        let home = || {
            named("HOME").filter(|path| path.is_absolute()).map(|path| path.join(".local/share"))
        };
        let Some(data) = data.or_else(home) else {
            return Err(StoreError::unusable(
                "HOME is not set to an absolute path, so that there is no place for a store: choose one with \
                 --store FILE or IPCMARK_STORE, or --store none to keep nothing"
                    .into(),
            ));
        };
        let path = data.join("ipcmark/runs.sqlite");
        match others_may_change(&whole(&path)?, false) {
            None => Ok(path),
            Some(why) => Err(StoreError::unusable(format!(
                "no store is kept in {}: {why}; choose another place with --store FILE or IPCMARK_STORE",
                path.display()
            ))),
        }
    }
}

/// A path in the environment; an empty one says nothing.
fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// The path from the root on: SQLite has names of its own (`:memory:`, `file:…`, none at all) for
/// databases that vanish.
pub(super) fn whole(path: &Path) -> Result<PathBuf, StoreError> {
    std::path::absolute(path)
        .map_err(|error| StoreError::unusable(format!("open {}: {error}", path.display())))
}

/// Makes the folder of a store, for its user alone.
pub(super) fn make_folder(path: &Path) -> Result<(), StoreError> {
    let Some(folder) = path.parent() else { return Ok(()) };
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| {
        StoreError::unusable(format!(
            "create {}: {error}; choose another store with --store FILE, or --store none to keep nothing",
            folder.display()
        ))
    })
}

fn is_ours(of: &Metadata) -> bool {
    [ROOT, geteuid().as_raw()].contains(&of.uid())
}

/// Why what is at `path` may be another's, if it may: a folder on the way there is, or all may change it.
/// `below` says whether what comes next behind `path` is there, and ours.
fn others_may_change(path: &Path, mut below: bool) -> Option<String> {
    for step in path.ancestors() {
        // What isn't there yet will be made by us.
        let Ok(found) = step.symlink_metadata() else { continue };
        let owner = found.uid();
        let ours =
            is_ours(&found) || owner == UNKNOWN && found.is_dir() && found.mode() & 0o022 == 0;
        if !ours {
            return Some(format!("{} belongs to user {owner}", step.display()));
        }
        if found.is_symlink() {
            let why = match step.canonicalize() {
                Ok(target) => others_may_change(&target, below),
                Err(error) => Some(format!("{} leads nowhere: {error}", step.display())),
            };
            if why.is_some() {
                return why;
            }
        }
        // In a sticky folder nobody moves what is another's, but anybody may add what isn't there.
        let open = found.is_dir() && found.mode() & WRITABLE_FOR_ALL != 0;
        if open && !(below && found.mode() & STICKY != 0) {
            return Some(format!("everybody may write into {}", step.display()));
        }
        below = true;
    }
    None
}

/// Refuses to follow a symbolic link of a stranger's in a folder that all may write, as the kernel does
/// where `fs.protected_symlinks` is set.
pub(super) fn refuse_planted(path: &Path) -> Result<(), StoreError> {
    for step in path.ancestors() {
        let (Ok(found), Some(folder)) = (step.symlink_metadata(), step.parent()) else { continue };
        if found.is_symlink()
            && !is_ours(&found)
            && folder.metadata().is_ok_and(|metadata| metadata.mode() & WRITABLE_FOR_ALL != 0)
        {
            return Err(StoreError::unusable(format!(
                "open {}: {} is a symbolic link of user {} in a folder that everybody may write into; \
                 choose another store with --store FILE",
                path.display(),
                step.display(),
                found.uid()
            )));
        }
    }
    Ok(())
}
