//! The control groups of this process, as far as they can be seen from here (cgroups(7)): what they allow, and what
//! is used of it. The tightest limit on the way from its own group to the root of what is mounted counts.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupLimit {
    pub file: PathBuf,
    /// What it allows.
    pub limit: u64,
    /// How much of it is used and can't be taken back.
    pub used: u64,
}

impl GroupLimit {
    pub fn left(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }
}

/// The limit on processes and threads of which the least is left.
pub fn processes(root: &Path) -> Option<GroupLimit> {
    let of = |(_, group): (Version, PathBuf)| {
        limit(&group, "pids.max", |path| number(&path.join("pids.current")))
    };
    groups(root, "pids").into_iter().filter_map(of).min_by_key(GroupLimit::left)
}

/// The limit on memory of which the least is left. Pages of files that nobody uses make room.
pub fn memory(root: &Path) -> Option<GroupLimit> {
    let of = |(version, group): (Version, PathBuf)| {
        let (most, used, files) = match version {
            Version::One => {
                ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ")
            }
            Version::Two => ("memory.max", "memory.current", "inactive_file "),
        };
        limit(&group, most, |path| {
            let statistics = read_to_string(path.join("memory.stat")).unwrap_or_default();
            let files = statistics.lines().find_map(|line| line.strip_prefix(files)?.parse().ok());
            Some(number(&path.join(used))?.saturating_sub(files.unwrap_or(0)))
        })
    };
    groups(root, "memory").into_iter().filter_map(of).min_by_key(GroupLimit::left)
}

#[derive(Clone, Copy)]
enum Version {
    One,
    Two,
}

/// "max" is no number; version 1 writes the largest count of pages that there is instead.
fn limit(group: &Path, name: &str, used: impl Fn(&Path) -> Option<u64>) -> Option<GroupLimit> {
    let file = group.join(name);
    let limit = number(&file).filter(|number| *number < 1 << 62)?;
    Some(GroupLimit { file, limit, used: used(group).unwrap_or(0) })
}

fn number(file: &Path) -> Option<u64> {
    read_to_string(file).ok()?.trim().parse().ok()
}

/// The folders of the groups that `controller` has, from this process's own to the root of what is mounted.
fn groups(root: &Path, controller: &str) -> Vec<(Version, PathBuf)> {
    let own = read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let mounts = read_to_string(root.join("proc/self/mountinfo")).unwrap_or_default();
    let mut found = Vec::new();
    for mount in mounts.lines().filter_map(Mount::parse) {
        let (version, path) = match mount.kind {
            "cgroup2" => (Version::Two, own.lines().find_map(|line| line.strip_prefix("0::"))),
            "cgroup" if mount.options.split(',').any(|part| part == controller) => {
                let of = |line: &'_ str| {
                    let (_, rest) = line.split_once(':')?;
                    let (names, path) = rest.split_once(':')?;
                    names.split(',').any(|part| part == controller).then_some(path.len())
                };
                let path = own.lines().find_map(|line| Some(&line[line.len() - of(line)?..]));
                (Version::One, path)
            }
            _ => continue,
        };
        // A path outside what is mounted (other namespaces show "/..") leaves the mount's root.
        let path = path.unwrap_or("/");
        let below =
            if mount.root == "/" { path } else { path.strip_prefix(mount.root).unwrap_or("") };
        let below = if below.contains("..") { "" } else { below.trim_matches('/') };
        let top = root.join(mount.point.trim_start_matches('/'));
        let mut group = top.join(below);
        while group.starts_with(&top) {
            found.push((version, group.clone()));
            if !group.pop() {
                break;
            }
        }
    }
    found
}

/// A line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
struct Mount<'a> {
    root: &'a str,
    point: &'a str,
    kind: &'a str,
    options: &'a str,
}

impl Mount<'_> {
    fn parse(line: &str) -> Option<Mount<'_>> {
        let (mount, kind) = line.split_once(" - ")?;
        let (mut mount, mut kind) = (mount.split(' ').skip(3), kind.split(' '));
        Some(Mount {
            root: mount.next()?,
            point: mount.next()?,
            kind: kind.next()?,
            options: kind.nth(1)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    #[cfg_attr(miri, ignore = "it reads files")]
    fn the_tightest_limit_counts_in_both_versions() {
        let root = tree(&[
            ("proc/self/cgroup", "4:memory:/a\n3:cpu,pids:/a/b\n0::/x/y\n"),
            (
                "proc/self/mountinfo",
                "1 0 0:1 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
                 2 0 0:2 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                 3 0 0:3 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
            ),
            ("sys/fs/cgroup/pids/a/b/pids.max", "max\n"),
            ("sys/fs/cgroup/pids/a/pids.max", "8\n"),
            ("sys/fs/cgroup/pids/a/pids.current", "8\n"),
            ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1000\n"),
            ("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "600\n"),
            ("sys/fs/cgroup/memory/a/memory.stat", "cache 1\ntotal_inactive_file 100\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/unified/x/memory.max", "5000\n"),
        ]);
        let of_processes = processes(root.path()).unwrap();
        assert_eq!((of_processes.limit, of_processes.left()), (8, 0));
        assert!(of_processes.file.ends_with("sys/fs/cgroup/pids/a/pids.max"));
        let of_memory = memory(root.path()).unwrap();
        assert_eq!((of_memory.limit, of_memory.used, of_memory.left()), (1000, 500, 500));
        let none = tree(&[("proc/self/cgroup", "0::/\n")]);
        assert_eq!((processes(none.path()), memory(none.path())), (None, None));
    }
}
