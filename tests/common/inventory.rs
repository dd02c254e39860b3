//! What there is, before and after: System V objects, and files by what they are and hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// Everything of some kinds, each by a name and by all that must not change of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory(pub BTreeMap<String, String>);

impl Inventory {
    /// System V objects of the calling thread's IPC namespace, of user `uid` alone if one is named, and
    /// all that is below `folders`.
    pub fn of(uid: Option<u32>, folders: &[&Path]) -> Inventory {
        super::enter();
        let mut all = BTreeMap::new();
        for kind in ["msg", "sem", "shm"] {
            let table = fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap_or_default();
            let words =
                |line: &str| line.split_whitespace().map(str::to_string).collect::<Vec<_>>();
            let heads = words(table.lines().next().unwrap_or_default());
            let owner = heads.iter().position(|head| head == "uid").unwrap_or(0);
            let uid = uid.map(|uid| uid.to_string());
            for words in table.lines().skip(1).map(words) {
                if uid.as_ref().is_some_and(|uid| *uid != words[owner]) {
                    continue;
                }
                all.insert(format!("{kind} {}", words[1]), words.join(" "));
            }
        }
        folders.iter().for_each(|folder| walk(folder, &mut all));
        Inventory(all)
    }

    /// What is in this one and not in `earlier`.
    pub fn names_since(&self, earlier: &Inventory) -> BTreeSet<String> {
        self.0.keys().filter(|name| !earlier.0.contains_key(*name)).cloned().collect()
    }

    /// The same without things of these names.
    pub fn without(&self, names: &BTreeSet<String>) -> Inventory {
        let mut left = self.clone();
        left.0.retain(|name, _| !names.contains(name));
        left
    }
}

fn walk(path: &Path, all: &mut BTreeMap<String, String>) {
    let Ok(found) = fs::symlink_metadata(path) else { return };
    let holds = match found.file_type() {
        kind if kind.is_file() => format!("{:?}", fs::read(path)),
        kind if kind.is_symlink() => format!("{:?}", fs::read_link(path)),
        kind if kind.is_fifo() => "a FIFO".into(),
        kind => format!("{kind:?}"),
    };
    // A folder's own times tell that something in it came or went: that shows by itself.
    let times = if found.is_dir() { String::new() } else { format!("{}", found.mtime_nsec()) };
    let (inode, mode, uid) = (found.ino(), found.mode(), found.uid());
    all.insert(path.display().to_string(), format!("{inode} {mode:o} {uid} {times} {holds}"));
    if found.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            walk(&entry.path(), all);
        }
    }
}
