//! Is this a guest, is this a container? Signs are recorded as found, because none is proof: an
//! image built for containers and booted in a virtual machine still has its `/.dockerenv`.

use std::path::Path;

use super::processor::{cpuinfo, hypervisor_flag};
use model::host::{Container, Hypervisor};

use crate::tree;

pub(super) fn hypervisor(root: &Path) -> Hypervisor {
    let clocks = "sys/devices/system/clocksource/clocksource0/available_clocksource";
    let clocks = tree::text(root, clocks).unwrap_or_default();
    let of_guests = |name: &&str| {
        ["kvm-clock", "xen"].contains(name)
            || name.starts_with("hyperv")
            || name.starts_with("vmware")
    };
    let device_tree = "sys/firmware/devicetree/base/hypervisor/compatible";
    Hypervisor {
        flag: hypervisor_flag(&cpuinfo(root)),
        kind: tree::text(root, "sys/hypervisor/type").or_else(|| tree::text(root, device_tree)),
        vendor: tree::text(root, "sys/class/dmi/id/sys_vendor"),
        product: tree::text(root, "sys/class/dmi/id/product_name"),
        clock: clocks.split_ascii_whitespace().find(of_guests).map(str::to_owned),
    }
}

pub(super) fn container(root: &Path) -> Container {
    let environment = std::fs::read(root.join("proc/self/environ")).unwrap_or_default();
    let groups = tree::text(root, "proc/self/cgroup").unwrap_or_default();
    let status = tree::text(root, "proc/self/status").unwrap_or_default();
    let file = |path: &str| root.join(path.trim_start_matches('/')).exists();
    let mut signs: Vec<(String, &str)> = Vec::new();
    if let Some(kind) = variable(&environment, "container") {
        signs.push((kind, "container= in the environment"));
    }
    if let Some(kind) = named_in(&groups) {
        signs.push((kind.to_owned(), "/proc/self/cgroup"));
    }
    if file("/run/.containerenv") {
        signs.push(("podman".to_owned(), "/run/.containerenv"));
    }
    if file("/.dockerenv") {
        signs.push(("docker".to_owned(), "/.dockerenv"));
    }
    Container {
        kind: signs.first().map(|(kind, _)| kind.clone()),
        signs: signs.iter().map(|(kind, sign)| format!("{kind} ({sign})")).collect(),
        seccomp: status.lines().find_map(|line| line.strip_prefix("Seccomp:")?.trim().parse().ok()),
    }
}

/// A variable of an environment block (NUL between entries); systemd-nspawn, LXC and podman set
/// `container`.
fn variable(environment: &[u8], name: &str) -> Option<String> {
    environment.split(|&byte| byte == 0).find_map(|entry| {
        let (key, value) = std::str::from_utf8(entry).ok()?.split_once('=')?;
        (key == name && !value.is_empty()).then(|| value.to_owned())
    })
}

/// The container engine that a path of /proc/self/cgroup names.
fn named_in(groups: &str) -> Option<&'static str> {
    let engines = [
        ("kubepods", "kubernetes"),
        ("libpod", "podman"),
        ("docker", "docker"),
        ("lxc", "lxc"),
        ("machine.slice", "systemd-nspawn"),
    ];
    let paths: Vec<&str> = groups.lines().filter_map(|line| line.splitn(3, ':').nth(2)).collect();
    let (_, kind) = engines.iter().find(|(word, _)| {
        // The daemon's own group is no container: docker.service, lxc.service.
        paths.iter().any(|path| {
            path.split('/').any(|part| part.contains(word) && !part.ends_with(".service"))
        })
    })?;
    Some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored;

    #[test]
    fn engines_by_the_path_of_the_group() {
        assert_eq!(named_in("0::/system.slice/docker-8a3f.scope"), Some("docker"));
        assert_eq!(named_in("12:cpu:/docker/8a3f\n0::/"), Some("docker"));
        assert_eq!(named_in("0::/kubepods.slice/kubepods-besteffort.slice/x"), Some("kubernetes"));
        assert_eq!(named_in("0::/user.slice/user-1000.slice/session-2.scope"), None);
        assert_eq!(named_in("0::/system.slice/docker.service"), None);
        assert_eq!(named_in("0::/\n"), None);
    }

    #[test]
    fn every_sign_is_kept() {
        let root = stored::unpack([
            ("proc/self/environ", "PATH=/bin\\0container=lxc\\0HOME=/"),
            (".dockerenv", ""),
            ("proc/self/status", "Name:\\tx\\nSeccomp:\\t2\\nSeccomp_filters:\\t1"),
        ]);
        let found = container(root.path());
        assert_eq!(found.seccomp, Some(2));
        assert_eq!(found.kind.as_deref(), Some("lxc"));
        assert_eq!(found.signs, ["lxc (container= in the environment)", "docker (/.dockerenv)"]);
        assert_eq!(container(tempfile::tempdir().unwrap().path()), Container::default());
    }

    #[test]
    fn a_guest_by_flag_clock_and_product() {
        let root = stored::unpack([
            ("proc/cpuinfo", "processor : 0\\nflags : fpu hypervisor"),
            ("sys/class/dmi/id/product_name", "KVM Virtual Machine"),
            ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc kvm-clock"),
        ]);
        let guest = hypervisor(root.path());
        assert_eq!((guest.flag, guest.clock.as_deref()), (Some(true), Some("kvm-clock")));
        assert_eq!(guest.product.as_deref(), Some("KVM Virtual Machine"));
        assert_eq!((guest.kind, guest.vendor), (None, None));
    }
}
