//! What a person meets first: the bare command, what is printed to be typed next, terminals that know little, readers
//! that leave, and the store's housekeeping.

use std::io::Read;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::cli_support::{Bench, Said, can_run, has, list, number, output, parse, wait_for};
use model::units::Unit;
use rustix::process::Signal;
use rustix::termios::Winsize;
use unicode_width::UnicodeWidthStr;

/// A run of a few milliseconds.
const SHORT: &str = "run pipe -w latency -s 64 -p same-cpu --launches 1 --samples 10";
const SOON: Duration = Duration::from_secs(60);

#[test]
#[ignore = "long form"]
fn flags_without_a_command_are_those_of_run_and_leave_a_page() {
    let bench = Bench::new();
    let few = "-w latency -s 64 -p same-cpu --launches 1 --samples 3";
    bench.must(&format!("{few} --no-wait --label mine --budget 1m"));
    assert!(bench.path("report.html").exists());
    let said = bench.must(&format!("-q {few} --format json --html other.html"));
    assert!(parse(&said.out)["results"].as_array().unwrap().len() > 5);
    assert!(bench.path("other.html").exists());
    assert!(bench.must("runs").out.contains("mine"));
    bench.run("--budget 1m pipe").fails(2, &["`ipcmark run pipe`"]);
    let help = bench.must("--help").out;
    assert!(help.contains("ipcmark run --help") && help.lines().count() < 80, "{help}");
}

/// The commands between ticks.
fn printed(text: &str) -> Vec<String> {
    let flat = text.replace('\n', " ");
    let quoted = flat.split('`').skip(1).step_by(2).map(crate::cli_support::flat);
    quoted.filter(|text| text == "ipcmark" || text.starts_with("ipcmark ")).collect()
}

/// Runs a command as it is printed; of one that measures, until its run has begun.
fn must_run_as_printed(bench: &Bench, command: &str) {
    let mut child = bench.line(command.strip_prefix("ipcmark").expect(command));
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let runs = || number(&bench.open(), "SELECT count(*) FROM runs");
    let before = runs();
    wait_for(command, SOON, || {
        let over = child.try_wait().unwrap().is_some();
        (over || runs() > before).then_some(())
    });
    crate::cli_support::send(child.id() as i32, Signal::INT);
    let done = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&done.stderr);
    assert!(matches!(done.status.code(), Some(0 | 130)), "`{command}`: {:?} {err}", done.status);
}

#[test]
#[ignore = "long form"]
fn what_is_printed_to_be_typed_next_runs_as_printed() {
    let bench = Bench::new();
    // Which of the two depends on what else the machine does.
    let narrow = "run pipe unix-stream -w latency -s 64 -p same-cpu --precision 0.1% --samples 20";
    let said = bench.must(&format!("{narrow} --budget 200ms"));
    let found = printed(&said.out);
    let more = format!("ipcmark {narrow} --budget ");
    let is_next = |text: &String| text.starts_with(&more) || text == "ipcmark doctor";
    assert!(found.iter().any(is_next), "{}", said.out);
    assert!(found.contains(&"ipcmark report 1 -v".into()), "{}", said.out);
    let mut commands = found;
    let situations: [(&str, &[&str]); 13] = [
        ("report -v", &[]),
        ("pipe", &["ipcmark run pipe"]),
        ("report 99", &["ipcmark runs"]),
        ("export --format cpu-matrix", &["ipcmark run -p all"]),
        ("export --format claims-csv", &["ipcmark study run 001"]),
        ("compare a.json b.json", &["ipcmark export last -o a.json"]),
        ("choose --size 64 --rate 1k --bound p50:1s --budget 2s", &["ipcmark report"]),
        ("explain pipe --launches 1", &[]),
        ("study list", &["ipcmark study run 001"]),
        ("doctor", &[]),
        ("lab status", &[]),
        ("study run 001 --budget 1s --samples 20", &["ipcmark study run 001"]),
        ("run pipe -w capacity --bound p50:1s -s 64 -p same-cpu --budget 1s", &[]),
    ];
    for (line, expected) in situations {
        let said = bench.run(line);
        let found = printed(&format!("{}\n\n{}", said.out, said.err));
        for command in expected {
            let is_there = found.iter().any(|text| text.starts_with(command));
            assert!(is_there, "{line}: no `{command}` in {found:?}");
        }
        commands.extend(found);
    }
    commands.sort();
    commands.dedup();
    for command in commands.iter().filter(|command| !command.contains(" lab ")) {
        must_run_as_printed(&bench, command);
    }
}

#[test]
fn what_is_printed_names_the_store_that_was_named() {
    let bench = Bench::new();
    let said = bench.must("run pipe unix-stream -w latency -s 64 -p same-cpu --launches 2 --samples 5 --store my.sqlite");
    let mut found = printed(&said.out).into_iter();
    let report = found.find(|text| text.starts_with("ipcmark report")).expect("a report");
    assert!(report.contains(" --store "), "{report}");
    bench.must(report.strip_prefix("ipcmark ").unwrap());
}

/// What a command writes to a terminal of so many columns.
fn on_a_terminal(command: &mut Command, columns: u16) -> String {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&near).unwrap();
    unlockpt(&near).unwrap();
    let name = ptsname(&near, Vec::new()).unwrap().into_string().unwrap();
    let far = std::fs::OpenOptions::new().read(true).write(true).open(name).unwrap();
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(far.as_fd(), size).unwrap();
    command.stdout(far.try_clone().unwrap()).stderr(far);
    let mut child = command.spawn().unwrap();
    // The parent's ends of the terminal go with the command.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (mut text, mut near) = (Vec::new(), std::fs::File::from(near));
    // At its end a terminal fails to be read.
    let _ = near.read_to_end(&mut text);
    assert!(child.wait().unwrap().success());
    String::from_utf8(text).unwrap().replace("\r\n", "\n")
}

#[test]
#[ignore = "long form"]
fn a_terminal_gets_escapes_unless_it_is_dumb() {
    let bench = Bench::new();
    bench.must(SHORT);
    for line in [SHORT, "report", "--help", "run --help", "list"] {
        let shown = |term: Option<&str>| {
            let mut command = bench.line(line);
            term.map(|term| command.env("TERM", term));
            on_a_terminal(&mut command, 80)
        };
        assert!(shown(Some("xterm")).contains('\u{1b}'), "{line}");
        let mut never = bench.command(["--color", "never"].into_iter().chain(line.split(' ')));
        let shown_never = on_a_terminal(never.env("TERM", "xterm"), 80).replace("\r\u{1b}[K", "");
        assert!(!shown_never.contains('\u{1b}'), "{line}: {shown_never}");
        for plain in [Some("dumb"), None] {
            let shown = shown(plain);
            assert!(!shown.contains(['\u{1b}', '\r']), "{line} {plain:?}: {shown}");
        }
    }
}

#[test]
#[ignore = "long form"]
fn progress_is_redrawn_within_the_terminal_and_warnings_break_between_words() {
    let bench = Bench::new();
    for columns in [30, 50, 80] {
        let line = "run pipe unix-stream tcp -w latency -s 64 --launches 3 --samples 10";
        let mut command = bench.line(line);
        let shown = on_a_terminal(command.env("TERM", "xterm"), columns);
        let drawn: Vec<&str> = shown.split("\r\u{1b}[K").skip(1).collect();
        assert!(drawn.len() > 3, "{shown}");
        for row in drawn.iter().map(|text| text.split('\n').next().unwrap()) {
            // A progress line leaves a column to the cursor; a warning ends with its line.
            let most = usize::from(columns) - usize::from(!row.starts_with("warning"));
            assert!(row.width() <= most, "{columns}: {row}");
        }
        assert!(shown.contains("round 1 of 3"), "{shown}");
    }
    // Of a long line no word is cut.
    let mut shell =
        bench.behind(&["sh", "-c", "\"$0\" \"$@\"; true"], "report nothing-of-that-name");
    let shown = on_a_terminal(&mut shell, 60);
    has(&shown, &["`ipcmark runs`"]);
    assert!(shown.lines().all(|row| row.width() <= 60), "{shown}");
}

#[test]
#[ignore = "long form"]
fn in_the_c_locale_text_is_ascii_and_exports_are_not() {
    let bench = Bench::new();
    bench.must("run pipe unix-stream -w latency -s 64 -p same-cpu --launches 6 --samples 20");
    let said = |line: &str, name: &str, locale: &str| {
        let mut command = bench.line(line);
        command.env_remove("LC_ALL").env(name, locale);
        output(&mut command)
    };
    for (name, locale) in
        [("LC_ALL", "C"), ("LC_CTYPE", "POSIX"), ("LANG", "de_DE.ISO-8859-1"), ("NOTHING", "")]
    {
        for line in [
            "report",
            "report -v",
            "report -vv",
            "list",
            "runs",
            "--help",
            "run --help",
            "study list",
            "doctor",
            "report é",
        ] {
            let said = said(line, name, locale);
            let all = format!("{}{}", said.out, said.err);
            assert!(all.is_ascii(), "{name}={locale} {line}: {all}");
            let rows = said.out.lines().map(str::len).max().unwrap_or(0);
            assert!(rows <= 80, "{line}: {}", said.out);
        }
        assert!(said("report", name, locale).out.contains(" us"));
        let markdown = said("export --format markdown", name, locale).out;
        assert_eq!(markdown, bench.must("export --format markdown").out);
        assert!(markdown.contains('µ'));
    }
    for (name, locale) in [("LC_ALL", "C.UTF-8"), ("LANG", "en_US.utf8")] {
        assert!(said("report", name, locale).out.contains('─'), "{name}={locale}");
    }
    // The first that is set counts.
    let mut command = bench.command(["report"]);
    assert!(output(command.env("LC_ALL", "C").env("LANG", "C.UTF-8")).out.is_ascii());
}

#[test]
fn a_reader_that_leaves_is_left_in_silence() {
    let bench = Bench::new();
    bench.must(SHORT);
    let formats = ["json", "ndjson", "csv", "launches", "samples", "markdown", "hgrm", "bmf"];
    let exports = formats.map(|format| format!("export --format {format}"));
    let quiet = format!("-q {SHORT}");
    let live = format!("-q {SHORT} --format json");
    let others = [
        "report",
        "report -v",
        "report --format markdown",
        "list",
        "runs",
        "runs --format json",
        "doctor",
        "man",
        "completions zsh",
        "--help",
        "--version",
        "study list",
        "study show 001",
        "clean",
        &quiet,
        &live,
    ];
    for line in exports.iter().map(String::as_str).chain(others) {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let said = Said::from(bench.line(line).stdout(writer).output().unwrap());
        assert_eq!((said.code, said.err.as_str()), (Some(141), ""), "{line}");
    }
    assert_eq!(number(&bench.open(), "SELECT count(*) FROM runs WHERE status = 'complete'"), 3);
}

#[test]
#[ignore = "long form"]
fn runs_are_listed_for_programs_and_removed_by_name() {
    let bench = Bench::new();
    for label in ["a", "b", "c"] {
        bench.must(&format!("{SHORT} --label {label}"));
    }
    let listed = || list(&parse(&bench.must("runs --format json").out)["runs"]).clone();
    let runs = listed();
    assert_eq!(runs.len(), 3);
    let found = ["run", "label", "status", "launches"].map(|key| runs[1][key].to_string());
    assert_eq!(found, ["2", "\"b\"", "\"complete\"", "2"]);
    assert_eq!(runs[1]["argv"][1], "run");

    bench.run("runs rm 1 nosuch").fails(2, &["nosuch"]);
    assert_eq!(listed().len(), 3, "all or none");
    let said = bench.must("runs rm last b 2");
    assert_eq!(said.out.lines().count(), 2, "{}", said.out);
    has(&said.out, &["removed run 3 (c)", "removed run 2 (b)"]);
    assert_eq!(listed().len(), 1);
    assert!(bench.must("runs --check").out.contains("whole: 1 run,"));
    for table in ["samples", "launches", "cases", "rounds", "tallies"] {
        assert!(number(&bench.open(), &format!("SELECT count(*) FROM {table}")) > 0, "{table}");
    }
    bench.must("report a");

    // A run that goes on stays, and so does what is named with it.
    let running = bench.begin("run pipe -w latency -s 64 -p same-cpu --budget 5m --launches 1000");
    bench.wait_until("SELECT count(*) FROM rounds WHERE run = 2");
    bench.run("runs rm a last").fails(2, &["run 2 is being measured", "nothing was removed"]);
    assert_eq!(listed()[1]["status"], "running");
    running.signal(Signal::INT);
    running.finish(SOON);
    assert_eq!(listed().len(), 2);
    bench.must("runs rm a last");
    assert!(listed().is_empty());
}

#[test]
fn fish_completes_what_stands_behind_a_command() {
    let bench = Bench::new();
    bench.must(&format!("{SHORT} --label mine"));
    let words = bench.must("complete-runs").out;
    assert!(words.starts_with("1\t") && words.contains("\nmine\trun 1"), "{words}");
    let script = bench.must("completions fish").out;
    let known = ["fish", "--no-config", "-c", "functions -q __fish_seen_subcommand_from"];
    let Some(()) = can_run("fish's completions", &known) else { return };
    bench.put("completions.fish", script);
    let folder = Path::new(env!("CARGO_BIN_EXE_ipcmark")).parent().unwrap().display();
    let completed = |typed: &str| {
        let program =
            format!("set -x PATH {folder} $PATH; source completions.fish; complete -C '{typed}'");
        let mut fish = Command::new("fish");
        fish.args(["--no-config", "-c", &program]).env("HOME", bench.path("home"));
        output(fish.env("IPCMARK_STORE", bench.store()).current_dir(bench.path(""))).out
    };
    for (typed, word) in [
        ("ipcmark run eventf", "eventfd"),
        ("ipcmark explain pi", "pipe"),
        ("ipcmark study run 00", "001"),
        ("ipcmark study show 00", "004"),
        ("ipcmark report mi", "mine"),
        ("ipcmark export ", "1"),
        ("ipcmark compare last mi", "mine"),
        ("ipcmark runs rm mi", "mine"),
        ("ipcmark --budg", "--budget"),
    ] {
        let found = completed(typed);
        let is_it = |line: &str| line.split('\t').next() == Some(word);
        assert!(found.lines().any(is_it), "{typed}: {found}");
    }
}

#[test]
fn the_manual_has_every_exit_code_and_each_help_those_of_its_own() {
    let bench = Bench::new();
    let manual = bench.must("man").out;
    let status = manual.split(".SH \"EXIT STATUS\"").nth(1).unwrap_or_else(|| panic!("{manual}"));
    let status = status.split(".SH ").next().unwrap();
    has(status, &["choose: Nothing qualifies", "choose: Undecided", "125", "141"]);
    has(status, &["study run \\-\\-gate", "compare \\-\\-bisect"]);
    bench.must("man -o pages");
    let page = bench.read("pages/ipcmark-choose.1");
    assert!(page.contains("Nothing qualifies") && !page.contains("bisect"), "{page}");
    for (line, words) in [
        ("choose --help", "Nothing qualifies."),
        ("compare --help", "with --gate: A case is slower"),
        ("study run --help", "with --gate: A claim is refuted."),
        ("compare --help", "125"),
        ("lab exec --help", "The exit code of the command."),
    ] {
        assert!(bench.must(line).out.contains(words), "{line}");
    }
}

#[test]
fn an_export_is_shown_without_its_store() {
    let bench = Bench::new();
    bench.must("run pipe unix-stream eventfd -w latency -s 64 -p same-cpu --launches 6 --samples 20 --label mine");
    bench.must("export last -o run.json");
    let elsewhere = Bench::new();
    std::fs::copy(bench.path("run.json"), elsewhere.path("run.json")).unwrap();
    let said = elsewhere.must("report run.json --html page.html");
    let words = ["run 1 (mine)", "Round trip, 64 B, one CPU", "pipe", "unix-stream", "eventfd"];
    has(&said.out, &words);
    let document = bench.export();
    let value = &document["results"][0]["value"];
    let [median, low, high] = ["median", "low", "high"].map(|name| value[name].as_f64());
    // As many digits as its interval leaves.
    let shown = Unit::Nanoseconds.with_ends(median.unwrap(), low.zip(high));
    let row = said.out.lines().find(|row| row.starts_with("pipe ")).unwrap();
    assert!(row.contains(&shown), "{shown}: {row}");
    assert!(elsewhere.read("page.html").contains("unix-stream"));
    assert!(elsewhere.must("report ./run.json --format markdown").out.contains("| `pipe` |"));
    assert!(!elsewhere.store().exists());
    elsewhere.run("report run.json --pdf x.pdf").fails(2, &["--pdf", "run.json"]);
    let said = elsewhere.run("report nosuch.json");
    said.fails(2, &["nosuch.json", "`ipcmark export last -o nosuch.json`"]);
    elsewhere.put("other.json", "{}");
    elsewhere.run("report other.json").fails(2, &["is not an export of a run"]);
}

/// A budget that the cases can't keep is told before they are measured.
#[test]
fn what_takes_longer_than_its_budget_says_so_first() {
    let bench = Bench::new();
    let many =
        "run pipe unix-stream tcp fifo eventfd -w latency -s 1..64K:x2 -p same-cpu --samples 3";
    let said = bench.must(&format!("{many} --budget 100ms"));
    let first = said.err.find("this takes up to").expect("the time that it takes");
    has(&said.err[first..], &[" s, not 100ms, and what it doesn't reach "]);
    assert!(said.err.find("round 1 of").is_none_or(|round| first < round), "{}", said.err);
    let said =
        bench.must("run pipe -w latency -s 64 -p same-cpu --samples 3 --budget 1m --launches 2");
    assert!(!said.err.contains("this takes"), "{}", said.err);
}
