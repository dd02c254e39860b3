//! What must hold of a plug-in or an engine before anything of it is timed: every byte of messages of many sizes arrives, in
//! every way in which it says that it can carry them. Launches of few messages, by processes of their own.

use crate::launch::{Interrupt, Launcher, trial_of, tried};
use mechanisms::Variant;
use model::launch::{Outcome, SampleCount, Workers};
use model::mechanism::{Carries, Waits};
use model::plugin::Plugin;
use model::units;
use model::workload::Workload;
use sys::affinity::Affinity;

/// Sizes that are tried, as far as it carries them; and the largest that it does, up to the last of these.
const SIZES: [usize; 7] = [1, 7, 64, 4096, 65_536, 65_537, 1 << 20];
/// Messages of a launch.
const MESSAGES: u64 = 50;
/// How long one may take, in ms.
const WITHIN_MS: u64 = 5_000;

/// One thing that was tried.
pub struct Check {
    pub variant: String,
    pub workload: Workload,
    pub bytes: usize,
    pub workers: Workers,
    /// Whether both workers share a CPU; else they are free.
    pub same_cpu: bool,
    pub outcome: Outcome,
}

/// Tries `plugin`, which is registered, in all its variants; tells of each check once it is done.
pub fn check(
    launcher: &Launcher,
    plugin: &Plugin,
    interrupt: &Interrupt,
    mut tell: impl FnMut(Check),
) {
    let cpu = Affinity::here().ok().and_then(|allowed| allowed.cpus().first().copied());
    for known in &plugin.variants {
        let options: Vec<String> =
            known.options.iter().map(|(key, word)| format!("{key}={word}")).collect();
        let text = match options.as_slice() {
            [] => plugin.name.clone(),
            options => format!("{}:{}", plugin.name, options.join(",")),
        };
        let Ok(variant) = Variant::parse(&text) else { continue };
        let most = known.largest.map_or(usize::MAX, |largest| largest as usize);
        let signals = plugin.carries == Carries::Signal;
        let most = if signals { 1 } else { most };
        let mut sizes: Vec<usize> = SIZES.into_iter().filter(|size| *size <= most).collect();
        sizes.extend(known.largest.map(|_| most).filter(|most| *most < SIZES[6]));
        sizes.dedup();
        let spins = plugin.waits(&known.options) == Waits::Spinning;
        for (workload, workers) in ways(plugin) {
            for (nth, bytes) in sizes.iter().copied().enumerate() {
                // Who spins on the CPU of the one it waits for waits for its time slice.
                let same_cpu = nth % 2 == 1 && cpu.is_some() && !spins;
                let mut spec = trial_of(&variant);
                spec.workload = workload;
                spec.message_bytes = bytes;
                spec.workers = workers;
                spec.verify = !plugin.is_engine() && !signals;
                spec.samples = SampleCount::Exactly(MESSAGES);
                spec.deadline_ms = WITHIN_MS + 3 * plugin.warmup_ms;
                if same_cpu {
                    (spec.initiator_cpu, spec.responder_cpu) = (cpu, cpu);
                }
                let outcome = tried(launcher, &spec, interrupt);
                if interrupt.signal().is_some() {
                    return;
                }
                let holds = outcome == Outcome::Ok;
                tell(Check { variant: text.clone(), workload, bytes, workers, same_cpu, outcome });
                if !holds {
                    // Larger messages would fail for the same reason, and late.
                    break;
                }
            }
        }
    }
}

/// How messages are carried: by which workload, between what.
fn ways(plugin: &Plugin) -> Vec<(Workload, Workers)> {
    let mut ways =
        vec![(Workload::Latency, Workers::Process), (Workload::Throughput, Workers::Process)];
    if !plugin.is_engine() {
        ways.push((Workload::Latency, Workers::Thread));
    }
    if plugin.without_waiting {
        ways.push((Workload::Duplex, Workers::Process));
    }
    ways
}

impl Check {
    /// What was tried, in a line.
    pub fn what(&self) -> String {
        let between = if self.workers == Workers::Thread { ", threads" } else { "" };
        let place = if self.same_cpu { "one CPU" } else { "placed freely" };
        let bytes = self.bytes as u64;
        // One byte more than a round number is no round number.
        let size = match bytes.is_multiple_of(1024) {
            true => units::size(bytes),
            false => format!("{} B", units::count(bytes)),
        };
        format!("{}, {size}, {place}{between}", self.workload.name())
    }
}
