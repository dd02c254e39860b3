//! Kernel calls: what it costs to enter the kernel and leave it again.
//!
//! More than one trivial call, because kernels have been tuned to look well on a single one;
//! and the C library's getpid beside them, which some libraries answered without the kernel.
//! Batches of calls are timed; nothing is subtracted.

use model::floors::{Call, Calls};
use std::hint::black_box;
use std::os::fd::AsFd;

use super::worker::Setting;
use model::floors::Repeats;
use sys::calls::{getpid, getppid, getuid, library_getpid, read_nothing};

/// Measures the calls in turns, so that drift hits all alike.
pub(super) fn measure(setting: &Setting) -> Result<Calls, String> {
    let (empty, _full) = std::io::pipe().map_err(|error| format!("pipe: {error}"))?;
    let empty = empty.as_fd();
    const BARE: &str = "syscall(2)";
    type Work<'a> = &'a dyn Fn(u64);
    let calls: [(&str, &str, Work); 5] = [
        ("getpid", BARE, &|count| again(count, getpid)),
        ("getppid", BARE, &|count| again(count, getppid)),
        ("getuid", BARE, &|count| again(count, getuid)),
        ("read of 0 bytes", BARE, &|count| again(count, || read_nothing(empty))),
        ("getpid", "C library", &|count| again(count, library_getpid)),
    ];
    let lasting = setting.by_extent(100e3, 200e3);
    let counts = calls.map(|(_, _, work)| setting.watch.filling(lasting, work));
    let mut costs = calls.map(|_| Vec::new());
    for _ in 0..setting.by_extent(12, 30) {
        for (at, (_, _, work)) in calls.iter().enumerate() {
            costs[at].push(setting.watch.per_operation(counts[at], work));
        }
    }
    let call = |((call, by, _), costs): ((&str, &str, Work), Vec<f64>)| Call {
        call: call.into(),
        by: by.into(),
        cost_ns: Repeats::of(&costs),
    };
    Ok(Calls { calls: calls.into_iter().zip(costs).map(call).collect() })
}

#[inline(always)]
fn again(count: u64, call: impl Fn() -> i64) {
    for _ in 0..count {
        black_box(call());
    }
}
