//! What the command-line tests share: the built program in a clean environment, with a folder
//! and a store of its own, killed when it hangs; the store as any other program reads it; and
//! the processes of a run as /proc shows them.

// Each test program uses its own part of this.
#![allow(dead_code)]

pub mod deny;
mod edit;
pub mod searches;
pub mod stored;
pub mod strike;

use crate::common::proc::{Process, pids};
pub use crate::common::say;
pub use edit::*;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use boon::{Compiler, SchemaIndex, Schemas};
use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// Against hangs, not a claim about speed: tests share two CPUs with each other.
const HUNG: Duration = Duration::from_secs(90);
/// How long the output of a program that has ended may stay open.
const OUTPUT_WITHIN: Duration = Duration::from_secs(30);

/// A folder with a store, and the program that uses it.
pub struct Bench {
    folder: TempDir,
    /// In the environment of every process started from here, so that /proc shows whose it is.
    mark: String,
    /// Whether its runs leave out floors, and the search for a quiet, which take longer than most tests.
    brief: bool,
}

/// What a command printed, and how it ended.
pub struct Said {
    /// Its arguments.
    pub line: String,
    pub status: ExitStatus,
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Bench {
    pub fn new() -> Bench {
        static NTH: AtomicU32 = AtomicU32::new(0);
        crate::common::enter();
        hear_signals();
        let nth = NTH.fetch_add(1, Ordering::Relaxed);
        let folder = tempfile::tempdir().expect("a folder");
        let mark = format!("IPCMARK_TEST_ID={}-{nth}", std::process::id());
        Bench { folder, mark, brief: true }
    }

    /// One whose runs leave out nothing.
    pub fn thorough() -> Bench {
        let mut bench = Bench::new();
        bench.brief = false;
        bench
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn store(&self) -> PathBuf {
        self.path("runs.sqlite")
    }

    /// The program, in an environment that says nothing but where its store is.
    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ipcmark"));
        let (name, value) = self.mark.split_once('=').expect("a mark");
        command
            .args(args)
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", self.folder.path())
            // Signs beyond ASCII are read here.
            .env("LC_ALL", "C.UTF-8")
            .env("TMPDIR", self.folder.path())
            .env("IPCMARK_STORE", self.store())
            // Tests run side by side, and measure nothing that the others could spoil.
            .env("IPCMARK_TURN", &self.mark)
            .env(name, value)
            .envs(self.brief.then_some(("IPCMARK_BRIEF", "1")))
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// The program with the words of a command line, as a shell splits them.
    pub fn line(&self, line: &str) -> Command {
        self.command(shlex::split(line).expect("words"))
    }

    /// The program, started by another one: `before`, such as `setpriv --clear-groups`.
    pub fn behind(&self, before: &[&str], line: &str) -> Command {
        behind(&self.line(line), before)
    }

    /// The program in a shell that has done `first`, as in `ulimit -f 8`.
    pub fn after(&self, first: &str, line: &str) -> Command {
        let script = format!("{first}; exec \"$0\" \"$@\"");
        self.behind(&["sh", "-c", &script], line)
    }

    /// Runs the program with the words of a command line.
    pub fn run(&self, line: &str) -> Said {
        output(&mut self.line(line))
    }

    /// As [`Bench::run`], and it must end well.
    #[track_caller]
    pub fn must(&self, line: &str) -> Said {
        self.run(line).ends(0)
    }

    /// As [`Bench::run`], and it must measure what it can and say that something that was asked for can't be had.
    #[track_caller]
    pub fn must_lack(&self, line: &str) -> Said {
        self.run(line).ends(5)
    }

    /// Starts `ipcmark run …` in a process group of its own and waits for its store: from then
    /// on signals are taken over.
    pub fn begin(&self, line: &str) -> Running {
        self.begin_with(self.line(line))
    }

    /// The same without waiting for anything.
    pub fn start(&self, line: &str) -> Running {
        let mut command = self.line(line);
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running { child: command.spawn().expect("start the program") }
    }

    /// As [`Bench::begin`], with a command made by [`Bench::command`].
    pub fn begin_with(&self, mut command: Command) -> Running {
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("start the program");
        let running = Running { child };
        let store = self.store();
        wait_for("the store", HUNG, || store.exists().then_some(()));
        running
    }

    /// The store, as another program opens it; it must be whole.
    pub fn open(&self) -> Connection {
        let db = Connection::open(self.store()).expect("open the store");
        let whole: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(whole, "ok");
        let orphans = "SELECT count(*) FROM pragma_foreign_key_check";
        assert_eq!(number(&db, orphans), 0, "rows that belong to nothing");
        db
    }

    /// Changes the store as its user could, with checksums and counts that fit again.
    pub fn edit(&self, sql: &str) {
        edit(&self.open(), sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// The newest run as JSON.
    pub fn export(&self) -> Value {
        self.export_of("last")
    }

    /// A stored run as a document.
    pub fn export_of(&self, run: &str) -> Value {
        serde_json::from_str(&self.must(&format!("export {run}")).out).expect("JSON")
    }

    /// What a query of the store comes to; None while a run under way makes it.
    pub fn ask(&self, sql: &str) -> Option<i64> {
        let db = Connection::open(self.store()).ok()?;
        db.query_row(sql, [], |row| row.get(0)).ok()
    }

    /// Launches stored so far, and how many of them failed.
    pub fn launches(&self) -> (i64, i64) {
        let db = Connection::open(self.store()).expect("the store is there");
        let sql = "SELECT count(*), count(*) FILTER (WHERE status = 'failed') FROM launches";
        db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap_or((0, 0))
    }

    /// Waits until a query of the store comes to more than 0.
    pub fn wait_until(&self, sql: &str) {
        wait_for(sql, HUNG, || self.ask(sql).filter(|found| *found > 0));
    }

    /// Writes a file into the folder.
    pub fn put(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), text).expect("write a file");
        self.path(name)
    }

    /// The text of a file in the folder.
    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        let text = std::fs::read_to_string(self.path(name));
        text.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The page of a stored run.
    #[track_caller]
    pub fn page_of(&self, run: &str) -> String {
        self.must(&format!("report {run} --html page.html"));
        self.read("page.html")
    }

    /// Processes of this bench that live: id by id, what /proc says of each.
    pub fn processes(&self) -> BTreeMap<i32, Process> {
        // A process may end at any of these reads.
        let marked = |pid: &i32| {
            let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environ.split(|byte| *byte == 0).any(|line| line == self.mark.as_bytes())
        };
        pids().filter(marked).filter_map(|pid| Some((pid, Process::living(pid)?))).collect()
    }

    /// Waits until nothing of this bench lives any more.
    pub fn wait_for_silence(&self, within: Duration) {
        wait_for("all processes of the run to vanish", within, || {
            self.processes().is_empty().then_some(())
        });
    }
}

impl Said {
    /// It ended with this code.
    #[track_caller]
    pub fn ends(self, code: i32) -> Said {
        let Said { line, status, out, err, .. } = &self;
        assert_eq!(self.code, Some(code), "`ipcmark {line}`: {status}: {out}{err}");
        self
    }

    /// It ended with this code, and with one line on standard error, which has all of these words.
    #[track_caller]
    pub fn fails(self, code: i32, words: &[&str]) -> Said {
        self.is_one_line(code, words);
        self
    }

    /// It was refused in one line that has all of these words, and said nothing else.
    #[track_caller]
    pub fn is_refused(&self, words: &[&str]) {
        self.is_one_line(2, words);
        assert_eq!(self.out, "", "`ipcmark {}`", self.line);
        assert!(self.err.starts_with("ipcmark: ") && self.err.ends_with('\n'), "{}", self.err);
    }

    #[track_caller]
    fn is_one_line(&self, code: i32, words: &[&str]) {
        let Said { line, status, out, err, .. } = self;
        let found = (self.code, err.lines().count());
        assert_eq!(found, (Some(code), 1), "`ipcmark {line}`: {status}: {out}{err}");
        has(err, words);
    }
}

impl From<Output> for Said {
    fn from(done: Output) -> Said {
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        let (status, out, err) = (done.status, text(done.stdout), text(done.stderr));
        Said { line: String::new(), status, code: status.code(), out, err }
    }
}

impl Drop for Bench {
    /// A test that fails leaves nothing behind for the next one.
    fn drop(&mut self) {
        for pid in self.processes().into_keys() {
            send(pid, Signal::KILL);
        }
    }
}

/// A program that runs; killed if the test ends first.
pub struct Running {
    child: Child,
}

impl Running {
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    pub fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    pub fn is_over(&mut self) -> bool {
        self.child.try_wait().expect("wait").is_some()
    }

    /// Waits for its end, at most `within`.
    pub fn finish(mut self, within: Duration) -> Said {
        collect(&mut self.child, within)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Signals that these tests were started to ignore (nohup(1), a shell's background) go on doing nothing
/// to them, but not because they are ignored: that would be handed down to what is started here.
fn hear_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let status = std::fs::read_to_string("/proc/self/status").expect("/proc is mounted");
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = u64::from_str_radix(ignored.expect("SigIgn").trim(), 16).expect("a mask");
        for signal in [Signal::HUP, Signal::INT, Signal::TERM].map(Signal::as_raw) {
            if ignored & 1 << (signal - 1) != 0 {
                signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))
                    .expect("a handler");
            }
        }
    });
}

/// Sends a signal; false if the process is gone already.
pub fn send(pid: i32, signal: Signal) -> bool {
    kill_process(Pid::from_raw(pid).expect("a process id"), signal).is_ok()
}

/// Runs a command to its end.
pub fn output(command: &mut Command) -> Said {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let words: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
    let line = words.join(" ");
    Said { line, ..collect(&mut child.expect("start the program"), HUNG) }
}

fn collect(child: &mut Child, within: Duration) -> Said {
    let (out, err) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let until = Instant::now() + within;
    let status = loop {
        match child.try_wait().expect("wait") {
            Some(status) => break status,
            None if Instant::now() > until => {
                let _ = child.kill();
                let _ = child.wait();
                panic!("it still runs after {within:?}");
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    // A process that outlives the program may hold its output open.
    let text = |from: Receiver<String>| from.recv_timeout(OUTPUT_WITHIN).expect("output that ends");
    let (out, err) = (text(out), text(err));
    Said { line: String::new(), status, code: status.code(), out, err }
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, text) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            pipe.read_to_end(&mut bytes).expect("read its output");
        }
        // Nobody listens any more where the test has failed.
        let _ = sender.send(String::from_utf8(bytes).expect("output is UTF-8"));
    });
    text
}

/// The same command, started by another one: `before`, such as `setpriv --clear-groups`.
pub fn behind(ours: &Command, before: &[&str]) -> Command {
    let mut command = Command::new(before[0]);
    let set = ours.get_envs().filter_map(|(name, value)| Some((name, value?)));
    command.args(&before[1..]).arg(ours.get_program()).args(ours.get_args()).env_clear().envs(set);
    command.current_dir(ours.get_current_dir().expect("a folder")).stdin(Stdio::null());
    command
}

/// Whether a command succeeds here; None where not, said aloud: `what` is skipped.
pub fn can_run(what: &str, words: &[&str]) -> Option<()> {
    let tried = Command::new(words[0]).args(&words[1..]).output();
    let works = tried.is_ok_and(|output| output.status.success());
    if !works {
        say(&format!("skipped {what}: `{}` does not work here", words.join(" ")));
    }
    works.then_some(())
}

/// Whether laboratories can be made; None where not, said aloud.
pub fn can_have_labs(test: &str) -> Option<()> {
    can_run(test, &["unshare", "--net", "ip", "link"])
}

/// Waits until a program that was written just now can be started: what another test forks holds it open for
/// writing, until it has become what it is to be (ETXTBSY, execve(2)).
pub fn wait_until_startable(program: &Path) {
    wait_for("nobody to hold the program open", HUNG, || {
        Command::new(program).arg("--version").output().ok()
    });
}

/// Asks again and again until there is an answer, ever more rarely: to ask may cost what is waited for its CPU.
pub fn wait_for<T>(what: &str, within: Duration, mut ask: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + within;
    let mut pause = Duration::from_millis(2);
    loop {
        match ask() {
            Some(answer) => return answer,
            None if Instant::now() > until => panic!("waited {within:?} in vain for {what}"),
            None => std::thread::sleep(pause),
        }
        pause = (2 * pause).min(Duration::from_millis(16));
    }
}

/// The results of an exported run.
#[track_caller]
pub fn results(document: &Value) -> &Vec<Value> {
    list(&document["results"])
}

/// What is in a list of JSON.
#[track_caller]
pub fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("no list: {value:#}"))
}

/// The result of a variant by such workers at a placement.
pub fn of<'a>(document: &'a Value, variant: &str, workers: &str, placement: &str) -> &'a Value {
    let is = |value: &&Value| {
        value["variant"] == variant
            && value["workers"] == workers
            && value["placement"] == placement
    };
    let found = results(document).iter().find(is);
    found.unwrap_or_else(|| panic!("no {variant} {workers} {placement}"))
}

/// The result of a variant that is measured in one case, its twin left out.
#[track_caller]
pub fn case_of<'a>(document: &'a Value, variant: &str) -> &'a Value {
    let is = |case: &&Value| case["variant"] == variant && case["twin"] == false;
    let found = results(document).iter().find(is);
    found.unwrap_or_else(|| panic!("no {variant}: {:#}", document["results"]))
}

/// So many results, and no launch of any failed.
pub fn assert_all_ok(document: &Value, cases: usize) {
    let results = results(document);
    assert_eq!(results.len(), cases);
    for case in results {
        let what = format!("{} {}", case["variant"], case["workload"]);
        assert_eq!(case["status"], "ok", "{what}: {}", case["reason"]);
        assert_eq!(case["failed_launches"], 0, "{what}");
    }
}

/// The JSON in a text.
pub fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A text has all of these words.
#[track_caller]
pub fn has(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "no `{word}` in: {text}");
    }
}

/// The words of a text, wherever its lines end.
pub fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One number out of a store.
pub fn number(db: &Connection, sql: &str) -> i64 {
    db.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// A published schema.
pub struct Schema {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Schema {
    pub fn of(text: &str) -> Schema {
        Schema::of_part(text, "")
    }

    /// A part of it, such as `#/$defs/floors`.
    fn of_part(text: &str, part: &str) -> Schema {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource("schema.json", parse(text)).expect("a resource");
        let part = format!("schema.json{part}");
        let index = compiler.compile(&part, &mut schemas).expect("a valid schema");
        Schema { schemas, index }
    }

    /// That of exported runs.
    pub fn of_results() -> Schema {
        Schema::of(RESULTS)
    }

    pub fn accepts(&self, document: &Value) -> bool {
        self.schemas.validate(document, self.index).is_ok()
    }

    #[track_caller]
    pub fn must_accept(&self, document: &Value) {
        if let Err(error) = self.schemas.validate(document, self.index) {
            panic!("{error:#}\n{document:#}");
        }
    }
}

const RESULTS: &str = include_str!("../../docs/results.schema.json");

/// An exported run is what its published schema says.
#[track_caller]
pub fn must_fit_the_schema(document: &Value) {
    Schema::of_results().must_accept(document);
}

/// What was exported is what a part of that schema says, such as `#/$defs/floors`.
#[track_caller]
pub fn must_fit(part: &str, document: &Value) {
    Schema::of_part(RESULTS, part).must_accept(document);
}
