//! The record of the machine: all that a reader needs in order to judge whether a figure would
//! hold on theirs. Read once per run, never inside a launch. What this host hides or doesn't
//! have is `None` (null in JSON), never a guess.

mod c_library;
pub(crate) mod cgroup;
mod container;
mod kernel;
pub(crate) mod limits;
mod memory;
mod power;
mod processor;

use std::path::Path;

use super::{cores, tree};
use model::host::{Build, Host};

/// Describes the host below `root` (`/` for this machine). Never fails; spawns nothing; takes
/// a few milliseconds, tens on machines with hundreds of CPUs.
pub fn read(root: &Path) -> Host {
    let file = |path: &str| tree::text(root, path);
    let cpus = |name: &str| tree::cpus(root, &format!("sys/devices/system/cpu/{name}"));
    // Where sysfs doesn't tell, /proc/stat has a line for each CPU that is online.
    let online = cpus("online").or_else(|| stat_cpus(&file("proc/stat")?));
    let known = online.as_deref().unwrap_or_default();
    Host {
        hostname: file("proc/sys/kernel/hostname"),
        boot_id: file("proc/sys/kernel/random/boot_id"),
        processor: processor::read(root),
        caches: memory::caches(root, known),
        memory: memory::memory(root),
        smt: power::smt(root),
        frequency: power::frequency(root, known),
        cores: cores::read(root, known),
        idle: power::idle(root, known.first().copied().unwrap_or(0)),
        cpus_isolated: cpus("isolated"),
        // Where nothing was asked for at boot, the file says "(null)".
        cpus_nohz_full: match file("sys/devices/system/cpu/nohz_full").as_deref() {
            Some("(null)") => Some(Vec::new()),
            _ => cpus("nohz_full"),
        },
        cpus_online: online,
        hypervisor: container::hypervisor(root),
        container: container::container(root),
        cgroup: cgroup::read(root),
        kernel: kernel::kernel(root),
        clock_source: kernel::clock_source(root),
        huge_pages: kernel::huge_pages(root),
        c_library: c_library::read(root),
        sysctls: limits::sysctls(root),
        mounts: limits::mounts(root),
        limits: limits::of_this_process(),
        default_buffers: limits::default_buffers(),
        build: of_this_program(),
        findings: Vec::new(),
    }
}

/// The CPUs that have a line in /proc/stat; None where it has none.
fn stat_cpus(stat: &str) -> Option<Vec<u32>> {
    let number = |line: &str| line.strip_prefix("cpu")?.split(' ').next()?.parse().ok();
    let cpus: Vec<u32> = stat.lines().filter_map(number).collect();
    (!cpus.is_empty()).then_some(cpus)
}

/// Bytes of the largest cache of any online CPU; None where none is described.
pub fn largest_cache_bytes(root: &Path) -> Option<u64> {
    let online = tree::cpus(root, "sys/devices/system/cpu/online")?;
    memory::caches(root, &online).into_iter().filter_map(|cache| cache.size_bytes).max()
}

pub(super) fn of_this_program() -> Build {
    let from = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Build {
        compiler: from(env!("IPCMARK_COMPILER")),
        target: from(env!("IPCMARK_TARGET")),
        profile: from(env!("IPCMARK_PROFILE")),
        optimisation: from(env!("IPCMARK_OPT_LEVEL")),
        flags: from(env!("IPCMARK_FLAGS")).or(Some("none".into())),
        target_features: from(env!("IPCMARK_TARGET_FEATURES")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored;

    #[test]
    fn an_empty_root_is_a_host_of_which_nothing_is_known() {
        let host = read(tempfile::tempdir().unwrap().path());
        assert_eq!((host.hostname, host.cpus_online), (None, None));
        assert!(host.caches.is_empty() && host.mounts.is_empty());
        assert_eq!(host.memory.total_bytes, None);
    }

    #[test]
    fn every_stored_machine_survives_json() {
        for name in stored::names() {
            let host = read(stored::machine(&name).path());
            let json = serde_json::to_string(&host).unwrap();
            assert_eq!(serde_json::from_str::<Host>(&json).unwrap(), host, "{name}");
        }
    }

    #[test]
    fn this_machine_survives_json_and_knows_its_kernel() {
        let host = read(Path::new("/"));
        let json = serde_json::to_string(&host).unwrap();
        assert_eq!(serde_json::from_str::<Host>(&json).unwrap(), host);
        assert!(host.kernel.release.is_some());
        assert!(host.memory.total_bytes > Some(1 << 20));
    }

    #[test]
    fn nohz_full_without_cpus_is_an_empty_list() {
        let root = stored::unpack([("sys/devices/system/cpu/nohz_full", "  (null)")]);
        assert_eq!(read(root.path()).cpus_nohz_full, Some(vec![]));
        let root = stored::unpack([("sys/devices/system/cpu/nohz_full", "2-3")]);
        assert_eq!(read(root.path()).cpus_nohz_full, Some(vec![2, 3]));
    }

    #[test]
    fn the_compiler_is_known() {
        let build = of_this_program();
        assert!(build.compiler.unwrap().starts_with("rustc "));
        assert!(build.target.unwrap().contains("linux"));
        assert!(build.optimisation.is_some() && build.profile.is_some());
    }
}
