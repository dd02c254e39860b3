//! What makes a CPU fast or slow to wake: frequency (cpufreq/), idle states (cpuidle/), threads
//! on a core (smt/), and how long an idle guest polls before it gives the CPU away (haltpoll).

use std::collections::BTreeMap;
use std::path::Path;

use model::host::{Boost, Frequency, Idle, IdleState, Smt};

use crate::tree;

const CPU_DIR: &str = "sys/devices/system/cpu";

pub(super) fn smt(root: &Path) -> Smt {
    Smt {
        control: tree::text(root, &format!("{CPU_DIR}/smt/control")),
        active: tree::switch(root, &format!("{CPU_DIR}/smt/active")),
    }
}

pub(super) fn frequency(root: &Path, online: &[u32]) -> Frequency {
    let first = online.first().copied().unwrap_or(0);
    let file = |cpu: u32, name: &str| format!("{CPU_DIR}/cpu{cpu}/cpufreq/{name}");
    let by_value = |name: &str| {
        let mut by: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for &cpu in online {
            if let Some(value) = tree::text(root, &file(cpu, name)) {
                by.entry(value).or_default().push(cpu);
            }
        }
        by
    };
    let boost = |name: &str, when_on: bool| {
        let path = format!("{CPU_DIR}/{name}");
        let value = tree::switch(root, &path)?;
        Some(Boost { on: value == when_on, source: format!("/{path}") })
    };
    Frequency {
        driver: tree::text(root, &file(first, "scaling_driver")),
        governors: by_value("scaling_governor"),
        energy_preferences: by_value("energy_performance_preference"),
        hardware_max_khz: tree::number(root, &file(first, "cpuinfo_max_freq")),
        lowest_khz: tree::number(root, &file(first, "scaling_min_freq")),
        highest_khz: tree::number(root, &file(first, "scaling_max_freq")),
        boost: boost("intel_pstate/no_turbo", false).or_else(|| boost("cpufreq/boost", true)),
    }
}

pub(super) fn idle(root: &Path, cpu: u32) -> Idle {
    let file = |name: &str| tree::text(root, &format!("{CPU_DIR}/cpuidle/{name}"));
    let dir = format!("{CPU_DIR}/cpu{cpu}/cpuidle");
    let states = tree::numbered(root, &dir, "state").into_iter().filter_map(|state| {
        let dir = format!("{dir}/state{state}");
        Some(IdleState {
            name: tree::text(root, &format!("{dir}/name"))?,
            exit_latency_us: tree::number(root, &format!("{dir}/latency")),
            residency_us: tree::number(root, &format!("{dir}/residency")),
            disabled: tree::switch(root, &format!("{dir}/disable")),
        })
    });
    let haltpoll = "sys/module/haltpoll/parameters";
    let parameters = tree::names(root, haltpoll).into_iter().filter_map(|name| {
        let value = tree::text(root, &format!("{haltpoll}/{name}"))?;
        Some((name, value))
    });
    Idle {
        driver: file("current_driver"),
        governor: file("current_governor").or_else(|| file("current_governor_ro")),
        states: states.collect(),
        guest_halt_polling: parameters.collect(),
        host_halt_polling_ns: tree::number(root, "sys/module/kvm/parameters/halt_poll_ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored;

    #[test]
    fn governors_are_listed_with_their_cpus() {
        let cpu = |n, name| format!("{CPU_DIR}/cpu{n}/cpufreq/{name}");
        let governors = ["performance", "powersave", "performance"];
        let files: Vec<_> =
            (0..3).map(|n| (cpu(n, "scaling_governor"), governors[n as usize])).collect();
        let root = stored::unpack(files.iter().map(|(path, text)| (path.as_str(), *text)));
        stored::add(root.path(), [("sys/devices/system/cpu/intel_pstate/no_turbo", "1")]);
        let frequency = frequency(root.path(), &[0, 1, 2]);
        assert_eq!(frequency.governors["performance"], [0, 2]);
        assert_eq!(frequency.governors["powersave"], [1]);
        let boost = frequency.boost.unwrap();
        assert!(!boost.on && boost.source.ends_with("no_turbo"));
    }

    #[test]
    fn boost_of_other_drivers_has_the_direct_sense() {
        let root = stored::unpack([("sys/devices/system/cpu/cpufreq/boost", "1")]);
        assert!(frequency(root.path(), &[0]).boost.unwrap().on);
        let root = stored::machine("guest-2cpu");
        assert_eq!(frequency(root.path(), &[0, 1]), Frequency::default());
    }

    #[test]
    fn idle_states_in_order_and_halt_polling() {
        let dir = "sys/devices/system/cpu/cpu0/cpuidle";
        let states: Vec<_> = (0..11)
            .flat_map(|n| {
                [
                    (format!("{dir}/state{n}/name"), format!("C{n}")),
                    (format!("{dir}/state{n}/latency"), format!("{}", n * 10)),
                    (format!("{dir}/state{n}/disable"), format!("{}", n % 2)),
                ]
            })
            .collect();
        let root = stored::unpack(states.iter().map(|(p, c)| (p.as_str(), c.as_str())));
        stored::add(
            root.path(),
            [
                ("sys/devices/system/cpu/cpuidle/current_driver", "haltpoll"),
                ("sys/devices/system/cpu/cpuidle/current_governor_ro", "menu"),
                ("sys/module/haltpoll/parameters/guest_halt_poll_ns", "200000"),
            ],
        );
        let idle = idle(root.path(), 0);
        assert_eq!(
            (idle.driver.as_deref(), idle.governor.as_deref()),
            (Some("haltpoll"), Some("menu"))
        );
        assert_eq!((idle.states.len(), idle.states[10].exit_latency_us), (11, Some(100)));
        assert_eq!((idle.states[9].disabled, idle.states[9].residency_us), (Some(true), None));
        assert_eq!(idle.guest_halt_polling["guest_halt_poll_ns"], "200000");
        assert_eq!(idle.host_halt_polling_ns, None);
    }

    #[test]
    fn smt_state() {
        let root = stored::unpack([
            ("sys/devices/system/cpu/smt/control", "forceoff"),
            ("sys/devices/system/cpu/smt/active", "0"),
        ]);
        let off = Smt { control: Some("forceoff".into()), active: Some(false) };
        assert_eq!(smt(root.path()), off);
    }
}
