//! The loop, the schedule and the service times that launches draw, compared with queueing theory: before a server on
//! a simulated clock requests have the waiting times of M/D/1 and M/M/1. Times are in ns of a clock whose ticks are such.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::*;
use crate::Buffers;
use crate::payload::Untouched;
use crate::rate::initiate;
use crate::schedule::{Adherence, Offered, Schedule, Timeline, Wait};
use mechanisms::Endpoint;
use model::workload::Arrivals;

const CLOCK: ClockKind = ClockKind::MonotonicRaw;
/// The mean service time: 100,000 requests a second are saturation.
const MEAN: u64 = 10_000;
/// Launches, each with a seed of its own, and their requests; the first of a launch find the queue emptier than
/// it is later: a server at 0.9 forgets that over some 400.
const LAUNCHES: u64 = 48;
const UNTIL_STEADY: usize = 4_000;
const REQUESTS: usize = 20_000;

/// A clock that goes on only while somebody sleeps, or works.
#[derive(Clone, Copy)]
struct Simulated<'a>(&'a AtomicU64);

impl Now for Simulated<'_> {
    fn now(self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl Timeline for Simulated<'_> {
    fn sleep(self, time: Duration) {
        self.0.fetch_add(time.as_nanos() as u64, Relaxed);
    }
}

/// The way to a server and back, which take no time: all of it is the server's.
struct Served<'a> {
    time: &'a AtomicU64,
    work: Work,
    services: Vec<u64>,
}

impl Endpoint for Served<'_> {
    fn send(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn recv(&mut self, _: &mut [u8]) -> io::Result<()> {
        let service = self.work.draw();
        self.services.push(service);
        self.time.fetch_add(service, Relaxed);
        Ok(())
    }
}

/// What each request of a launch waits, by the loop that is timed: its response time less its service.
fn waits(service: Service, per_second: u64, seed: u64) -> Vec<f64> {
    let messages = UNTIL_STEADY + REQUESTS;
    let arrivals = Arrivals::Poisson;
    let offered = Offered { arrivals, per_second, messages: messages as u64, seed };
    let time = AtomicU64::new(0);
    let clock = Simulated(&time);
    let mut schedule = Schedule::new(clock, offered, 1.0, Wait::Asleep);
    let mut adherence = Adherence::new(offered, 1.0, Wait::Asleep);
    let work = Work::new(service, CLOCK, 1.0, seed).expect("a server that works");
    let mut end = Served { time: &time, work, services: Vec::new() };
    let responses: Vec<AtomicU64> = (0..messages).map(|_| AtomicU64::new(0)).collect();
    let keeps = (&mut schedule, &mut adherence);
    let into = (&responses[..], &mut vec![0; messages][..]);
    initiate(&mut end, &mut Untouched, &mut Buffers::new(8, 0).unwrap(), clock, keeps, into)
        .unwrap();
    assert_eq!(adherence.late(), 0, "it has nothing else to do");
    let wait = |(response, service): (AtomicU64, u64)| {
        (response.into_inner() - service) as f64 / MEAN as f64
    };
    responses.into_iter().zip(end.services).map(wait).skip(UNTIL_STEADY).collect()
}

/// The mean of `values` and the half-width of its interval (99.9 % where they are normal).
fn interval(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, 3.29 * (variance / n).sqrt())
}

/// Up to here the terms below, of alternating signs and as large as e^t, leave six digits.
const FARTHEST: f64 = 25.0;

/// The share of requests that wait for longer than `t` services of length 1 (Crommelin 1934).
fn waits_longer_md1(load: f64, t: f64) -> f64 {
    let term = |k: u32| {
        let x = load * (f64::from(k) - t);
        (1..=k).fold((-x).exp(), |product, j| product * x / f64::from(j))
    };
    1.0 - (1.0 - load) * (0..=t as u32).map(term).sum::<f64>()
}

fn waits_longer_mm1(load: f64, t: f64) -> f64 {
    load * (-(1.0 - load) * t).exp()
}

/// Where `share` falls to 1 %.
fn p99(share: impl Fn(f64) -> f64, farthest: f64) -> f64 {
    let (mut low, mut high) = (0.0, farthest);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if share(middle) > 0.01 { low = middle } else { high = middle }
    }
    low
}

fn assert_theory(
    service: Service,
    mean: fn(f64) -> f64,
    (longer, farthest): (fn(f64, f64) -> f64, f64),
) {
    for (load, precision) in [(0.3, 0.02), (0.6, 0.03), (0.9, 0.15)] {
        let per_second = (load * 1e9 / MEAN as f64).round() as u64;
        let launches: Vec<Vec<f64>> =
            (0..LAUNCHES).map(|seed| waits(service, per_second, seed)).collect();
        let of = |value: &dyn Fn(&Vec<f64>) -> f64| {
            interval(&launches.iter().map(value).collect::<Vec<_>>())
        };
        let (seen, within) = of(&|values| values.iter().sum::<f64>() / values.len() as f64);
        let expected = mean(load);
        assert!((seen - expected).abs() <= within, "{load}: {seen} ± {within}, not {expected}");
        assert!(within <= precision * expected, "{load}: ± {within} of {expected} says little");
        // The share beyond the p99 is unbiased, which that of correlated samples itself is not.
        let p99 = p99(|t| longer(load, t), farthest);
        let beyond = |values: &Vec<f64>| values.iter().filter(|value| **value > p99).count() as f64;
        let (seen, within) = of(&|values| beyond(values) / values.len() as f64);
        assert!((seen - 0.01).abs() <= within, "{load}: {seen} ± {within} beyond {p99}");
        assert!(within <= 0.008, "{load}: ± {within} says little");
    }
}

#[test]
fn under_poisson_arrivals_a_fixed_service_waits_as_in_m_d_1() {
    let mean = |load: f64| load / (2.0 * (1.0 - load));
    assert_theory(Service::Fixed(MEAN), mean, (waits_longer_md1, FARTHEST));
}

#[test]
fn under_poisson_arrivals_an_exponential_service_waits_as_in_m_m_1() {
    let mean = |load: f64| load / (1.0 - load);
    assert_theory(Service::Exponential(MEAN), mean, (waits_longer_mm1, 100.0));
}

#[test]
fn the_theory_is_right_where_it_is_known_by_heart() {
    // P(W > 0) is the load; the mean is the integral of what waits longer.
    for (load, longer, mean) in [
        (0.5, waits_longer_md1 as fn(f64, f64) -> f64, 0.5),
        (0.5, waits_longer_mm1, 1.0),
        (0.9, waits_longer_md1, 4.5),
    ] {
        assert!((longer(load, 0.0) - load).abs() < 1e-9);
        let sum: f64 = (0..25_000).map(|nth| longer(load, (f64::from(nth) + 0.5) / 1e3)).sum();
        assert!((sum / 1e3 / mean - 1.0).abs() < 0.01, "{load}: {} {mean}", sum / 1e3);
    }
}

#[test]
fn a_server_spins_for_as_long_as_was_drawn_and_says_what_it_took() {
    for service in [Service::Fixed(20_000), Service::Exponential(20_000)] {
        let [mut work, mut drawn] =
            [(); 2].map(|()| Work::new(service, CLOCK, 1.0, 7).expect("a server that works"));
        assert_eq!(Work::worked([&work]), None);
        let began = CLOCK.now();
        (0..50).for_each(|_| work.spin());
        let took = CLOCK.now() - began;
        let asked = (0..50).map(|_| drawn.draw()).sum::<u64>();
        assert!(took >= asked, "{took} {asked}");
        let worked = Work::worked([&work]).expect("50 requests");
        assert_eq!(worked.asked_ns, asked as f64 / 50.0);
        assert!(worked.took_ns >= worked.asked_ns && worked.took_ns * 50.0 <= took as f64);
    }
    assert!(Work::new(Service::None, CLOCK, 1.0, 7).is_none());
}
