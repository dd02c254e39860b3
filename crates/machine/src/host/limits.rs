//! What the kernel will grant: settings of pipes, sockets and IPC (/proc/sys), the file systems
//! that hold shared objects (/proc/self/mountinfo, statvfs(3)), limits of this process
//! (getrlimit(2)), where it may run, and as whom.

use std::path::Path;

use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use rustix::pipe::{PipeFlags, fcntl_getpipe_size, pipe_with};
use rustix::process::Resource;

use crate::tree;
use model::host::{Buffers, DefaultBuffers, Limit, Limits, Mount, Scheduling, Sysctls};
use model::process_stat;

/// The settings that are recorded, as paths below /proc/sys.
const SYSCTLS: [&str; 47] = [
    "fs/pipe-max-size",
    "fs/pipe-user-pages-soft",
    "fs/pipe-user-pages-hard",
    "fs/file-max",
    "fs/nr_open",
    "fs/mqueue/msg_default",
    "fs/mqueue/msg_max",
    "fs/mqueue/msgsize_default",
    "fs/mqueue/msgsize_max",
    "fs/mqueue/queues_max",
    "kernel/msgmax",
    "kernel/msgmnb",
    "kernel/msgmni",
    "kernel/sem",
    "kernel/shmall",
    "kernel/shmmax",
    "kernel/shmmni",
    "kernel/perf_event_paranoid",
    "kernel/randomize_va_space",
    "kernel/io_uring_disabled",
    "kernel/unprivileged_bpf_disabled",
    "kernel/yama/ptrace_scope",
    "kernel/numa_balancing",
    "kernel/timer_migration",
    "kernel/nmi_watchdog",
    "kernel/watchdog",
    "kernel/sched_rt_runtime_us",
    "kernel/sched_cfs_bandwidth_slice_us",
    "kernel/split_lock_mitigate",
    "kernel/threads-max",
    "kernel/pid_max",
    "vm/nr_hugepages",
    "vm/overcommit_memory",
    "vm/swappiness",
    "net/core/rmem_default",
    "net/core/rmem_max",
    "net/core/wmem_default",
    "net/core/wmem_max",
    "net/core/optmem_max",
    "net/core/busy_poll",
    "net/core/busy_read",
    "net/core/somaxconn",
    "net/core/default_qdisc",
    "net/ipv4/tcp_rmem",
    "net/ipv4/tcp_wmem",
    "net/ipv4/tcp_congestion_control",
    "net/unix/max_dgram_qlen",
];

pub(super) fn sysctls(root: &Path) -> Sysctls {
    let setting = |path: &str| {
        let text = tree::text(root, &format!("proc/sys/{path}"))?;
        Some(text.split_ascii_whitespace().collect::<Vec<_>>().join(" "))
    };
    Sysctls(SYSCTLS.iter().map(|path| ((*path).to_owned(), setting(path))).collect())
}

pub(super) fn mounts(root: &Path) -> Vec<Mount> {
    let mounts = mount_points(root);
    let of = |path: &str| {
        // Of mounts upon each other the last is seen, and max_by_key takes the last.
        let mount = mounts
            .iter()
            .filter(|mount| Path::new(path).starts_with(&mount.path))
            .max_by_key(|mount| mount.path.len())?;
        let room = rustix::fs::statvfs(root.join(&path[1..])).ok();
        Some(Mount {
            path: path.to_owned(),
            mount_point: mount.path.clone(),
            file_system: mount.file_system.clone(),
            options: format!("{},{}", mount.options, mount.super_options),
            size_bytes: room.as_ref().map(|room| room.f_blocks.saturating_mul(room.f_frsize)),
            free_bytes: room.as_ref().map(|room| room.f_bavail.saturating_mul(room.f_frsize)),
        })
    };
    ["/dev/shm", "/dev/mqueue", "/dev/hugepages", "/tmp"].into_iter().filter_map(of).collect()
}

/// One line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
pub(super) struct MountPoint {
    pub(super) root: String,
    pub(super) path: String,
    pub(super) options: String,
    pub(super) file_system: String,
    pub(super) super_options: String,
}

pub(super) fn mount_points(root: &Path) -> Vec<MountPoint> {
    let text = tree::text(root, "proc/self/mountinfo").unwrap_or_default();
    text.lines().filter_map(mount_point).collect()
}

fn mount_point(line: &str) -> Option<MountPoint> {
    let (mount, file_system) = line.split_once(" - ")?;
    let mount: Vec<&str> = mount.split(' ').collect();
    let file_system: Vec<&str> = file_system.split(' ').collect();
    Some(MountPoint {
        root: unescape(mount.get(3)?),
        path: unescape(mount.get(4)?),
        options: (*mount.get(5)?).to_owned(),
        file_system: (*file_system.first()?).to_owned(),
        super_options: (*file_system.get(2)?).to_owned(),
    })
}

/// The kind of the file system that is mounted over a file, where one is.
pub(crate) fn mounted_over(root: &Path, file: &str) -> Option<String> {
    let mounts = mount_points(root);
    mounts.into_iter().rfind(|mount| mount.path == file).map(|mount| mount.file_system)
}

/// The kernel writes space, tab, newline and backslash in octal.
fn unescape(path: &str) -> String {
    let path = path.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n");
    path.replace("\\134", "\\")
}

/// The CPUs this thread may run on, as in [`Limits::affinity`].
pub(crate) fn affinity() -> Option<Vec<u32>> {
    Some(sys::affinity::Affinity::here().ok()?.cpus())
}

/// How the process is scheduled whose line of proc_pid_stat(5) that is.
pub fn scheduling(stat: &str) -> Scheduling {
    let policy = match process_stat::number::<u32>(stat, 41) {
        Some(0) => "other",
        Some(1) => "fifo",
        Some(2) => "rr",
        Some(3) => "batch",
        Some(5) => "idle",
        Some(6) => "deadline",
        Some(7) => "ext",
        _ => "unknown",
    };
    Scheduling {
        policy: policy.into(),
        priority: process_stat::number(stat, 40).unwrap_or(0),
        nice: process_stat::number(stat, 19).unwrap_or(0),
    }
}

pub(super) fn of_this_process() -> Limits {
    let resources = [
        ("MEMLOCK", Resource::Memlock),
        ("MSGQUEUE", Resource::Msgqueue),
        ("NOFILE", Resource::Nofile),
        ("NPROC", Resource::Nproc),
        ("RTPRIO", Resource::Rtprio),
        ("SIGPENDING", Resource::Sigpending),
        ("STACK", Resource::Stack),
    ];
    let limit = |resource| {
        let limit = rustix::process::getrlimit(resource);
        Limit { soft: limit.current, hard: limit.maximum }
    };
    Limits {
        resources: resources.map(|(name, of)| (name.to_owned(), limit(of))).into(),
        affinity: affinity(),
        scheduling: std::fs::read_to_string("/proc/self/stat").ok().map(|stat| scheduling(&stat)),
        effective_uid: rustix::process::geteuid().as_raw(),
    }
}

pub(super) fn default_buffers() -> DefaultBuffers {
    let close = SocketFlags::CLOEXEC;
    let pipe = pipe_with(PipeFlags::CLOEXEC).and_then(|(end, _)| fcntl_getpipe_size(end));
    let unix = rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, close, None).ok();
    let inet = |kind| rustix::net::socket_with(AddressFamily::INET, kind, close, None).ok();
    DefaultBuffers {
        pipe_bytes: pipe.ok().map(|bytes| bytes as u64),
        unix_stream: unix.and_then(|(end, _)| buffers(end)),
        tcp: inet(SocketType::STREAM).and_then(buffers),
        udp: inet(SocketType::DGRAM).and_then(buffers),
    }
}

fn buffers(socket: impl std::os::fd::AsFd) -> Option<Buffers> {
    let send_bytes = sockopt::socket_send_buffer_size(&socket).ok()? as u64;
    let receive_bytes = sockopt::socket_recv_buffer_size(&socket).ok()? as u64;
    Some(Buffers { send_bytes, receive_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored;

    #[test]
    fn settings_are_text_and_absent_ones_null() {
        let root = stored::unpack([
            ("proc/sys/net/ipv4/tcp_rmem", "4096\\t131072\\t6291456"),
            ("proc/sys/fs/pipe-max-size", "1048576"),
            ("proc/sys/kernel/perf_event_paranoid", "-1"),
        ]);
        let settings = sysctls(root.path());
        assert_eq!(settings.text("net/ipv4/tcp_rmem"), Some("4096 131072 6291456"));
        assert_eq!(settings.number("fs/pipe-max-size"), Some(1_048_576));
        assert_eq!(settings.number("kernel/perf_event_paranoid"), Some(-1));
        assert_eq!(settings.number::<u64>("net/ipv4/tcp_rmem"), None);
        let json = serde_json::to_value(&settings).unwrap();
        assert!(json["kernel/msgmax"].is_null() && json.get("kernel/msgmax").is_some());
    }

    #[test]
    fn places_belong_to_the_deepest_and_last_mount() {
        let root = stored::unpack([(
            "proc/self/mountinfo",
            "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\\n\
             24 27 0:6 / /dev rw - devtmpfs devtmpfs rw\\n\
             25 24 0:23 / /dev/shm rw,nosuid shared:3 - tmpfs tmpfs rw,size=64k\\n\
             30 25 0:27 / /dev/shm rw - tmpfs tmpfs rw,size=24684096k\\n\
             31 27 0:28 / /tm rw - tmpfs tmpfs rw\\n\
             32 27 0:29 / /with\\\\040space rw - tmpfs tmpfs rw",
        )]);
        let mounts = mounts(root.path());
        let points: Vec<_> = mounts.iter().map(|m| m.mount_point.as_str()).collect();
        assert_eq!(points, ["/dev/shm", "/dev", "/dev", "/"]);
        assert_eq!(mounts[0].options, "rw,rw,size=24684096k");
        assert_eq!(mounts[0].size_bytes, None);
        assert_eq!(mount_points(root.path())[5].path, "/with space");
    }

    #[test]
    fn this_process_has_limits() {
        let limits = of_this_process();
        assert!(limits.resources["NOFILE"].soft > Some(2));
        assert!(limits.affinity.is_none_or(|cpus| !cpus.is_empty()));
    }

    #[test]
    fn fresh_objects_have_room() {
        let default_buffers = default_buffers();
        assert!(default_buffers.pipe_bytes >= Some(4096), "{default_buffers:?}");
        assert!(
            default_buffers.unix_stream.is_some_and(
                |unix_stream| unix_stream.send_bytes > 0 && unix_stream.receive_bytes > 0
            )
        );
    }
}
