//! Round trips as one would write them by hand, for the endpoints that `fidelity` measures: the
//! system calls one after the other, the clock read twice in all.

use clock::Now;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use rustix::io::{read, write};
use rustix::thread::futex as call;

use mechanisms::fd::{OneFd, TwoFds};
use mechanisms::workload::Buffers;
use mechanisms::{Endpoint, eventfd, futex};
use model::clock::ClockKind;

/// A round trip as one would write it by hand for this one endpoint: no retries, no traits, an
/// error or a short count ends it.
pub trait Bare: Endpoint + 'static {
    /// The initiator's `count` round trips; gives the ticks that they took together.
    fn initiate(&mut self, clock: ClockKind, buffers: &mut Buffers, count: u64) -> io::Result<u64>;
    /// The responder's.
    fn answer(&mut self, buffers: &mut Buffers, count: u64) -> io::Result<()>;
}

#[cold]
fn short() -> io::Error {
    io::Error::other("a short read or write")
}

#[inline(never)]
fn write_read(
    clock: ClockKind,
    to: impl AsFd,
    from: impl AsFd,
    out: &[u8],
    into: &mut [u8],
    count: u64,
) -> io::Result<u64> {
    let (to, from) = (to.as_fd(), from.as_fd());
    let opened = clock.now();
    for _ in 0..count {
        if write(to, out)? != out.len() || read(from, &mut *into)? != into.len() {
            return Err(short());
        }
    }
    Ok(clock.now() - opened)
}

#[inline(never)]
fn read_write(
    to: impl AsFd,
    from: impl AsFd,
    out: &[u8],
    into: &mut [u8],
    count: u64,
) -> io::Result<()> {
    let (to, from) = (to.as_fd(), from.as_fd());
    for _ in 0..count {
        if read(from, &mut *into)? != into.len() || write(to, out)? != out.len() {
            return Err(short());
        }
    }
    Ok(())
}

impl Bare for TwoFds {
    fn initiate(&mut self, clock: ClockKind, buffers: &mut Buffers, count: u64) -> io::Result<u64> {
        let (out, into) = buffers.split();
        write_read(clock, &self.to, &self.from, out, into, count)
    }

    fn answer(&mut self, buffers: &mut Buffers, count: u64) -> io::Result<()> {
        let (out, into) = buffers.split();
        read_write(&self.to, &self.from, out, into, count)
    }
}

impl Bare for OneFd {
    fn initiate(&mut self, clock: ClockKind, buffers: &mut Buffers, count: u64) -> io::Result<u64> {
        let (out, into) = buffers.split();
        write_read(clock, &*self, &*self, out, into, count)
    }

    fn answer(&mut self, buffers: &mut Buffers, count: u64) -> io::Result<()> {
        let (out, into) = buffers.split();
        read_write(&*self, &*self, out, into, count)
    }
}

impl Bare for eventfd::EventfdEnd {
    fn initiate(&mut self, clock: ClockKind, _: &mut Buffers, count: u64) -> io::Result<u64> {
        let fds = self.fds();
        write_read(clock, &fds.to, &fds.from, &1u64.to_ne_bytes(), &mut [0; 8], count)
    }

    fn answer(&mut self, _: &mut Buffers, count: u64) -> io::Result<()> {
        let fds = self.fds();
        read_write(&fds.to, &fds.from, &1u64.to_ne_bytes(), &mut [0; 8], count)
    }
}

#[inline(always)]
fn post(tokens: &AtomicU32, parked: &AtomicU32) {
    tokens.fetch_add(1, SeqCst);
    if parked.load(SeqCst) == 1 && parked.swap(0, SeqCst) == 1 {
        let _ = call::wake(parked, call::Flags::empty(), 1);
    }
}

#[inline(always)]
fn wait(tokens: &AtomicU32, parked: &AtomicU32) {
    while tokens.load(SeqCst) == 0 {
        parked.store(1, SeqCst);
        if tokens.load(SeqCst) != 0 {
            parked.store(0, SeqCst);
            break;
        }
        let _ = call::wait(parked, call::Flags::empty(), 1, None);
    }
    tokens.fetch_sub(1, SeqCst);
}

impl Bare for futex::FutexEnd {
    fn initiate(&mut self, clock: ClockKind, _: &mut Buffers, count: u64) -> io::Result<u64> {
        let (there, back) = self.bells();
        let opened = clock.now();
        for _ in 0..count {
            post(&there.tokens, &there.parked);
            wait(&back.tokens, &back.parked);
        }
        Ok(clock.now() - opened)
    }

    fn answer(&mut self, _: &mut Buffers, count: u64) -> io::Result<()> {
        let (back, there) = self.bells();
        for _ in 0..count {
            wait(&there.tokens, &there.parked);
            post(&back.tokens, &back.parked);
        }
        Ok(())
    }
}
