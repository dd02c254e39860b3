//! Kernel calls: what it costs to enter the kernel and leave it again.
//!
//! More than one trivial call, because kernels have been tuned to look well on a single one;
//! and the C library's getpid beside them, which some libraries answered without the kernel.
//! Then a message that a process sends to itself, by the C library's functions, as the loops of launches and most programs
//! make their calls, and inline, without it. Batches are timed; nothing is subtracted.

use model::floors::{Call, Calls, Repeats};
use std::hint::black_box;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use super::setting::Setting;
use sys::calls::{
    getpid, getppid, getuid, inline_getpid, inline_read, inline_write, library_getpid,
    library_read, library_write, read_nothing,
};

const BARE: &str = "syscall(2)";
const LIBRARY: &str = "C library";
const INLINE: &str = "inline";
const BY_PIPE: &str = "64 bytes through a pipe";
const BY_SOCKET: &str = "64 bytes through a Unix stream";

/// Measures the calls in turns, so that drift hits all alike.
pub fn measure(setting: &Setting) -> Result<Calls, String> {
    let pipe = || std::io::pipe().map_err(|error| format!("pipe: {error}"));
    let ((empty, _full), (out, into)) = (pipe()?, pipe()?);
    let (one, other) = UnixStream::pair().map_err(|error| format!("socketpair: {error}"))?;
    let empty = empty.as_fd();
    let (pipe, socket) = ((out.as_fd(), into.as_fd()), (one.as_fd(), other.as_fd()));
    type Work<'a> = &'a dyn Fn(u64);
    let works: [(&str, &str, Work); 10] = [
        ("getpid", BARE, &|count| again(count, getpid)),
        ("getppid", BARE, &|count| again(count, getppid)),
        ("getuid", BARE, &|count| again(count, getuid)),
        ("read of 0 bytes", BARE, &|count| again(count, || read_nothing(empty))),
        ("getpid", INLINE, &|count| again(count, inline_getpid)),
        ("getpid", LIBRARY, &|count| again(count, library_getpid)),
        (BY_PIPE, INLINE, &|count| again(count, || message(pipe, inline_write, inline_read))),
        (BY_PIPE, LIBRARY, &|count| again(count, || message(pipe, library_write, library_read))),
        (BY_SOCKET, INLINE, &|count| again(count, || message(socket, inline_write, inline_read))),
        (BY_SOCKET, LIBRARY, &|count| {
            again(count, || message(socket, library_write, library_read))
        }),
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
    let (messages, calls) =
        all.partition(|call| [BY_PIPE, BY_SOCKET].contains(&call.call.as_str()));
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
fn message(
    (from, to): (BorrowedFd<'_>, BorrowedFd<'_>),
    write: impl Fn(BorrowedFd<'_>, &[u8]) -> i64,
    read: impl Fn(BorrowedFd<'_>, &mut [u8]) -> i64,
) -> i64 {
    let mut bytes = [0xA5; 64];
    if write(to, &bytes) == 64 { read(from, &mut bytes) } else { -1 }
}
