//! A round: every case of a group launched once, in a random order of its own.
//!
//! Launches are set up together, left alone until the machine has settled where that
//! matters, timed one after the other, and ended together. Between the first `go` and the
//! last report this process only waits.

use std::path::Path;
use std::time::{Duration, Instant};

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::unmarked::Forks;
use super::{Campaign, Conditions, Interrupted, Launched, LiveCase, value_ns};
use crate::launch::state::is_given_up;
use crate::launch::{Launch, LaunchResult, Spec, Stage};
use crate::plan::Case;
use machine::doctor::Watch;
use model::findings::tally;
use model::launch::{Record, SampleCount};
use model::noise::RoundNoise;
use model::route::Route;
use store::{NewLaunch, StoreError};

/// Rounds in which observed launches are made, unless the number of launches is fixed. Counts vary little,
/// and observing is slow.
const OBSERVED_ROUNDS: u64 = stats::LEAST_LAUNCHES as u64;
/// How long the spin before and after a round lasts.
const SPIN: Duration = Duration::from_micros(500);

/// One launch of a round, before it is started.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    /// Which case of the group.
    case: usize,
    position: usize,
    swapped: bool,
    padding: usize,
    offset: usize,
}

/// A launch as it is asked for, and where its halves go.
pub(super) struct Sent<'a> {
    pub(super) spec: Spec,
    pub(super) route: &'a Route,
}

impl Campaign<'_> {
    /// Measures one round of a group and stores it.
    pub(super) fn round(&mut self, nth: usize) -> Result<Result<(), Interrupted>, StoreError> {
        let began = Instant::now();
        let round = self.groups[nth].rounds + 1;
        let began_ns = self.measured_ns();
        let watch = Watch::new(Path::new("/"), &self.used_cpus(nth));
        self.bounds.get_mut().ask(&self.groups[nth], Duration::from_nanos(began_ns));
        let (earlier, before) = (watch.look(), machine::spin_gaps(SPIN));
        let mut forks = Forks::default();
        for turns in &self.batches(nth, round) {
            let specs = turns.iter().map(|turn| self.spec_of(nth, round, turn)).collect::<Vec<_>>();
            let Ok(results) = self.launch_together(&specs, turns, self.groups[nth].wants_quiet)
            else {
                self.tell_launches();
                return Ok(Err(Interrupted));
            };
            self.keep(nth, round, turns, results, &mut forks)?;
        }
        let after = machine::spin_gaps(SPIN);
        let stretch = watch.look().since(&earlier);
        let marks = stretch.marks();
        let (counters, frequencies) = (stretch.noise, stretch.frequencies);
        let bounds = self.bounds.get_mut().take();
        let session = self.session.nth;
        let forks = forks.disturb();
        let noise =
            RoundNoise { counters, before, after, marks, frequencies, bounds, session, forks };
        let measured = self.measured_ns();
        self.with.store.add_round(self.run, self.groups[nth].nth, round, began_ns, &noise)?;
        self.with.store.set_measuring(self.run, measured)?;
        let group = &mut self.groups[nth];
        group.rounds = round;
        group.unmarked += u64::from(noise.marked().is_none());
        group.took_round(began.elapsed());
        self.tell_launches();
        if let Some(why) = self.bounds.get_mut().lost_now() {
            self.warn(&format!("no bounds beside results from here on: {why}"))?;
        }
        Ok(Ok(()))
    }

    /// Tells what was stored. At the end of a round only: whoever reads it wakes up, and would
    /// run beside the next batch and the gaps that are looked for after the last.
    fn tell_launches(&mut self) {
        let launches = std::mem::take(&mut self.untold);
        self.with.progress.launched(&launches);
    }

    /// Says once, at the end, how many rounds were marked, and by what.
    pub(super) fn warn_of_marks(&mut self) -> Result<(), StoreError> {
        let rounds = self.with.store.run(self.run)?.rounds;
        match tally(rounds.iter().map(|round| round.noise.marks.as_slice())) {
            Some(told) if self.measured_before > 0 => {
                self.warn(&format!("counting those before it was resumed, {told}"))
            }
            Some(told) => self.warn(&told),
            None => Ok(()),
        }
    }

    /// The round's launches in their random order, from the run's seed alone, cut into those that
    /// are set up together. Instrumentation may slow every process of the machine for as long
    /// as its launch lives: an observed launch is alone.
    fn batches(&self, nth: usize, round: u64) -> Vec<Vec<Turn>> {
        let group = &self.groups[nth];
        let mut rng = ChaCha8Rng::seed_from_u64(self.request.seed);
        rng.set_stream((group.nth as u64) << 32 | round);
        let observing = round <= self.request.stopping.launches.unwrap_or(OBSERVED_ROUNDS);
        let wanted = |live: &LiveCase| !live.given_up && (observing || !live.is_observed());
        let mut order: Vec<usize> =
            (0..group.cases.len()).filter(|case| wanted(&group.cases[*case])).collect();
        order.shuffle(&mut rng);
        let (observed, results): (Vec<usize>, Vec<usize>) =
            order.into_iter().partition(|case| group.cases[*case].is_observed());
        // What it is held against is made the same way, at any place among them.
        let together = if observed.is_empty() { self.together(nth) } else { 1 };
        let mut batches: Vec<&[usize]> = results.chunks(together).collect();
        if !observed.is_empty() {
            batches.extend(observed.chunks(1));
            batches.shuffle(&mut rng);
        }
        let swapped = self.swapped(group.nth, round);
        let mut position = 0..;
        let mut turn = |case: &usize| Turn {
            case: *case,
            position: position.next().unwrap_or(0),
            swapped,
            padding: 16 * rng.random_range(0..256),
            offset: 64 * rng.random_range(0..64),
        };
        batches.into_iter().map(|cases| cases.iter().map(&mut turn).collect()).collect()
    }

    /// How many launches of a group are set up together: all of them where there is room. The machine
    /// changes between batches: pairs that two of them divide differ more than pairs within one.
    pub(super) fn together(&self, nth: usize) -> usize {
        let largest = self.groups[nth].cases.iter().map(|live| live.case.opened_for()).max();
        self.room.launches(largest.unwrap_or(0) as u64)
    }

    /// Roles change CPUs in blocks of two rounds: one each way, in an order drawn per block.
    fn swapped(&self, group: usize, round: u64) -> bool {
        let mut rng = ChaCha8Rng::seed_from_u64(self.request.seed);
        rng.set_stream(1 << 63 | (group as u64) << 32 | round.div_ceil(2));
        rng.random::<bool>() ^ round.is_multiple_of(2)
    }

    fn spec_of(&self, nth: usize, round: u64, turn: &Turn) -> Sent<'_> {
        let live = &self.groups[nth].cases[turn.case];
        let seed = drawn_in(self.request.seed, self.groups[nth].nth, round);
        let mut spec = Spec { seed, buffer_offset: turn.offset, ..self.spec(live) };
        if turn.swapped && live.case.place.swappable {
            std::mem::swap(&mut spec.initiator_cpu, &mut spec.responder_cpu);
        }
        if live.samples == 0 {
            spec.samples = SampleCount::Exactly(1);
        }
        Sent { spec, route: &live.case.route }
    }

    /// Sets up, settles, times one after the other, ends together.
    pub(super) fn launch_together(
        &self,
        specs: &[Sent],
        turns: &[Turn],
        wants_quiet: bool,
    ) -> Result<Vec<LaunchResult>, Interrupted> {
        self.launch_after(specs, turns, if wants_quiet { self.settle } else { Duration::ZERO })
    }

    /// The same, left alone for so long.
    pub(super) fn launch_after(
        &self,
        specs: &[Sent],
        turns: &[Turn],
        quiet: Duration,
    ) -> Result<Vec<LaunchResult>, Interrupted> {
        let mut launches: Vec<_> = specs
            .iter()
            .enumerate()
            .map(|(at, sent)| self.start(sent, turns.get(at).map_or(0, |turn| turn.padding)))
            .collect();
        if self.time(&mut launches, quiet).is_err() {
            // All are told before any is waited for.
            launches.iter_mut().flatten().for_each(Launch::hang_up);
            return Err(Interrupted);
        }
        let collect = |launch: std::io::Result<Launch>| match launch {
            Ok(launch) => launch.collect(self.with.interrupt),
            Err(error) => LaunchResult::not_started(&error),
        };
        Ok(launches.into_iter().map(collect).collect())
    }

    /// Times launches that were started, one after the other, and has them end.
    fn time(
        &self,
        launches: &mut [std::io::Result<Launch>],
        quiet: Duration,
    ) -> Result<(), Interrupted> {
        let interrupt = self.with.interrupt;
        let interrupted = |_| Interrupted;
        for launch in launches.iter_mut().flatten() {
            launch.reach(Stage::Ready, interrupt).map_err(interrupted)?;
        }
        if !quiet.is_zero() {
            interrupt.sleep(quiet);
        }
        self.bounds.borrow_mut().measure(interrupt);
        for launch in launches.iter_mut().flatten() {
            if interrupt.signal().is_some() {
                return Err(Interrupted);
            }
            launch.go();
            launch.reach(Stage::Timed, interrupt).map_err(interrupted)?;
        }
        launches.iter_mut().flatten().for_each(Launch::end);
        Ok(())
    }

    /// Starts a launch where its halves are to be.
    fn start(&self, Sent { spec, route }: &Sent, padding: usize) -> std::io::Result<Launch> {
        let Conditions { launcher, roads, .. } = &self.with;
        match (route, roads.ways.get(route)) {
            (_, Some(way)) => Ok(launcher.start_between(spec, padding, way)),
            (Route::Local, None) => launcher.start(spec, padding),
            (Route::Peer | Route::Lab(_), None) => {
                let error = format!("{route}: there is no way any more");
                Err(std::io::Error::new(std::io::ErrorKind::NotConnected, error))
            }
        }
    }

    fn keep(
        &mut self,
        nth: usize,
        round: u64,
        turns: &[Turn],
        results: Vec<LaunchResult>,
        forks: &mut Forks,
    ) -> Result<(), StoreError> {
        let group = &self.groups[nth];
        let mut rows = Vec::new();
        for (turn, LaunchResult { mut record, samples }) in turns.iter().zip(results) {
            let live = &group.cases[turn.case];
            let batch = record.initiator.batch.max(1);
            record.initiator.median_ns =
                value_ns(&mut samples.clone(), batch, self.clock.ns_per_tick);
            rows.push(NewLaunch {
                case: live.id,
                round,
                position: turn.position,
                swapped: turn.swapped && live.case.place.swappable,
                padding: turn.padding,
                offset: turn.offset,
                record,
                samples,
            });
        }
        self.with.store.add_launches(&rows)?;
        for (turn, row) in turns.iter().zip(rows) {
            let live = &mut self.groups[nth].cases[turn.case];
            let (status, reason) = row.standing();
            let samples = row.samples.len() as u64;
            forks.heard(live, &row.record);
            let median_ns = live.note(&row.record);
            self.untold.push(Launched {
                case: row.case,
                round,
                swapped: row.swapped,
                status,
                reason,
                median_ns,
                samples,
            });
        }
        Ok(())
    }

    fn used_cpus(&self, nth: usize) -> Vec<u32> {
        let cases = self.groups[nth].cases.iter();
        distinct(cases.filter_map(|live| cpus_here(&live.case)))
    }
}

/// The seed of what the launches of a round draw (losses on the way): all cases of a group draw alike,
/// and each round anew.
pub fn drawn_in(seed: u64, group: usize, round: u64) -> u64 {
    let drawn = (group as u64) << 32 | round;
    seed ^ drawn.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// The CPUs that a case uses on this host: its initiator's alone, where the responder is elsewhere.
pub(super) fn cpus_here(case: &Case) -> Option<(u32, u32)> {
    let (initiator, responder) = case.place.cpus?;
    Some((initiator, if case.route == Route::Peer { initiator } else { responder }))
}

/// The CPUs of pairs, each once, ascending.
pub(super) fn distinct(pairs: impl Iterator<Item = (u32, u32)>) -> Vec<u32> {
    let mut cpus: Vec<u32> = pairs.flat_map(|(a, b)| [a, b]).collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

impl LiveCase {
    /// Takes a stored launch into account. Gives its median, in ns.
    fn note(&mut self, record: &Record) -> Option<f64> {
        let median_ns = record.initiator.median_ns;
        self.medians.push(median_ns);
        self.given_up = self.has_failed_too_often();
        median_ns
    }

    /// Whether further launches would only cost time.
    pub(super) fn has_failed_too_often(&self) -> bool {
        let worked = self.medians.iter().flatten().count();
        is_given_up(self.medians.len() - worked, worked)
    }
}
