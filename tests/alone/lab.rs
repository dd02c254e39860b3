//! `ipcmark lab` as it is used: what travels between its hosts, what its line does to it, and that
//! nothing is left. Hosts are entered by sockets made in a thread of their namespace. Needs root;
//! says aloud that it skips without.

use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::cli_support::{Bench, Said, can_have_labs, has, output, wait_for};
use crate::common::{netns, say};
use rustix::process::Signal;
use serde_json::Value;

/// Virtual machines pause for seconds at times.
const PATIENCE: Duration = Duration::from_secs(30);

// ---- a laboratory under test -----------------------------------------------------------------

/// A laboratory of this test's own, gone when the test ends, also when it fails.
struct Lab {
    bench: Bench,
    name: String,
}

impl Lab {
    /// A name for one; none, said aloud, where none can be made.
    fn begin(test: &str) -> Option<Lab> {
        can_have_labs(test)?;
        let name = format!("t{}-{test}", std::process::id());
        Some(Lab { bench: Bench::new(), name })
    }

    fn lab(&self, line: &str) -> Said {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        self.bench.run(&format!("lab {verb} --name {} {rest}", self.name))
    }

    fn must(&self, line: &str) -> Said {
        let said = self.lab(line);
        assert_eq!(said.code, Some(0), "lab {line}: {}{}", said.out, said.err);
        said
    }

    fn status(&self) -> Value {
        let said = self.must("status --format json");
        serde_json::from_str::<Value>(&said.out).expect("JSON")["labs"][0].clone()
    }

    fn namespace(&self, node: &str) -> String {
        format!("ipcmark-{}-{node}", self.name)
    }

    /// What of this laboratory is there: names of namespaces, files, processes.
    fn left(&self) -> BTreeSet<String> {
        let entries = ["/run/netns", "/run/ipcmark-lab"].map(|folder| fs::read_dir(folder).ok());
        let files = entries.into_iter().flatten().flatten().flatten();
        let names = files.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut left: BTreeSet<String> = names.filter(|name| name.contains(&self.name)).collect();
        left.extend(self.relays().into_iter().map(|pid| format!("relay {pid}")));
        left
    }

    fn relays(&self) -> Vec<i32> {
        let processes = crate::common::proc::Process::all().into_iter();
        let is_relay = |pid: &i32| {
            let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.contains(&format!("lab\0relay\0{}\0", self.name))
        };
        processes.map(|process| process.pid).filter(is_relay).collect()
    }

    fn assert_nothing_left(&self) {
        assert_eq!(self.left(), BTreeSet::new());
    }

    /// Does something in a thread that is in the network of `node`; its sockets stay there.
    fn inside<T: Send>(&self, node: &str, action: impl FnOnce() -> T + Send) -> T {
        netns::inside(&self.namespace(node), action)
    }

    /// A datagram socket of a host, whose address is `address`.
    fn socket(&self, node: &str, address: &str) -> UdpSocket {
        let socket = self.inside(node, || UdpSocket::bind((address, 0)).expect("bind"));
        socket.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        socket
    }

    /// Sockets of `a` and `b` that are connected with each other.
    fn pair(&self) -> [UdpSocket; 2] {
        let hosts = self.status()["hosts"].clone();
        let [a, b] = [("a", 0), ("b", 1)]
            .map(|(node, nth)| self.socket(node, hosts[nth]["ipv4"].as_str().expect("an address")));
        a.connect(b.local_addr().unwrap()).unwrap();
        b.connect(a.local_addr().unwrap()).unwrap();
        [a, b]
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.lab("down --kill");
    }
}

/// Sends `datagrams` of `bytes` from one socket to the other, few at a time, so that no buffer
/// overflows; gives how many came.
fn count(from: &UdpSocket, to: &UdpSocket, datagrams: usize, bytes: usize) -> usize {
    let mut room = [0; 2_000];
    let mut came = 0;
    to.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    let mut take = |came: &mut usize| match to.recv(&mut room) {
        Ok(_) => {
            *came += 1;
            true
        }
        Err(error) => {
            assert!(matches!(error.kind(), ErrorKind::WouldBlock), "{error}");
            false
        }
    };
    for nth in 1..=datagrams {
        from.send(&vec![0; bytes]).expect("send");
        if nth % 50 == 0 {
            while take(&mut came) {}
        }
    }
    // What is still under way has come when nothing came for a second.
    let mut last = Instant::now();
    while last.elapsed() < Duration::from_secs(1) && came < datagrams {
        if take(&mut came) {
            last = Instant::now();
        }
    }
    came
}

/// Whether a count of losses lies in the 99.9 % interval of a binomial (normal approximation, good
/// for hundreds of losses).
fn is_likely(lost: usize, of: usize, share: f64) -> bool {
    let (mean, variance) = (of as f64 * share, of as f64 * share * (1.0 - share));
    (lost as f64 - mean).abs() <= 3.29 * variance.sqrt() + 0.5
}

// ---- what travels ----------------------------------------------------------------------------

#[test]
fn packets_travel_over_two_routers_and_two_switches() {
    let Some(lab) = Lab::begin("travel") else { return };
    let outside = fs::read_to_string("/proc/net/dev").unwrap().lines().count();
    let said = lab.must("up --routers 2 --switches 2 --mtu 1400");
    has(&said.out, &["a ── s1 ── r1 ── s2 ── r2 ── b", "two network stacks, one machine"]);
    for family in ["ipv4", "ipv6"] {
        let hosts = lab.status()["hosts"].clone();
        let address = hosts[1][family].as_str().expect("an address").to_string();
        let listener = lab.inside("b", || TcpListener::bind((address.as_str(), 0)).expect("bind"));
        let to = listener.local_addr().unwrap();
        let mut from =
            lab.inside("a", || TcpStream::connect_timeout(&to, PATIENCE).expect("connect"));
        let (mut came, _) = listener.accept().expect("accept");
        from.write_all(&[7; 100_000]).expect("write");
        drop(from);
        let mut all = Vec::new();
        came.read_to_end(&mut all).expect("read");
        assert_eq!(all, vec![7; 100_000]);
    }
    // Two routers: of time to live 2 nothing is left, of 3 there is.
    let [a, b] = lab.pair();
    for (ttl, come) in [(2, 0), (3, 10)] {
        a.set_ttl(ttl).unwrap();
        let mut sent = 0;
        while sent < 10 {
            // What a router has answered to one datagram is reported at the next.
            sent += usize::from(a.send(&[0; 8]).is_ok());
        }
        b.set_read_timeout(Some(Duration::from_secs(if come == 0 { 1 } else { 30 }))).unwrap();
        let came = (0..10).take_while(|_| b.recv(&mut [0; 8]).is_ok()).count();
        assert_eq!(came, come, "time to live {ttl}");
    }
    // Headers are 28 bytes: 1,372 fill a packet, one more makes two.
    let sent = || {
        let table = lab.inside("a", || fs::read_to_string("/proc/thread-self/net/dev").unwrap());
        let row =
            table.lines().find(|row| row.trim().starts_with("eth0:")).expect("eth0").to_string();
        row.split_whitespace().nth(10).expect("packets sent").parse::<u64>().unwrap()
    };
    a.set_ttl(64).unwrap();
    for (bytes, packets) in [(1_372, 1), (1_373, 2)] {
        // Others may send too, as to say that a host is there: once of ten is enough.
        let sends = |_: &usize| {
            let before = sent();
            a.send(&vec![0; bytes]).expect("send");
            b.recv(&mut [0; 2_000]).expect("recv");
            sent() - before == packets
        };
        assert!((0..10).any(|nth| sends(&nth)), "{bytes} bytes in {packets} packets");
    }
    lab.must("down");
    lab.assert_nothing_left();
    let now = fs::read_to_string("/proc/net/dev").unwrap().lines().count();
    assert_eq!(now, outside, "the machine's own network is as it was");
}

#[test]
fn every_host_of_five_reaches_every_other() {
    let Some(lab) = Lab::begin("five") else { return };
    lab.must("up --hosts 5 --routers 2 --switches 1");
    let hosts = lab.status()["hosts"].as_array().expect("hosts").clone();
    assert_eq!(hosts.len(), 5);
    let word = |host: &Value, key: &str| host[key].as_str().expect("a word").to_string();
    for family in ["ipv4", "ipv6"] {
        let sockets: Vec<UdpSocket> =
            hosts.iter().map(|host| lab.socket(&word(host, "name"), &word(host, family))).collect();
        for from in &sockets {
            for to in sockets.iter().filter(|to| to.local_addr().ok() != from.local_addr().ok()) {
                let address = to.local_addr().unwrap();
                from.send_to(b"there", address).expect("send");
                let (_, came_from) = to.recv_from(&mut [0; 8]).expect("it came");
                assert_eq!(came_from, from.local_addr().unwrap());
            }
        }
    }
}

// ---- exec --------------------------------------------------------------------------------------

#[test]
fn exec_is_the_command_itself() {
    let Some(lab) = Lab::begin("exec") else { return };
    lab.must("up");
    let command = |words: &[&str]| {
        let mut all = vec!["lab", "exec", "--name", &lab.name, "b", "--"];
        all.extend(words);
        lab.bench.command(all)
    };
    let mut cat = command(&["sh", "-c", "cat; echo aside >&2; exit 7"]);
    let mut child =
        cat.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"through\0and through").unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.stdout, b"through\0and through");
    assert_eq!(ended.stderr, b"aside\n");
    assert_eq!(ended.status.code(), Some(7));
    let mut id = command(&["sh", "-c", "echo $$"]);
    let child = id.stdout(Stdio::piped()).spawn().unwrap();
    let pid = child.id().to_string();
    let said = child.wait_with_output().unwrap().stdout;
    assert_eq!(String::from_utf8(said).unwrap().trim(), pid, "it is in the place of ipcmark");
    let seen = output(&mut command(&["ls", "/sys/class/net"]));
    assert_eq!(seen.out.split_whitespace().collect::<Vec<_>>(), ["eth0", "lo"]);
    let cgroups = fs::read_dir("/sys/fs/cgroup").into_iter().flatten().count();
    let seen = output(&mut command(&["ls", "-A", "/sys/fs/cgroup"]));
    assert_eq!(seen.out.lines().count(), cgroups, "control groups stay in sight");
    let program = env!("CARGO_BIN_EXE_ipcmark");
    let words = ["lab", "exec", "--name", &lab.name, "a", "--", "ip", "-4", "address"];
    let seen = output(&mut command(&[&[program], &words[..]].concat()));
    assert!(seen.out.contains("198.18.1.1/24"), "from one host into another: {}", seen.err);
    assert_eq!(output(&mut command(&["/no/such/program"])).code, Some(127));
    assert_eq!(output(&mut command(&["/etc/passwd"])).code, Some(126));
    lab.lab("exec nowhere -- true").fails(2, &["choose among a, b"]);
}

// ---- what the line does ------------------------------------------------------------------------

#[test]
fn the_kernel_loses_what_was_asked() {
    let Some(lab) = Lab::begin("loss") else { return };
    let said = lab.lab("up --loss 20% --by kernel --switches 1");
    if said.code == Some(5) {
        say(&format!("skipped the_kernel_loses_what_was_asked: {}", said.err.trim()));
        return;
    }
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("20% of packets lost by n"), "{}", said.out);
    let [a, b] = lab.pair();
    for (from, to) in [(&a, &b), (&b, &a)] {
        // The kernel's chance has no seed: two misses in a row come once in a million.
        let mut lost = Vec::new();
        let hit = (0..2).any(|_| {
            lost.push(2_000 - count(from, to, 2_000, 64));
            is_likely(*lost.last().unwrap(), 2_000, 0.2)
        });
        assert!(hit, "lost of 2000 at 20 %: {lost:?}");
    }
}

#[test]
fn the_relay_loses_what_was_asked_and_counts_it() {
    let Some(lab) = Lab::begin("relay") else { return };
    let lose = || {
        lab.must("up --loss 20% --by relay --seed 1 --routers 1");
        let [a, b] = lab.pair();
        let came = [count(&a, &b, 2_000, 64), count(&b, &a, 2_000, 64)];
        // It writes down what it did once a second.
        let counts = wait_for("the relay's counts", PATIENCE, || {
            let counts = lab.status()["relay"]["counts"].clone();
            let all = |nth: usize| {
                let number = |key: &str| counts[nth][key].as_u64().unwrap_or(0) as usize;
                number("passed") + number("lost") >= 2_000
            };
            (all(0) && all(1)).then_some(counts.clone())
        });
        lab.must("down");
        (came, counts)
    };
    let (came, counts) = lose();
    for nth in 0..2 {
        let number = |key: &str| counts[nth][key].as_u64().expect("a count") as usize;
        assert!(is_likely(2_000 - came[nth], 2_000, 0.2), "{} came of 2000", came[nth]);
        assert_eq!(number("overrun"), 0);
        // Beside the datagrams a host may say that it is there.
        assert!((came[nth]..came[nth] + 40).contains(&number("passed")), "{came:?} {counts}");
    }
    lab.assert_nothing_left();
}

#[test]
#[ignore = "long form"]
fn a_relay_that_is_asked_for_nothing_passes_everything() {
    let Some(lab) = Lab::begin("bare") else { return };
    has(&lab.must("up --by relay --mtu 9000").out, &["what the relay itself costs"]);
    let [a, b] = lab.pair();
    assert_eq!(count(&a, &b, 500, 1_400), 500);
    assert_eq!(count(&b, &a, 500, 1_400), 500);
    let price = lab.status()["relay"]["price"].clone();
    assert!(price["relay_ns"].as_u64() > Some(0) && price["plain_ns"].as_u64() > Some(0));
}

#[test]
fn packets_are_never_earlier_than_asked() {
    let Some(lab) = Lab::begin("delay") else { return };
    has(&lab.must("up --delay 20ms --routers 1 --switches 1").out, &["20.0 ms later by"]);
    let [a, b] = lab.pair();
    for nth in 0..10u8 {
        let start = Instant::now();
        a.send(&[nth; 64]).expect("send");
        let mut message = [0; 64];
        b.recv(&mut message).expect("recv");
        assert!(start.elapsed() >= Duration::from_millis(20), "{:?}", start.elapsed());
        b.send(&message).expect("send");
        a.recv(&mut message).expect("recv");
        assert!(start.elapsed() >= Duration::from_millis(40), "{:?}", start.elapsed());
        assert_eq!(message, [nth; 64]);
    }
}

#[test]
fn the_line_is_no_faster_than_asked() {
    let Some(lab) = Lab::begin("rate") else { return };
    has(&lab.must("up --rate 1mbit").out, &["1mbit by"]);
    let [a, b] = lab.pair();
    let start = Instant::now();
    // 20 datagrams of 1,000 bytes: at least 160,000 bits, of which a bucket of 3,028 bytes is free.
    for _ in 0..20 {
        a.send(&[0; 1_000]).expect("send");
        b.recv(&mut [0; 1_000]).expect("recv");
    }
    let least = Duration::from_secs_f64((20_000.0 - 3_028.0) * 8.0 / 1e6);
    assert!(start.elapsed() >= least, "{:?}", start.elapsed());
}

#[test]
fn nothing_arrives_if_all_is_lost() {
    let Some(lab) = Lab::begin("void") else { return };
    lab.must("up --loss 100% --switches 2");
    let [a, b] = lab.pair();
    assert_eq!(count(&a, &b, 100, 64), 0);
}

// ---- what is left --------------------------------------------------------------------------------

#[test]
#[ignore = "long form"]
fn a_second_one_of_the_same_name_is_refused_and_another_name_is_not() {
    let Some(lab) = Lab::begin("twice") else { return };
    let Some(other) = Lab::begin("beside") else { return };
    lab.must("up --delay 1ms");
    let before = lab.left();
    let said =
        lab.lab("up --routers 3").fails(2, &["is up: remove it with `ipcmark lab down --name "]);
    assert_eq!(said.err.lines().count(), 1);
    other.must("up --switches 1");
    let [a, b] = other.pair();
    assert_eq!(count(&a, &b, 10, 64), 10);
    other.must("down");
    other.assert_nothing_left();
    let differ: Vec<_> = lab.left().symmetric_difference(&before).cloned().collect();
    // The relay writes down its counts when it likes.
    assert!(differ.iter().all(|text| text.contains("count")), "{differ:?}");
    assert_eq!(lab.status()["condition"], "up");
}

#[test]
fn whatever_a_kill_leaves_down_removes() {
    let Some(lab) = Lab::begin("kill") else { return };
    for moment in 0..12 {
        let words = format!("lab up --name {} --routers 2 --switches 1 --delay 1ms", lab.name);
        let mut up = lab.bench.line(&words);
        let mut child = up.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(moment * moment * 4));
        child.kill().unwrap();
        child.wait().unwrap();
        let said = lab.lab("down");
        assert!(matches!(said.code, Some(0 | 2)), "{moment}: {}", said.err);
        // A relay that was never written down ends by itself.
        wait_for("nothing to be left", PATIENCE, || lab.left().is_empty().then_some(()));
    }
}

#[test]
fn an_interrupted_up_leaves_nothing() {
    let Some(lab) = Lab::begin("stop") else { return };
    let words = format!("lab up --name {} --routers 8 --switches 8 --delay 1ms", lab.name);
    let mut up = lab.bench.line(&words);
    let child = up.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("the first namespace", PATIENCE, || (!lab.left().is_empty()).then_some(()));
    crate::cli_support::send(child.id() as i32, Signal::INT);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{}", String::from_utf8_lossy(&ended.stderr));
    lab.assert_nothing_left();
}

fn ip(words: &str) {
    let ended = Command::new("ip").args(words.split(' ')).output().expect("run ip");
    assert!(ended.status.success(), "ip {words}: {}", String::from_utf8_lossy(&ended.stderr));
}

/// A stranger's namespace, gone when the test ends.
struct Stranger(String);

impl Stranger {
    fn named(name: String) -> Stranger {
        ip(&format!("netns add {name}"));
        Stranger(name)
    }

    fn is_there(&self) -> bool {
        Path::new("/run/netns").join(&self.0).exists()
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).output();
    }
}

#[test]
#[ignore = "long form"]
fn a_strangers_namespace_stays() {
    let Some(lab) = Lab::begin("foreign") else { return };
    let beside = Stranger::named(lab.namespace("z"));
    lab.must("up");
    ip(&format!("netns del {}", lab.namespace("b")));
    let replaced = Stranger::named(lab.namespace("b"));
    assert_eq!(lab.status()["condition"], "broken");
    assert_eq!(lab.lab("exec b -- true").code, Some(1), "it isn't the host that was made");
    has(&lab.must("down").err, &["is not the one that lab up made, and stays"]);
    assert!(beside.is_there() && replaced.is_there());
    let said = lab.lab("up");
    assert_eq!(said.code, Some(2), "the name is taken");
    assert!(said.err.contains("was not made by lab up"), "{}", said.err);
    assert_eq!(lab.left(), BTreeSet::from([beside.0.clone(), replaced.0.clone()]));
}

#[test]
fn the_relay_ends_with_its_laboratory_however_that_ends() {
    let Some(lab) = Lab::begin("orphan") else { return };
    lab.must("up --by relay");
    assert_eq!(lab.relays().len(), 1);
    ip(&format!("netns del {}", lab.namespace("a")));
    wait_for("the relay to end", PATIENCE, || lab.relays().is_empty().then_some(()));
    lab.must("down");
    lab.assert_nothing_left();
}

#[test]
fn programs_that_still_run_are_named_or_killed() {
    let Some(lab) = Lab::begin("busy") else { return };
    lab.must("up");
    let words = format!("lab exec --name {} a -- sleep 1000", lab.name);
    let mut child = lab.bench.line(&words).spawn().unwrap();
    let name = || fs::read_to_string(format!("/proc/{}/comm", child.id())).unwrap_or_default();
    wait_for("the program", PATIENCE, || (name() == "sleep\n").then_some(()));
    has(&lab.lab("down").ends(1).err, &["sleep (", "--kill"]);
    assert_eq!(lab.status()["condition"], "up", "nothing was touched");
    let reaped = std::thread::spawn(move || child.wait().unwrap());
    lab.must("down --kill");
    assert!(!reaped.join().unwrap().success());
    lab.assert_nothing_left();
}

// ---- without root ----------------------------------------------------------------------------------

#[test]
fn wrong_words_are_refused_in_one_line() {
    let bench = Bench::new();
    for (line, remedy) in [
        ("lab up --hosts 1", "from 2 to 16"),
        ("lab relay x", "is started by lab up"),
        ("lab down --name never-made", "`ipcmark lab up --name never-made` makes it"),
    ] {
        let said = bench.run(line);
        // Missing privileges are reported first where nothing else is wrong.
        assert!(matches!(said.code, Some(2)) || line.contains("down"), "{line}: {}", said.err);
        let advised = said.err.contains(remedy) || said.err.contains("needs root");
        assert!(advised && said.err.lines().count() == 1, "{line}: {}", said.err);
    }
}

#[test]
fn missing_privileges_are_named() {
    let bench = Bench::new();
    let mut command = bench.command(["lab", "up", "--name", "not-allowed"]);
    if rustix::process::geteuid().is_root() {
        let before = ["--bounding-set", "-net_admin", "--inh-caps", "-net_admin"];
        let tried = Command::new("setpriv").args(before).arg("true").output();
        if !tried.is_ok_and(|tried| tried.status.success()) {
            say("skipped who_may_not_is_told_what_it_takes: setpriv doesn't work here");
            return;
        }
        let program = command.get_program().to_owned();
        let mut without = Command::new("setpriv");
        without.args(before).arg(program).args(command.get_args());
        command = without;
    }
    has(&output(&mut command).ends(5).err, &["needs root (CAP_NET_ADMIN and CAP_SYS_ADMIN)"]);
}

#[test]
fn without_iproute2_the_remedy_is_named() {
    let Some(lab) = Lab::begin("bare-path") else { return };
    let mut command = lab.bench.command(["lab", "up", "--name", &lab.name]);
    has(&output(command.env("PATH", "/nonexistent")).ends(5).err, &["apt-get install iproute2"]);
    lab.assert_nothing_left();
}
