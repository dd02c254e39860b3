//! How much of the machine is ours: the quota and the CPUs of the control groups, and CPUs that
//! others are kept from.

use super::guest::hidden_by;
use super::{Check, Finding, Interval, Level, Seen, Throttled};
use crate::format_cpu_list;

const QUOTA: Check = Check {
    name: "quota",
    wanted: "no limit on CPU time, or one above what two workers can use",
    effect: "Once the quota of a period is used up, every worker is stopped until the period \
             ends, tens of milliseconds: spinning mechanisms use it up first, and the tail and \
             every throughput then show the quota, not the mechanism.",
    advice: "run outside the limited group, or have the limit lifted for the time of the run \
             (docker: --cpus; kubernetes: limits.cpu; systemd: CPUQuota=).",
};

const CPUSET: Check = Check {
    name: "cpuset",
    wanted: "every online CPU may be used",
    effect: "Placements are looked for among the CPUs that may be used: some relations between \
             CPUs are then not measured here, and `free` isn't free to choose the others.",
    advice: "start with a wider affinity (taskset), or in a group with more CPUs.",
};

const ISOLATION: Check = Check {
    name: "isolation",
    wanted: "the CPUs used are isolated, and their tick stops",
    effect: "The scheduler may put anyone's task beside the workers, and a timer tick comes some \
             hundred times a second: both show in the tail from p99.9 on, hardly in the median.",
    advice: "for tails, boot with two or more CPUs isolated (isolcpus=2-3 nohz_full=2-3) and name \
             them: `taskset -c 2-3 ipcmark -p 2,3`; for medians there is no need.",
};

/// CPUs that two workers need at once.
const TWO_WORKERS: f64 = 2.0;

/// What an interval shows of the quota: whether it throttled anyone.
pub(super) fn quota(stretch: &Interval) -> Finding {
    match stretch.throttled {
        Throttled::For(us) if us > 0 => QUOTA.warning(format!(
            "the group was stopped for {:.1} ms of {:.0} ms",
            us as f64 / 1e3,
            stretch.ns as f64 / 1e6
        )),
        Throttled::For(_) => QUOTA.fine("the group was never stopped meanwhile"),
        Throttled::NoQuota => QUOTA.fine("no limit in the groups that can be seen"),
        Throttled::Unknown => QUOTA.unknown(
            "the control groups of this process can't be seen, or don't count how long they were stopped",
            "mount the control groups (/sys/fs/cgroup), or ask what the limit is",
        ),
    }
}

pub(super) fn quota_of(stopped: Finding, seen: &Seen) -> Finding {
    let group = &seen.host.cgroup;
    let Some(quota) = group.cpu_quota else { return stopped };
    let found = format!(
        "{:.2} CPUs: {} µs in every {} µs; {}",
        quota.cpus(),
        quota.quota_us,
        quota.period_us,
        stopped.found
    );
    if stopped.level == Level::Warning || quota.cpus() < TWO_WORKERS {
        return QUOTA.warning(found);
    }
    QUOTA.note(found).effect(
        "Two workers fit into the quota, others in the same group use it up too: then all are \
         stopped until the period ends, and rounds are marked.",
    )
}

pub(super) fn cpuset(seen: &Seen) -> Finding {
    let host = seen.host;
    let (Some(online), Some(affinity)) = (&host.cpus_online, &host.limits.affinity) else {
        let found = "the online CPUs, or those that may be used, are unknown";
        return CPUSET.unknown(found, "name the CPUs to be used: -p CPU,CPU");
    };
    let group = host.cgroup.cpus_effective.as_ref();
    let may = |cpu: &&u32| {
        affinity.contains(cpu) && group.is_none_or(|group| group.is_empty() || group.contains(cpu))
    };
    let usable: Vec<u32> = online.iter().filter(may).copied().collect();
    let missing: Vec<u32> = seen.cpus.iter().filter(|cpu| !usable.contains(cpu)).copied().collect();
    let of = format!("CPUs {} of {}", format_cpu_list(&usable), format_cpu_list(online));
    if !missing.is_empty() {
        let found = format!("{of} may be used; {} may not", format_cpu_list(&missing));
        return CPUSET
            .warning(found)
            .effect("The workers can't be put there: such cases fail, or aren't measured.")
            .command(format!("taskset -c {} ipcmark doctor", format_cpu_list(seen.cpus)));
    }
    if usable.len() == online.len() {
        return CPUSET.fine(format!("all {} online CPUs may be used", online.len()));
    }
    CPUSET.note(format!("only {of} may be used"))
}

pub(super) fn isolation(seen: &Seen) -> Finding {
    let Some(isolated) = &seen.host.cpus_isolated else {
        return ISOLATION.unknown(
            format!("which CPUs are isolated isn't known: {}", hidden_by(seen.host)),
            "see isolcpus= in /proc/cmdline",
        );
    };
    // A kernel that can't stop the tick has no list of CPUs without one.
    let tickless = seen.host.cpus_nohz_full.as_deref();
    let all_in = |cpus: &[u32]| seen.cpus.iter().all(|cpu| cpus.contains(cpu));
    let list = format_cpu_list(isolated);
    if isolated.is_empty() {
        return ISOLATION.note("no CPU is isolated");
    }
    if all_in(isolated) && tickless.is_some_and(all_in) {
        return ISOLATION.fine(format!("CPUs {list} are isolated, without a tick"));
    }
    if all_in(isolated) {
        return ISOLATION
            .note(format!("CPUs {list} are isolated, but keep their tick"))
            .effect("A timer tick comes some hundred times a second: it shows from p99.9 on.")
            .advice(format!("add nohz_full={list} to the boot line, where the kernel has it."));
    }
    let pair: Vec<String> = isolated.iter().take(2).map(u32::to_string).collect();
    let pair = if pair.len() == 2 { pair } else { [pair.clone(), pair].concat() };
    ISOLATION
        .note(format!("CPUs {list} are isolated, but {} would be used", format_cpu_list(seen.cpus)))
        .advice("name the isolated CPUs: the scheduler never chooses them itself.")
        .command(format!("taskset -c {list} ipcmark -p {}", pair.join(",")))
}
