//! The schedule, checked against an endpoint that is slow once.

use std::thread::sleep;
use std::time::Duration;
use sys::clock::Now;

use super::*;
use crate::payload::Untouched;
use crate::schedule::{Offered, Wait};
use model::clock::ClockKind;
use model::workload::Arrivals;

const CLOCK: ClockKind = ClockKind::MonotonicRaw; // its ticks are nanoseconds
const MS: u64 = 1_000_000;
const MESSAGES: usize = 40;
const SLOW: usize = 3;

/// Answers at once, but for one message; keeps when each was sent, and what was called in order.
#[derive(Default)]
struct Slow {
    sent: Vec<u64>,
    answered: usize,
    paused: Vec<usize>,
}

impl Endpoint for Slow {
    fn send(&mut self, _: &[u8]) -> io::Result<()> {
        assert_eq!(self.answered, self.sent.len(), "one is outstanding at a time");
        self.sent.push(CLOCK.now());
        Ok(())
    }

    fn recv(&mut self, _: &mut [u8]) -> io::Result<()> {
        self.answered += 1;
        if self.answered == SLOW + 1 {
            sleep(Duration::from_millis(30));
        }
        Ok(())
    }

    fn enter(&mut self, phase: Phase) -> io::Result<()> {
        assert_eq!(phase, Phase::Paused, "it only turns to wait");
        self.paused.push(self.sent.len());
        Ok(())
    }
}

fn offered(per_second: u64, messages: u64) -> Offered {
    Offered { arrivals: Arrivals::Constant, per_second, messages, seed: 7 }
}

fn paced(wait: Wait) -> (Slow, u64, Vec<u64>, Vec<u64>, Adherence) {
    let (mut end, mut buffers) = (Slow::default(), Buffers::new(8, 0).unwrap());
    let samples: Vec<AtomicU64> = (0..MESSAGES).map(|_| AtomicU64::new(u64::MAX)).collect();
    let mut lateness = vec![u64::MAX; MESSAGES];
    let mut schedule = Schedule::new(CLOCK, offered(1_000, MESSAGES as u64), 1.0, wait);
    let mut adherence = Adherence::new(offered(1_000, MESSAGES as u64), 1.0, wait);
    let (keeps, pair) = ((&mut schedule, &mut adherence), (&samples[..], &mut lateness[..]));
    initiate(&mut end, &mut Untouched, &mut buffers, CLOCK, keeps, pair).unwrap();
    let samples = samples.into_iter().map(AtomicU64::into_inner).collect();
    (end, schedule.first(), samples, lateness, adherence)
}

#[test]
fn every_message_keeps_the_time_it_was_due_when_one_was_slow() {
    for wait in [Wait::Asleep, Wait::Spinning] {
        let (end, first, samples, lateness, adherence) = paced(wait);
        assert_eq!((end.sent.len(), end.answered), (MESSAGES, MESSAGES));
        for nth in 0..MESSAGES {
            let due = first + nth as u64 * MS;
            assert!(end.sent[nth] >= due, "{nth} was sent before it was due");
            assert!(end.sent[nth] - due >= lateness[nth], "{nth} began late by more than it says");
            assert!(samples[nth] >= lateness[nth], "{nth}: its wait counts");
        }
        assert!(samples[SLOW] >= 30 * MS);
        // Each after the slow one is late by what is left of 30 ms, and goes at once.
        for nth in SLOW + 1..SLOW + 30 {
            assert!(lateness[nth] >= (30 - (nth - SLOW) as u64) * MS, "{nth}: {lateness:?}");
            assert!(!end.paused.contains(&nth), "{nth} was late: nothing to wait for");
        }
        assert_eq!(end.paused.first(), Some(&0), "it waits for the first");
        // Those behind the slow one began as soon as they might.
        let late = lateness.iter().filter(|number| **number > adherence.tolerance()).count() as u64;
        assert!(late >= 25 && adherence.late() <= late - 25, "{late}: {adherence:?}");
    }
}

#[test]
fn roundings_do_not_add_up_over_a_schedule() {
    // 3 a second, in ticks of 7 ns: neither the period nor the tick divides the other.
    let mut schedule = Schedule::new(CLOCK, offered(3, 3_000_001), 7.0, Wait::Spinning);
    let dues: Vec<u64> = (0..=3_000_000).map(|_| schedule.next_due()).collect();
    assert!(dues.is_sorted());
    let whole = (dues[3_000_000] - dues[0]) as f64 * 7.0;
    assert!((whole - 1e15).abs() <= 7.0, "{whole}");
    schedule.begin();
    assert_eq!(schedule.next_due(), schedule.first());
}

#[test]
fn poisson_arrivals_are_exponential_and_the_same_for_one_seed() {
    let offered = Offered { arrivals: Arrivals::Poisson, ..offered(1_000, 20_000) };
    let gaps = |offered: Offered| -> Vec<u64> {
        let schedule = Schedule::new(CLOCK, offered, 1.0, Wait::Spinning);
        (0..offered.messages as usize - 1)
            .map(|nth| schedule.due(nth + 1) - schedule.due(nth))
            .collect()
    };
    let drawn = gaps(offered);
    assert_eq!(drawn, gaps(offered));
    assert_ne!(drawn, gaps(Offered { seed: 8, ..offered }));
    let (n, mean) = (drawn.len() as f64, drawn.iter().sum::<u64>() as f64 / drawn.len() as f64);
    let spread = drawn.iter().map(|number| (*number as f64 - mean).powi(2)).sum::<f64>() / n;
    // Standard deviation equals the mean, and so do 1 - 1/e of the gaps lie below it.
    assert!((mean / 1e6 - 1.0).abs() < 0.03, "{mean}");
    assert!((spread.sqrt() / mean - 1.0).abs() < 0.05, "{spread}");
    let below = drawn.iter().filter(|number| (**number as f64) < mean).count() as f64 / n;
    assert!((below - 0.632).abs() < 0.02, "{below}");
}

#[test]
fn messages_of_a_burst_are_due_at_once_and_have_until_the_next_one() {
    let arrivals = Arrivals::Bursts { messages: 4, every_ns: 10 * MS };
    let offered = Offered { arrivals, per_second: 400, messages: 10, seed: 7 };
    let schedule = Schedule::new(CLOCK, offered, 1.0, Wait::Spinning);
    let dues: Vec<u64> = (0..10).map(|nth| schedule.due(nth) - schedule.first()).collect();
    let expected = [0, 0, 0, 0, 10, 10, 10, 10, 20, 20].map(|number| number * MS);
    assert_eq!(dues, expected);
    // 400 a second are 2.5 ms each: nine after the first.
    assert_eq!(schedule.lasts(10), 22_500_000);
    assert_eq!((schedule.lasts(1), schedule.lasts(0)), (0, 0));
}

#[test]
fn what_is_begun_late_is_the_senders_fault_only_where_it_might_have_been_begun() {
    let of = |per_second, wait| Adherence::new(offered(per_second, 1), 1.0, wait);
    let mut adherence = of(100_000, Wait::Spinning);
    assert_eq!(adherence.tolerance(), 10_000);
    adherence.begun(1_000, 11_000);
    assert_eq!(adherence.late(), 0, "within the tolerance");
    adherence.begun(1_000, 11_001);
    assert_eq!(adherence.late(), 1);
    // The next is due at 2,000; its place was taken until 50,000.
    adherence.free(50_000);
    adherence.begun(2_000, 59_000);
    assert_eq!(adherence.late(), 1, "the mechanism's");
    adherence.begun(2_000, 60_001);
    adherence.begun(70_000, 80_001);
    assert_eq!(adherence.late(), 3);
    // Of several connections, its own was full until 90,000, or a call for another returned at 50,000.
    adherence.begun_after(90_000, 70_000, 100_000);
    adherence.begun_after(0, 2_000, 60_000);
    assert_eq!((adherence.late(), adherence.held()), (3, 1), "a call for another held the second");
    adherence.begun_after(90_000, 70_000, 100_001);
    assert_eq!((adherence.late(), adherence.held()), (4, 1), "which held nobody for so long");
    // A hundredth of 10 ms; and a sleeper wakes up late.
    assert_eq!(of(100, Wait::Spinning).tolerance(), 100_000);
    assert_eq!(of(100_000, Wait::Asleep).tolerance(), 200_000);
}
