//! What makes a CPU fast or slow, and fast or slow to wake: governor, boost, heat, a second
//! thread on the core, idle states; and the clock that tells.

use super::guest::{hidden_by, is_guest};
use super::{Check, Finding, Interval, Seen};
use crate::format_cpu_list;

const GOVERNOR: Check = Check {
    name: "governor",
    wanted: "the governor performance on every CPU used",
    effect: "The kernel sets the clock rate by the load it sees: mechanisms that sleep look idle \
             and run slower than those that spin, and the first samples of a launch are slower \
             than the last.",
    advice: "set the governor for the time of the run, or take the figures as those of this \
             setting.",
};

const BOOST: Check = Check {
    name: "boost",
    wanted: "off, so that the clock rate doesn't hang on heat and on other cores",
    effect: "How fast a core runs hangs on how many others work and how warm they are: one CPU \
             busy runs faster than two, so placements differ by more than their distance, and \
             intervals widen.",
    advice: "switch it off for the time of the run, or take the figures as those of this setting.",
};

const SMT: Check = Check {
    name: "smt",
    wanted: "nothing runs on the other thread of a core that is used",
    effect: "Work on the other thread of a core takes up to half of its speed, unseen by load \
             and interrupts of the CPU used.",
    advice: "keep the other threads idle, or switch them off for the time of the run.",
};

const IDLE: Check = Check {
    name: "idle",
    wanted: "every idle state is left within 10 µs",
    effect: "A wake-up of a sleeping CPU pays the exit latency of its idle state: round trips across \
             CPUs hang on how long each side slept, and slow senders look slower than busy ones.",
    advice: "compare only within this setting; for the bare mechanism, forbid the deep states for \
             the time of the run.",
};

const CLOCK: Check = Check {
    name: "clock",
    wanted: "the CPU's own counter (tsc, arch_sys_counter)",
    effect: "A slow clock adds its cost to every sample, and a coarse one ties them: short \
             operations are then timed in batches, without percentiles.",
    advice: "let the kernel keep time by the CPU's counter, where it is offered.",
};

const FREQUENCY: Check = Check {
    name: "frequency",
    wanted: "the same at both ends, and nobody changes governor or limits meanwhile",
    effect: "What was measured at one clock rate is compared with what was measured at another; \
             rounds keep a comparison fair, the figures themselves move.",
    advice: "fix the clock rate for the time of the run: governor performance, boost off.",
};

const THERMAL: Check = Check {
    name: "thermal",
    wanted: "no CPU is slowed down for heat",
    effect: "A hot CPU is slowed down to a fraction of its rate until it cools: later rounds are \
             slower than earlier ones.",
    advice: "let it cool, see to its fans, and keep other load away.",
};

/// Leaving an idle state may cost this much, µs: the size of a wake-up itself.
const WAKE_UP_US: u64 = 10;
/// Frequencies this much apart, as a ratio, are different.
const SAME_FREQUENCY: f64 = 1.1;
/// Clock sources that are a counter in the CPU.
const COUNTERS: [&str; 6] =
    ["tsc", "arch_sys_counter", "riscv_clocksource", "timebase", "tod", "stick"];
/// Paravirtual ones: the counter with a page of the hypervisor's that scales it.
const SCALED: [&str; 4] = ["kvm-clock", "hyperv_clocksource_tsc_page", "xen", "vmware"];

pub(super) fn governor(seen: &Seen) -> Finding {
    let frequency = &seen.host.frequency;
    let used = |cpus: &[u32]| -> Vec<u32> {
        cpus.iter().filter(|cpu| seen.cpus.contains(cpu)).copied().collect()
    };
    let governors: Vec<(&str, Vec<u32>)> = frequency
        .governors
        .iter()
        .map(|(name, cpus)| (name.as_str(), used(cpus)))
        .filter(|(_, cpus)| !cpus.is_empty())
        .collect();
    let list: Vec<String> = governors
        .iter()
        .map(|(name, cpus)| format!("{name} on CPUs {}", format_cpu_list(cpus)))
        .collect();
    let mut found = list.join(", ");
    if let Some(driver) = &frequency.driver {
        found +=
            &format!(" (driver {driver}{})", range(frequency.lowest_khz, frequency.highest_khz));
    }
    let command = "sudo cpupower frequency-set -g performance";
    match governors.as_slice() {
        [] => GOVERNOR.unknown(
            format!("there is no cpufreq: {}", hidden_by(seen.host)),
            "see it on the host, or in the firmware; rounds keep comparisons fair all the same.",
        ),
        [("performance", _)] => GOVERNOR.fine(found),
        [_] => GOVERNOR.note(found).command(command),
        _ => GOVERNOR
            .warning(found)
            .effect("The CPUs of one pair run at different rates: placements can't be compared.")
            .command(command),
    }
}

fn range(lowest: Option<u64>, highest: Option<u64>) -> String {
    match lowest.zip(highest) {
        Some((lowest, highest)) => {
            format!(", {} to {}", frequency_words(lowest), frequency_words(highest))
        }
        None => String::new(),
    }
}

/// `3.40 GHz`.
pub(super) fn frequency_words(khz: u64) -> String {
    match khz {
        khz if khz >= 1_000_000 => format!("{:.2} GHz", khz as f64 / 1e6),
        khz => format!("{:.0} MHz", khz as f64 / 1e3),
    }
}

pub(super) fn boost(seen: &Seen) -> Finding {
    let Some(boost) = &seen.host.frequency.boost else {
        return BOOST.unknown(
            format!("no switch for it: {}", hidden_by(seen.host)),
            "see it on the host, or in the firmware.",
        );
    };
    if !boost.on {
        return BOOST.fine(format!("off ({})", boost.source));
    }
    let value = if boost.source.ends_with("no_turbo") { 1 } else { 0 };
    BOOST
        .note(format!("on ({})", boost.source))
        .command(format!("echo {value} | sudo tee {}", boost.source))
}

pub(super) fn smt(seen: &Seen) -> Finding {
    let control = seen.host.smt.control.as_deref().unwrap_or("not shown");
    let Some(topology) = seen.topology else {
        return SMT.unknown(
            "the topology can't be read: which CPUs share a core or a cache isn't known",
            "mount sysfs on /sys; without it, name the CPUs: -p CPU,CPU",
        );
    };
    let cores = seen.cpus.iter().filter_map(|cpu| topology.cpu(*cpu));
    let others: Vec<u32> = cores
        .flat_map(|cpu| &cpu.siblings)
        .filter(|sibling| !seen.cpus.contains(sibling))
        .copied()
        .collect();
    let threads = topology.cpus.iter().any(|cpu| cpu.siblings.len() > 1);
    match (threads, others.is_empty()) {
        (false, _) if is_guest(seen.host) => SMT.unknown(
            "no core shows two threads, but two CPUs of a guest may be threads of one core",
            "ask the host; a pair that spins at half its speed is a sign of it.",
        ),
        (false, _) => SMT.fine(format!("one thread on each core (smt control: {control})")),
        (true, true) => SMT.fine("both threads of every core used are the workers' own"),
        (true, false) => SMT
            .note(format!(
                "on: CPUs {} share cores with those that would be used ({})",
                format_cpu_list(&others),
                format_cpu_list(seen.cpus)
            ))
            .command("echo off | sudo tee /sys/devices/system/cpu/smt/control"),
    }
}

pub(super) fn idle(seen: &Seen) -> Finding {
    let idle = &seen.host.idle;
    let polls: Option<u64> =
        idle.guest_halt_polling.get("guest_halt_poll_ns").and_then(|ns| ns.parse().ok());
    match idle.driver.as_deref() {
        Some("haltpoll") => return haltpoll(polls),
        None | Some("none") if idle.states.is_empty() => {
            return IDLE.unknown(
                format!("no idle driver: {}", hidden_by(seen.host)),
                "the kernel's own halt is used; its cost is in every wake-up across CPUs.",
            );
        }
        _ => {}
    }
    let enabled = idle.states.iter().filter(|state| state.disabled != Some(true));
    let deepest = enabled.filter_map(|state| Some((state.exit_latency_us?, &state.name))).max();
    let driver = idle.driver.as_deref().unwrap_or("unknown");
    match deepest {
        None => IDLE.unknown(
            format!("driver {driver} doesn't say how long its states take to leave"),
            "see /sys/devices/system/cpu/cpu0/cpuidle",
        ),
        Some((us, name)) if us > WAKE_UP_US => IDLE
            .note(format!("driver {driver}: leaving {name} takes up to {us} µs"))
            .command(format!("sudo cpupower idle-set -D {WAKE_UP_US}")),
        Some((us, name)) => IDLE.fine(format!("driver {driver}: leaving {name} takes {us} µs")),
    }
}

/// A guest's idle loop, which may poll before it gives the CPU to the host.
fn haltpoll(ns: Option<u64>) -> Finding {
    let advice = "compare only within one run, and mind how long each side sleeps.";
    let Some(ns) = ns else {
        return IDLE.unknown("haltpoll; how long it polls isn't shown", advice);
    };
    match ns {
        0 => IDLE
            .note("haltpoll without polling: an idle CPU halts to the hypervisor at once")
            .effect("Every wake-up across CPUs pays the way through the hypervisor and back."),
        ns => {
            IDLE.note(format!("haltpoll: an idle CPU polls {} µs, then halts", ns / 1_000)).effect(
                "Sleeps shorter than the poll cost no interrupt, longer ones cost a way through \
                 the hypervisor: round trips across CPUs have two regimes.",
            )
        }
    }
    .advice(advice)
}

pub(super) fn clock(seen: &Seen) -> Finding {
    let source = &seen.host.clock_source;
    let Some(current) = &source.current else {
        return CLOCK.unknown(
            format!("the clock source isn't shown: {}", hidden_by(seen.host)),
            "the run measures its clock's cost and step, and stores both.",
        );
    };
    if COUNTERS.contains(&current.as_str()) {
        return CLOCK.fine(current);
    }
    let found = format!("{current}; offered: {}", source.available.join(", "));
    let finding = if SCALED.contains(&current.as_str()) {
        CLOCK.note(found).effect(
            "The counter isn't used directly, because the kernel doesn't: each sample holds a \
             reading of CLOCK_MONOTONIC_RAW, some 20 ns.",
        )
    } else {
        CLOCK.warning(found)
    };
    match source.available.iter().find(|text| COUNTERS.contains(&text.as_str())) {
        Some(counter) => finding.command(format!(
            "echo {counter} | sudo tee \
             /sys/devices/system/clocksource/clocksource0/current_clocksource"
        )),
        None => finding
            .advice("the kernel offers no better one: its log says why (`dmesg | grep -i tsc`)."),
    }
}

pub(super) fn frequency(stretch: &Interval) -> Finding {
    let changed = stretch
        .frequencies
        .iter()
        .find_map(|frequency| Some((frequency.cpu, frequency.changed.as_ref()?)));
    if let Some((cpu, what)) = changed {
        return FREQUENCY.warning(format!("CPU {cpu}: {what}"));
    }
    let known: Vec<(u32, u64, u64)> = stretch
        .frequencies
        .iter()
        .filter_map(|frequency| Some((frequency.cpu, frequency.before_khz?, frequency.after_khz?)))
        .collect();
    let apart = |(_, a, b): &(u32, u64, u64)| *a.max(b) as f64 / (*a.min(b)).max(1) as f64;
    match known.iter().max_by(|a, b| apart(a).total_cmp(&apart(b))) {
        None => FREQUENCY.unknown(
            "the clock rate of the CPUs used can't be read here",
            "see `ipcmark report` on how steady `noop` was: it moves with the clock rate.",
        ),
        Some(it @ (cpu, before, after)) => {
            let (before, after) = (frequency_words(*before), frequency_words(*after));
            let found = format!("CPU {cpu}: {before}, then {after}");
            if apart(it) >= SAME_FREQUENCY { FREQUENCY.note(found) } else { FREQUENCY.fine(found) }
        }
    }
}

pub(super) fn thermal(stretch: &Interval) -> Finding {
    match stretch.heat {
        None => THERMAL.unknown(
            "no counter of throttling (thermal_throttle) is shown",
            "see the temperatures (`sensors`), or the host's.",
        ),
        Some(0) => THERMAL.fine("not slowed down for heat meanwhile"),
        Some(count) => {
            let times = model::words::counted(count, "time");
            THERMAL.warning(format!("slowed down for heat {times}"))
        }
    }
}
