//! Datagrams: which arrived, were lost, late or duplicated, with the kernel's own counters, and the
//! bytes of a message on the wire. Shown for every case that sends any, also where nothing was lost.

use super::{labels, quantities};
use crate::{Block, Section, Text, units};
use analysis::quantity::Topic;
use analysis::{CaseResult, DatagramsSeen, Judged, Traffic};
use model::distinct::{distinct, grouped};

const MEANING: &str = "Counted over all launches of a case, pilots and failed ones too. Fragments, by \
     the receivers of both ends: lost, waited for in vain; late, received \
     after one sent later. A datagram that is a whole message has no number: only the kernel counts \
     those. Its counters are those of a network namespace, with all sockets in it: \
     sent and received while launches were timed and warmed up; dropped for queues that were full, for wrong \
     checksums, for want of space to send. queue full: of these sockets alone.";

const WIRE: &str = "Throughput is goodput: bytes of messages that arrived. wire / payload: bytes of \
     IP packets per byte of a message, in its direction, with the headers of fragments, UDP and IP, and \
     of the packets into which the kernel cuts a datagram that is larger than the path's MTU. It is \
     arithmetic, not a count: Ethernet's own bytes, credits and acknowledgements are not in it, and on \
     loopback there is no wire.";

/// A case that sends datagrams, and what became of them.
type Sent<'a> = (&'a CaseResult, &'a DatagramsSeen);

fn cases(judged: &Judged) -> impl Iterator<Item = Sent<'_>> {
    let results = judged.results.iter().filter(|result| !result.twin);
    results.filter_map(|case| Some((case, case.datagrams.as_ref()?)))
}

/// For the terminal: a sentence per variant, and one for each case that lost something.
pub fn remarks(judged: &Judged) -> Vec<Block> {
    let by_variant = grouped(cases(judged), |a, b| a.0.variant == b.0.variant);
    by_variant.iter().flat_map(|cases| of_variant(&cases[0].0.variant, cases)).collect()
}

fn of_variant(variant: &str, cases: &[Sent]) -> Vec<Block> {
    let quiet = || cases.iter().filter(|case| !has_lost(case.1));
    let mut sentences = Vec::new();
    let launches: usize = quiet().map(|pair| pair.1.launches.len()).sum();
    if launches > 0 {
        let came: u64 =
            quiet().filter_map(|pair| pair.1.fragments).map(|counts| counts.received).sum();
        let fragments = match came {
            0 => String::new(),
            _ => format!(", {} fragments arrived in order", units::count(came)),
        };
        let known = quiet().all(|(_, seen)| drops_are_known(seen));
        let dropped = if known {
            "the kernel dropped none"
        } else {
            "what the kernel dropped can't be read here"
        };
        sentences.push(format!(
            "in {} no datagram is known to be lost, late or duplicated, and {dropped}{fragments}",
            units::counted(launches as u64, "launch")
        ));
    }
    let wire = distinct(cases.iter().filter(|case| case.0.metric.is_transfer()).filter_map(
        |(case, seen)| {
            let (ratio, size) = (seen.wire_bytes_per_payload_byte?, case.message_bytes?);
            Some(format!("{ratio:.3} at {}", units::size(size)))
        },
    ));
    if !wire.is_empty() {
        let wire = labels::few(&wire);
        sentences.push(format!("bytes on the wire for each byte of goodput: {wire}"));
    }
    let whole = (!sentences.is_empty()).then(|| {
        Block::paragraph(Text::new().code(variant).plain(format!(": {}.", sentences.join("; "))))
    });
    let lossy = cases.iter().filter(|case| has_lost(case.1)).map(|(case, seen)| {
        let text = format!(", {}: {}.", labels::what(case), counts(seen));
        Block::paragraph(Text::new().code(variant).plain(text))
    });
    whole.into_iter().chain(lossy).collect()
}

/// Whether a datagram was lost, late, duplicated or dropped, or a launch failed.
fn has_lost(seen: &DatagramsSeen) -> bool {
    let fragments = seen.fragments.unwrap_or_default();
    let failed = seen.launches_failed() > 0;
    let dropped = [seen.here, seen.peer].into_iter().flatten().any(|traffic| dropped(&traffic) > 0);
    let astray = fragments.lost + fragments.reordered + fragments.duplicated;
    failed || dropped || astray > 0 || seen.queue_overflows > Some(0)
}

/// Whether the kernel's counters of what it dropped could be read.
fn drops_are_known(seen: &DatagramsSeen) -> bool {
    let known =
        |traffic: Traffic| traffic.receive_errors.is_some() && traffic.send_queue_errors.is_some();
    seen.here.is_some_and(known) && seen.peer.is_none_or(known)
}

fn dropped(of: &Traffic) -> u64 {
    of.receive_errors.unwrap_or(0) + of.send_queue_errors.unwrap_or(0)
}

fn counts(seen: &DatagramsSeen) -> String {
    let launches = units::counted(seen.launches.len() as u64, "launch");
    let mut parts = vec![format!("{} of {launches} failed", seen.launches_failed())];
    if let Some(it) = seen.fragments {
        parts.push(format!(
            "fragments: {} arrived, {} lost, {} late, {} duplicated",
            units::count(it.received),
            units::count(it.lost),
            units::count(it.reordered),
            units::count(it.duplicated)
        ));
    }
    let queues = seen.queue_overflows.map_or("?".into(), units::count);
    parts.push(format!("full queues of its sockets: {queues}"));
    for (at, traffic) in [("here", seen.here), ("at the peer", seen.peer)] {
        parts.extend(traffic.map(|traffic| format!("the kernel {at}: {}", kernel(&traffic))));
    }
    parts.join("; ")
}

fn kernel(traffic: &Traffic) -> String {
    let count = |counter: Option<u64>| counter.map_or("?".into(), units::count);
    format!(
        "{} sent, {} received, dropped {} for full queues, {} for checksums, {} for lack of send space",
        count(traffic.sent),
        count(traffic.received),
        count(traffic.receive_queue_errors),
        count(traffic.checksum_errors),
        count(traffic.send_queue_errors)
    )
}

/// For the page: every case.
pub fn section(judged: &Judged) -> Option<Section> {
    let table = quantities::table(judged, Topic::Datagrams, "What became of datagrams")?;
    let all = units::counted(table.rows.len() as u64, "case");
    let lossy = cases(judged).filter(|case| has_lost(case.1)).count() as u64;
    let summary = match lossy {
        0 => format!("Counters of {all}: no datagram is known to be lost"),
        lossy => format!("Counters of {all}: {} lost datagrams, or failed", units::count(lossy)),
    };
    let table = table.note(MEANING).note(WIRE);
    let folded = Block::folded(summary, vec![table.into()]);
    Some(Section::new("datagrams", "Datagrams").with(folded))
}
