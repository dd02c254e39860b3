//! What depends on a privilege or on a system setting: granted with it, and without it refused
//! with what was found, what is needed and the remedy. Nothing of the system is changed: a
//! privilege is given up by the program alone, a setting changed in a namespace of its own.

use std::process::Command;

use crate::cli_support::{Bench, has, output, results};
use crate::common::launching::{conclude, quick, start};
use crate::common::say;
use model::launch::Outcome;

/// CAP_NET_ADMIN, by its number (linux/capability.h).
const NET_ADMIN: u32 = 12;

fn privileged() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc is mounted");
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:")).expect("CapEff");
    u64::from_str_radix(effective.trim(), 16).expect("a mask") & (1 << NET_ADMIN) != 0
}

fn sysctl(path: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/sys/{path}")).ok()?;
    text.trim().parse().ok()
}

/// More than this system lets anyone have without a privilege; a power of two.
fn too_much() -> u64 {
    let limit = |name| sysctl(name).expect("a limit of the system");
    2 * limit("net/core/wmem_max").max(limit("net/core/rmem_max")).next_power_of_two()
}

fn works(program: &str, args: &[&str]) -> bool {
    let tried = Command::new(program).args(args).arg("true").output();
    tried.is_ok_and(|tried| tried.status.success())
}

const ONE: &str = "-w latency -s 64 -p same-cpu --launches 1 --samples 10";

#[test]
#[ignore = "long form"]
fn a_buffer_above_the_limits_is_granted_whole_with_the_privilege() {
    if !privileged() {
        return say("skipped buffers above the limits: this process lacks CAP_NET_ADMIN");
    }
    let asked = too_much();
    for name in ["unix-stream", "unix-seqpacket", "tcp", "udp"] {
        let record = conclude(start(&quick(&format!("{name}:buffer={asked}"), 64))).record;
        assert_eq!(record.outcome, Outcome::Ok, "{name}");
        for granted in ["send_buffer_bytes", "receive_buffer_bytes"] {
            assert_eq!(
                record.effective_settings[granted],
                2 * asked,
                "{name} {granted}: doubled, not cut"
            );
        }
    }
}

#[test]
#[ignore = "long form"]
fn a_buffer_above_the_limits_is_refused_without_the_privilege() {
    let (dropper, drop_it) = ("setpriv", ["--bounding-set=-net_admin"]);
    if privileged() && !works(dropper, &drop_it) {
        return say("skipped buffers without CAP_NET_ADMIN: setpriv can't give it up here");
    }
    // A little above is refused too: the kernel's doubling must not hide that it was cut.
    let limit = sysctl("net/core/wmem_max").expect("a limit");
    for asked in [too_much(), limit + 4_096] {
        let bench = Bench::new();
        let line = format!("run pipe unix-stream:buffer={asked} {ONE}");
        let before: &[&str] = if privileged() { &[dropper, drop_it[0]] } else { &["env"] };
        output(&mut bench.behind(before, &line)).ends(5);
        let export = bench.export();
        let results = results(&export);
        let refused = results.iter().find(|case| case["mechanism"] == "unix-stream");
        let refused = refused.unwrap_or_else(|| panic!("no row: {export:#}"));
        assert_eq!(refused["status"], "not_applicable");
        let reason = refused["reason"].as_str().expect("a reason");
        for word in [
            format!("buffer={asked}"),
            format!("found {limit} and {}", sysctl("net/core/rmem_max").expect("a limit")),
            format!("sysctl -w net.core.wmem_max={asked} net.core.rmem_max={asked}"),
            "CAP_NET_ADMIN".into(),
        ] {
            assert!(reason.contains(&word), "no `{word}` in: {reason}");
        }
    }
}

#[test]
#[ignore = "long form"]
fn an_mtu_is_that_of_a_network_of_the_launchs_own() {
    if !works("unshare", &["--net"]) {
        return say("skipped MTUs: they take a network namespace of their own");
    }
    let before = std::fs::read_to_string("/sys/class/net/lo/mtu").expect("a loopback");
    for name in ["tcp", "udp"] {
        for mtu in [1_500, 9_000] {
            let record = conclude(start(&quick(&format!("{name}:mtu={mtu}"), 4_096))).record;
            assert_eq!(record.outcome, Outcome::Ok, "{name}");
            assert_eq!(record.effective_settings["mtu_bytes"], mtu, "{name}");
        }
        let record = conclude(start(&quick(&format!("{name}:mtu=100"), 64))).record;
        let Outcome::NotApplicable { reason } = record.outcome else { panic!("{record:?}") };
        assert!(reason.contains("from 1280 to 65536"), "{reason}");
    }
    let after = std::fs::read_to_string("/sys/class/net/lo/mtu").expect("a loopback");
    assert_eq!(before, after, "the system's own loopback is left alone");
}

#[test]
#[ignore = "long form"]
fn multipath_tcp_that_is_switched_off_is_named_with_its_setting() {
    if !works("unshare", &["--net"]) || sysctl("net/mptcp/enabled").is_none() {
        return say("skipped Multipath TCP switched off: it takes a network namespace of its own");
    }
    let bench = Bench::new();
    let switch_off = "echo 0 > /proc/sys/net/mptcp/enabled && exec \"$@\"";
    let before = ["unshare", "--net", "sh", "-c", switch_off, "sh"];
    output(&mut bench.behind(&before, &format!("run tcp:mptcp=on {ONE}"))).ends(5);
    let export = bench.export();
    let reason = export["results"][0]["reason"].to_string();
    has(&reason, &["IPPROTO_MPTCP", "net.mptcp.enabled is 0", "sysctl -w net.mptcp.enabled=1"]);
    assert_eq!(export["results"][0]["status"], "unavailable");
}
