//! The schedule, held against an endpoint that is slow once.

use clock::Now;
use std::thread::sleep;
use std::time::Duration;

use super::*;
use crate::workload::payload::Untouched;
use crate::workload::schedule::{Offered, Wait};
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
    Offered { arrivals: Arrivals::Periodic, per_second, messages, seed: 7 }
}

fn paced(wait: Wait) -> (Slow, u64, Vec<u64>, Vec<u64>) {
    let (mut end, mut buffers) = (Slow::default(), Buffers::new(8, 0));
    let samples: Vec<AtomicU64> = (0..MESSAGES).map(|_| AtomicU64::new(u64::MAX)).collect();
    let mut lateness = vec![u64::MAX; MESSAGES];
    let mut schedule = Schedule::new(CLOCK, offered(1_000, MESSAGES as u64), 1.0, wait);
    let pair = (&samples[..], &mut lateness[..]);
    initiate(&mut end, &mut Untouched, &mut buffers, CLOCK, &mut schedule, pair).unwrap();
    let samples = samples.into_iter().map(AtomicU64::into_inner).collect();
    (end, schedule.first(), samples, lateness)
}

#[test]
fn every_message_keeps_the_time_it_was_due_when_one_was_slow() {
    for wait in [Wait::Asleep, Wait::Spinning] {
        let (end, first, samples, lateness) = paced(wait);
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
    let spread = drawn.iter().map(|it| (*it as f64 - mean).powi(2)).sum::<f64>() / n;
    // Standard deviation equals the mean, and so do 1 - 1/e of the gaps lie below it.
    assert!((mean / 1e6 - 1.0).abs() < 0.03, "{mean}");
    assert!((spread.sqrt() / mean - 1.0).abs() < 0.05, "{spread}");
    let below = drawn.iter().filter(|it| (**it as f64) < mean).count() as f64 / n;
    assert!((below - 0.632).abs() < 0.02, "{below}");
}
