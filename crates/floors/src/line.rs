//! A cache line's round trip between two CPUs: the least that passing one word to a worker
//! on another CPU takes, when that worker does nothing but look.
//!
//! Two pinned threads spin on one word; each writes the number that the other waits for. Each
//! repeat uses another line, on another page: where a line is homed changes what it costs, and
//! two such costs show as two modes. Spinning needs no quiet: no CPU idles.

use model::floors::{LinePair, Lines, Repeats};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::setting::{Setting, repeat, together};
use model::placement::Relation;
use sys::shared::{LINE, Mapping, PAGE};

/// Up to so many CPUs every pair is measured.
const FEW_CPUS: usize = 16;
/// Pairs of one relation that a sample holds.
const SAMPLED: usize = 24;
/// Time that all pairs together may take; what doesn't fit is left out and counted.
const WITHIN: Duration = Duration::from_millis(1_500);
/// Time that one pair may take on a machine that lets its threads run.
const PAIR_WITHIN: Duration = Duration::from_millis(50);
/// Tells the follower to return. No round trip is counted so high.
pub(super) const STOP: u32 = u32::MAX;

/// Measures the pairs that matter.
pub fn measure(setting: &Setting) -> Result<Lines, String> {
    let all = all_pairs(setting);
    if all.is_empty() {
        return Err(setting.topology.why_not(Relation::SameLlc, &setting.allowed));
    }
    let (wanted, mut chosen) = if !setting.is_full() {
        (quick(setting), Some("the pairs that the run uses".to_string()))
    } else if setting.allowed.len() <= FEW_CPUS {
        (all.clone(), None)
    } else {
        let note = format!("at most {SAMPLED} of each relation, evenly spread");
        (sample(&all, SAMPLED), Some(note))
    };
    let began = Instant::now();
    let mut pairs = Vec::new();
    for &(cpus, relation) in &wanted {
        if began.elapsed() > WITHIN {
            let note = format!("as many as fit {} ms", WITHIN.as_millis());
            chosen = Some(chosen.map_or(note.clone(), |text| format!("{text}; {note}")));
            break;
        }
        let round_trip_ns = pair(setting, cpus).into();
        pairs.push(LinePair { cpus: [cpus.0, cpus.1], relation, round_trip_ns });
    }
    pairs.sort_by_key(|pair| pair.cpus);
    Ok(Lines { pairs, pairs_in_all: all.len() as u64, chosen })
}

type Pair = ((u32, u32), Relation);

fn all_pairs(setting: &Setting) -> Vec<Pair> {
    let cpus = &setting.allowed;
    let pairs = cpus.iter().enumerate();
    related(setting, pairs.flat_map(|(at, a)| cpus[at + 1..].iter().map(move |b| (*a, *b))))
}

/// The pairs that a run names, and one of each relation where its workers may be anywhere.
fn quick(setting: &Setting) -> Vec<Pair> {
    let anywhere = setting.relations().into_iter().filter_map(|(_, pair)| pair.ok());
    let named = setting.order.pairs.iter().copied();
    let mut pairs: Vec<(u32, u32)> =
        named.chain(anywhere).filter(|(a, b)| a != b).map(|(a, b)| (a.min(b), a.max(b))).collect();
    pairs.sort_unstable();
    pairs.dedup();
    related(setting, pairs)
}

fn related(setting: &Setting, pairs: impl IntoIterator<Item = (u32, u32)>) -> Vec<Pair> {
    let of = |(a, b)| Some(((a, b), setting.topology.relation(a, b)?));
    pairs.into_iter().filter_map(of).collect()
}

/// At most `most` pairs of each relation, evenly spread over them, relations in turns, so that
/// a limit on time leaves some of each.
fn sample(all: &[Pair], most: usize) -> Vec<Pair> {
    let of = |relation| -> Vec<Pair> {
        let these: Vec<Pair> = all.iter().copied().filter(|pair| pair.1 == relation).collect();
        let count = these.len().min(most);
        (0..count).map(|nth| these[nth * these.len() / count]).collect()
    };
    let by_relation: Vec<Vec<Pair>> = Relation::ALL.into_iter().map(of).collect();
    (0..most)
        .flat_map(|nth| by_relation.iter().filter_map(move |pairs| pairs.get(nth)).copied())
        .collect()
}

fn pair(setting: &Setting, cpus: (u32, u32)) -> Result<Repeats, String> {
    let repeats = setting.by_extent(12, 20);
    let memory = Mapping::new(repeats * PAGE).map_err(|error| format!("mmap: {error}"))?;
    memory.populate(memory.bytes()).map_err(|error| error.to_string())?;
    let line = |nth: usize| memory.word(nth * PAGE + nth * LINE % PAGE);
    let lasting = setting.by_extent(200e3, 300e3);
    // A follower never knows how many repeats there will be: the last line it serves is the
    // one at which the stop comes.
    let follow = || {
        let mut nth = 0;
        while nth < repeats && serve(line(nth)) {
            nth += 1;
        }
    };
    let lead = || {
        let mut served = 0;
        let found = repeat(repeats, PAIR_WITHIN, |nth| {
            let line = line(nth);
            let mut number = 0;
            let mut exchange = |count| (0..count).for_each(|_| number = ask(line, number));
            let count = setting.watch.filling(lasting, &mut exchange);
            let took = setting.watch.per_operation(count, &mut exchange);
            line.store(STOP, Ordering::Release);
            served = nth + 1;
            took
        });
        if served < repeats {
            line(served).store(STOP - 1, Ordering::Release);
        }
        found
    };
    together(cpus, follow, lead)
}

/// One round trip: writes the next number, waits for the one after it.
#[inline(always)]
pub(super) fn ask(line: &AtomicU32, number: u32) -> u32 {
    line.store(number + 1, Ordering::Release);
    while line.load(Ordering::Acquire) != number + 2 {
        spin_loop();
    }
    number + 2
}

/// Answers every odd number with the next; false once no more lines will be served.
pub(super) fn serve(line: &AtomicU32) -> bool {
    let mut seen = 0;
    loop {
        match line.load(Ordering::Acquire) {
            STOP => return true,
            number if number == STOP - 1 => return false,
            number if number == seen + 1 => {
                seen += 2;
                line.store(seen, Ordering::Release);
            }
            _ => spin_loop(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_holds_some_of_each_relation_in_turns() {
        let of = |count: u32, relation| (0..count).map(move |nth| ((nth, nth + 1), relation));
        let all: Vec<Pair> =
            of(100, Relation::SameLlc).chain(of(3, Relation::SmtSibling)).collect();
        let some = sample(&all, 4);
        assert_eq!(some.len(), 7);
        assert_eq!(some[0].1, Relation::SmtSibling);
        assert_eq!(some[1].1, Relation::SameLlc);
        let spread: Vec<u32> =
            some.iter().filter(|pair| pair.1 == Relation::SameLlc).map(|pair| pair.0.0).collect();
        assert_eq!(spread, [0, 25, 50, 75]);
    }

    #[test]
    fn every_question_gets_its_answer() {
        let memory = Mapping::new(PAGE).unwrap();
        let line = memory.word(0);
        std::thread::scope(|scope| {
            let follower = scope.spawn(|| serve(line));
            let last = (0..1000).fold(0, |number, _| ask(line, number));
            assert_eq!(last, 2000);
            line.store(STOP, Ordering::Release);
            assert!(follower.join().unwrap());
        });
        line.store(STOP - 1, Ordering::Release);
        assert!(!serve(line));
    }
}
