//! What every launch needs of the kernel, without an alternative: looked for before anything is measured, so that what
//! lacks is said by its name, once, and not by each launch.

use std::io;
use std::path::Path;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{PidfdFlags, WaitId, WaitIdOptions, getpid, pidfd_open, waitid};
use std::os::fd::{AsFd, OwnedFd};

/// The oldest kernel with all calls that are needed: waitid(2) takes a pidfd since then.
pub const LEAST_KERNEL: &str = "Linux 5.4";

/// What lacks here, and what would help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lacking {
    pub what: String,
    pub found: String,
    pub remedy: String,
}

impl std::fmt::Display for Lacking {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{}: {}; {}", self.what, self.found, self.remedy)
    }
}

/// All that lacks on this machine; empty where launches can be made.
pub fn lacking(root: &Path) -> Vec<Lacking> {
    let proc = std::fs::read_link(root.join("proc/self/exe")).map(drop);
    let mut found: Vec<Lacking> = proc.err().map(no_proc).into_iter().collect();
    found.extend(calls(pidfd, socket_pair));
    found
}

fn no_proc(error: io::Error) -> Lacking {
    Lacking {
        what: "/proc".into(),
        found: format!("read /proc/self/exe: {error}"),
        remedy: "launches start this program by it: mount proc on /proc (mount -t proc proc /proc)"
            .into(),
    }
}

/// The calls that can't be made, by those that try them.
fn calls(
    pidfd: impl FnOnce() -> Result<(), (&'static str, Errno)>,
    socket_pair: impl FnOnce() -> Result<(), Errno>,
) -> Vec<Lacking> {
    // Without a kernel that brought it every Linux has it.
    let call = |what: &str, since: Option<&str>, error: Errno| Lacking {
        what: what.into(),
        found: io::Error::from(error).to_string(),
        remedy: match (error, since) {
            (Errno::PERM | Errno::ACCESS, _) | (_, None) => {
                "a filter (seccomp) or security module denies it: allow it there".into()
            }
            (Errno::NOSYS | Errno::INVAL, Some(since)) => format!(
                "it needs {since} or later ({LEAST_KERNEL} for all), or a filter (seccomp) that allows it"
            ),
            (_, Some(since)) => {
                format!("it needs {since} or later, and a filter (seccomp) that allows it")
            }
        },
    };
    // How many descriptors there may be is no property of the call, and told by each case.
    let is_lack = |error: &Errno| !matches!(*error, Errno::MFILE | Errno::NFILE);
    let pidfd = pidfd().err().filter(|(_, error)| is_lack(error)).map(|(what, error)| {
        let since = if what.starts_with("waitid") { "Linux 5.4" } else { "Linux 5.3" };
        call(what, Some(since), error)
    });
    let pair = socket_pair().err().filter(is_lack);
    let pair = pair.map(|error| call("socketpair(2)", None, error));
    pidfd.into_iter().chain(pair).collect()
}

/// Opens this process, asks for the state of a child by that, which it isn't, and may signal it.
fn pidfd() -> Result<(), (&'static str, Errno)> {
    let own: OwnedFd =
        pidfd_open(getpid(), PidfdFlags::empty()).map_err(|error| ("pidfd_open(2)", error))?;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    match waitid(WaitId::PidFd(own.as_fd()), options) {
        Ok(_) | Err(Errno::CHILD) => {}
        Err(error) => return Err(("waitid(2) by pidfd", error)),
    }
    sys::process::may_signal(own.as_fd()).map_err(|error| ("pidfd_send_signal(2)", error))
}

fn socket_pair() -> Result<(), Errno> {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_all_that_its_tests_need() {
        assert_eq!(lacking(Path::new("/")), []);
    }

    #[test]
    fn what_lacks_is_named_with_its_way_out() {
        let lines = |pidfd, pair| {
            let found = calls(|| pidfd, || pair);
            found.iter().map(ToString::to_string).collect::<Vec<String>>().join("\n")
        };
        let old = lines(Err(("pidfd_open(2)", Errno::NOSYS)), Ok(()));
        assert!(
            old.starts_with(
                "pidfd_open(2): Function not implemented (os error 38); it needs Linux 5.3"
            ),
            "{old}"
        );
        let denied = lines(Err(("pidfd_open(2)", Errno::PERM)), Err(Errno::PERM));
        assert_eq!(denied.lines().count(), 2);
        let refused = lines(Ok(()), Err(Errno::AFNOSUPPORT));
        assert!(refused.ends_with("denies it: allow it there"), "{refused}");
        assert!(denied.lines().all(|line| line.contains("filter (seccomp)")), "{denied}");
        assert_eq!(lines(Ok(()), Ok(())), "");
        assert_eq!(lines(Err(("pidfd_open(2)", Errno::MFILE)), Err(Errno::NFILE)), "");
        let waitid = lines(Err(("waitid(2) by pidfd", Errno::INVAL)), Ok(()));
        assert!(waitid.contains("needs Linux 5.4 or later"), "{waitid}");
    }

    #[test]
    fn without_proc_that_is_said() {
        let found = lacking(tempfile::tempdir().unwrap().path());
        assert_eq!(found.len(), 1);
        assert!(found[0].to_string().contains("mount proc on /proc"), "{}", found[0]);
    }
}
