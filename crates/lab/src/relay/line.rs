//! Two devices, and the frames between them: taken, lost or kept by the seed and the clock, given.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::{Counts, RelaySpec};

/// Most bytes that are kept in a direction: what 10 Gbit/s bring in 50 ms.
const MOST_KEPT: usize = 64 << 20;
/// Most frames that are taken before the other direction has its turn.
const TURN: usize = 64;
/// Room for the largest frame: an MTU of 65,521 bytes and an Ethernet header.
const LARGEST_FRAME: usize = 65_536;

/// The line: what is taken at one end is given at the other.
pub struct Line {
    ends: [LineEnd; 2],
    delay: Duration,
    loss: u32,
    frame: Vec<u8>,
}

/// An end, and the way of the frames that come in there.
struct LineEnd {
    device: File,
    name: String,
    net_dev: File,
    dropped_before: u64,
    kept: VecDeque<(Instant, Box<[u8]>)>,
    kept_bytes: usize,
    rng: ChaCha8Rng,
    counts: Counts,
}

impl Line {
    /// Between two devices, each with what its namespace counts.
    pub fn new(made: [(File, File); 2], spec: &RelaySpec) -> Line {
        let mut nth = 0;
        let ends = made.map(|(device, net_dev)| {
            let mut rng = ChaCha8Rng::seed_from_u64(spec.seed);
            rng.set_stream(nth);
            let name = spec.ends[nth as usize].interface.clone();
            nth += 1;
            LineEnd {
                device,
                name,
                net_dev,
                dropped_before: 0,
                kept: VecDeque::new(),
                kept_bytes: 0,
                rng,
                counts: Counts::default(),
            }
        });
        let delay = Duration::from_nanos(spec.delay_ns);
        Line { ends, delay, loss: spec.loss, frame: vec![0; LARGEST_FRAME] }
    }

    /// Begins now: what its devices said and dropped while they were set up belongs to nobody.
    pub fn begin(&mut self) {
        for end in &mut self.ends {
            while (&end.device).read(&mut self.frame).is_ok() {}
            end.dropped_before = end.dropped();
        }
    }

    /// What was done with frames that came in at each end.
    pub fn counts(&self) -> [Counts; 2] {
        self.ends.each_ref().map(|end| {
            let dropped = end.dropped().saturating_sub(end.dropped_before);
            Counts { overrun: end.counts.overrun + dropped, ..end.counts }
        })
    }

    /// Sleeps until a frame is there, one is due, or it is `until`; true if `owner` has hung up.
    pub fn wait(&self, until: Instant, owner: Option<BorrowedFd<'_>>) -> io::Result<bool> {
        let due = self.ends.iter().filter_map(|end| Some(end.kept.front()?.0)).min();
        let until = due.map_or(until, |due| due.min(until));
        let left = until.saturating_duration_since(Instant::now());
        let wait = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let mut fds: Vec<PollFd<'_>> =
            self.ends.iter().map(|end| PollFd::new(&end.device, PollFlags::IN)).collect();
        fds.extend(owner.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        match poll(&mut fds, Some(&wait)) {
            Ok(_) => Ok(fds.get(2).is_some_and(|fd| !fd.revents().is_empty())),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives what is due, and takes what is there.
    pub fn hand_over(&mut self) {
        let [left, right] = &mut self.ends;
        left.hand_over(&right.device, self.delay, self.loss, &mut self.frame);
        right.hand_over(&left.device, self.delay, self.loss, &mut self.frame);
    }
}

impl LineEnd {
    fn hand_over(&mut self, to: &File, delay: Duration, loss: u32, room: &mut [u8]) {
        self.give(to);
        self.take(to, delay, loss, room);
    }

    /// Gives what is due to the other end.
    fn give(&mut self, to: &File) {
        let now = Instant::now();
        while self.kept.front().is_some_and(|(due, _)| *due <= now) {
            let Some((_, frame)) = self.kept.pop_front() else { return };
            self.kept_bytes -= frame.len();
            self.pass(to, &frame);
        }
    }

    fn pass(&mut self, mut to: &File, frame: &[u8]) {
        match to.write(frame) {
            // A device takes a frame whole.
            Ok(bytes) if bytes == frame.len() => self.counts.passed += 1,
            // It is down, or has no room.
            _ => self.counts.overrun += 1,
        }
    }

    /// Takes what has come in, and decides over each frame.
    fn take(&mut self, to: &File, delay: Duration, loss: u32, room: &mut [u8]) {
        for _ in 0..TURN {
            let Ok(bytes) = (&self.device).read(room) else { return };
            let frame = &room[..bytes];
            if loss > 0 && self.rng.random_range(0..1_000_000u32) < loss {
                self.counts.lost += 1;
            } else if delay.is_zero() {
                self.pass(to, frame);
            } else if self.kept_bytes + bytes > MOST_KEPT {
                self.counts.overrun += 1;
            } else {
                self.kept_bytes += bytes;
                self.kept.push_back((Instant::now() + delay, frame.into()));
            }
        }
    }

    /// What the device had no room for, as its namespace's /proc/net/dev says (proc_pid_net(5)): the
    /// fourth of the figures of sending, behind eight of receiving.
    fn dropped(&self) -> u64 {
        let mut text = [0; 4096];
        let bytes = self.net_dev.read_at(&mut text, 0).unwrap_or(0);
        let text = String::from_utf8_lossy(&text[..bytes]);
        let mut rows = text.lines().map(str::trim);
        let row = rows.find_map(|row| row.strip_prefix(&self.name)?.strip_prefix(':'));
        let figure = row.and_then(|row| row.split_whitespace().nth(11)?.parse().ok());
        figure.unwrap_or(0)
    }
}
