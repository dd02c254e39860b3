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

/// What is said of `errno` by `call` on such a system; its loopback interface is up or not.
fn said(files: &[(&str, &str)], is_up: bool, call: &str, errno: Errno) -> Unavailable {
    let root = tree(files);
    let system = System { root: root.path(), loopback_is_up: Some(is_up) };
    system.unavailable(call, &errno.into())
}

const FILTERED: (&str, &str) = ("proc/self/status", "Name:\tipcmark\nSeccomp:\t2\n");
const FREE: (&str, &str) = ("proc/self/status", "Name:\tipcmark\nSeccomp:\t0\n");

#[test]
fn an_error_of_the_kernel_has_its_kind() {
    let kind = |errno: Errno| cause_of(&io::Error::from(errno));
    assert_eq!(kind(Errno::NOSYS), Cause::AbsentFromKernel);
    assert_eq!(kind(Errno::PERM), Cause::Denied);
    assert_eq!(kind(Errno::MFILE), Cause::Limit);
    assert_eq!(kind(Errno::INVAL), Cause::Other);
}

#[test]
fn a_limit_on_open_files_is_named_with_its_value_whatever_the_call() {
    for call in ["pipe2", "socketpair", "bind to ::1", "mkfifo", "madvise"] {
        let error: OpenError = OpenError::call(call)(io::Error::from(Errno::MFILE));
        let text = error.to_string();
        assert!(text.contains("the limit on open files is "), "{text}");
        assert!(text.contains("raise it: ulimit -n "), "{text}");
    }
}

/// No errno of these is a matter of limits, of interfaces or of Yama, whichever call gave it.
#[test]
fn what_a_filter_denies_is_not_blamed_on_anything_else() {
    let calls = [
        "socket AF_INET",
        "socketpair AF_UNIX",
        "eventfd2",
        "pipe2",
        "bind to 127.0.0.1",
        "bind to ::1",
        "mmap",
        "process_vm_readv",
        "vmsplice",
        "io_uring_setup",
        "io_uring_enter",
        "msgget",
        "semop",
        "mq_open",
        "fork",
        "read",
    ];
    for call in calls {
        for errno in [Errno::PERM, Errno::NOSYS] {
            let why = said(&[FILTERED], true, call, errno);
            let text = format!("{}; {}", why.reason, why.remedy);
            assert!(text.starts_with(&format!("{call}: ")), "{text}");
            assert!(text.contains("a seccomp filter is in force; allow "), "{text}");
            for wrong in ["ulimit", "loopback", "yama", "free memory", "TMPDIR"] {
                assert!(!text.contains(wrong), "{text}");
            }
            let why = said(&[FREE], true, call, errno);
            assert!(!why.remedy.contains("filter") || errno == Errno::NOSYS, "{why:?}");
        }
    }
}

#[test]
fn yama_is_blamed_only_where_it_denies() {
    let scope = |scope| [("proc/sys/kernel/yama/ptrace_scope", scope), FREE];
    let with = |scope_says| said(&scope(scope_says), true, "process_vm_readv", Errno::PERM);
    for scope in ["1\n", "3\n"] {
        let why = with(scope);
        assert!(why.reason.contains("kernel.yama.ptrace_scope is "), "{why:?}");
    }
    let why = with("0\n");
    assert!(!format!("{why:?}").contains("yama"), "{why:?}");
    assert!(
        !format!("{:?}", said(&[FREE], true, "process_vm_readv", Errno::PERM)).contains("yama")
    );
    assert!(!format!("{:?}", said(&scope("1"), true, "vmsplice", Errno::PERM)).contains("yama"));
}

#[test]
fn an_address_that_can_not_be_had_is_a_port_ipv6_or_an_interface() {
    let range = ("proc/sys/net/ipv4/ip_local_port_range", "60000\t60003\n");
    let v6 = |name: &'static str| {
        [(name, "1\n"), range, ("proc/net/if_inet6", "fe80 02 40 20 80 eth0\n")]
    };
    for (call, errno) in
        [("bind to 127.0.0.1", Errno::ADDRINUSE), ("connect to 127.0.0.1", Errno::ADDRNOTAVAIL)]
    {
        let why = said(&[range], true, call, errno);
        assert!(why.reason.ends_with("the ports that may be used are 60000 to 60003"), "{why:?}");
        assert!(why.remedy.contains("net.ipv4.ip_local_port_range"), "{why:?}");
        let why = said(&[range], false, call, errno);
        assert!(why.reason.ends_with("the loopback interface is down"), "{why:?}");
        assert_eq!(why.remedy, "`ip link set lo up`");
    }
    for name in ["lo", "all"] {
        let path: &'static str = match name {
            "lo" => "proc/sys/net/ipv6/conf/lo/disable_ipv6",
            _ => "proc/sys/net/ipv6/conf/all/disable_ipv6",
        };
        let why = said(&v6(path), true, "bind to ::1", Errno::ADDRNOTAVAIL);
        let off = format!("net.ipv6.conf.{name}.disable_ipv6");
        assert!(why.reason.ends_with(&format!("{off} is 1")), "{why:?}");
        assert!(why.remedy.contains(&off), "{why:?}");
    }
    let why = said(&[range], true, "bind to ::1", Errno::ADDRNOTAVAIL);
    assert!(why.reason.ends_with("this kernel has no IPv6"), "{why:?}");
    // It is there: then a port is what lacks.
    let there = ("proc/net/if_inet6", "00000000000000000000000000000001 01 80 10 80       lo\n");
    let v6_there = [there, range, ("proc/sys/net/ipv6/conf/lo/disable_ipv6", "0\n")];
    let why = said(&v6_there, true, "connect to ::1", Errno::ADDRNOTAVAIL);
    assert!(why.remedy.contains("ip_local_port_range"), "{why:?}");
}

#[test]
fn a_family_that_is_refused_is_a_filter_or_a_kernel_without_it() {
    let why = said(&[FILTERED], true, "socket AF_INET", Errno::AFNOSUPPORT);
    assert!(why.remedy.contains("let the filter pass this address family"), "{why:?}");
    assert_eq!(why.cause, Cause::AbsentFromKernel);
    let why = said(&[], true, "socket AF_INET6", Errno::AFNOSUPPORT);
    assert!(why.reason.ends_with("this kernel has no IPv6"), "{why:?}");
}

#[test]
fn a_call_that_this_kernel_lacks_is_told_with_the_least_that_has_it() {
    let old = ("proc/sys/kernel/osrelease", "4.15.0-generic\n");
    let why = said(&[old, FREE], true, "io_uring_setup", Errno::NOSYS);
    assert!(why.reason.ends_with("this is Linux 4.15.0-generic"), "{why:?}");
    assert_eq!(why.remedy, "it needs Linux 5.1, built with CONFIG_IO_URING");
    let new = ("proc/sys/kernel/osrelease", "6.1.0\n");
    let why = said(&[new, FILTERED], true, "pidfd_open", Errno::NOSYS);
    assert!(why.remedy.starts_with("allow pidfd_open in the filter"), "{why:?}");
    assert!(why.remedy.ends_with("it needs Linux 5.3"), "{why:?}");
}

#[test]
fn the_limit_on_processes_in_force_is_named() {
    let group = [
        ("proc/self/cgroup", "0::/a\n"),
        ("proc/self/mountinfo", "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
        ("sys/fs/cgroup/a/pids.max", "3\n"),
        ("sys/fs/cgroup/a/pids.current", "3\n"),
    ];
    for call in ["fork", "pthread_create", "clone"] {
        let why = said(&group, true, call, Errno::AGAIN);
        let found = "the limit on processes is 3 in this control group";
        assert!(why.reason.ends_with(found), "{why:?}");
        assert!(why.remedy.ends_with("sys/fs/cgroup/a/pids.max"), "{why:?}");
        let why = said(&[], true, call, Errno::AGAIN);
        assert!(why.reason.contains("the limit on processes is "), "{why:?}");
        let own = getrlimit(Resource::Nproc).current;
        let expected = own.map_or("raise sysctl kernel.threads-max", |_| "raise it: ulimit -u");
        assert!(why.remedy.starts_with(expected), "{why:?}");
    }
}

#[test]
fn an_error_with_several_meanings_is_told_by_what_the_call_means_by_it() {
    for (call, errno, word) in [
        ("mmap", Errno::AGAIN, "ulimit -l"),
        ("rt_tgsigqueueinfo", Errno::AGAIN, "ulimit -i"),
        ("connect to 127.0.0.1", Errno::AGAIN, "none known"),
        ("pipe2", Errno::NFILE, "fs.pipe-user-pages-hard"),
        ("socketpair AF_UNIX", Errno::NFILE, "raise sysctl fs.file-max"),
        ("epoll_ctl", Errno::NOSPC, "fs.epoll.max_user_watches"),
        ("connect to 127.0.0.1", Errno::PERM, "rule of the firewall"),
        ("sendto", Errno::PERM, "rule of the firewall"),
    ] {
        let why = said(&[FREE], true, call, errno);
        assert!(why.remedy.contains(word), "{call}: {why:?}");
    }
}

#[test]
fn files_go_by_their_folder() {
    let why = said(&[FILTERED], true, "mkfifo", Errno::ACCESS);
    assert!(why.remedy.contains("TMPDIR"), "{why:?}");
    // By the error first: a full or foreign folder knows FIFOs, and a filter may be what denies.
    for (call, errno, word) in [
        ("mkfifo", Errno::NOSPC, "free space there"),
        ("bind to a path", Errno::DQUOT, "free space there"),
        ("mkfifo", Errno::ROFS, "that you may write to"),
        ("mkfifo", Errno::PERM, "a file system that knows FIFOs, or allow mkfifo in the filter"),
    ] {
        let why = said(&[FILTERED], true, call, errno);
        assert!(why.remedy.contains(word), "{call}: {why:?}");
    }
    let why = said(&[FREE], true, "open /dev/ptmx", Errno::NOSPC);
    assert_eq!(why.remedy, "raise sysctl kernel.pty.max");
    let why = said(&[FREE], true, "open /dev/ptmx", Errno::NOENT);
    assert_eq!(why.remedy, "mount devpts on /dev/pts");
}

#[test]
fn later_errors_are_obstacles_where_the_call_is_denied_unknown_or_at_a_limit() {
    use sys::failed::{failed, named};
    let of = |error: io::Error| unavailable_in(&error).map(|why| (why.cause, why.reason));
    let (cause, reason) = of(failed("process_vm_readv", Errno::PERM)).unwrap();
    assert_eq!(cause, Cause::Denied);
    assert!(reason.starts_with("process_vm_readv: Operation not permitted"), "{reason}");
    assert_eq!(of(named("pthread_create", Errno::AGAIN)).unwrap().0, Cause::Limit);
    assert_eq!(of(Errno::PERM.into()).unwrap().0, Cause::Denied);
    assert_eq!(of(io::ErrorKind::OutOfMemory.into()).map(|pair| pair.0), None);
    assert_eq!(of(failed("read", Errno::IO)), None);
    assert_eq!(of(Errno::AGAIN.into()), None, "a wait that took too long");
    assert_eq!(of(io::Error::other("the partner closed its end")), None);
    let inner = OpenError::call::<io::Error>("socket AF_UNIX")(Errno::PERM.into());
    assert_eq!(of(io::Error::other(inner)).unwrap().0, Cause::Denied);
}
