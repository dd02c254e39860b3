//! Why something can't be had, as data: the cause in a word, the call and what was found, the remedy. A remedy goes
//! by the error first, then by the call: this is the one table of remedies, for what opens a mechanism as for what
//! is met later, in a launch.

use std::borrow::Cow;
use std::path::Path;
use std::{fmt, io};

use model::mechanism::{Cause, Unavailable};
use rustix::io::Errno;
use rustix::process::{
    Resource, getrlimit, parent_process_death_signal, set_parent_process_death_signal,
};
use sys::failed::{FailedCall, errno_of, named};

use self::calls::{by_call, by_file, since};

mod calls;

/// The kind of obstacle that an error of the kernel stands for.
pub fn cause_of(error: &io::Error) -> Cause {
    match errno_of(error) {
        Some(
            Errno::NOSYS
            | Errno::OPNOTSUPP
            | Errno::PROTONOSUPPORT
            | Errno::AFNOSUPPORT
            | Errno::NOPROTOOPT
            | Errno::SOCKTNOSUPPORT
            | Errno::NODEV,
        ) => Cause::AbsentFromKernel,
        Some(Errno::PERM | Errno::ACCESS) => Cause::Denied,
        Some(
            Errno::MFILE
            | Errno::NFILE
            | Errno::NOMEM
            | Errno::NOSPC
            | Errno::AGAIN
            | Errno::DQUOT
            | Errno::NOBUFS
            | Errno::ADDRINUSE,
        ) => Cause::Limit,
        None if error.kind() == io::ErrorKind::OutOfMemory => Cause::Limit,
        _ => Cause::Other,
    }
}

/// Why `open` gave no endpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// The mechanism works here, but not with this size or these options.
    NotApplicable(String),
    /// The mechanism can't be had here.
    Unavailable(Unavailable),
}

impl OpenError {
    /// For use with `map_err`: names the failed call, what was found, and the remedy.
    pub fn call<E: Into<io::Error>>(call: impl Into<Cow<'static, str>>) -> impl Fn(E) -> OpenError {
        let call = call.into();
        move |error| OpenError::Unavailable(unavailable(&call, &error.into()))
    }
}

/// What can't be had where `call` gave this error.
pub fn unavailable(call: &str, error: &io::Error) -> Unavailable {
    System::here().unavailable(call, error)
}

/// What can't be had, of an error that ended a worker or kept one from starting: an [`OpenError`], or a call that was
/// denied, is unknown here or met a limit. None of all else: it failed.
pub fn unavailable_in(error: &io::Error) -> Option<Unavailable> {
    if let Some(inner) = error.get_ref().and_then(|item| item.downcast_ref::<OpenError>()) {
        return match inner {
            OpenError::Unavailable(why) => Some(why.clone()),
            OpenError::NotApplicable(_) => None,
        };
    }
    let is_obstacle = cause_of(error) != Cause::Other;
    match FailedCall::of(error) {
        Some(failed) => is_obstacle.then(|| unavailable(failed.call, error)),
        // Without its call it may as well be a time-out, or what the partner's end made of it.
        None => {
            let is_plain = matches!(
                errno_of(error),
                Some(
                    Errno::PERM
                        | Errno::ACCESS
                        | Errno::NOSYS
                        | Errno::MFILE
                        | Errno::NFILE
                        | Errno::NOMEM
                )
            );
            is_plain.then(|| unavailable("a system call", error))
        }
    }
}

/// What is asked of the system before a remedy is named.
struct System<'a> {
    root: &'a Path,
    loopback_is_up: Option<bool>,
}

/// What was found, to stand behind the error, and the remedy.
type Found = (String, String);

impl System<'_> {
    fn here() -> System<'static> {
        // Asked for errors alone, where a call more costs nothing.
        System { root: Path::new("/"), loopback_is_up: sys::network::loopback_is_up() }
    }

    fn unavailable(&self, call: &str, error: &io::Error) -> Unavailable {
        let (call, said) = match FailedCall::of(error) {
            Some(failed) => (failed.call, io::Error::from(failed.errno).to_string()),
            None => (call, error.to_string()),
        };
        let (found, remedy) = match errno_of(error) {
            Some(errno) => self.found(call, errno),
            None if error.kind() == io::ErrorKind::OutOfMemory => self.no_memory(call),
            None => (String::new(), "none known".into()),
        };
        let reason = format!("{call}: {said}{found}");
        Unavailable { cause: cause_of(error), reason, remedy }
    }

    fn found(&self, call: &str, errno: Errno) -> Found {
        let plainly = |remedy: &str| (String::new(), remedy.to_string());
        if let Some(remedy) = by_file(call, errno) {
            return match (errno, self.seccomp()) {
                // A file system that refuses, or a filter: the error doesn't tell.
                (Errno::PERM, (found, Some(true))) => {
                    (found, format!("{remedy}, or {}", allow(call)))
                }
                _ => plainly(remedy),
            };
        }
        if let Some(remedy) = by_call(call, errno) {
            return plainly(remedy);
        }
        match errno {
            Errno::MFILE if call == "mq_open" => {
                let limit = limit(Resource::Msgqueue);
                (
                    format!(", the limit on bytes in POSIX queues is {limit}"),
                    "raise it: ulimit -q".into(),
                )
            }
            Errno::MFILE => {
                let limit = getrlimit(Resource::Nofile).current.unwrap_or(0);
                let more = (2 * limit).next_power_of_two().max(1024);
                (
                    format!(", the limit on open files is {limit}"),
                    format!("raise it: ulimit -n {more}"),
                )
            }
            Errno::NFILE => {
                (", the system's table of files is full".into(), "raise sysctl fs.file-max".into())
            }
            // A thread needs a stack, too (pthread_create(3)).
            Errno::AGAIN if call == "pthread_create" && self.is_out_of_addresses() => {
                self.no_memory(call)
            }
            Errno::AGAIN if begins_a_process(call) => self.no_process(),
            // Both lock memory.
            Errno::AGAIN if call.starts_with("mmap") || call.starts_with("io_uring_") => {
                plainly("raise the limit on locked memory (ulimit -l), or free memory")
            }
            Errno::NOMEM if call == "io_uring_setup" => {
                // Rings are locked memory of the user (io_uring_setup(2)).
                let limit = limit(Resource::Memlock);
                (
                    format!(", the limit on locked memory is {limit}"),
                    "raise it: ulimit -l 64".into(),
                )
            }
            Errno::NOMEM => self.no_memory(call),
            Errno::NOBUFS => plainly("free memory, or choose smaller messages"),
            Errno::NOSPC => plainly("free space there"),
            Errno::DQUOT => plainly("free space there: the user's quota is used up"),
            Errno::ADDRINUSE | Errno::ADDRNOTAVAIL => self.no_address(call, errno),
            Errno::NETUNREACH | Errno::NETDOWN if self.loopback_is_up == Some(false) => {
                lo_is_down()
            }
            Errno::AFNOSUPPORT => self.no_family(call),
            Errno::PERM | Errno::ACCESS => self.denied(call),
            Errno::NOSYS
            | Errno::OPNOTSUPP
            | Errno::NOPROTOOPT
            | Errno::PROTONOSUPPORT
            | Errno::SOCKTNOSUPPORT => self.unknown(call),
            Errno::CONNRESET | Errno::CONNREFUSED | Errno::PIPE | Errno::TIMEDOUT => {
                plainly("see what ended the other side")
            }
            _ => plainly("none known"),
        }
    }

    /// No process or thread more: by which limit.
    fn no_process(&self) -> Found {
        let own = getrlimit(Resource::Nproc).current;
        let is_tighter = |limit: &sys::groups::GroupLimit| {
            limit.left() == 0 || own.is_none_or(|process| limit.limit < process)
        };
        match sys::groups::processes(self.root).filter(is_tighter) {
            Some(group) => (
                format!(", the limit on processes is {} in this control group", group.limit),
                format!("raise it: {}", group.file.display()),
            ),
            None => match own {
                Some(own) => {
                    (format!(", the limit on processes is {own}"), "raise it: ulimit -u".into())
                }
                None => {
                    let most = self.text("proc/sys/kernel/threads-max").unwrap_or_default();
                    let found =
                        format!(", the limit on processes of this machine is {}", most.trim());
                    (found, "raise sysctl kernel.threads-max and kernel.pid_max".into())
                }
            },
        }
    }

    /// Whether the limit on address space leaves no room for a stack.
    fn is_out_of_addresses(&self) -> bool {
        const STACK: u64 = 512 << 10;
        let Some(limit) = getrlimit(Resource::As).current else { return false };
        let pages = self
            .text("proc/self/statm")
            .and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
        pages.is_some_and(|pages| pages * rustix::param::page_size() as u64 + STACK > limit)
    }

    /// No memory: by which limit.
    fn no_memory(&self, call: &str) -> Found {
        for (resource, what, flag) in
            [(Resource::As, "address space", "-v"), (Resource::Data, "data", "-d")]
        {
            if let Some(bytes) = getrlimit(resource).current {
                let found = format!(", the limit on {what} is {bytes} bytes");
                return (found, format!("raise it (ulimit {flag}), or choose smaller messages"));
            }
        }
        let remedy = if call.starts_with("mmap of huge pages") {
            "reserve huge pages: sysctl vm.nr_hugepages=16"
        } else {
            "free memory, or choose smaller messages"
        };
        (String::new(), remedy.into())
    }

    /// No port, or not this address: asks which.
    fn no_address(&self, call: &str, errno: Errno) -> Found {
        if is_of_files(call) {
            return (String::new(), "none known".into());
        }
        if self.loopback_is_up == Some(false) {
            return lo_is_down();
        }
        if is_ipv6(call) && errno == Errno::ADDRNOTAVAIL && !self.has_ipv6_loopback() {
            return self.no_ipv6();
        }
        let range = self.text("proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
        let range = range.split_whitespace().collect::<Vec<_>>().join(" to ");
        let found = if range.is_empty() {
            String::new()
        } else {
            format!(", the ports that may be used are {range}")
        };
        (found, "wait until some are free, or widen sysctl net.ipv4.ip_local_port_range".into())
    }

    fn has_ipv6_loopback(&self) -> bool {
        let addresses = self.text("proc/net/if_inet6").unwrap_or_default();
        addresses.lines().any(|line| line.starts_with("00000000000000000000000000000001 "))
    }

    fn no_ipv6(&self) -> Found {
        if !self.root.join("proc/sys/net/ipv6").exists() {
            let found = ", this kernel has no IPv6".into();
            return (found, "boot it without ipv6.disable=1, or choose family=4".into());
        }
        let off = |name: &str| {
            let path = format!("proc/sys/net/ipv6/conf/{name}/disable_ipv6");
            self.text(&path).is_some_and(|text| text.trim() == "1")
        };
        match ["lo", "all"].into_iter().find(|name| off(name)) {
            Some(name) => (
                format!(", net.ipv6.conf.{name}.disable_ipv6 is 1"),
                format!("`sysctl -w net.ipv6.conf.{name}.disable_ipv6=0`, or choose family=4"),
            ),
            None => (
                ", the loopback interface has no ::1".into(),
                "`ip address add ::1/128 dev lo`, or choose family=4".into(),
            ),
        }
    }

    /// A family of addresses that no socket is made of.
    fn no_family(&self, call: &str) -> Found {
        if is_ipv6(call) && !self.root.join("proc/sys/net/ipv6").exists() {
            return self.no_ipv6();
        }
        let remedy = "let the filter pass this address family (seccomp; RestrictAddressFamilies= of \
                      systemd), or use a kernel that has it";
        (self.seccomp().0, remedy.into())
    }

    fn denied(&self, call: &str) -> Found {
        if call.starts_with("process_vm_")
            && let Some(scope) = self.text("proc/sys/kernel/yama/ptrace_scope")
            && scope.trim().parse().is_ok_and(|scope: u32| scope >= 1)
        {
            return (
                format!(", kernel.yama.ptrace_scope is {}", scope.trim()),
                "`sysctl -w kernel.yama.ptrace_scope=0`, or run as root".into(),
            );
        }
        if call.starts_with("io_uring_")
            && let Some(off) = self.text("proc/sys/kernel/io_uring_disabled")
            && off.trim() != "0"
        {
            return (
                format!(", kernel.io_uring_disabled is {}", off.trim()),
                "`sysctl -w kernel.io_uring_disabled=0`".into(),
            );
        }
        match self.seccomp() {
            (found, Some(true)) => (found, allow(call)),
            // A packet filter answers what sends so.
            (found, Some(false)) if call.starts_with("connect to") || call.starts_with("send") => (
                found,
                "see which rule of the firewall rejects it (nft list ruleset), or which security module denies it"
                    .into(),
            ),
            (found, Some(false)) => (
                found,
                "see which security module denies it (dmesg, ausearch -m avc), or run as root"
                    .into(),
            ),
            (found, None) => (found, format!("{}, or run as root", allow(call))),
        }
    }

    /// A call, protocol or option that this kernel doesn't have, or a filter hides.
    fn unknown(&self, call: &str) -> Found {
        let release = self.text("proc/sys/kernel/osrelease").unwrap_or_default();
        let release = release.trim();
        let Some((least, config)) = since(call) else {
            return (self.seccomp().0, format!("{}, or use a kernel that has it", allow(call)));
        };
        let built = config.map_or(String::new(), |config| format!(", built with {config}"));
        match (version(release), version(least)) {
            (Some(here), Some(least_known)) if here < least_known => {
                (format!(", this is Linux {release}"), format!("it needs Linux {least}{built}"))
            }
            _ => {
                let (found, filtered) = self.seccomp();
                let needs = format!("it needs Linux {least}{built}");
                if filtered == Some(true) {
                    (found, format!("{}; {needs}", allow(call)))
                } else {
                    (found, needs)
                }
            }
        }
    }

    /// Whether a filter of system calls is in force here, in words and as it is; None where that can't be read.
    fn seccomp(&self) -> (String, Option<bool>) {
        let status = self.text("proc/self/status").unwrap_or_default();
        let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:"));
        match mode.map(str::trim) {
            Some("0") => (", no seccomp filter is in force".into(), Some(false)),
            Some(_) => (", a seccomp filter is in force".into(), Some(true)),
            None => (String::new(), None),
        }
    }

    fn text(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.root.join(path)).ok()
    }
}

fn lo_is_down() -> Found {
    (", the loopback interface is down".into(), "`ip link set lo up`".into())
}

fn allow(call: &str) -> String {
    // What stands behind the name of a call says which use of it.
    let name = call.split(' ').next().unwrap_or(call);
    let name = match call {
        "a system call" => "it",
        // The standard library doesn't say which.
        _ if name == "start" => "dup2, setpgid and execve",
        _ => name,
    };
    format!("allow {name} in the filter (docker: --security-opt seccomp=FILE)")
}

fn is_ipv6(call: &str) -> bool {
    call.contains("::1") || call.contains("INET6")
}

fn is_of_files(call: &str) -> bool {
    call.contains("AF_UNIX") || call.contains("path")
}

fn begins_a_process(call: &str) -> bool {
    ["fork", "clone", "pthread_create", "start "].iter().any(|text| call.starts_with(text))
}

/// The first two numbers of a kernel's release.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|release: char| !release.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Whether a process can ask the kernel to be killed with its parent, as every worker does: without that one could outlive
/// its launch. To be asked before a fork, since a child that can't has nobody to tell.
///
/// # Errors
/// prctl(2) is denied: named, with what is to be allowed.
pub fn dies_with_parent_here() -> io::Result<()> {
    // What this process itself has asked for stays.
    let asked = || set_parent_process_death_signal(parent_process_death_signal()?);
    asked().map_err(|errno| named("prctl PR_SET_PDEATHSIG", errno))
}

/// The soft limit in force, as text.
pub fn limit(resource: Resource) -> String {
    getrlimit(resource).current.map_or("unlimited".into(), |limit| limit.to_string())
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::NotApplicable(reason) => write!(f, "{reason}"),
            OpenError::Unavailable(why) => write!(f, "{}; {}", why.reason, why.remedy),
        }
    }
}

impl std::error::Error for OpenError {}

#[cfg(test)]
mod tests;
