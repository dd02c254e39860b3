//! Runs on one machine notice each other, whatever their stores: the second waits for the first, for
//! two minutes at most, and says so. A process that occupies their address costs them no more than that.

use std::io::{BufRead, BufReader, Read};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::cli_support::{Bench, output, results};
use rustix::process::Signal;

const HUNG: Duration = Duration::from_secs(90);
/// Measures until it is stopped.
const ENDLESS: &str = "run pipe -w latency -s 64 -p same-cpu --launches 9000 --samples 200";
const SHORT: &str = "run pipe -w latency -s 64 -p same-cpu --launches 1";

/// A command of `bench` that meets others at `address`.
fn meeting(bench: &Bench, address: &str, line: &str) -> Command {
    let mut command = bench.line(line);
    command.env("IPCMARK_TURN", address);
    command
}

fn address(of: &str) -> String {
    format!("ipcmark-test-{}-{of}", std::process::id())
}

/// Starts a run and waits until it says that it waits.
fn waiting(mut command: Command) -> (Child, String, BufReader<std::process::ChildStderr>) {
    let mut child =
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("start the program");
    let mut err = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains("waiting for its end") {
        line.clear();
        assert_ne!(err.read_line(&mut line).expect("read its warnings"), 0, "it never waited");
    }
    (child, line, err)
}

fn rest(mut child: Child, mut err: BufReader<impl Read>) -> (Option<i32>, String) {
    let mut text = String::new();
    err.read_to_string(&mut text).expect("its warnings");
    (child.wait().expect("its end").code(), text)
}

#[test]
fn the_second_run_waits_for_the_first_whatever_their_stores() {
    let (first, second, at) = (Bench::new(), Bench::new(), address("wait"));
    let running = first.begin_with(meeting(&first, &at, ENDLESS));
    wait_until_it_measures(&first);
    let (child, line, err) = waiting(meeting(&second, &at, SHORT));
    assert!(line.contains(&format!("another run (process {})", running.pid())), "{line}");
    let mine = "SELECT count(*) FROM runs";
    assert_eq!(crate::cli_support::number(&second.open(), mine), 0, "it measures while it waits");
    running.signal(Signal::TERM);
    running.finish(HUNG);
    let (code, text) = rest(child, err);
    assert_eq!(code, Some(0), "{text}");
    assert!(!text.contains("disturbs the other"), "{text}");
    assert!(!warnings(&second).iter().any(|warning| warning.contains("another run")), "{text}");
}

#[test]
fn at_once_it_measures_beside_the_other_and_keeps_a_warning() {
    let (first, second, at) = (Bench::new(), Bench::new(), address("at-once"));
    let running = first.begin_with(meeting(&first, &at, ENDLESS));
    wait_until_it_measures(&first);
    let said = output(&mut meeting(&second, &at, &format!("{SHORT} --no-wait"))).ends(0);
    let warned = format!("another run (process {}) measured here meanwhile", running.pid());
    assert!(warnings(&second).iter().any(|warning| warning.contains(&warned)), "{}", said.err);
    running.signal(Signal::TERM);
    running.finish(HUNG);
}

#[test]
fn a_run_that_is_stopped_while_it_waits_has_measured_nothing() {
    let (first, second, at) = (Bench::new(), Bench::new(), address("stopped"));
    let running = first.begin_with(meeting(&first, &at, ENDLESS));
    wait_until_it_measures(&first);
    let (child, _, err) = waiting(meeting(&second, &at, SHORT));
    crate::cli_support::send(child.id() as i32, Signal::INT);
    let (code, text) = rest(child, err);
    assert_eq!(code, Some(130), "{text}");
    assert!(text.contains("stopped before anything was measured"), "{text}");
    running.signal(Signal::TERM);
    running.finish(HUNG);
}

#[test]
fn a_stranger_at_the_meeting_point_costs_a_wait_that_it_cannot_prolong() {
    let (bench, at) = (Bench::new(), address("stranger"));
    let named = |name: &str| SocketAddr::from_abstract_name(name).expect("a name");
    let stranger = UnixListener::bind_addr(&named(&at)).expect("it listens");
    // It says that it needs no time any more, and stays.
    let until = format!("{at}-until-{}-0", std::process::id());
    let _until = UnixListener::bind_addr(&named(&until)).expect("it says so");
    let said = output(&mut meeting(&bench, &at, SHORT)).ends(0);
    assert!(warnings(&bench).iter().any(|warning| warning.contains("another run")), "{}", said.err);
    drop(stranger);
}

#[test]
fn a_killed_run_gives_its_turn_back() {
    let (first, second, at) = (Bench::new(), Bench::new(), address("killed"));
    let running = first.begin_with(meeting(&first, &at, ENDLESS));
    wait_until_it_measures(&first);
    running.signal(Signal::KILL);
    running.finish(HUNG);
    let said = output(&mut meeting(&second, &at, SHORT)).ends(0);
    let told = warnings(&second).iter().any(|warning| warning.contains("another run"));
    assert!(!told, "{}", said.err);
}

/// A run has its turn by the time it is in its store.
fn wait_until_it_measures(bench: &Bench) {
    crate::cli_support::wait_for("the run in its store", HUNG, || {
        let db = rusqlite::Connection::open(bench.store()).ok()?;
        let runs = db.query_row("SELECT count(*) FROM runs", [], |row| row.get(0)).unwrap_or(0);
        (runs > 0i64).then_some(())
    });
}

fn warnings(bench: &Bench) -> Vec<String> {
    crate::cli_support::rows(&bench.open(), "SELECT text FROM warnings")
}

#[test]
#[ignore = "long form"]
fn samples_that_no_budget_holds_are_cut_and_the_run_says_so() {
    let bench = Bench::new();
    let said = bench.must(
        "run pipe noop -w latency -s 64 -p same-cpu --samples 1000000 --launches 6 --budget 4s --seed 3",
    );
    let document = bench.export();
    let of =
        |name: &str| results(&document).iter().find(|result| result["variant"] == name).cloned();
    let pipe = of("pipe").expect("a pipe");
    // How many rounds there are is up to how well the pilot told the speed of the rounds.
    let of = |key: &str| pipe[key].as_u64().unwrap_or_else(|| panic!("{key} of {pipe:#}"));
    let samples = of("samples") / of("launches");
    assert!((15..1_000_000).contains(&samples), "{samples}");
    assert!(said.err.contains("fewer samples than were asked for"), "{}", said.err);
}

#[test]
fn a_budget_that_preparing_spends_alone_measures_all_the_same() {
    let bench = Bench::new();
    bench.must("-q run pipe -w latency -s 64 -p same-cpu --budget 1ms");
    assert!(results(&bench.export()).iter().all(|result| result["launches"].as_u64() >= Some(1)));
}
