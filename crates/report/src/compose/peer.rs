//! The other host of a run: where it was, what it is, and what may be concluded of a distance.

use super::findings;
use super::host::{facts, in_short};
use crate::{Block, Section, Text, units};
use analysis::Judged;
use model::findings::Fitness;
use model::host::Host;

/// What a set-up between two hosts holds.
pub const SET_UP: &str = "Between two hosts, by the initiator's clock: everything until the far side has accepted \
     this end, and closing it again. tcp: connect, the launch's cookie there, an answer back. udp: \
     the cookie there and an answer back. The far side's own work is in it as far as the answer waits \
     for it.";

fn name(host: &Host) -> String {
    let name = host.hostname.clone().unwrap_or_else(|| "unknown".into());
    format!("{name} ({})", in_short(host))
}

/// Both hosts in a paragraph; None where all was on one.
fn line(judged: &Judged) -> Option<Block> {
    let peer = judged.run.peer.as_ref()?;
    let addresses: Vec<String> =
        [peer.ipv4, peer.ipv6].into_iter().flatten().map(|address| address.to_string()).collect();
    let mut text = Text::new()
        .strong("Between two hosts: ")
        .plain(format!("initiators on {}, ", name(&judged.run.host)))
        .plain(format!("responders on {}, reached by ", name(&peer.host)))
        .code(peer.command.join(" "))
        .plain(format!(" at {}.", addresses.join(" and ")));
    if peer.one_network {
        text = text.plain(
            " Both are one machine and one network stack: what is measured is loopback, and no \
             verdict on a distance.",
        );
    } else if peer.one_kernel {
        text = text.plain(" Two network stacks, one machine: no verdict on physical distance.");
    }
    Some(Block::paragraph(text))
}

pub fn hosts(judged: &Judged) -> impl Iterator<Item = Block> {
    line(judged).into_iter().chain(laboratories(judged))
}

/// The laboratories in a paragraph; None where there were none.
fn laboratories(judged: &Judged) -> Option<Block> {
    let labs = &judged.run.labs;
    if labs.is_empty() {
        return None;
    }
    let parts = labs.iter().map(|lab| {
        let mtu = if lab.mtu_bytes == 1500 {
            String::new()
        } else {
            format!(", MTU {} bytes", lab.mtu_bytes)
        };
        let line: String =
            lab.impairments.iter().map(|impairment| format!(", {impairment}")).collect();
        format!("{} ({}{mtu}{line})", lab.chain, lab.route)
    });
    let text = Text::new()
        .strong("Laboratories that the run made: ")
        .plain(parts.collect::<Vec<_>>().join("; "))
        .plain(
            ". Two network stacks, one machine: they prove the tool and the protocols, and give no \
             verdict on physical distance.",
        );
    Some(Block::paragraph(text))
}

/// All that is known of the other host.
pub fn section(judged: &Judged) -> Option<Section> {
    let peer = judged.run.peer.as_ref()?;
    let section = Section::new("peer", "The other host").with_all(line(judged));
    let mut section = section.with(Block::paragraph(format!(
        "One clock stamps every sample, the initiator's: a round trip and the acknowledgement of a \
         transfer end where they began. The other host's own clock ({}, {} a read) stamps nothing. \
         Commands went over the mechanism itself, between timed intervals; the control stream was silent \
         while anything was timed.",
        peer.clock.kind,
        units::duration(peer.clock.cost_ns)
    )));
    let found = &peer.host.findings;
    if !found.is_empty() {
        let summary = format!("Before the run, there: {}", Fitness::sentence(found));
        section = section.with(Block::folded(summary, findings::blocks(found)));
    }
    Some(section.with(Block::Facts(facts(&peer.host))))
}
