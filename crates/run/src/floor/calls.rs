//! Kernel calls: what it costs to enter the kernel and leave it again.
//!
//! More than one trivial call, because kernels have been tuned to look well on a single one;
//! and the C library's getpid beside them, which some libraries answered without the kernel.
//! Then a message that a process sends to itself, with calls that stand in the loop, as in the loops of launches, and
//! with the C library's functions, as most programs make them. Batches are timed; nothing is subtracted.

use model::floors::{Call, Calls};
use std::hint::black_box;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use super::worker::Setting;
use model::floors::Repeats;
use sys::calls::{
    getpid, getppid, getuid, library_getpid, library_read, library_write, read_nothing,
};

const BARE: &str = "syscall(2)";
const LIBRARY: &str = "C library";
const INLINE: &str = "inline";
const BY_PIPE: &str = "64 bytes through a pipe";
const BY_SOCKET: &str = "64 bytes through a Unix stream";

/// Measures the calls in turns, so that drift hits all alike.
pub(super) fn measure(setting: &Setting) -> Result<Calls, String> {
    let pipe = || std::io::pipe().map_err(|error| format!("pipe: {error}"));
    let ((empty, _full), (out, into)) = (pipe()?, pipe()?);
    let (one, other) = UnixStream::pair().map_err(|error| format!("socketpair: {error}"))?;
    let empty = empty.as_fd();
    let (pipe, socket) = ((out.as_fd(), into.as_fd()), (one.as_fd(), other.as_fd()));
    type Work<'a> = &'a dyn Fn(u64);
    let works: [(&str, &str, Work); 9] = [
        ("getpid", BARE, &|count| again(count, getpid)),
        ("getppid", BARE, &|count| again(count, getppid)),
        ("getuid", BARE, &|count| again(count, getuid)),
        ("read of 0 bytes", BARE, &|count| again(count, || read_nothing(empty))),
        ("getpid", LIBRARY, &|count| again(count, library_getpid)),
        (BY_PIPE, INLINE, &|count| again(count, || inline(pipe))),
        (BY_PIPE, LIBRARY, &|count| again(count, || by_library(pipe))),
        (BY_SOCKET, INLINE, &|count| again(count, || inline(socket))),
        (BY_SOCKET, LIBRARY, &|count| again(count, || by_library(socket))),
    ];
    let lasting = setting.by_extent(100e3, 200e3);
    let counts = works.map(|(_, _, work)| setting.watch.filling(lasting, work));
    let mut costs = works.map(|_| Vec::new());
    for _ in 0..setting.by_extent(12, 30) {
        for (at, (_, _, work)) in works.iter().enumerate() {
            costs[at].push(setting.watch.per_operation(counts[at], work));
        }
    }
    let call = |((call, by, _), costs): ((&str, &str, Work), Vec<f64>)| Call {
        call: call.into(),
        by: by.into(),
        cost_ns: Repeats::of(&costs),
    };
    let all = works.into_iter().zip(costs).map(call);
    let (messages, calls) = all.partition(|it| [BY_PIPE, BY_SOCKET].contains(&it.call.as_str()));
    Ok(Calls { calls, messages })
}

#[inline(always)]
fn again(count: u64, call: impl Fn() -> i64) {
    for _ in 0..count {
        black_box(call());
    }
}

/// A message, written and read again; -1 where it doesn't go in whole.
#[inline(always)]
fn inline((from, to): (BorrowedFd<'_>, BorrowedFd<'_>)) -> i64 {
    let mut bytes = [0xA5; 64];
    match rustix::io::write(to, &bytes) {
        Ok(64) => rustix::io::read(from, &mut bytes).map_or(-1, |it| it as i64),
        _ => -1,
    }
}

/// The same by the C library's functions.
#[inline(always)]
fn by_library((from, to): (BorrowedFd<'_>, BorrowedFd<'_>)) -> i64 {
    let mut bytes = [0xA5; 64];
    if library_write(to, &bytes) == 64 { library_read(from, &mut bytes) } else { -1 }
}
