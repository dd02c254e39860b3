//! What each part of a round trip is, and one command that would change it.

use super::sentences;
use crate::compose::labels::capital;
use crate::{Block, Section, Text};
use analysis::explain::{Cost, Explanation};

/// The parts that were found, each with what it is.
pub fn section(found: &Explanation) -> Section {
    let mut section = Section::new("taught", "What the parts are");
    let there = |cost: &Cost| {
        found.cases.iter().flat_map(|case| &case.parts).any(|part| part.cost == *cost)
    };
    let point = |cost: Cost| {
        let (what, command, change) = lesson(cost);
        Text::new()
            .strong(capital(sentences::cost(cost)))
            .plain(format!(": {what} "))
            .code(command)
            .plain(format!(" {change}"))
    };
    let parts = Cost::ALL.into_iter().filter(there).map(point);
    section.blocks.push(Block::List(parts.chain([residual()]).collect()));
    section
}

fn residual() -> Text {
    Text::new()
        .strong("Residual")
        .plain(
            ": the whole, measured without instrumentation, less all parts. It holds what attaching \
             a trace costs once, what overlaps, and what no event shows. ",
        )
        .code("ipcmark explain pipe --launches 30")
        .plain(" narrows its interval; it doesn't remove it.")
}

/// What a cost is; a command, and what that changes.
fn lesson(cost: Cost) -> (&'static str, &'static str, &'static str) {
    match cost {
        Cost::Calls => (
            "the way from the program into the kernel and back: the processor changes its mode, and \
             mitigations of its flaws make that slower. Counted as the number of calls times the quickest \
             way from leaving one call to entering the next.",
            "ipcmark run shm-ring:wait=spin pipe -w latency -p same-llc",
            "sets a mechanism that makes no call beside one that does.",
        ),
        Cost::Copying => (
            "bytes are copied into the kernel by the sender and out of it by the receiver; this \
             alone grows with the message.",
            "ipcmark run pipe vmsplice process-vm -w throughput -s 64K,1M",
            "sets mechanisms that copy twice beside others that copy once.",
        ),
        Cost::Transport => (
            "what the mechanism does between the edges of a call: finding the file, locks, buffers, \
             and for sockets the protocol.",
            "ipcmark explain pipe unix-stream tcp --size 64",
            "shows how much of it is the mechanism's choice.",
        ),
        Cost::Waking => (
            "the scheduler chooses a CPU for the sleeper and puts it into that CPU's queue.",
            "ipcmark run shm-ring:wait=spin shm-ring:wait=futex -w latency -p same-llc",
            "shows what it saves not to sleep.",
        ),
        Cost::Interrupts => (
            "an idle CPU is woken by an interrupt; in a virtual machine it goes through the \
             hypervisor.",
            "ipcmark explain pipe --placement same-cpu",
            "has no other CPU to interrupt.",
        ),
        Cost::Waiting => (
            "the worker is awake, but no CPU runs it yet: its CPU must leave idle first, or runs \
             another task. Time that its partner still runs on the same CPU counts as the partner's.",
            "ipcmark explain pipe --placement same-cpu,same-llc",
            "sets one beside the other.",
        ),
        Cost::Switching => (
            "registers, stack and, between processes, the address space are exchanged; then the call \
             that slept is finished.",
            "ipcmark run pipe -w latency -p same-cpu --workers both",
            "shows what a shared address space saves.",
        ),
        Cost::Program => (
            "what runs outside the kernel: the loop that measures, one clock read for each sample, and \
             of mechanisms in shared memory all that they do; and coming back to it with cold caches \
             and translations after a switch.",
            "ipcmark run noop -w latency",
            "shows the loop and the clock alone.",
        ),
        Cost::Elsewhere => (
            "both workers sleep: the message is with a kernel thread or an interrupt.",
            "ipcmark explain pipe pty --placement same-cpu",
            "sets a mechanism that hands its bytes to a kernel worker beside one that doesn't.",
        ),
    }
}
