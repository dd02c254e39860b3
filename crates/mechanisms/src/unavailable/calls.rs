//! What is known of calls: since which kernel there is one, and what helps where it meets a limit of its own.

use rustix::io::Errno;

/// The least kernel of a call, an option or a protocol, and what that is built with. Of those that older kernels lack.
const SINCE: &[(&str, &str, Option<&str>)] = &[
    ("process_vm_readv", "3.2", Some("CONFIG_CROSS_MEMORY_ATTACH")),
    ("process_vm_writev", "3.2", Some("CONFIG_CROSS_MEMORY_ATTACH")),
    ("vmsplice", "2.6.17", None),
    ("splice", "2.6.17", None),
    ("tee", "2.6.17", None),
    ("futex", "2.6.0", Some("CONFIG_FUTEX")),
    ("eventfd2", "2.6.27", Some("CONFIG_EVENTFD")),
    ("pipe2", "2.6.27", None),
    ("accept4", "2.6.28", None),
    ("epoll_create1", "2.6.27", Some("CONFIG_EPOLL")),
    ("io_uring_setup", "5.1", Some("CONFIG_IO_URING")),
    ("io_uring_enter", "5.1", Some("CONFIG_IO_URING")),
    ("io_uring futex", "6.7", Some("CONFIG_IO_URING")),
    ("io_uring message", "5.18", Some("CONFIG_IO_URING")),
    ("memfd_create", "3.17", None),
    ("pidfd_open", "5.3", None),
    ("pidfd_send_signal", "5.1", None),
    ("preadv2", "4.6", None),
    ("madvise", "5.14", None),
    ("rt_tgsigqueueinfo", "2.6.31", None),
    ("mq_open", "2.6.6", Some("CONFIG_POSIX_MQUEUE")),
    ("mq_timedsend", "2.6.6", Some("CONFIG_POSIX_MQUEUE")),
    ("mq_timedreceive", "2.6.6", Some("CONFIG_POSIX_MQUEUE")),
    ("msgget", "2.0", Some("CONFIG_SYSVIPC")),
    ("semget", "2.0", Some("CONFIG_SYSVIPC")),
    ("socket IPPROTO_MPTCP", "5.6", Some("CONFIG_MPTCP")),
    ("getsockopt MPTCP_INFO", "5.16", Some("CONFIG_MPTCP")),
    ("setsockopt UDP_SEGMENT", "4.18", None),
    ("setsockopt UDP_GRO", "5.0", None),
    ("setsockopt SO_BUSY_POLL", "3.11", Some("CONFIG_NET_RX_BUSY_POLL")),
    ("unshare", "3.8", Some("CONFIG_NET_NS")),
];

/// The least kernel of `call`, and what it is built with.
pub(super) fn since(call: &str) -> Option<(&'static str, Option<&'static str>)> {
    SINCE.iter().find(|entry| entry.0 == call).map(|(_, least, config)| (*least, *config))
}

/// What helps where a file is at fault, or the folder that it is to be in: there permissions are those of files.
pub(super) fn by_file(call: &str, errno: Errno) -> Option<&'static str> {
    let is_of_limits = matches!(errno, Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOSYS);
    if is_of_limits {
        return None;
    }
    Some(match call {
        "mkfifo"
        | "open a FIFO"
        | "write a record in the folder for temporary files"
        | "mkdir in the folder for temporary files"
        | "bind to a path"
            if matches!(errno, Errno::NOSPC | Errno::DQUOT) =>
        {
            "free space there, or let TMPDIR name another folder"
        }
        "mkfifo" | "open a FIFO" | "bind to a path"
            if matches!(errno, Errno::ACCESS | Errno::ROFS | Errno::NOENT | Errno::NOTDIR) =>
        {
            "let TMPDIR name a folder that you may write to"
        }
        "mkfifo" | "open a FIFO" => "let TMPDIR name a file system that knows FIFOs",
        "write a record in the folder for temporary files" => {
            "let TMPDIR name a folder that takes files and locks"
        }
        "mkdir in the folder for temporary files" => {
            "let TMPDIR name a folder that you may write to"
        }
        "bind to a path" | "name the socket" => {
            "let TMPDIR name a folder with a shorter path that takes sockets"
        }
        "open /dev/ptmx" | "open the terminal" => match errno {
            Errno::NOSPC | Errno::IO => "raise sysctl kernel.pty.max",
            _ => "mount devpts on /dev/pts",
        },
        _ => return None,
    })
}

/// What helps where this call meets a limit of its own, or what it needs isn't there.
pub(super) fn by_call(call: &str, errno: Errno) -> Option<&'static str> {
    Some(match (call, errno) {
        ("msgget", Errno::NOSPC | Errno::NOMEM) => {
            "remove queues nobody needs (ipcs -q, ipcrm -q), or raise sysctl kernel.msgmni"
        }
        ("semget", Errno::NOSPC | Errno::NOMEM) => {
            "remove sets that nobody needs (ipcs -s, ipcrm -s), or raise sysctl kernel.sem"
        }
        // An unprivileged user's share of pages, too, ends so (pipe(7)).
        ("pipe2", Errno::NFILE) => "raise sysctl fs.file-max, or fs.pipe-user-pages-hard",
        ("rt_tgsigqueueinfo", Errno::AGAIN) => "raise the limit on pending signals (ulimit -i)",
        ("epoll_ctl", Errno::NOSPC) => "raise sysctl fs.epoll.max_user_watches",
        ("mq_open", Errno::NOSPC) => "raise sysctl fs.mqueue.queues_max",
        ("setsockopt SO_NO_CHECK", _) => "leave checksum=off out",
        ("unshare", Errno::PERM | Errno::ACCESS) => "run as root, or allow user namespaces",
        ("unshare", Errno::NOSPC | Errno::USERS) => {
            "raise sysctl user.max_net_namespaces and user.max_user_namespaces"
        }
        ("setsockopt SO_BUSY_POLL", Errno::PERM | Errno::ACCESS) => "run with CAP_NET_ADMIN",
        ("madvise", Errno::INVAL) => "it needs Linux 5.14",
        _ => return None,
    })
}
