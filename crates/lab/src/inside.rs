//! The way into a host: the calling process gets its network, and a view of /sys that fits.
//!
//! As `ip netns exec` does, but what is mounted below /sys (control groups, tracing) stays in
//! sight, so that a measurement started there describes the machine as it would outside.

use std::fs::{self, File};
use std::io;

use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change,
    move_mount, open_tree,
};

use super::space::{Identity, Space};
use super::{LabError, Plan, State};
use model::distinct::ascending;
use sys::network;

/// Moves the calling thread, which must be the only one, into node `node` of laboratory `name`.
///
/// # Errors
/// If there is no such laboratory or node, if it was replaced, or without the privilege.
pub fn enter(name: &str, node: &str) -> Result<(), LabError> {
    let (made, space) = found(name, node)?;
    space.enter().map_err(LabError::of(format!("enter {made}")))?;
    own_sys().map_err(LabError::of(format!("mount /sys for {made}")))
}

/// The network of node `node` of laboratory `name`.
///
/// # Errors
/// As [`enter`].
pub fn network(name: &str, node: &str) -> Result<File, LabError> {
    found(name, node).map(|(_, space)| space.into_file())
}

/// The namespace of a node, and its name.
fn found(name: &str, node: &str) -> Result<(String, Space), LabError> {
    let state = State::existing(name)?;
    let plan = Plan::of(&state.asked);
    let Some(place) = plan.nodes.iter().position(|other| other.name == node) else {
        let names: Vec<&str> = plan.nodes.iter().map(|node| node.name.as_str()).collect();
        return Err(LabError::Usage(format!(
            "laboratory `{name}` has no `{node}`: choose among {}",
            names.join(", ")
        )));
    };
    super::build::require_privileges()?;
    let broken = || {
        let namespace = plan.namespace(place);
        LabError::Failed(format!(
            "namespace {namespace} is not what lab up made: `ipcmark lab down --name {name}` \
             removes the rest"
        ))
    };
    let made = state.namespaces.get(place).ok_or_else(broken)?;
    let space = Space::open(&made.path()).map_err(|_| broken())?;
    let identity: Option<Identity> = space.identity().ok();
    if identity != Some(made.identity) {
        return Err(broken());
    }
    Ok((made.name.clone(), space))
}

/// Mounts the /sys of the thread's network in a mount namespace of its own.
fn own_sys() -> io::Result<()> {
    network::own_mounts()?;
    // What happens to mounts here stays here.
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
    let table = fs::read_to_string("/proc/self/mountinfo")?;
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let kept: Vec<_> = below_sys(&table)
        .into_iter()
        .filter_map(|path| Some((open_tree(CWD, path, flags).ok()?, path)))
        .collect();
    let safe = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("sysfs", "/sys", "sysfs", safe, None)?;
    for (tree, path) in kept {
        // One whose place this kernel's fresh /sys lacks stays out of sight.
        let _ = move_mount(&tree, "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH);
    }
    Ok(())
}

/// The mount points right below /sys; those below them come along (proc_pid_mountinfo(5)).
fn below_sys(table: &str) -> Vec<&str> {
    let points = table.lines().filter_map(|line| line.split(' ').nth(4));
    let mut top: Vec<&str> = Vec::new();
    for path in ascending(points.filter(|path| path.starts_with("/sys/"))) {
        let is_below =
            |other: &&str| path.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'));
        if !top.iter().any(is_below) {
            top.push(path);
        }
    }
    top
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_below_others_come_along() {
        let table = "22 1 0:20 / /sys rw - sysfs sysfs rw\n\
                     23 22 0:21 / /sys/fs/cgroup rw - tmpfs t rw\n\
                     24 23 0:22 / /sys/fs/cgroup/cpu rw - cgroup c rw\n\
                     25 22 0:23 / /sys/kernel/tracing rw - tracefs t rw\n\
                     26 1 0:24 / /system rw - ext4 x rw\n";
        assert_eq!(below_sys(table), ["/sys/fs/cgroup", "/sys/kernel/tracing"]);
    }
}
