//! The loop against an end that takes and gives in parts, and answers only when enough are under way.

use std::os::fd::BorrowedFd;

use super::*;
use crate::payload::Untouched;
use crate::schedule::Offered;
use model::clock::ClockKind;
use model::workload::Arrivals;

const MESSAGES: usize = 50;

/// Takes each message at the second try, and answers the oldest once `holds` are under way, or no more come.
struct Holding {
    holds: usize,
    on: Vec<bool>,
    tries: usize,
    sent: usize,
    answered: usize,
    deepest: usize,
}

impl Endpoint for Holding {
    fn send(&mut self, _: &[u8]) -> io::Result<()> {
        unreachable!("it is asked without waiting")
    }

    fn recv(&mut self, _: &mut [u8]) -> io::Result<()> {
        unreachable!("it is asked without waiting")
    }

    fn as_nonblocking(&mut self) -> Option<&mut dyn Nonblocking> {
        Some(self)
    }
}

impl Nonblocking for Holding {
    fn set_nonblocking(&mut self, on: bool) -> io::Result<()> {
        self.on.push(on);
        Ok(())
    }

    fn try_send(&mut self, message: &[u8]) -> io::Result<Sent> {
        assert_eq!(message.len(), 8);
        self.tries += 1;
        if !self.tries.is_multiple_of(2) {
            return Ok(Sent::WouldBlock);
        }
        self.sent += 1;
        self.deepest = self.deepest.max(self.sent - self.answered);
        Ok(Sent::Whole)
    }

    fn try_recv(&mut self, _: &mut [u8]) -> io::Result<Received> {
        let held = self.sent - self.answered;
        if held < self.holds && self.sent < MESSAGES || held == 0 {
            return Ok(Received::WouldBlock);
        }
        self.answered += 1;
        Ok(Received::Whole)
    }

    fn ready(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

fn exchanged(depth: usize, holds: usize) -> (Holding, Vec<u64>, Vec<u64>) {
    let mut end = Holding { holds, on: Vec::new(), tries: 0, sent: 0, answered: 0, deepest: 0 };
    let samples: Vec<AtomicU64> = (0..MESSAGES).map(|_| AtomicU64::new(u64::MAX)).collect();
    let mut lateness = vec![u64::MAX; MESSAGES];
    let offered = Offered {
        arrivals: Arrivals::Poisson,
        per_second: 1_000_000,
        messages: MESSAGES as u64,
        seed: 7,
    };
    let clock = ClockKind::MonotonicRaw;
    let all = Pipelined {
        payload: &mut Untouched,
        out: &mut [0; 8],
        into: &mut [0; 8],
        clock,
        schedule: &Schedule::new(clock, offered, 1.0, Wait::Spinning),
        adherence: &mut Adherence::new(offered, 1.0, Wait::Spinning),
        depth,
        first: 0,
        samples: &samples,
        lateness: &mut lateness,
    };
    all.over(&mut end).expect("all are answered");
    (end, samples.into_iter().map(AtomicU64::into_inner).collect(), lateness)
}

#[test]
fn as_many_are_under_way_as_the_depth_allows_and_each_is_answered_once() {
    for depth in [2, 8, MESSAGES + 1] {
        let (end, samples, lateness) = exchanged(depth, depth.min(MESSAGES));
        assert_eq!((end.sent, end.answered), (MESSAGES, MESSAGES));
        assert_eq!(end.deepest, depth.min(MESSAGES));
        assert_eq!(end.on, [true, false], "switched on for the stretch, and off again");
        for (sample, late) in samples.iter().zip(&lateness) {
            assert!(late <= sample, "an answer comes after its message was begun");
        }
    }
}

#[test]
fn where_answers_come_at_once_few_are_under_way() {
    let (end, ..) = exchanged(MESSAGES, 1);
    assert_eq!(end.deepest, 1);
}
