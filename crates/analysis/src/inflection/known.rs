//! The sizes that a curve is known to bend at: those that its mechanism declared, by what was granted and
//! the record of the machine, and those of any machine.

use super::Candidate;
use crate::CaseResult;
use model::bend::{Bend, Length, Only};
use model::host::Host;

/// All candidates of a curve, by size; `curve` is in the order of size, `bends` its mechanism's own.
pub(super) fn candidates(curve: &[&CaseResult], bends: &[Bend], host: &Host) -> Vec<Candidate> {
    let of = Known { curve, page: host.memory.page_bytes };
    let mut found: Vec<Candidate> = bends.iter().filter_map(|bend| of.candidate(bend)).collect();
    // Some have another name for it.
    if !bends.iter().any(|bend| bend.at == Length::Page) {
        found.push(candidate("page".into(), of.page, "record of the machine".into()));
    }
    found.extend(caches(curve[0], host));
    found.retain(|candidate| candidate.bytes > 0);
    found.sort_by_key(|candidate| candidate.bytes);
    found
}

fn candidate(name: String, bytes: u64, source: String) -> Candidate {
    Candidate { name, bytes, source }
}

/// What is known of a curve.
struct Known<'a> {
    curve: &'a [&'a CaseResult],
    page: u64,
}

impl Known<'_> {
    fn candidate(&self, bend: &Bend) -> Option<Candidate> {
        let bytes = self.bytes(&bend.at)?;
        let holds = match &bend.only {
            Only::Always => true,
            Only::Below(other) => self.bytes(other).is_none_or(|byte| bytes < byte),
            Only::Beside(other) => self.bytes(other) != Some(bytes),
        };
        let name = self.name(&bend.name, bytes);
        holds.then(|| candidate(name, bytes, bend.source.to_string()))
    }

    /// With what its braces stand for.
    fn name(&self, name: &str, bytes: u64) -> String {
        let Some((before, (inner, after))) =
            name.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
        else {
            return name.into();
        };
        let number = match inner {
            "pages" => Some(bytes / self.page.max(1)),
            name => {
                let there = self.curve.iter().find(|case| case.message_bytes == Some(bytes));
                there.and_then(|case| case.effective_settings.get(name).copied())
            }
        };
        number.map_or(name.into(), |number| format!("{before}{number}{after}"))
    }

    fn bytes(&self, length: &Length) -> Option<u64> {
        let all = |of: &[Length]| {
            of.iter().map(|length| self.bytes(length)).collect::<Option<Vec<u64>>>()
        };
        let sum = |of: &[Length]| all(of).map(|numbers| numbers.into_iter().sum::<u64>());
        match length {
            Length::Bytes(bytes) => Some(*bytes),
            Length::Page => Some(self.page),
            Length::Setting(name) => self.effective_settings(name),
            Length::LastBefore(name) => self.declines(name).first().map(|pairs| pairs[0].1),
            Length::FirstWithLeast(name) => self.declines(name).last().map(|pairs| pairs[1].1),
            Length::First(of) => of.iter().find_map(|length| self.bytes(length)),
            Length::Least(of) => of.iter().filter_map(|length| self.bytes(length)).min(),
            Length::Most(of) => of.iter().filter_map(|length| self.bytes(length)).max(),
            Length::Sum(of) => sum(of),
            Length::Less(of) => {
                let (first, others) = of.split_first()?;
                Some(self.bytes(first)?.saturating_sub(sum(others)?))
            }
            Length::Times(of, by) => Some(sum(of)? * by),
            Length::Share(of, by) => Some(sum(of)? / by),
        }
    }

    /// What was granted, if it was the same at all sizes.
    fn effective_settings(&self, name: &str) -> Option<u64> {
        let first = *self.curve.first()?.effective_settings.get(name)?;
        self.curve
            .iter()
            .all(|case| case.effective_settings.get(name) == Some(&first))
            .then_some(first)
    }

    /// Neighbouring sizes of which the larger was granted less: what each was granted, and its bytes.
    fn declines(&self, name: &str) -> Vec<[(u64, u64); 2]> {
        let of =
            |case: &&CaseResult| Some((*case.effective_settings.get(name)?, case.message_bytes?));
        let effective_settings: Vec<(u64, u64)> = self.curve.iter().filter_map(of).collect();
        effective_settings
            .windows(2)
            .filter(|window| window[1].0 < window[0].0)
            .map(|window| [window[0], window[1]])
            .collect()
    }
}

/// The caches of the first worker's CPU, of any CPU where workers are free: the whole, and the
/// part that a message may take.
fn caches(case: &CaseResult, host: &Host) -> Vec<Candidate> {
    let near = |shared: &Vec<Vec<u32>>| {
        case.place.cpus.is_none_or(|(cpu, _)| shared.iter().any(|cpus| cpus.contains(&cpu)))
    };
    let known =
        host.caches.iter().filter(|cache| cache.kind != "Instruction" && near(&cache.shared_by));
    let last = known.clone().map(|cache| cache.level).max();
    known
        .filter_map(|cache| Some((cache, cache.size_bytes?)))
        .flat_map(|(cache, bytes)| {
            let name = match cache.kind.as_str() {
                "Data" => format!("L{} data cache", cache.level),
                _ if Some(cache.level) == last && cache.level > 2 => {
                    format!("last-level cache (L{})", cache.level)
                }
                _ => format!("L{} cache", cache.level),
            };
            let source = "record of the machine";
            let fits = buffers(case, &cache.shared_by);
            let part = format!("{} the {name}", share(fits));
            let holds = format!("{source}: it holds {fits} of a message");
            let shared = candidate(part, bytes / fits, holds);
            [Some(shared).filter(|_| fits > 1), Some(candidate(name, bytes, source.into()))]
        })
        .flatten()
        .collect()
}

/// How many buffers of a message's size one cache must hold: a worker has one of a transfer, and
/// two of a round trip, of a fan-out for each receiver.
fn buffers(case: &CaseResult, shared_by: &[Vec<u32>]) -> u64 {
    let of_worker = case.messages();
    let both =
        |(a, b): (u32, u32)| shared_by.iter().any(|cpus| cpus.contains(&a) && cpus.contains(&b));
    let workers = if case.place.cpus.is_some_and(both) { 2 } else { 1 };
    of_worker * workers
}

fn share(of: u64) -> String {
    match of {
        2 => "half".into(),
        4 => "a quarter of".into(),
        of => format!("1/{of} of"),
    }
}
