//! `pipe`: two pipes, one each way (pipe(7)). A message is one write and one read while it
//! fits the capacity.

use rustix::pipe::{PipeFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with};

use super::fd::TwoFds;
use super::{
    Carries, Choice, Framing, Mechanism, OpenError, OpenSpec, Opened, OptionSpec, Reach, Traits,
    Visitor,
};

/// The mechanism's row.
pub struct Pipe;

impl Mechanism for Pipe {
    const NAME: &'static str = "pipe";
    const SUMMARY: &'static str = "two anonymous pipes, one each way";
    const TRAITS: Traits =
        Traits { carries: Carries::Bytes, framing: Framing::Stream, reach: Reach::Host };
    const OPTIONS: &'static [OptionSpec] = &[OptionSpec {
        name: "capacity",
        summary: "bytes each pipe holds (F_SETPIPE_SZ); the kernel rounds up to a power of two",
        words: &["default"],
        takes_size: true,
    }];

    fn open<V: Visitor>(spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        let failed = OpenError::call("pipe2", "raise the limit on open files (ulimit -n)");
        let (there_from, there_to) = pipe_with(PipeFlags::CLOEXEC).map_err(&failed)?;
        let (back_from, back_to) = pipe_with(PipeFlags::CLOEXEC).map_err(&failed)?;
        if let Choice::Size(bytes) = spec.options.get(Self::OPTIONS, "capacity") {
            for pipe in [&there_to, &back_to] {
                fcntl_setpipe_size(pipe, bytes).map_err(|error| {
                    OpenError::NotApplicable(format!(
                        "pipe: F_SETPIPE_SZ {bytes}: {error}; \
                         /proc/sys/fs/pipe-max-size and pipe-user-pages-soft are the limits"
                    ))
                })?;
            }
        }
        let capacity = fcntl_getpipe_size(&there_to)
            .map_err(OpenError::call("fcntl F_GETPIPE_SZ", "none known"))?;
        Ok(visitor.visit(Opened {
            initiator: TwoFds { to: there_to, from: back_from },
            responder: TwoFds { to: back_to, from: there_from },
            granted: vec![("pipe_capacity_bytes".into(), capacity as u64)],
        }))
    }
}
