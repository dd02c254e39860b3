//! The machine, its noise, and how the run was measured.

use std::collections::BTreeMap;

use super::absences::absences;
use super::host::{NOT_KNOWN, facts};
use super::{findings, labels};
use crate::{Block, Section, Text, units};
use analysis::{Carries, CaseResult, Judged, NULL_NS, NoiseSeen, PeerNoise};
use model::factor::Factor;
use model::findings::Fitness;
use model::request::Request;
use store::command_line;

/// Third over first quartile of the launches of `noop` up to which the CPUs count as steady.
const STEADY_CPU: f64 = 1.05;

/// A few facts for the head of the page.
pub fn meta(judged: &Judged) -> Vec<(String, String)> {
    let run = &judged.run;
    vec![
        ("measured".into(), run.started.clone()),
        ("by".into(), run.tool.clone()),
        ("command".into(), command_line(&run.argv)),
        ("seed".into(), run.request.seed.to_string()),
        ("clock".into(), run.clock.kind.to_string()),
    ]
}

/// What a terminal shows after the tables.
pub fn remarks(judged: &Judged) -> Option<Section> {
    let absent = |(what, why): (String, String)| {
        Block::paragraph(Text::new().code(what).plain(format!(": {why}")))
    };
    Section::new("remarks", "Remarks")
        .with_all(warnings(judged))
        .with_all(unsteady_cpu(judged))
        .with_all(absences(judged).into_iter().map(absent))
        .with_all(super::open_loop::remarks(judged))
        .with_all(super::datagrams::remarks(judged))
        .with_all(noise_of_both(judged))
        .with_all(twins(judged))
        .with_all(nulls(judged))
        .unless_empty()
}

fn warnings(judged: &Judged) -> impl Iterator<Item = Block> {
    judged.run.warnings.iter().map(|warning| Block::warning(warning.as_str()))
}

/// Said where even the harness's own cost was not the same in every launch.
fn unsteady_cpu(judged: &Judged) -> Option<Block> {
    let spread = |case: &&CaseResult| {
        let estimate = case.value.as_ref()?;
        (case.carries == Carries::Nothing && case.metric.is_round_trip())
            .then_some(estimate.q3 / estimate.q1)
    };
    let widest = judged.results.iter().filter_map(|case| spread(&case)).reduce(f64::max)?;
    (widest > STEADY_CPU).then(|| {
        Block::warning(format!(
            "even noop, which does nothing, took {:.0} % longer in a quarter of its launches than \
             in another quarter: the speed of these CPUs is not constant (frequency, or \
             neighbours), and all intervals are wide for it",
            100.0 * (widest - 1.0)
        ))
    })
}

fn twins(judged: &Judged) -> Option<Block> {
    let pairs: Vec<String> = judged
        .groups
        .iter()
        .filter_map(|group| {
            let twin = group.twin_check.as_ref()?;
            Some(format!(
                "{}, {}: {:.3} [{:.3}, {:.3}]",
                twin.variant,
                labels::place(&group.site),
                twin.over.ratio,
                twin.over.low,
                twin.over.high
            ))
        })
        .collect();
    (!pairs.is_empty()).then(|| {
        Block::paragraph(
            Text::new()
                .strong("A/A check ")
                .plain(format!("(one case under two names; 1 is perfect): {}.", pairs.join("; "))),
        )
    })
}

/// What the loops of engines take without a mechanism, from the least of a variant's cases to the most.
fn nulls(judged: &Judged) -> Option<Block> {
    let mut ends: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    for case in &judged.results {
        if let Some(&ns) = case.effective_settings.get(NULL_NS) {
            let [low, high] = ends.entry(&case.variant).or_insert([ns; 2]);
            (*low, *high) = (ns.min(*low), ns.max(*high));
        }
    }
    let one = |(variant, [low, high]): (&&str, &[u64; 2])| match low == high {
        true => format!("{variant} {low} ns"),
        false => format!("{variant} {low}–{high} ns"),
    };
    let all: Vec<String> = ends.iter().map(one).collect();
    (!all.is_empty()).then(|| {
        let what = "(the timed loop of an engine with nothing sent; part of its results, never \
                    subtracted)";
        let text = Text::new().strong("Null operation ");
        Block::paragraph(text.plain(format!("{what}: {}.", all.join("; "))))
    })
}

pub fn sections(judged: &Judged) -> Vec<Section> {
    let there = super::peer::section(judged);
    let datagrams = super::datagrams::section(judged);
    std::iter::once(machine(judged))
        .chain(there)
        .chain(datagrams)
        .chain([noise(judged), method(judged)])
        .collect()
}

fn noise(judged: &Judged) -> Section {
    let rounds = &judged.run.rounds;
    let steal: Vec<u64> =
        rounds.iter().filter_map(|round| round.noise.counters.steal_ticks).collect();
    let steal = match steal.len() {
        0 => NOT_KNOWN.into(),
        known if known < rounds.len() => format!(
            "{} ms in {known} of {}; not known in the others",
            10 * steal.iter().sum::<u64>(),
            units::counted(rounds.len() as u64, "round")
        ),
        _ => format!("{} ms", 10 * steal.iter().sum::<u64>()),
    };
    let gaps = rounds.iter().flat_map(|round| [round.noise.before, round.noise.after]);
    let (mut spun, mut lost, mut longest) = (0, 0, 0);
    for gap in gaps {
        spun += gap.spun_ns;
        lost += gap.total_ns;
        longest = longest.max(gap.longest_ns);
    }
    let forked = forked(judged, |noise| noise.launches_with_forks);
    let taken = match spun {
        0 => NOT_KNOWN.into(),
        spun => format!(
            "{:.2} %, longest gap {}",
            100.0 * lost as f64 / spun as f64,
            units::duration(longest as f64)
        ),
    };
    let mut facts = vec![
        ("steal time of the used CPUs".into(), steal),
        ("time taken from a spinning thread between rounds".into(), taken),
        ("launches during which others forked".into(), forked.unwrap_or(NOT_KNOWN.into())),
    ];
    facts.extend(noise_facts(judged));
    Section::new("noise", "Noise and warnings")
        .with_all(warnings(judged))
        .with_all(unsteady_cpu(judged))
        .with_all(twins(judged))
        .with_all(nulls(judged))
        .with(Block::Facts(facts))
}

/// `3 of 40`: of the launches that can be known of, those during which others forked. None where that is none.
fn forked(judged: &Judged, of: impl Fn(&NoiseSeen) -> Option<u64>) -> Option<String> {
    let known =
        judged.results.iter().filter_map(|case| Some((of(case.noise.as_ref()?)?, case.launches)));
    let (forked, launches) = known.reduce(|a, b| (a.0 + b.0, a.1 + b.1))?;
    Some(format!("{forked} of {launches}"))
}

/// The cases of which it is known what happened beside their launches at the peer, and that.
fn at_the_peer(judged: &Judged) -> impl Iterator<Item = (&CaseResult, &PeerNoise)> {
    judged.results.iter().filter_map(|case| Some((case, case.noise.as_ref()?.peer.as_ref()?)))
}

/// What happened beside the launches, there and here, over all cases: the medians' range, and forks.
fn noise_facts(judged: &Judged) -> Vec<(String, String)> {
    let there = || at_the_peer(judged);
    if there().next().is_none() {
        return Vec::new();
    }
    let forked = forked(judged, |noise| noise.peer.as_ref()?.launches_with_forks);
    let of = |what: &str, range: Option<String>| {
        let range = range.unwrap_or_else(|| "not known: the worker was free".into());
        (format!("{what} of a launch, at the peer (medians of the cases)"), range)
    };
    vec![
        ("launches with forks by others at the peer".into(), forked.unwrap_or(NOT_KNOWN.into())),
        of("interrupts on the used CPU", range(there().filter_map(|pair| pair.1.interrupts))),
        of("softirqs on the used CPU", range(there().filter_map(|pair| pair.1.softirqs))),
        of("context switches", range(there().filter_map(|pair| pair.1.context_switches))),
    ]
}

fn range(values: impl Iterator<Item = f64>) -> Option<String> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let (least, most) = (values.first()?, values.last()?);
    let count = |value: &f64| units::count(value.round() as u64);
    Some(if least == most { count(least) } else { format!("{} to {}", count(least), count(most)) })
}

/// The noise of both hosts in a sentence.
fn noise_of_both(judged: &Judged) -> Option<Block> {
    let there = || at_the_peer(judged);
    let launches: u64 = there().map(|(case, _)| case.launches).sum();
    let in_words = |of: Option<String>| match of {
        Some(of) => format!("{of} launches"),
        None => "an unknown number of launches".into(),
    };
    let here = in_words(forked(judged, |noise| noise.launches_with_forks));
    let far = in_words(forked(judged, |noise| noise.peer.as_ref()?.launches_with_forks));
    let switches = range(there().filter_map(|pair| pair.1.context_switches));
    let switches = switches.map_or(String::new(), |switches| {
        format!("; context switches of a launch there: {switches} (medians of the cases)")
    });
    (launches > 0).then(|| {
        Block::paragraph(
            Text::new()
                .strong("Noise of both hosts: ")
                .plain(format!("others forked during {here} here, {far} there{switches}.")),
        )
    })
}

fn method(judged: &Judged) -> Section {
    let run = &judged.run;
    let request = &run.request;
    let clock = &run.clock;
    let warmup = units::duration(request.warmup.ns as f64);
    let paragraphs = [
        "The unit of every statistic between cases is the launch: one fresh set of processes, \
         descriptors and mappings. A round launches every case of a group once, in a random \
         order drawn from the stored seed; comparisons are paired within rounds, by \
         exact sign tests, corrected by Holm over the group. A headline is the median over \
         launches of each launch's median; its interval is made of order statistics and counts \
         every analysis made on the way."
            .to_string(),
        format!(
            "Each launch of a latency timed its first round trip on its own, and each that moves \
             bytes verified them end to end; then each warmed up for {} operations or \
             {warmup}, whichever came first. Latency is a whole round trip on one clock; \
             throughput counts bytes at the receiver, from before the first send to the \
             acknowledgement of the last byte; the payload was {}.",
            units::count(request.warmup.operations),
            request.levels_of(Factor::Payload).join(", ")
        ),
        "CPU time is what getrusage(2) accounts to both workers over the timed part, per round trip \
         or message; the division into user and system is sampled by the timer tick. What an idle \
         CPU does to wake up is charged to no process and isn't included."
            .to_string(),
        format!(
            "Clock: {}, {} a read, smallest step {}; its scale against CLOCK_MONOTONIC_RAW was \
             measured over the run{}. Launches across CPUs waited {} after the last fork, as a \
             pilot had found. Workers are forked from one program, not started separately.",
            clock.kind,
            units::duration(clock.cost_ns),
            units::duration(clock.step_ns),
            clock.drift_ppm.map_or(String::new(), |drift_ppm| format!(
                ", and differs from the one at its start by {drift_ppm:.1} ppm"
            )),
            units::duration(run.settle.quiet_ns as f64)
        ),
    ];
    let [unit, others @ ..] = paragraphs.map(Block::paragraph);
    let folded = Block::folded("Warm-up, CPU time and clock", others.into());
    let mut section = Section::new("method", "How it was measured").with(unit).with(folded);
    let servers = servers(judged).map(|name| (format!("server of {name}"), SERVER.into()));
    let brought: Vec<(String, String)> =
        plugins(request).chain(arms(request)).chain(servers).collect();
    if !brought.is_empty() {
        section = section.with(Block::Facts(brought));
    }
    if let Some(share) = judged.timed_share {
        section = section.with(Block::paragraph(format!(
            "Timed share: {:.0} % of {} of measuring.",
            100.0 * share,
            units::duration(run.measuring_ns as f64)
        )));
    }
    if model::hint::is_nothing_kept() {
        return section.with(Block::paragraph("Nothing of it is stored."));
    }
    section.with(Block::paragraph(
        Text::new()
            .plain("Every sample is in the store. The same page again: ")
            .code(format!("ipcmark report {}", run.id))
            .plain("; all of it as JSON: ")
            .code(format!("ipcmark export {} --format json", run.id))
            .plain("."),
    ))
}

/// What is known of a server that isn't ours.
const SERVER: &str = "ran already, and sent back what it got: its version, its CPU and its CPU time are unknown, and a \
                      placement is that of the client alone";

/// The variants of a run that servers answered which ran already.
pub(super) fn servers(judged: &Judged) -> impl Iterator<Item = &str> {
    let variants = judged.run.catalogue.variants.iter();
    let foreign = variants.filter(|variant| variant.traits.foreign_server);
    foreign.map(|variant| variant.variant.as_str())
}

/// The plug-ins of a run: what each says of itself, and its file.
fn plugins(request: &Request) -> impl Iterator<Item = (String, String)> {
    request.plugins.iter().map(|plugin| {
        let said = [&plugin.version, &plugin.language, &plugin.licence];
        let said: Vec<&str> =
            said.into_iter().filter(|word| !word.is_empty()).map(String::as_str).collect();
        let file = format!("{}, SHA-256 {}", plugin.path, plugin.sha256);
        (format!("plug-in {}", plugin.name), format!("{}; {file}", said.join(", ")))
    })
}

/// The arms of a run: each command, and what it makes of a process.
fn arms(request: &Request) -> impl Iterator<Item = (String, String)> {
    request.arms.iter().map(|arm| {
        let command =
            if arm.prefix.is_empty() { "started as it is".into() } else { arm.prefix.join(" ") };
        let setup = arm.setup.as_ref().map_or(String::new(), |text| format!("; after: {text}"));
        let process = arm.process.as_ref().map_or(String::new(), |process| {
            let cpus: Vec<String> = process.cpus.iter().map(u32::to_string).collect();
            format!(
                "; class {}, priority {}, nice {}, CPUs {}, {}",
                process.scheduling.policy,
                process.scheduling.priority,
                process.scheduling.nice,
                cpus.join(","),
                process.tool
            )
        });
        (format!("arm {}", arm.name), command + &setup + &process)
    })
}

fn machine(judged: &Judged) -> Section {
    let mut section = Section::new("machine", "The machine");
    let found = &judged.run.host.findings;
    if !found.is_empty() {
        let summary = format!("Before the run: {}", Fitness::sentence(found));
        section = section.with(Block::folded(summary, findings::blocks(found)));
    }
    section.with(Block::Facts(facts(&judged.run.host)))
}
