//! Why `open` gave no endpoints, as data: the cause in a word, what was found, the remedy.

use std::fmt;
use std::io;

use model::mechanism::{Cause, Unavailable};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// The kind of obstacle that an error of the kernel stands for.
pub fn cause_of(error: &io::Error) -> Cause {
    match Errno::from_io_error(error) {
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
            | Errno::NOBUFS,
        ) => Cause::Limit,
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
    /// For use with `map_err`: names the failed call, with a remedy. Where a limit on open
    /// files or on memory is the obstacle, the value found stands in the reason.
    pub fn call<E: Into<io::Error>>(
        call: &'static str,
        remedy: &'static str,
    ) -> impl Fn(E) -> OpenError {
        move |error| {
            let error = error.into();
            let (found, remedy) = match Errno::from_io_error(&error) {
                Some(Errno::MFILE) => {
                    let limit = limit(Resource::Nofile);
                    (format!(", the limit on open files is {limit}"), "raise it: ulimit -n 1024")
                }
                Some(Errno::NFILE) => {
                    (", the system's table of files is full".into(), "raise sysctl fs.file-max")
                }
                _ => (String::new(), remedy),
            };
            OpenError::Unavailable(Unavailable {
                cause: cause_of(&error),
                reason: format!("{call}: {error}{found}"),
                remedy: remedy.into(),
            })
        }
    }
}

/// For a process that couldn't be started, where a limit is the obstacle; None where the
/// error says something else.
pub fn unavailable_process(call: &str, error: &io::Error) -> Option<Unavailable> {
    let (found, remedy) = match Errno::from_io_error(error)? {
        Errno::AGAIN => {
            let limit = limit(Resource::Nproc);
            (format!("the limit on processes is {limit}"), "raise it: ulimit -u, or pids.max")
        }
        Errno::MFILE => {
            let limit = limit(Resource::Nofile);
            (format!("the limit on open files is {limit}"), "raise it: ulimit -n 1024")
        }
        Errno::NFILE => ("the system's table of files is full".into(), "raise fs.file-max"),
        Errno::NOMEM => ("there is no memory for it".into(), "free memory"),
        _ => return None,
    };
    let reason = format!("{call}: {error}, {found}");
    Some(Unavailable { cause: Cause::Limit, reason, remedy: remedy.into() })
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

impl OpenError {
    /// What can't be had, of an error that an `OpenError` was made into.
    pub fn unavailable(error: &io::Error) -> Option<&Unavailable> {
        match error.get_ref()?.downcast_ref()? {
            OpenError::Unavailable(why) => Some(why),
            OpenError::NotApplicable(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_kernel_has_its_kind() {
        let kind = |errno: Errno| cause_of(&io::Error::from(errno));
        assert_eq!(kind(Errno::NOSYS), Cause::AbsentFromKernel);
        assert_eq!(kind(Errno::PERM), Cause::Denied);
        assert_eq!(kind(Errno::MFILE), Cause::Limit);
        assert_eq!(kind(Errno::INVAL), Cause::Other);
    }

    #[test]
    fn a_limit_on_open_files_is_named_with_its_value() {
        let error: OpenError = OpenError::call("pipe2", "none")(io::Error::from(Errno::MFILE));
        let text = error.to_string();
        assert!(text.contains("the limit on open files is "), "{text}");
        assert!(text.ends_with("raise it: ulimit -n 1024"), "{text}");
    }
}
