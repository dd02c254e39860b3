//! Runs between real network stacks: two network namespaces with a cable between them (root makes
//! them; other users see that it was skipped), and a real sshd with keys and a configuration of its own.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::cli_support::{
    Bench, Said, assert_all_ok, flat, has, output, results, rows, say, wait_for,
};

const PATIENCE: Duration = Duration::from_secs(30);

/// Two network stacks with a cable between them; gone when this is dropped.
struct Hosts {
    names: [String; 2],
}

fn ip(line: &str) -> Result<(), String> {
    let output = Command::new("ip").args(line.split_whitespace()).output();
    let output = output.map_err(|error| format!("start ip: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("ip {line}: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

impl Hosts {
    /// None, said aloud, where this user may not make them.
    fn up(bench: &Bench) -> Option<Hosts> {
        if !rustix::process::geteuid().is_root() {
            say("skipped: network namespaces need root");
            return None;
        }
        let tag = bench
            .path("x")
            .parent()
            .and_then(Path::file_name)
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let tag: String = tag.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
        let hosts = Hosts { names: ["a", "b"].map(|text| format!("ipcmark-{tag}-{text}")) };
        match hosts.join(&tag) {
            Ok(()) => Some(hosts),
            Err(reason) => {
                say(&format!("skipped: {reason}"));
                None
            }
        }
    }

    /// Their loopback interfaces stay down: nothing between hosts may need them.
    fn join(&self, tag: &str) -> Result<(), String> {
        let [a, b] = &self.names;
        ip(&format!("netns add {a}"))?;
        ip(&format!("netns add {b}"))?;
        ip(&format!("link add ia{tag} netns {a} type veth peer name ib{tag} netns {b}"))?;
        for (name, link, nth) in [(a, format!("ia{tag}"), 1), (b, format!("ib{tag}"), 2)] {
            ip(&format!("-n {name} addr add 10.99.7.{nth}/24 dev {link}"))?;
            ip(&format!("-n {name} addr add fd99:7::{nth}/64 dev {link} nodad"))?;
            ip(&format!("-n {name} link set {link} up"))?;
        }
        Ok(())
    }
}

impl Hosts {
    /// Runs the program in the first of them, with the other as its peer.
    fn run(&self, bench: &Bench, line: &str) -> Said {
        let [a, b] = &self.names;
        let peer = format!("ip netns exec {b}");
        let line = format!("{line} --peer '{peer}'");
        output(&mut bench.behind(&["ip", "netns", "exec", a], &line))
    }

    /// Has the second of them lose the datagrams that nft's words choose; false without nft.
    fn lose(&self, which: &str) -> bool {
        crate::common::netns::lose(&self.names[1], which)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = ip(&format!("netns del {name}"));
        }
    }
}

#[test]
fn between_two_network_stacks() {
    let bench = Bench::new();
    let Some(hosts) = Hosts::up(&bench) else { return };
    let said = hosts.run(
        &bench,
        "run tcp udp tcp:family=6 udp:family=6 -w latency,throughput,connect -s 64 --launches 2",
    ).ends(0);
    let run = bench.export();
    assert_all_ok(&run, 13);
    let peer = &run["peer"];
    assert_eq!((&peer["ipv4"], &peer["ipv6"]), (&"10.99.7.2".into(), &"fd99:7::2".into()));
    assert_eq!((&peer["one_kernel"], &peer["one_network"]), (&true.into(), &false.into()));
    assert!(said.out.contains("no verdict on physical distance"), "{}", said.out);
    // The noise of both, and datagrams of the path's MTU, which both sides took alike.
    has(&flat(&bench.must("report last -v").out), &["Noise of both hosts: others forked during"]);
    for case in results(&run) {
        let there = &case["noise"]["peer"];
        assert!(there["launches_with_forks"].is_u64(), "{there}");
        assert!(there["context_switches"].is_number(), "{there}");
        if case["mechanism"] == "udp" && case["workload"] != "connect" {
            let datagram = if case["options"]["family"] == "6" { 1_452 } else { 1_472 };
            let effective_settings = &case["effective_settings"];
            assert_eq!(effective_settings["datagram_bytes"], datagram, "{}", case["variant"]);
            assert_eq!(effective_settings["path_mtu_bytes"], 1_500);
            assert!(case["datagrams"]["here"]["sent"].as_u64() > Some(0));
            assert!(case["datagrams"]["peer"]["received"].as_u64() > Some(0));
        }
    }
    let there = "SELECT DISTINCT json_extract(record, '$.far.effective_settings.datagram_bytes') FROM launches
         JOIN cases ON case_id = cases.id WHERE levels ->> 'variant' = 'udp' AND levels ->> 'workload' != 'connect'";
    assert_eq!(rows(&bench.open(), there), ["1472"]);
    assert!(bench.processes().is_empty());
}

#[test]
fn loss_between_hosts_is_reported_by_both_sides() {
    let bench = Bench::new();
    let Some(hosts) = Hosts::up(&bench) else { return };
    // The cookie comes through and no message does; of fragments the second does, which tells at once.
    if !hosts.lose("meta length > 700") {
        return say("skipped loss between hosts: nft doesn't run here");
    }
    let line = "run udp udp:datagram=1000 -w latency,throughput -s 1400 --launches 1";
    hosts.run(&bench, line).ends(1);
    let run = bench.export();
    for case in results(&run) {
        let what = format!("{} {}", case["variant"], case["workload"]);
        assert_eq!(case["status"], "failed", "{what}");
        assert!(case["reason"].to_string().contains("lost"), "{what}: {}", case["reason"]);
        let launch = &case["datagrams"]["launches"][0];
        // The end that gave up first reports; the kernel reports the other.
        let said = ["initiator", "responder"].map(|text| launch[text].is_object());
        assert!(said[0] || said[1], "{what}: {launch:#}");
        let (sent, came) = (&launch["here"]["sent"], &launch["peer"]["received"]);
        assert!(came.as_u64() < sent.as_u64(), "{what}: {launch:#}");
        assert!(came.is_u64(), "the far side has its say: {what}: {launch:#}");
        if case["options"]["datagram"] == "1000" && case["workload"] == "latency" {
            assert_eq!(case["datagrams"]["fragments"]["lost"], 1, "{what}: {launch:#}");
        }
    }
    assert!(bench.processes().is_empty());
}

#[test]
fn where_no_datagram_passes_between_hosts_the_row_says_so() {
    let bench = Bench::new();
    let Some(hosts) = Hosts::up(&bench) else { return };
    if !hosts.lose("") {
        return say("skipped all lost between hosts: nft doesn't run here");
    }
    // On one CPU there is nothing to settle: each launch takes the 8 s in which hosts must meet.
    let cpu = rustix::thread::sched_getaffinity(None).expect("the CPUs of this process");
    let cpu = (0..1024).find(|number| cpu.is_set(*number)).expect("a CPU");
    let line = format!("run udp -w throughput -s 64 --launches 1 -p {cpu},{cpu}");
    hosts.run(&bench, &line).ends(5);
    let case = &bench.export()["results"][0];
    assert_eq!(case["status"], "unavailable");
    let reason = case["reason"].to_string();
    has(&reason, &["none of 8 datagrams to 10.99.7.2:", "all were lost", "--peer-address"]);
    assert!(bench.processes().is_empty());
}

#[test]
fn where_no_address_can_be_reached_the_rows_say_so() {
    let bench = Bench::new();
    let Some(hosts) = Hosts::up(&bench) else { return };
    let b = &hosts.names[1];
    // From outside there is no way into it, unless this machine has a default route, which a
    // packet would take in vain: the address that is named here is nobody's.
    let line = [
        "run",
        "tcp",
        "-w",
        "latency",
        "-s",
        "64",
        "--launches",
        "1",
        "--peer-address",
        "10.99.7.3",
    ];
    let peer = format!("ip netns exec {b}");
    let mut command = bench.command(line.into_iter().chain(["--peer", &peer]));
    let said = output(&mut command);
    let run = bench.export();
    let case = &run["results"][0];
    assert_ne!(case["status"], "ok");
    has(&case["reason"].to_string(), &["--peer-address"]);
    assert_ne!(said.code, Some(0));
}

#[test]
fn a_pair_of_nodes_without_an_address_is_a_row_and_launches_nothing() {
    let bench = Bench::new();
    let Some(hosts) = Hosts::up(&bench) else { return };
    let nodes = hosts.names.join(",");
    let line = format!(
        "fleet tcp pipe --nodes {nodes} --network 203.0.113.0/24 --rounds 2 -w latency -s 64 \
         --samples 20 --settle 0ms --no-floors"
    );
    let words = line.split_whitespace().chain(["--launcher", "ip netns exec {node}"]);
    let said = output(&mut bench.command(words));
    // Each node by itself: a pilot and two rounds.
    let launches = rows(
        &bench.open(),
        "SELECT status, count(*), max(json_extract(record, '$.setup_ns') > 0),
             (SELECT count(*) FROM samples WHERE launch = launches.id) FROM launches
             GROUP BY status ORDER BY status",
    );
    assert_eq!(launches.last().unwrap()[..4], *"ok|6", "{launches:?} {}", said.err);
    assert!(
        launches[0].starts_with("not_applicable|") && launches[0].ends_with("|0|0"),
        "{launches:?}"
    );
    let reason = rows(&bench.open(), "SELECT DISTINCT reason FROM launches WHERE reason NOTNULL");
    assert!(reason[0].contains("203.0.113.0/24"), "{reason:?}");
}

/// An sshd on a port of loopback, with everything of its own in the bench's folder.
struct Sshd {
    child: Child,
    port: u16,
    /// The folder that was made for it.
    made: Option<&'static Path>,
}

impl Sshd {
    fn start(bench: &Bench) -> Option<Sshd> {
        let sshd = ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/sbin/sshd"];
        let Some(sshd) = sshd.into_iter().find(|text| Path::new(text).exists()) else {
            say("skipped: no sshd here");
            return None;
        };
        let key = |name: &str| {
            let path = bench.path(name);
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(&path)
                .status();
            made.is_ok_and(|status| status.success()).then_some(path)
        };
        let (Some(host), Some(user)) = (key("host_key"), key("user_key")) else {
            say("skipped: no ssh-keygen here");
            return None;
        };
        // sshd requires a folder for its chroot.
        let place = Path::new("/run/sshd");
        let made = std::fs::create_dir(place).is_ok().then_some(place);
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let config = bench.path("sshd_config");
        let text = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {}\nAuthorizedKeysFile {}.pub\n\
             PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n\
             PermitRootLogin prohibit-password\n",
            host.display(),
            user.display()
        );
        std::fs::write(&config, text).unwrap();
        let log = std::fs::File::create(bench.path("sshd.log")).unwrap();
        let child = Command::new(sshd).args(["-D", "-e", "-f"]).arg(&config).stderr(log).spawn();
        let mut sshd = Sshd { child: child.expect("start sshd"), port, made };
        let up = || std::net::TcpStream::connect(("127.0.0.1", port)).ok().map(|_| true);
        let ended = sshd.child.try_wait().expect("wait").map(|_| false);
        if wait_for("sshd", PATIENCE, || up().or(ended)) {
            Some(sshd)
        } else {
            say("skipped: sshd doesn't start here");
            None
        }
    }

    /// The command that reaches it.
    fn command(&self, bench: &Bench) -> String {
        format!(
            "ssh -p {} -i {} -o BatchMode=yes -o IdentitiesOnly=yes -o StrictHostKeyChecking=no \
             -o UserKnownHostsFile=/dev/null 127.0.0.1",
            self.port,
            bench.path("user_key").display()
        )
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(made) = self.made {
            let _ = std::fs::remove_dir(made);
        }
    }
}

#[test]
fn behind_a_real_sshd() {
    let bench = Bench::new();
    let Some(sshd) = Sshd::start(&bench) else { return };
    let peer = sshd.command(&bench);
    let mut logged_in = Command::new("ssh");
    logged_in.args(peer.split(' ').skip(1)).arg("true").stdin(Stdio::null());
    if !logged_in.output().is_ok_and(|output| output.status.success()) {
        say("skipped: this user can't log in by a key of its own");
        return;
    }
    for (workloads, cases, extra) in
        [("latency,throughput,connect", 7, &[][..]), ("latency", 3, &["--deploy"])]
    {
        let line = ["run", "tcp", "udp", "-w", workloads, "-s", "64", "--launches", "1"];
        let mut words = line.to_vec();
        words.extend(["--peer", &*peer]);
        words.extend(extra);
        output(&mut bench.command(words)).ends(0);
        assert_all_ok(&bench.export(), cases);
    }
    let program = bench.export()["peer"]["program"].to_string();
    assert!(!Path::new(program.trim_matches('"')).exists(), "{program}");
    // A program that isn't there, as the remote shell reports it.
    let words = ["run", "tcp", "--peer", &peer, "--peer-program", "/nowhere/ipcmark"];
    output(&mut bench.command(words)).fails(1, &["127", "/nowhere/ipcmark", "--peer-program"]);
}
