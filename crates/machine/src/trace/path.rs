//! Where the time of a round trip goes: every moment of it belongs to what the worker that has
//! the message in hand is doing.
//!
//! One message is under way at a time, so that one worker is always the one that the other waits
//! for: the holder. It changes when the other one is being woken, and when the holder falls
//! asleep while the other is awake. What the worker that isn't the holder does meanwhile on
//! another CPU delays nobody and is counted nowhere; on the holder's own CPU, that is what the
//! holder waits for, and its time goes to what the other does.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use model::trace::{Part, Share, Trips};

use super::{Event, EventKind, Who};

/// Decomposes round trips. `starts_ns` are the beginnings of the round trips on the clock of the
/// events, and the end of the last one; `events` are ordered by time.
pub fn decompose(events: &[Event], starts_ns: &[f64]) -> Option<Trips> {
    starts_ns.first()?;
    let traced_until = events.last()?.at_ns as f64;
    let whole = starts_ns.partition_point(|end| *end <= traced_until).checked_sub(1)?;
    let mut trips = vec![Trip::default(); whole];
    let mut path = Path::new(events.first()?.at_ns as f64);
    let mut at = 0;
    for event in events {
        path.spend_until(event.at_ns as f64, &starts_ns[..=whole], &mut at, &mut trips);
        path.take(event);
        if let Some(trip) = path.trip(&starts_ns[..=whole], at).and_then(|nth| trips.get_mut(nth)) {
            trip.note(&path, event);
        }
    }
    let mut mean = middle(&trips, starts_ns)?;
    mean.crossing_ns = crossing_ns(events, trips.len());
    Some(mean)
}

/// The quickest kind of way from one system call into the next, by its median; a kind is a worker
/// and the two calls, and one that fewer than half of so many trips have doesn't count.
fn crossing_ns(events: &[Event], trips: usize) -> Option<f64> {
    let mut kinds: BTreeMap<(Who, u32, u32), Vec<u64>> = BTreeMap::new();
    for who in [Who::Initiator, Who::Responder] {
        let (mut call, mut left) = (None, None);
        for event in events.iter().filter(|event| event.who == who) {
            match event.kind {
                EventKind::Enter(next) => {
                    if let (Some(call), Some(left)) = (call, left) {
                        kinds.entry((who, call, next)).or_default().push(event.at_ns - left);
                    }
                    (call, left) = (Some(next), None);
                }
                EventKind::Exit(_) => left = Some(event.at_ns),
                // A way with a stop in it tells nothing.
                EventKind::Out { .. } => left = None,
                _ => {}
            }
        }
    }
    let medians = kinds.into_values().filter(|ways| 2 * ways.len() >= trips.max(1));
    let median = |mut ways: Vec<u64>| {
        let middle = ways.len() / 2;
        *ways.select_nth_unstable(middle).1 as f64
    };
    medians.map(median).min_by(f64::total_cmp)
}

/// The mean of the trips in the middle half.
fn middle(trips: &[Trip], starts_ns: &[f64]) -> Option<Trips> {
    let took = |nth: usize| starts_ns[nth + 1] - starts_ns[nth];
    let mut order: Vec<usize> = (0..trips.len()).collect();
    order.sort_by(|a, b| took(*a).total_cmp(&took(*b)));
    let chosen = &order[trips.len() / 4..(trips.len() - trips.len() / 4)];
    let used = chosen.len() as f64;
    let mut mean = Trips {
        of: trips.len() as u64,
        used: chosen.len() as u64,
        mean_ns: chosen.iter().map(|nth| took(*nth)).sum::<f64>() / used,
        ..Trips::default()
    };
    for trip in chosen.iter().map(|nth| &trips[*nth]) {
        mean.calls += f64::from(trip.calls) / used;
        for (part, share) in Part::ALL.into_iter().zip(&trip.shares) {
            if share.ns > 0.0 || share.firings > 0.0 {
                let sum = mean.parts.entry(part).or_default();
                sum.ns += share.ns / used;
                sum.firings += share.firings / used;
            }
        }
    }
    (!chosen.is_empty()).then_some(mean)
}

#[derive(Clone, Default)]
struct Trip {
    shares: [Share; Part::ALL.len()],
    calls: u32,
}

impl Trip {
    /// A program fired: its overhead is in what follows, if it delays the holder.
    fn note(&mut self, path: &Path, event: &Event) {
        let on_its_way = matches!(event.kind, EventKind::Interrupts(_) | EventKind::Interrupted);
        let here = path.holders().cpu == Some(event.cpu);
        if event.who == path.holder || path.passed || on_its_way || here {
            self.shares[path.part() as usize].firings += 1.0;
        }
        let mine = event.who == path.holder || path.partner_holds_up();
        if mine && matches!(event.kind, EventKind::Enter(_)) {
            self.calls += 1;
        }
    }
}

/// What one worker is doing.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    in_call: bool,
    asleep: bool,
    waking: bool,
    interrupt: bool,
    queued: bool,
    /// Was scheduled in the middle of a call, and no event of it has come since.
    fresh: bool,
    /// Where it last ran: whatever runs there delays it.
    cpu: Option<u16>,
}

/// The way of the message through both workers.
struct Path {
    now_ns: f64,
    holder: Who,
    /// Whether the last event made the other worker the holder.
    passed: bool,
    initiator: State,
    responder: State,
}

impl Path {
    fn new(now_ns: f64) -> Path {
        Path {
            now_ns,
            holder: Who::Initiator,
            passed: false,
            initiator: State::default(),
            responder: State::default(),
        }
    }

    fn state(&mut self, who: Who) -> &mut State {
        match who {
            Who::Initiator => &mut self.initiator,
            Who::Responder => &mut self.responder,
        }
    }

    fn holders(&self) -> State {
        self.of(self.holder)
    }

    fn of(&self, who: Who) -> State {
        match who {
            Who::Initiator => self.initiator,
            Who::Responder => self.responder,
        }
    }

    /// Whether the holder waits for the CPU on which its partner runs.
    fn partner_holds_up(&self) -> bool {
        let (holder, partner) = (self.holders(), self.of(self.holder.partner()));
        let runs = !partner.asleep && !partner.queued && !partner.waking;
        holder.queued && runs && holder.cpu.is_some() && holder.cpu == partner.cpu
    }

    /// What the holder is doing, or waiting for.
    fn part(&self) -> Part {
        let worker = if self.partner_holds_up() { self.holder.partner() } else { self.holder };
        match self.of(worker) {
            State { waking: true, interrupt: true, .. } => Part::Interrupt,
            State { waking: true, .. } => Part::Waking,
            State { asleep: true, .. } => Part::Asleep,
            State { queued: true, .. } => Part::Waiting,
            State { fresh: true, .. } => Part::Switching,
            State { in_call: true, .. } => Part::Call,
            _ => Part::Program,
        }
    }

    /// The round trip that is under way, if one is.
    fn trip(&self, starts_ns: &[f64], at: usize) -> Option<usize> {
        (self.now_ns >= starts_ns[0] && at + 1 < starts_ns.len()).then_some(at)
    }

    /// Gives the time until `then` to what the holder has been doing, trip by trip.
    fn spend_until(&mut self, then: f64, starts_ns: &[f64], at: &mut usize, trips: &mut [Trip]) {
        let part = self.part() as usize;
        while let Some(end) = starts_ns.get(*at + 1) {
            let from = self.now_ns.max(starts_ns[*at]);
            let to = then.min(*end);
            if to > from {
                trips[*at].shares[part].ns += to - from;
            }
            if then < *end {
                break;
            }
            *at += 1;
        }
        self.now_ns = self.now_ns.max(then);
    }

    fn take(&mut self, event: &Event) {
        let before = self.holder;
        let state = self.state(event.who);
        let stirred = std::mem::take(&mut state.fresh);
        let cpu = state.cpu;
        match event.kind {
            EventKind::Begin | EventKind::End => {}
            // A thread that enters or leaves a call runs: one that was woken on its way to sleep, while it
            // still had its CPU, isn't given one.
            EventKind::Enter(_) => *state = State { in_call: true, ..State::default() },
            EventKind::Exit(_) => *state = State::default(),
            EventKind::Waking { .. } => {
                state.waking = true;
                // What is done to it is not what it does.
                state.fresh = stirred;
                self.holder = event.who;
            }
            EventKind::Awake => {
                let State { in_call, cpu, .. } = *state;
                *state = State { in_call, cpu, queued: true, ..State::default() };
            }
            EventKind::In => {
                // The program goes on with what it did; how soon, no event tells.
                let State { in_call, .. } = *state;
                *state = State { in_call, fresh: in_call, ..State::default() };
            }
            EventKind::Out { asleep } => {
                (state.asleep, state.queued) = (asleep, !asleep);
                let partner = event.who.partner();
                let other = self.state(partner);
                let awake = !other.asleep || other.waking;
                if asleep && awake && self.holder == event.who {
                    self.holder = partner;
                }
            }
            EventKind::Interrupts(_) => {
                let partner = self.state(event.who.partner());
                partner.interrupt = partner.waking;
            }
            EventKind::Interrupted => self.state(event.who.partner()).interrupt = false,
        }
        let runs = matches!(
            event.kind,
            EventKind::Enter(_) | EventKind::Exit(_) | EventKind::In | EventKind::Out { .. }
        );
        self.state(event.who).cpu = if runs { Some(event.cpu) } else { cpu };
        self.passed = before != self.holder;
    }
}
