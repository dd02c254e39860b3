//! The pipe at its limit: one way through `vmsplice:wait=spin,capacity=1M` against the method by which pipes are known
//! to be fastest ("How fast are Linux pipes anyway?", F. Mazzoli, 2022), written anew here from that description: the
//! writer lends the two halves of a buffer in turn (vmsplice(2)), the reader reads into one buffer, and neither ever
//! sleeps (SPLICE_F_NONBLOCK, O_NONBLOCK). Nobody fills what is sent or looks at what arrives.
//!
//! Two threads on two CPUs; both take turns in a random order, each time with a pipe and threads of its own.
//!
//! `cargo bench --bench pipe_record [-- --quick]`. Exit code 1 when the gate is missed.

mod common;

use std::hint::spin_loop;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;

use mechanisms::{Deadline, Endpoint, OpenSpec, Opened, Variant, Visitor, open};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, SpliceFFlags, fcntl, vmsplice};
use nix::unistd::{pipe2, read};
use stats::compare_paired;

use common::{Machine, carry, in_turn, median, quick, ratio};

const VARIANT: &str = "vmsplice:wait=spin,capacity=1M";
const CAPACITY: usize = 1 << 20;
/// Messages, which are halves of the other's buffer, too: some that fit the second-level cache, and some that don't.
const SIZES: [usize; 2] = [64 << 10, 256 << 10];
/// What goes through a pipe each time.
const BYTES: usize = 512 << 20;
/// Turns of each.
const TURNS: usize = 40;
const QUICK: usize = 10;
/// The least part of the other's bytes a second that ours may carry.
const GATE: f64 = 0.9;

type Cpus = (u32, u32);

/// So many of this size that all bytes go through.
fn messages(size: usize) -> u64 {
    (BYTES / size) as u64
}

/// Through the mechanism.
struct Through(Cpus, usize);

impl Visitor for Through {
    type Output = io::Result<f64>;
    fn visit<E: Endpoint + 'static>(self, opened: Opened<E>) -> Self::Output {
        let (mut from, mut to) = (opened.initiator, opened.responder);
        let (mut out, mut into) = (vec![1; self.1], vec![1; self.1]);
        from.start(&Deadline::default())?;
        let write = move |_| from.send_with(&mut out, |_| {});
        carry(self.0, messages(self.1), write, move |_| to.recv(&mut into))
    }
}

fn ours(cpus: Cpus, size: usize) -> io::Result<f64> {
    let options = Variant::parse(VARIANT).expect("a variant of the table").options;
    let spec = OpenSpec { options, message_bytes: size, same_process: true, seed: 0 };
    open("vmsplice", &spec, Through(cpus, size))
        .map_err(|error| io::Error::other(error.to_string()))?
}

fn record(cpus: Cpus, size: usize) -> io::Result<f64> {
    let (from, to) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
    fcntl(&to, FcntlArg::F_SETPIPE_SZ(CAPACITY as i32))?;
    // As many halves as the pipe holds and two: a half that comes round again is one that the reader has taken.
    let halves = vec![vec![1u8; size]; CAPACITY / size + 2];
    let (mut into, mut nth) = (vec![1; size], 0);
    let write = move |_| {
        nth = (nth + 1) % halves.len();
        lend(&to, &halves[nth])
    };
    carry(cpus, messages(size), write, move |_| fill(&from, &mut into))
}

fn lend(pipe: &OwnedFd, mut rest: &[u8]) -> io::Result<()> {
    while !rest.is_empty() {
        match vmsplice(pipe.as_fd(), &[IoSlice::new(rest)], SpliceFFlags::SPLICE_F_NONBLOCK) {
            Ok(taken) => rest = &rest[taken..],
            Err(Errno::EAGAIN) => spin_loop(),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn fill(pipe: &OwnedFd, into: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < into.len() {
        match read(pipe, &mut into[filled..]) {
            Ok(given) => filled += given,
            Err(Errno::EAGAIN) => spin_loop(),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Prints the line of one size; whether the gate is held.
fn report(cpus: Cpus, size: usize) -> io::Result<bool> {
    let taken = in_turn(
        if quick() { QUICK } else { TURNS },
        cpus,
        [&|cpus| ours(cpus, size), &|cpus| record(cpus, size)],
    )?;
    // Times of the other over ours are rates of ours over the other's.
    let found = compare_paired(&taken[1], &taken[0], 0.05);
    let rate = |ns: &[f64]| size as f64 / median(ns) * 1e9 / f64::from(1 << 30);
    let holds = found.as_ref().is_some_and(|comparison| comparison.ratio.estimate >= GATE);
    let word = if holds { "ok   " } else { "UNDER" };
    let (ours, record, kib) = (rate(&taken[0]), rate(&taken[1]), size >> 10);
    println!("{kib:>4} KiB  {ours:>6.2}  {record:>6.2}  {}  {word} {GATE}", ratio(&found));
    Ok(holds)
}

fn main() -> ExitCode {
    let machine = Machine::look();
    let cpus = match &machine.across {
        Ok((placement, cpus)) => {
            println!("{VARIANT} against the pipe record's method, {placement}; GiB/s, medians;");
            println!("ratios with 95 % intervals.\n");
            *cpus
        }
        Err(why) => {
            println!("Not compared: two that spin need two CPUs. {why}.");
            return ExitCode::SUCCESS;
        }
    };
    println!("    size    ours  record  ours / record        gate");
    let mut met = true;
    for size in SIZES {
        match report(cpus, size) {
            Ok(held) => met &= held,
            Err(error) => {
                println!("{:>4} KiB  failed: {error}", size >> 10);
                met = false;
            }
        }
    }
    ExitCode::from(u8::from(!met))
}
