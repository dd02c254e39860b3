//! The command line as a user meets it: words in, lines and exit codes out, and what is in the
//! store afterwards. Launches are kept so short that their figures mean nothing.

use std::io::Read;
use std::os::unix::ffi::OsStrExt;

use crate::cli_support::{
    Bench, Said, can_run, flat, has, number, output, parse, results, rows, say, stored,
};
use crate::long_form::is_long;
use flate2::read::ZlibDecoder;
use mechanisms::MECHANISMS;
use serde_json::Value;
use store::{Closed, RunStatus, Store};
use unicode_width::UnicodeWidthStr;

/// A run of a few milliseconds.
const SHORT: &str = "run pipe -w latency -s 64 -p same-cpu --launches 1 --samples 10";

fn is_plain(text: &str) -> bool {
    !text.contains('\u{1b}')
}

#[test]
fn fails_with_one_line_and_the_nearest_word_on_bad_arguments() {
    let cases: &[(&str, &[&str])] = &[
        ("lits", &["lits", "'list'"]),
        ("run -p 0,9999", &["CPU 9999"]),
        ("run --initiator-cpu 9999 --responder-cpu 0", &["CPU 9999", "choose from"]),
        ("run --initiator-cpu 9999", &["CPU 9999", "choose from"]),
        ("run -p free,9999", &["CPU 9999", "choose from"]),
    ];
    for (line, words) in cases {
        let bench = Bench::new();
        bench.run(line).is_refused(words);
        let left: Vec<_> = std::fs::read_dir(bench.path("")).unwrap().collect();
        assert!(left.is_empty(), "{line} left {left:?}");
    }
}

#[test]
fn refuses_with_one_line_a_run_that_is_not_there() {
    let bench = Bench::new();
    bench.must(SHORT);
    for name in ["999", "xyz", "0", "-5", "1.5", ""] {
        for line in ["report", "export", "run --resume"] {
            let words = line.split_whitespace().chain(["--", name]);
            let words: Vec<_> = match line {
                "run --resume" => vec!["run".into(), format!("--resume={name}")],
                _ => words.map(String::from).collect(),
            };
            output(&mut bench.command(&words)).is_refused(&[name]);
        }
    }
    bench.run("run --resume 1").is_refused(&["run 1 is complete"]);
    assert_eq!(number(&bench.open(), "SELECT count(*) FROM runs"), 1);
}

#[test]
fn refuses_with_one_line_where_there_is_no_store() {
    for line in ["runs", "report", "report 999", "export", "export xyz", "run --resume 7"] {
        let bench = Bench::new();
        bench.run(line).is_refused(&["no store at", "--store FILE"]);
        assert!(!bench.store().exists(), "{line} made a store");
    }
}

#[test]
fn refuses_with_one_line_a_store_that_cannot_be_used() {
    let bench = Bench::new();
    bench.put("file", "no folder");
    let under = bench.path("file/runs.sqlite");
    output(bench.line(SHORT).env("IPCMARK_STORE", under)).is_refused(&["file", "--store FILE"]);

    std::fs::create_dir(bench.path("folder")).unwrap();
    bench.run(&format!("{SHORT} --store folder")).is_refused(&["folder", "--store FILE"]);

    bench.put("text", "not a database\n".repeat(500));
    rusqlite::Connection::open(bench.path("foreign"))
        .unwrap()
        .execute_batch("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
        .unwrap();
    bench.must(SHORT);
    bench.open().pragma_update(None, "user_version", 99).unwrap();
    std::fs::copy(bench.store(), bench.path("newer")).unwrap();
    let unusable =
        [("text", "no ipcmark store"), ("foreign", "of another program"), ("newer", "newer")];
    for (name, why) in unusable {
        let before = std::fs::read(bench.path(name)).unwrap();
        for line in ["runs", "report", "export", SHORT] {
            bench.run(&format!("{line} --store {name}")).is_refused(&[name, why, "--store FILE"]);
        }
        assert_eq!(std::fs::read(bench.path(name)).unwrap(), before, "{name} was changed");
    }
}

#[test]
fn refuses_with_one_line_in_a_folder_that_may_not_be_written() {
    if rustix::process::geteuid().is_root() {
        say("skipped: root may write everywhere");
        return;
    }
    let bench = Bench::new();
    std::fs::create_dir(bench.path("closed")).unwrap();
    let mut mode = std::fs::metadata(bench.path("closed")).unwrap().permissions();
    mode.set_readonly(true);
    std::fs::set_permissions(bench.path("closed"), mode).unwrap();
    bench
        .run(&format!("{SHORT} --store closed/runs.sqlite"))
        .is_refused(&["closed", "--store FILE"]);
}

#[test]
fn refuses_with_one_line_a_damaged_store() {
    let bench = Bench::new();
    bench.must(SHORT);
    bench.open().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let whole = std::fs::read(bench.store()).unwrap();

    let mut damaged = whole.clone();
    damaged[4096..].fill(0xA5);
    bench.put("pages", damaged);
    bench.run("report --store pages").is_refused(&["pages", "--store FILE"]);

    bench.put("short", &whole[..whole.len() / 2]);
    bench.run("report --store short").is_refused(&["short", "--store FILE"]);

    bench.open().execute_batch("UPDATE samples SET ticks = x'789c'").unwrap();
    bench.run("export").is_refused(&["samples of launch", "damaged"]);
}

#[test]
fn help_and_version_say_what_there_is() {
    let bench = Bench::new();
    for line in ["--help", "-h", "help"] {
        let said = bench.must(line);
        let words = ["run", "list", "runs", "report", "export", "--store", "--color", "--quiet"];
        has(&said.out, &words);
        assert_eq!(said.err, "");
    }
    let version = format!("ipcmark {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(bench.must("-V").out, version);
    let long = bench.must("--version").out;
    let (first, built_from) = long.split_at(version.len());
    assert_eq!(first, version);
    assert!(built_from.starts_with("commit ") && built_from.lines().count() == 1, "{long}");
    bench.must(SHORT);
    let tool = bench.export()["tool"].as_str().unwrap().to_owned();
    assert!(tool.starts_with(version.trim_end()), "{tool}");
    // A development build has no commit of its own to name.
    let known = !built_from.starts_with("commit unknown");
    let named = built_from.split([' ', ',']).nth(1).filter(|_| known);
    assert!(named.is_none_or(|commit| tool.contains(commit)), "{tool}: {long}");
}

#[test]
fn list_names_every_mechanism_and_option() {
    let bench = Bench::new();
    let said = bench.must("list");
    for entry in MECHANISMS {
        assert!(said.out.lines().any(|line| line.starts_with(entry.name)), "no {}", entry.name);
        for option in entry.options {
            let line = format!("• {}={}", option.name, option.words[0]);
            let at = said.out.find(&line).unwrap_or_else(|| panic!("no {line}"));
            let named = said.out[at..].split("\n•").any(|part| part.contains(entry.name));
            assert!(named, "{line} doesn't name {}", entry.name);
        }
    }
    assert_eq!(said.err, "");
    assert!(!bench.store().exists());
}

#[test]
fn results_go_to_standard_output_and_progress_to_standard_error() {
    let bench = Bench::new();
    let said = bench.must(SHORT);
    assert!(said.out.starts_with("Run 1: "), "{}", said.out);
    assert!(!said.out.contains("pilots"));
    assert!(said.err.contains("pilots"), "{}", said.err);
    let said = bench.must(&format!("{SHORT} --format json"));
    serde_json::from_str::<Value>(&said.out).expect("nothing but JSON");
    let said = bench.must(&format!("{SHORT} -o results.txt"));
    assert_eq!(said.out, "");
    let text = bench.read("results.txt");
    assert!(text.starts_with("Run 3: ") && is_plain(&text));
}

#[test]
fn quiet_prints_nothing_on_standard_error() {
    let bench = Bench::new();
    for line in [format!("-q {SHORT}"), format!("{SHORT} -q --html page.html")] {
        let said = bench.must(&line);
        assert_eq!(said.err, "", "{line}");
        assert!(said.out.starts_with("Run "), "{line}");
    }
    assert!(bench.path("page.html").exists());
}

#[test]
#[ignore = "long form"]
fn output_fits_80_columns_away_from_a_terminal() {
    let bench = Bench::new();
    let wide = "run pipe shm-ring:wait=spin eventfd udp tcp:nodelay=off -w latency -p same-cpu \
        -s 64,4K,100K --launches 6 --samples 20";
    let said = bench.must_lack(wide);
    let mut texts = vec![(wide, said.out)];
    for line in ["report", "report -v", "runs", "list"] {
        texts.push((line, bench.must(line).out));
    }
    for (line, text) in texts {
        for row in text.lines() {
            assert!(row.width() <= 80, "`{line}` is {} wide: {row}", row.width());
        }
    }
}

#[test]
#[ignore = "long form"]
fn columns_widen_the_output() {
    let bench = Bench::new();
    let width = |columns: &str| {
        let said = output(bench.command(["list"]).env("COLUMNS", columns));
        said.out.lines().map(|line| line.width()).max().unwrap()
    };
    assert!(width("120") > 80 && width("120") <= 120);
    assert!(width("60") <= 60);
    // Narrower than any table can be: as narrow as it gets.
    assert!(width("20") <= 40);
    assert!(width("nonsense") <= 80 && width("0") <= 80);
}

#[test]
fn there_are_no_escape_codes_unless_asked_for() {
    let bench = Bench::new();
    let said = bench.must(SHORT);
    assert!(is_plain(&said.out) && is_plain(&said.err), "{}{}", said.out, said.err);
    for line in ["report", "list", "runs", "--color never report", "--help", "run --help"] {
        assert!(is_plain(&bench.must(line).out), "{line}");
    }
    let said = bench.run("run pip");
    assert!(is_plain(&said.err), "{}", said.err);
    for line in ["--color always report", "report --color=always", "--color always list"] {
        assert!(!is_plain(&bench.must(line).out), "{line}");
    }
    let report = |extra: &[&str]| bench.command(["report"].iter().chain(extra));
    let said = output(report(&[]).env("NO_COLOR", "1"));
    assert!(is_plain(&said.out));
    // What the user says on the command line wins over the environment.
    let said = output(report(&["--color", "always"]).env("NO_COLOR", "1"));
    assert!(!is_plain(&said.out));
}

#[test]
fn nobody_reading_standard_error_is_no_panic() {
    let bench = Bench::new();
    let closed = |line: &str| -> Said {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        bench.line(line).stderr(writer).output().unwrap().into()
    };
    let said = closed(&format!("{SHORT} --html page.html"));
    assert_eq!((said.code, said.out.is_empty()), (Some(0), false));
    assert_eq!(closed("run pip").code, Some(2));
    assert_eq!(closed("report 999").code, Some(2));
}

#[test]
fn works_without_a_home() {
    let bench = Bench::new();
    let bare = |line: &str| {
        let mut command = bench.line(line);
        command.env_remove("HOME").env_remove("IPCMARK_STORE").env_remove("PATH");
        command
    };
    assert_eq!(output(&mut bare("list")).code, Some(0));
    output(&mut bare(&format!("{SHORT} --store here.sqlite"))).ends(0);
    assert!(bench.path("here.sqlite").exists());
    output(bare(SHORT).env("XDG_DATA_HOME", bench.path("data"))).ends(0);
    assert!(bench.path("data/ipcmark/runs.sqlite").exists());
    output(bare(SHORT).env("HOME", bench.path("home"))).ends(0);
    assert!(bench.path("home/.local/share/ipcmark/runs.sqlite").exists());
}

#[test]
fn an_empty_store_name_loses_nothing() {
    let bench = Bench::new();
    let unnamed = |line: &str| output(bench.line(line).env("IPCMARK_STORE", ""));
    if unnamed(SHORT).code == Some(0) {
        let said = unnamed("runs");
        assert_eq!(said.code, Some(0), "what was measured is gone: {}", said.err);
    }
}

#[test]
fn a_store_by_any_name_is_a_file() {
    for name in [":memory:", "file:x?mode=memory"] {
        let bench = Bench::new();
        let said = bench.run(&format!("{SHORT} --store {name}"));
        if said.code == Some(0) {
            assert!(bench.path(name).exists(), "{name}: what was measured is gone");
        }
    }
}

#[test]
fn file_names_need_not_be_utf8() {
    let bench = Bench::new();
    let name = std::ffi::OsStr::from_bytes(b"\xff.sqlite");
    output(bench.line(SHORT).arg("--store").arg(name)).ends(0);
    assert!(bench.path("").join(name).exists());
}

#[test]
#[ignore = "long form"]
fn the_same_seed_gives_the_same_order() {
    let bench = Bench::new();
    let run = "run pipe eventfd noop unix-stream -w latency -s 64 -p same-cpu --launches 5 \
        --samples 10";
    for seed in [7, 7, 8] {
        bench.must(&format!("{run} --seed {seed}"));
    }
    let db = bench.open();
    let order = |id: u32| {
        rows(
            &db,
            &format!(
                "SELECT round, position, levels ->> 'variant', levels ->> 'twin', padding, offset
                 FROM launches JOIN cases ON case_id = cases.id
                 WHERE run = {id} AND round > 0 ORDER BY round, position"
            ),
        )
    };
    assert_eq!(order(1).len(), 5 * 5);
    assert_eq!(order(1), order(2));
    assert_ne!(order(1), order(3));
    // Each round launches each case once, and the rounds differ in their order.
    let mut orders = Vec::new();
    for round in 1..=5 {
        let head = format!("{round}|");
        let cases: Vec<String> = order(1)
            .iter()
            .filter_map(|row| row.strip_prefix(&head))
            .map(|row| row.split('|').skip(1).take(2).collect::<Vec<_>>().join("|"))
            .collect();
        let mut sorted = cases.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), 5, "{cases:?}");
        orders.push(cases);
    }
    assert!(orders.windows(2).any(|pair| pair[0] != pair[1]), "{orders:?}");
}

#[test]
fn a_stored_run_is_written_up_the_same_every_time() {
    let bench = Bench::new();
    let run = "run pipe eventfd udp -w latency -s 64 -p same-cpu --launches 6 --samples 200";
    let said = bench.must(&format!("{run} --html measured.html"));
    assert_eq!(bench.must("report").out, said.out);
    assert_eq!(bench.must("report 1").out, said.out);
    let full = bench.must("report -v").out;
    assert_eq!(bench.must("report last --verbose").out, full);
    assert!(full.len() > said.out.len());
    bench.must("report --html again.html");
    let pages =
        ["measured.html", "again.html"].map(|text| std::fs::read(bench.path(text)).unwrap());
    assert!(pages[0] == pages[1], "the pages differ");
}

#[test]
fn launches_and_samples_are_counted_exactly() {
    let bench = Bench::new();
    bench.must("run pipe eventfd -w latency -s 64 -p same-cpu --launches 3 --samples 10");
    let db = bench.open();
    let per_case = rows(
        &db,
        "SELECT levels ->> 'variant', levels ->> 'twin', count(DISTINCT launches.id), min(samples.count),
             max(samples.count), sum(launches.status = 'ok')
         FROM cases JOIN launches ON case_id = cases.id JOIN samples ON launch = launches.id
         WHERE round > 0 GROUP BY cases.id ORDER BY cases.nth",
    );
    assert_eq!(per_case, ["pipe|0|3|10|10|3", "eventfd|0|3|10|10|3", "pipe|1|3|10|10|3"]);
    assert_eq!(number(&db, "SELECT count(*) FROM rounds"), 3);
    let closed = rows(&db, "SELECT closed FROM groups");
    assert_eq!(closed, ["launches"]);
}

/// Three lines of any language: inflate, cut into eights, little end first.
#[test]
fn samples_can_be_decoded_by_hand() {
    let bench = Bench::new();
    bench.must("run pipe -w latency -s 64 -p same-cpu --launches 2 --samples 500");
    let db = bench.open();
    let mut query = db
        .prepare(
            "SELECT count, ticks FROM samples JOIN launches ON launch = launches.id
             WHERE round > 0 ORDER BY round, part",
        )
        .unwrap();
    let blobs: Vec<(usize, Vec<u8>)> = query
        .query_map([], |row| Ok((row.get::<_, i64>(0)? as usize, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(blobs.len(), 2);
    let scale: f64 =
        db.query_row("SELECT clock ->> 'ns_per_tick' FROM runs", [], |row| row.get(0)).unwrap();
    let batch = number(&db, "SELECT batch FROM cases") as f64;
    let estimate = &bench.export()["results"][0]["value"];
    let (mut smallest, mut largest) = (f64::INFINITY, 0.0_f64);
    for (count, blob) in blobs {
        let mut bytes = Vec::new();
        ZlibDecoder::new(&blob[..]).read_to_end(&mut bytes).unwrap();
        let (ticks, rest) = bytes.as_chunks::<8>();
        assert_eq!((ticks.len(), count, rest.len()), (500, 500, 0));
        let ns = |tick: &[u8; 8]| u64::from_le_bytes(*tick) as f64 * scale / batch;
        smallest = ticks.iter().map(ns).fold(smallest, f64::min);
        largest = ticks.iter().map(ns).fold(largest, f64::max);
    }
    let stated = ["min", "max"].map(|end| estimate[end].as_f64().unwrap());
    assert!(smallest > 0.0);
    assert!(smallest * 0.99 <= stated[0] && stated[1] <= largest * 1.01, "{estimate}");
}

#[test]
fn buffers_begin_where_they_were_asked_to() {
    let bench = Bench::new();
    let line = "-q run pipe eventfd -w latency -s 64 -p same-cpu --align malloc,page,line --launches 3 \
                --samples 20 --no-wait";
    assert_eq!(bench.run(line).code, Some(0));
    let export = bench.run("export --format csv").out;
    let mut table = export.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let heads = table.next().expect("a head");
    let column = |name: &str| heads.iter().position(|text| *text == name).expect(name);
    let (variant, align) = (column("variant"), column("align"));
    let mut found: Vec<String> =
        table.map(|row| format!("{} {}", row[variant], row[align])).collect();
    found.sort();
    found.dedup();
    assert_eq!(found, ["eventfd ", "pipe line", "pipe malloc", "pipe page"]);
    // Those of pilots, too.
    for (align, within) in
        [("malloc", "offset % 64 = 16"), ("line", "offset % 64 = 0"), ("page", "offset = 0")]
    {
        let others = format!(
            "SELECT count(*) FROM launches JOIN cases ON cases.id = case_id
             WHERE levels ->> 'align' = '{align}' AND levels ->> 'message_bytes' > 0 AND NOT ({within})"
        );
        assert_eq!(number(&bench.open(), &others), 0, "{align}");
    }
    has(&bench.run("report").out, &["64 B, buffers at a line", "64 B, buffers at a page"]);
}

#[test]
#[ignore = "long form"]
fn verifying_checks_every_message_and_measures() {
    let bench = Bench::new();
    bench.must(
        "run pipe udp shm-ring eventfd noop -w latency,throughput -s 1,5000 --total 20K \
         -p same-cpu --launches 1 --samples 5 --verify",
    );
    let document = bench.export();
    for case in results(&document) {
        let absent = case["variant"] == "noop" && case["workload"] == "throughput";
        let expected = if absent { "not_applicable" } else { "ok" };
        assert_eq!(case["status"], expected, "{case:#}");
    }
    assert_eq!(rows(&bench.open(), "SELECT request ->> 'verify' FROM runs"), ["1"]);
}

#[test]
fn every_mechanism_is_measured_without_being_named() {
    let bench = Bench::new();
    bench.must("run -w latency -s 1 -p same-cpu --launches 1 --samples 5 --workers both");
    let document = bench.export();
    for entry in MECHANISMS {
        for workers in ["process", "thread"] {
            let rows = results(&document).iter();
            let found = rows
                .filter(|case| case["mechanism"] == entry.name && case["workers"] == workers)
                .filter(|case| case["twin"] == false);
            assert_eq!(found.count(), entry.measured.len(), "{} {workers}", entry.name);
        }
    }
}

/// The answer is one screen, whatever was asked: questions, their best with what follows, then what to do next.
#[test]
fn the_answer_is_forty_lines_of_eighty_columns_and_comes_last() {
    let bench = Bench::new();
    let some = "pipe tcp shm-ring shm-ring:wait=spin eventfd futex";
    let full = format!("{some} --full --workers both -p free,same-cpu,same-llc");
    let sizes = "pipe tcp shm-ring eventfd -s 1..64K:x4 -w throughput -p free";
    // Of the second what spins was asked for on one CPU.
    let all = [("", 0), (sizes, 0), (&*full, 5)];
    // The third takes twice as long as the others.
    for (asked, code) in all.into_iter().take(if is_long() { 3 } else { 2 }) {
        let run = format!("-q run {asked} --launches 1 --samples 3 --total 64K");
        let said = bench.run(&run);
        assert_eq!(said.code, Some(code), "{asked}: {}{}", said.out, said.err);
        let said = said.out;
        let lines: Vec<&str> = said.lines().collect();
        assert!(lines.len() <= 40, "{asked}: {} lines:\n{said}", lines.len());
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{asked}:\n{said}");
        let next = lines.iter().position(|line| line.starts_with("next ")).expect(&said);
        assert!(next + 3 >= lines.len() && said.contains(" -v`"), "{said}");
    }
}

#[test]
fn runs_lists_every_run_with_its_command() {
    let bench = Bench::new();
    bench.must(SHORT);
    bench.must("-q run noop -w latency -p same-cpu --launches 2 --samples 3");
    let said = output(bench.command(["runs"]).env("COLUMNS", "120"));
    let lines: Vec<&str> = said.out.lines().collect();
    let line = |word: &str| lines.iter().find(|line| line.contains(word)).expect("a line");
    assert!(line("ipcmark run pipe").contains("complete"), "{}", said.out);
    assert!(line("ipcmark -q run noop").trim_start().starts_with('2'), "{}", said.out);
}

#[test]
fn a_store_without_runs_says_so() {
    let bench = Bench::new();
    std::fs::write(bench.store(), "").unwrap();
    bench.run("runs").is_refused(&["no store at", "--store FILE"]);
    assert_eq!(std::fs::metadata(bench.store()).unwrap().len(), 0, "a reader made something of it");
    drop(store::Store::open(&bench.store()).unwrap());
    has(&bench.must("runs").out, &["None yet: `ipcmark` measures"]);
    bench.run("report").is_refused(&["last"]);
}

#[test]
fn options_of_every_command_stand_after_its_own_within_80_columns() {
    let bench = Bench::new();
    for line in ["", "run", "list", "study run", "report", "export"] {
        let help = bench.must(&format!("{line} --help")).out;
        let widest = help.lines().map(|row| row.width()).max();
        assert!(widest <= Some(80), "`{line}` is {widest:?} wide");
        let (own, common) = help.split_once("Options of every command:").expect(line);
        for option in ["--store", "--color", "--quiet", "--verbose"] {
            assert!(common.contains(option) && !own.contains(option), "{line}: {option}");
        }
    }
}

/// In a network namespace of its own, loopback is down: TCP can't be had.
#[test]
fn exits_with_5_if_a_mechanism_that_was_asked_for_is_unavailable() {
    let bench = Bench::new();
    let Some(()) = can_run("network namespaces", &["unshare", "-rn", "true"]) else { return };
    let apart = |line: &str| output(&mut bench.behind(&["unshare", "-rn"], line));
    let rest = "-w latency -s 64 -p same-cpu --launches 1 --samples 10 --format json";
    let document = parse(&apart(&format!("run tcp pipe {rest}")).ends(5).out);
    let status = |at: usize| document["results"][at]["status"].as_str().unwrap();
    assert_eq!(document["results"][1]["variant"], "tcp");
    assert_eq!((status(0), status(1)), ("ok", "unavailable"));
    has(&document["results"][1]["reason"].to_string(), &["loopback"]);
    apart(&format!("run pipe {rest}")).ends(0);
    has(&apart("list").out, &["Not here", "loopback"]);
}

#[test]
#[ignore = "long form"]
fn a_size_and_a_place_that_were_asked_for_and_not_measured_are_told_and_exit_with_5() {
    let bench = Bench::new();
    let rest = "-w latency --launches 1 --samples 10";
    // A queue of packets carries one packet of a page; a seqlock's reader spins.
    for (line, code, words) in [
        (
            "run pipe pipe:mode=packet -s 64,64K -p same-cpu",
            5,
            Some("! Not measured at 64 KiB: pipe:mode=packet: "),
        ),
        (
            "run pipe seqlock -s 64 -p same-cpu,free",
            5,
            Some("! Not measured on one CPU: seqlock: "),
        ),
        ("run pipe seqlock -s 64 -p same-cpu", 5, Some("! Not measured: seqlock: ")),
        (
            "run pipe -s 64 -p cross-node,same-cpu",
            5,
            Some("! Not measured on two memory nodes: pipe: "),
        ),
        // Of places that nobody named any will do.
        ("run pipe seqlock -s 64", 0, None),
        ("run pipe null -s 64 -p same-cpu", 0, None),
    ] {
        if line.contains("cross-node")
            && std::fs::exists("/sys/devices/system/node/node1").is_ok_and(|flag| flag)
        {
            say("skipped a place that isn't here: this machine has several memory nodes");
            continue;
        }
        let said = bench.run(&format!("{line} {rest}"));
        assert_eq!(said.code, Some(code), "{line}: {}{}", said.out, said.err);
        match words {
            Some(words) => assert!(flat(&said.out).contains(words), "no `{words}`: {}", said.out),
            None => assert!(!said.out.contains("Not measured"), "{line}: {}", said.out),
        }
    }
}

#[test]
fn what_had_no_time_did_not_fail_and_launches_that_were_cut_are_told() {
    let bench = Bench::new();
    let mut store = Store::open(&bench.store()).expect("a store");
    // Of two cases the second is never launched; six launches of each were asked for.
    let (run, cases) = stored::begin(&mut store).expect("a run");
    stored::round_of(&mut store, run, &cases, 1, &[8_000]).expect("a round");
    store.set_group(run, 0, Some(Closed::Budget)).expect("its end");
    let ended = "2026-01-01T00:01:00Z";
    store
        .end_run(run, RunStatus::Complete, ended, &stored::clock(), 1_000_000_000)
        .expect("the end");
    drop(store);
    for form in ["report last", "report last -v"] {
        let said = bench.must(form).out;
        let words = "! 1 more case had no time (unix-stream): give a longer --budget";
        assert!(flat(&said).contains(words), "{form}: no `{words}`: {said}");
        assert!(!said.contains("failed"), "{form}: {said}");
    }
    let said = bench.must("report last").out;
    let words = "! 6 launches of each case were planned: the time limit left 1 launch of each case";
    assert!(flat(&said).contains(words), "no `{words}`: {said}");
}

#[test]
fn set_ups_are_measured_only_when_asked_for_and_have_no_size() {
    let bench = Bench::new();
    bench.must("run pipe -p same-cpu --launches 1 --samples 5 --total 4K");
    let workloads = "SELECT DISTINCT levels ->> 'workload' FROM cases ORDER BY 1";
    assert_eq!(rows(&bench.open(), workloads), ["latency", "throughput"]);
    bench.must("run pipe -w connect -p same-cpu --launches 1 --samples 5");
    let measured = "SELECT levels ->> 'workload', levels ->> 'placement', levels ->> 'message_bytes' FROM cases WHERE run = 2";
    assert_eq!(rows(&bench.open(), measured), ["connect|same-cpu|"]);
    assert!(bench.must("run --help").out.contains("connect"));
}
