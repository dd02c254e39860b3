//! Whose machine is it? A guest shares it with others, and sees a topology that was made up.

use super::{Check, Finding, Interval, Level, Seen};
use model::host::Host;

const VIRTUALISATION: Check = Check {
    name: "virtualisation",
    wanted: "no hypervisor below this kernel",
    effect: "A guest's topology may not be its host's: two CPUs may be threads of one core, or be \
             moved, and placements then are not what they are called. Waking a sleeping CPU goes \
             through the hypervisor, and costs several times what it costs on bare metal.",
    advice: "take figures across CPUs as those of this kind of guest, and compare only within one \
             run; for figures of the hardware, measure on the host.",
};

const CONTAINER: Check = Check {
    name: "container",
    wanted: "no container, and no filter on system calls",
    effect: "Every system call runs through the container's filter first, so mechanisms that make \
             more calls look slower than outside; limits above the container can't be seen.",
    advice: "measure where the program will run: if that is outside, measure outside.",
};

const STEAL: Check = Check {
    name: "steal",
    wanted: "less than 1 % of the time of the CPUs used taken by the hypervisor",
    effect: "While a CPU is taken away nothing moves: the tail (p99 and beyond) holds the \
             neighbours' time slices, medians drift with their load, and spinning mechanisms \
             suffer most because both sides must run at once.",
    advice: "measure at another hour, or on a host (or an instance type) with CPUs of your own; \
             more rounds narrow the intervals, they don't remove the bias.",
};

/// Steal from which on rounds are marked, as a share of the time of the CPUs used.
const STEAL_NOTED: f64 = 0.01;
const STEAL_SERIOUS: f64 = 0.05;
/// One tick may be a rounding.
const STEAL_TICKS: u64 = 2;

/// Whether anything says that this kernel is a guest. None of the signs is proof.
pub(super) fn is_guest(host: &Host) -> bool {
    let it = &host.hypervisor;
    it.flag == Some(true) || it.kind.is_some() || it.clock.is_some()
}

pub(super) fn virtualisation(seen: &Seen) -> Finding {
    let it = &seen.host.hypervisor;
    if is_guest(seen.host) {
        let signs = [
            (it.flag == Some(true)).then(|| "the CPU says so".to_owned()),
            it.kind.as_ref().map(|kind| format!("hypervisor {kind}")),
            it.clock.as_ref().map(|clock| format!("clock source {clock} is offered")),
            it.product.as_ref().map(|product| format!("product {product}")),
        ];
        let signs: Vec<String> = signs.into_iter().flatten().collect();
        return VIRTUALISATION.note(format!("this is a guest: {}", signs.join(", ")));
    }
    match it.flag {
        Some(_) => VIRTUALISATION.fine("no sign of a hypervisor"),
        None => VIRTUALISATION.unknown(
            "no sign of a hypervisor, but this architecture has no flag that would tell",
            "ask the operator of the machine; `systemd-detect-virt` knows a few more signs",
        ),
    }
}

pub(super) fn container(seen: &Seen) -> Finding {
    let it = &seen.host.container;
    let filtered = it.seccomp.is_some_and(|mode| mode > 0);
    let filter = match it.seccomp {
        Some(0) => "system calls are not filtered",
        Some(_) => "system calls run through a filter (seccomp)",
        None => "whether system calls are filtered is unknown",
    };
    match (&it.kind, filtered) {
        (None, false) if it.seccomp.is_none() => CONTAINER.unknown(
            format!("no sign of a container; {filter}"),
            "see the Seccomp line of /proc/self/status, where the kernel has one",
        ),
        (None, false) => CONTAINER.fine(format!("no sign of a container; {filter}")),
        (None, true) => CONTAINER.note(format!("no sign of a container, but {filter}")),
        (Some(_), _) => {
            let finding = CONTAINER.note(format!("{}; {filter}", it.signs.join(", ")));
            if filtered {
                return finding;
            }
            finding.effect("Limits above the container can't be seen from inside.")
        }
    }
}

pub(super) fn steal(stretch: &Interval) -> Finding {
    let since_boot = match stretch.steal_since_boot {
        Some(share) => format!("; {:.1} % since boot", 100.0 * share),
        None => String::new(),
    };
    let Some(ticks) = stretch.noise.steal_ticks else {
        let why = stretch.silent.stat.as_deref();
        let why = why.unwrap_or("/proc/stat doesn't tell the steal time of the CPUs used");
        return STEAL.unknown(
            format!("{why}{since_boot}"),
            "make the kernel's own /proc/stat readable, or name CPUs that are online",
        );
    };
    let share = stretch.share_of_cpus(ticks);
    let found = format!(
        "{} ms of {:.0} ms on the CPUs used ({:.1} %){since_boot}",
        10 * ticks,
        stretch.ns as f64 * stretch.cpus.len() as f64 / 1e6,
        100.0 * share
    );
    let often = stretch.steal_since_boot > Some(STEAL_NOTED);
    match share {
        share if share >= STEAL_SERIOUS && ticks >= STEAL_TICKS => STEAL.warning(found),
        share if share >= STEAL_NOTED && ticks >= STEAL_TICKS => STEAL.note(found),
        _ if often => STEAL.note(found),
        _ => STEAL.fine(found),
    }
}

/// The same with what the record of the machine knows of who could take time.
pub(super) fn steal_of(found: Finding, seen: &Seen) -> Finding {
    if found.level != Level::Fine {
        return found;
    }
    if is_guest(seen.host) && seen.stretch.steal_since_boot.is_none_or(|share| share == 0.0) {
        return STEAL.unknown(
            "none since boot: a hypervisor that doesn't tell of it looks the same",
            "ask the operator of the machine whether its CPUs are yours alone; a spinning pair that drifts \
             is a sign that they aren't.",
        );
    }
    match seen.host.hypervisor.flag {
        Some(false) => STEAL.fine("none: no sign of a hypervisor that could take time"),
        _ => found,
    }
}

impl Interval {
    /// Ticks of 10 ms on the watched CPUs, as a share of their time.
    pub(super) fn share_of_cpus(&self, ticks: u64) -> f64 {
        let time = self.ns as f64 * self.cpus.len().max(1) as f64;
        ticks as f64 * 1e7 / time.max(1.0)
    }
}

/// Why something isn't known.
pub(super) fn hidden_by(host: &Host) -> &'static str {
    if is_guest(host) { "a guest can't see it" } else { "the kernel doesn't show it" }
}
