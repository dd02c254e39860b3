//! What the control groups leave of the machine: the tightest limit on the way from this
//! process's group to the root of what is mounted, in version 2 and in version 1 (cgroups(7)).
//! Limits above the mount, as a container's host sets them, can't be seen.

use std::path::Path;

use super::limits::{MountPoint, mount_points};
use model::host::{Cgroup, CpuQuota};

use crate::tree;

pub(super) fn read(root: &Path) -> Cgroup {
    let own = tree::text(root, "proc/self/cgroup").unwrap_or_default();
    let mounts = mount_points(root);
    let groups = Groups { root, v1: v1_of(&own), v2: v2_of(&own), mounts: &mounts };
    let quotas = groups.v2().iter().filter_map(|dir| quota_v2(root, dir)).collect::<Vec<_>>();
    let older = groups.v1("cpu");
    let quotas = quotas.into_iter().chain(older.iter().filter_map(|dir| quota_v1(root, dir)));
    let limits =
        groups.v2().into_iter().map(|dir| format!("{dir}/memory.max")).chain(
            groups.v1("memory").into_iter().map(|dir| format!("{dir}/memory.limit_in_bytes")),
        );
    Cgroup {
        cpu_quota: quotas.min_by(|a, b| a.cpus().total_cmp(&b.cpus())),
        // "max" is not a number; version 1 writes the largest page count there is instead.
        memory_max_bytes: limits
            .filter_map(|path| tree::number::<u64>(root, &path))
            .filter(|&bytes| bytes < 1 << 62)
            .min(),
        cpus_effective: groups.cpus(),
        v1_paths: groups.v1.iter().map(|(name, path)| format!("{name}:{path}")).collect(),
        v2_path: groups.v2.map(str::to_owned),
    }
}

/// The files that count how often and how long a quota stopped this process's groups
/// (`cpu.stat`), of those groups on the way up that have one; nearest first. `None` where those groups can't be
/// seen: then nobody knows whether there is a quota.
pub(crate) fn throttle_files(root: &Path) -> Option<Vec<String>> {
    let own = tree::text(root, "proc/self/cgroup").unwrap_or_default();
    let mounts = mount_points(root);
    let groups = Groups { root, v1: v1_of(&own), v2: v2_of(&own), mounts: &mounts };
    let (v2, v1) = (groups.v2(), groups.v1("cpu"));
    let by_version_1 = groups.v1.iter().any(|(controller, _)| *controller == "cpu");
    let decisive = if by_version_1 { &v1 } else { &v2 };
    let may_be_seen = decisive.iter().any(|dir| root.join(dir).is_dir());
    let v2 = v2.into_iter().filter(|dir| quota_v2(root, dir).is_some());
    let v1 = v1.into_iter().filter(|dir| quota_v1(root, dir).is_some());
    let files = v2.chain(v1).map(|dir| format!("{dir}/cpu.stat"));
    may_be_seen.then(|| files.collect())
}

fn v2_of(own: &str) -> Option<&str> {
    own.lines().find_map(|line| line.strip_prefix("0::"))
}

/// Controller and path of each version 1 hierarchy; `cpu,cpuacct` counts as two.
fn v1_of(own: &str) -> Vec<(&str, &str)> {
    let parts = own.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        Some((parts.next()?, parts.next()?))
    });
    parts
        .flat_map(|(names, path)| names.split(',').map(move |name| (name, path)))
        .filter(|(name, _)| !name.is_empty() && !name.starts_with("name="))
        .collect()
}

fn quota_v2(root: &Path, dir: &str) -> Option<CpuQuota> {
    let text = tree::text(root, &format!("{dir}/cpu.max"))?;
    let (quota, period) = text.split_once(' ')?;
    CpuQuota { quota_us: quota.parse().ok()?, period_us: period.parse().ok()? }.valid()
}

fn quota_v1(root: &Path, dir: &str) -> Option<CpuQuota> {
    // No quota is -1, which is not an unsigned number.
    let quota_us = tree::number(root, &format!("{dir}/cpu.cfs_quota_us"))?;
    let period_us = tree::number(root, &format!("{dir}/cpu.cfs_period_us"))?;
    CpuQuota { quota_us, period_us }.valid()
}

/// Where the groups of this process are.
struct Groups<'a> {
    root: &'a Path,
    v1: Vec<(&'a str, &'a str)>,
    v2: Option<&'a str>,
    mounts: &'a [MountPoint],
}

impl Groups<'_> {
    /// The directories from the process's own group up to the mount's root.
    fn v2(&self) -> Vec<String> {
        let mount = self.mounts.iter().find(|mount| mount.file_system == "cgroup2");
        chain(mount, self.v2)
    }

    fn v1(&self, controller: &str) -> Vec<String> {
        let mount = self.mounts.iter().find(|mount| {
            mount.file_system == "cgroup" && mount.super_options.split(',').any(|o| o == controller)
        });
        let path = self.v1.iter().find(|(name, _)| *name == controller).map(|(_, path)| *path);
        chain(mount, path)
    }

    /// The CPU set of the nearest group that has one.
    fn cpus(&self) -> Option<Vec<u32>> {
        let v2 = self.v2().into_iter().map(|dir| format!("{dir}/cpuset.cpus.effective"));
        let v1 = self.v1("cpuset").into_iter().map(|dir| format!("{dir}/cpuset.effective_cpus"));
        v2.chain(v1).find_map(|path| tree::cpus(self.root, &path))
    }
}

fn chain(mount: Option<&MountPoint>, path: Option<&str>) -> Vec<String> {
    let (Some(mount), Some(path)) = (mount, path) else { return Vec::new() };
    // A path outside what is mounted (other namespaces show "/..") leaves the mount's root.
    let below = match mount.root.as_str() {
        "/" => path,
        root => path.strip_prefix(root).unwrap_or(""),
    };
    let below = if below.contains("..") { "" } else { below };
    let base = mount.path.trim_matches('/');
    let mut parts: Vec<&str> = below.split('/').filter(|part| !part.is_empty()).collect();
    let mut directories = Vec::new();
    loop {
        directories.push([&[base], parts.as_slice()].concat().join("/"));
        if parts.pop().is_none() {
            return directories;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored;

    const V2: &str =
        "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate";

    #[test]
    fn the_tightest_limit_on_the_way_up_counts() {
        let root = stored::unpack([
            ("proc/self/cgroup", "0::/user.slice/job"),
            ("proc/self/mountinfo", V2),
            ("sys/fs/cgroup/cpuset.cpus.effective", "0-7"),
            ("sys/fs/cgroup/user.slice/cpu.max", "150000 100000"),
            ("sys/fs/cgroup/user.slice/memory.max", "1073741824"),
            ("sys/fs/cgroup/user.slice/cpuset.cpus.effective", "0-3"),
            ("sys/fs/cgroup/user.slice/job/cpu.max", "400000 100000"),
            ("sys/fs/cgroup/user.slice/job/cpuset.cpus.effective", "2-3"),
            ("sys/fs/cgroup/user.slice/job/memory.max", "max"),
        ]);
        let group = read(root.path());
        assert_eq!(group.cpu_quota.unwrap().cpus(), 1.5);
        assert_eq!(group.memory_max_bytes, Some(1 << 30));
        assert_eq!(group.cpus_effective, Some(vec![2, 3]));
        assert_eq!(group.v2_path.as_deref(), Some("/user.slice/job"));
        assert!(group.v1_paths.is_empty());
        let limited =
            ["sys/fs/cgroup/user.slice/job/cpu.stat", "sys/fs/cgroup/user.slice/cpu.stat"];
        let files = throttle_files(root.path()).unwrap();
        assert_eq!(files, limited);
    }

    #[test]
    fn version_1_in_a_container_sees_its_own_root() {
        let root = stored::unpack([
            (
                "proc/self/cgroup",
                "4:memory:/docker/8a\\n3:cpuset:/docker/8a\\n2:cpu,cpuacct:/docker/8a\\n1:name=systemd:/\\n0::/",
            ),
            (
                "proc/self/mountinfo",
                "32 31 0:29 /docker/8a /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\\n\
                 34 31 0:31 /docker/8a /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset\\n\
                 35 31 0:32 /docker/8a /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory",
            ),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000"),
            ("sys/fs/cgroup/cpuset/cpuset.effective_cpus", "2"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712"),
        ]);
        let group = read(root.path());
        assert_eq!(group.cpu_quota, Some(CpuQuota { quota_us: 50_000, period_us: 100_000 }));
        assert_eq!((group.cpus_effective, group.memory_max_bytes), (Some(vec![2]), None));
        let all = ["memory", "cpuset", "cpu", "cpuacct"].map(|name| format!("{name}:/docker/8a"));
        assert_eq!(group.v1_paths, all);
    }

    #[test]
    fn no_quota_is_no_limit() {
        let root = stored::unpack([
            ("proc/self/cgroup", "2:cpu:/\\n0::/"),
            (
                "proc/self/mountinfo",
                "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\\n\
                 33 31 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw",
            ),
            ("sys/fs/cgroup/unified/cpu.max", "max 100000"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000"),
        ]);
        assert_eq!(read(root.path()).cpu_quota, None);
        assert_eq!(read(tempfile::tempdir().unwrap().path()), Cgroup::default());
    }
}
