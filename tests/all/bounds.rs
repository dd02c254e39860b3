//! Words that no experiment is made of: numbers that nothing can hold, lists that never end, files that
//! aren't any, options given twice. Each is one clear line and exit code 2, at once and in little memory,
//! and nothing is measured or stored.

use std::fmt::Write as _;
use std::process::Command;

use crate::cli_support::{Bench, Said, behind, output};
use fleet::{network, nodes};
use machine::parse_cpu_list;
use mechanisms::Variant;
use model::placement::Placement;
use model::probe::Probe;
use model::route::Route;
use model::total::Total;
use model::{duration, rate, size};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use store::Label;
use study::builtin;
use study::expression::Expression;
use study::size_bound::SizeBound;
use study::validated::validate;

/// Runs the program where it may use 256 MiB of address space, and five seconds of a CPU against hangs:
/// time of its own, which other tests don't take.
fn bounded(bench: &Bench, words: &[&str]) -> Said {
    let limits = "ulimit -v 262144 && ulimit -t 5 && exec \"$0\" \"$@\"";
    output(&mut behind(&bench.command(words), &["sh", "-c", limits]))
}

/// Runs it, and asserts one line with `told` in it, exit code 2, and no store.
#[track_caller]
fn refused(bench: &Bench, words: &[&str], expected: &str) {
    let said = bounded(bench, words);
    let err = said.err.clone();
    said.is_refused(&[expected]);
    assert!(err.chars().count() < 1100, "{} characters", err.chars().count());
    assert!(!err.trim_end().chars().any(char::is_control), "{err:?}");
    assert!(!bench.store().exists(), "nothing is measured, and a store was made");
}

#[test]
fn lists_that_are_too_long_are_refused_before_anything_is_made_of_them() {
    let bench = Bench::new();
    let many = |one: &dyn Fn(usize) -> String, count: usize| {
        (1..=count).map(one).collect::<Vec<_>>().join(",")
    };
    let sizes = many(&|number| number.to_string(), 20_000);
    let nodes = many(&|number| format!("n{number}"), 10_000);
    let labs = many(&|number| format!("lab:delay={number}us"), 2_000);
    let addresses = many(&|_| "10.0.0.1".into(), 10_000);
    for (words, expected) in [
        (vec!["run", "pipe", "-s", &sizes], "combinations of levels"),
        (vec!["fleet", "--nodes", &nodes], "at most 4096"),
        (vec!["run", "tcp", "--route", &labs], "more than 32 routes"),
        (vec!["run", "tcp", "--peer", "true", "--peer-address", &addresses], "one of each family"),
    ] {
        refused(&bench, &words, expected);
    }
    let variants: Vec<String> = (1..=5_000).map(|bytes| format!("pipe:capacity={bytes}")).collect();
    let mechanisms = ["run"].into_iter().chain(variants.iter().map(String::as_str));
    refused(&bench, &mechanisms.collect::<Vec<_>>(), "combinations of levels");
    refused(&bench, &["doctor", "--cpus", "0-4294967295"], "beyond CPU");
    refused(&bench, &["run", "pipe", "-s", "1..1T:x1.0000001"], "beyond the largest");
    refused(&bench, &["run", "--resume", "99999999999999999999"], "no store");
}

#[test]
fn what_is_quoted_is_neither_obeyed_nor_endless() {
    let bench = Bench::new();
    let (long, wild) = ("x".repeat(100_000), "x\x1b]0;title\x07\x1b[2J\u{9b}2J");
    for word in [&*long, wild] {
        refused(&bench, &["report", word], "");
        refused(&bench, &["study", "run", word], "unknown study");
        refused(&bench, &["study", "run", &format!("./{word}")], "name a TOML file");
        refused(&bench, &["list", &format!("--{word}")], "unexpected argument");
        refused(&bench, &["--store", &format!("/proc/{word}"), "runs"], "");
    }
    // What the other host is reached by is a word that isn't wrong: it only can't be started.
    for word in [&*long, wild] {
        let said = bounded(&bench, &["run", "tcp", "--peer", word]);
        assert!(said.code == Some(1) && said.err.lines().count() == 1, "{}", said.err);
        assert!(!said.err.trim_end().chars().any(char::is_control), "{:?}", said.err);
    }
}

// ---- studies -----------------------------------------------------------------------------------

const SMALL: &str = r#"
version = 1
title = "Small"
question = "Does it parse?"
[variables]
cause = { size = "bytes of a message" }
effect = { latency = "round trip" }
[fixed]
mechanism = "pipe"
launches = 1
samples = 10
[vary]
size = ["64", "4K"]
"#;

fn file(bench: &Bench, text: &str) -> String {
    bench.put("study.toml", text).to_str().expect("text").to_string()
}

#[test]
fn studies_that_ask_for_the_impossible_are_refused_with_their_line() {
    let bench = Bench::new();
    let catalogue = workload::catalogue(&[]);
    let with = |from: &str, to: &str| SMALL.replace(from, to);
    let fixed = |line: &str| with("samples = 10", line);
    let derived = |expression: &str| {
        format!("{SMALL}[[derived]]\nname = \"x\"\nunit = \"ns\"\nexpression = \"{expression}\"\n")
    };
    let many = |count: usize, one: &dyn Fn(usize) -> String| {
        (0..count).map(one).collect::<Vec<_>>().join(",")
    };
    let variants = many(900, &|number| format!("\"tcp:busy-poll={number}\""));
    let places = many(900, &|number| format!("\"0,{number}\""));
    for (text, expected) in [
        (with("\"64\", \"4K\"", "\"64G\""), "study.toml:13: `64G`: a message is at most 1G"),
        (with("\"64\", \"4K\"", "\"1..2G\""), "study.toml:13: `2G`: a message is at most 1G"),
        (fixed("total = \"65G\""), "study.toml:11: size `65G` is beyond"),
        (fixed("budget = \"600y\""), "study.toml:11: `600y`: a budget is at most 365days"),
        (fixed("budget = \"0s\""), "study.toml:11: a budget of 0"),
        (fixed("warmup = \"600y\""), "study.toml:11: `600y`: write a number of operations"),
        (fixed("warmup = \"18446744073709551616\""), "study.toml:11:"),
        (fixed("samples = 9223372036854775807"), "study.toml:11: write a whole number from 1 to"),
        (fixed("samples = 99999999999999999999"), "study.toml:11:"),
        (fixed("samples = -1"), "study.toml:11: write a whole number from 1 to 10000000"),
        (fixed("samples = 1e5"), "study.toml:11:"),
        (fixed("samples = 1\nsamples = 2"), "study.toml:12: duplicate key"),
        (fixed("rate = \"99999999999999999999\""), "study.toml:11:"),
        (with("launches = 1", "launches = 9223372036854775807"), "from 1 to 10000"),
        (with("launches = 1", "launches = 0"), "study.toml:10: write a whole number"),
        (with("version = 1", "version = 9223372036854775807"), "knows version 1"),
        (with("Small", &"x".repeat(1_000)), "study.toml:3: title is longer than 300 characters"),
        (with("Does it parse?", &"x".repeat(20_000)), "study.toml:4: question is longer than"),
        (with("Small", &"x".repeat(1 << 20)), "longer than 1048576 bytes"),
        (with("\"64\", \"4K\"", &"\"1..1G\",".repeat(3_000)), "size: at most 1000 levels"),
        (with("\"pipe\"", &format!("[{}]", "\"pipe\",".repeat(30_000))), "at most 1000 levels"),
        (
            with("\"pipe\"", &format!("[{variants}]"))
                .replace("[vary]", &format!("[vary]\nplacement = [{places}]")),
            "combinations of levels",
        ),
        (derived(&format!("1{}", "+1".repeat(1_000_000))), "longer than 1048576 bytes"),
        (derived(&format!("1{}", "+1".repeat(100_000))), "expression is longer than"),
        (derived(&format!("1{}", "+1".repeat(4_000))), "more than 256 terms"),
        (derived(&format!("{}1{}", "(".repeat(4_000), ")".repeat(4_000))), "inside each other"),
        (format!("{SMALL}x = {}{}", "[".repeat(100_000), "]".repeat(100_000)), "too deep"),
        (format!("{SMALL}x{} = 1", ".x".repeat(100_000)), "too deep"),
        (format!("{SMALL}x = {}1{}", "{x=".repeat(50_000), "}".repeat(50_000)), "too deep"),
        (format!("{SMALL}[vary]\nplacement = \"free\"\n"), "study.toml:14: duplicate key"),
        ("\0\x01\x02".to_string(), "study.toml:1:"),
    ] {
        // How long a file may be, and how many cases, the program says.
        if expected.contains("1048576") || expected.contains("combinations") {
            refused(&bench, &["study", "run", &file(&bench, &text)], expected);
            continue;
        }
        let refused = validate(&text, "study.toml", &catalogue).expect_err(expected);
        assert!(refused.contains(expected), "`{expected}` expected: {refused:.1000}");
        assert!(refused.lines().count() == 1 && refused.chars().count() < 1_100, "{refused:.1000}");
    }
}

#[test]
fn what_is_no_file_is_no_study() {
    let bench = Bench::new();
    let long = file(&bench, &"# x\n".repeat(1 << 19));
    let bytes = bench.put("bytes.toml", [0x66, 0xff, 0xfe]);
    for what in ["show", "run"] {
        for (path, expected) in [
            ("/dev/full", "a device"),
            ("/dev/zero", "a device"),
            ("/dev/null", "a device"),
            ("/dev/tty", "a device"),
            ("/", "a folder"),
            ("/proc/self/mem", "read /proc/self/mem"),
            (&long, "longer than 1048576 bytes"),
            (bytes.to_str().unwrap(), "not text"),
        ] {
            refused(&bench, &["study", what, path], expected);
        }
    }
    refused(&bench, &["compare", "/dev/zero", "/dev/zero"], "a device");
    // A pipe is as good as a file.
    let script = format!(
        "cat <<'END' | {} study show /dev/stdin\n{SMALL}END",
        env!("CARGO_BIN_EXE_ipcmark")
    );
    assert_eq!(output(Command::new("sh").args(["-c", &script])).ends(0).out, SMALL);
}

// ---- what nobody thought of ----------------------------------------------------------------------

/// Words that mean something somewhere, and what lies at the edges of numbers.
const PIECES: [&str; 62] = [
    "0",
    "1",
    "9",
    "64",
    "4K",
    "1G",
    "64G",
    "65G",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775807",
    "9223372036854775808",
    "4294967295",
    "4294967296",
    "2147483648",
    "-1",
    "1e308",
    "1e400",
    "1e-400",
    "NaN",
    "inf",
    "%",
    ",",
    ":",
    "=",
    "..",
    ":x2",
    ":x",
    "x",
    "/",
    "-",
    "+",
    "(",
    ")",
    "[",
    "]",
    " ",
    "ms",
    "s",
    "y",
    "days",
    "k",
    "M",
    "mbit",
    "gbit",
    "é",
    "\0",
    "\x1b",
    "\u{202e}",
    "tcp",
    "udp",
    "pipe:capacity",
    "busy-poll",
    "reliability",
    "reed-solomon-",
    "loss",
    "lab",
    "routers",
    "delay",
    "llc",
    "p99",
    "median",
];

fn words(rng: &mut ChaCha8Rng) -> String {
    let pieces = rng.random_range(0..8);
    (0..pieces).map(|_| PIECES[rng.random_range(0..PIECES.len())]).collect()
}

/// Whatever is written, a parser takes it or says why not in one line; sums that overflow would panic
/// here. What it takes and writes it takes again.
#[test]
#[ignore = "long form"]
fn no_parser_falls_over_any_word() {
    let mut rng = ChaCha8Rng::seed_from_u64(15);
    for _ in 0..20_000 {
        let text = words(&mut rng);
        let text = text.as_str();
        let size = size::parse(text);
        if let Ok(bytes) = size {
            assert_eq!(size::parse(&size::format(bytes)), Ok(bytes));
        }
        if let Ok(variant) = Variant::parse(text) {
            let again = Variant::parse(&variant.to_string());
            assert_eq!(again.map(|other| other == variant), Ok(true), "{text}");
        }
        if let Ok(route) = Route::parse(text) {
            assert_eq!(Route::parse(&route.to_string()), Ok(route), "{text}");
        }
        let cpus = parse_cpu_list(text);
        assert!(cpus.as_ref().is_ok_and(|cpus| cpus.len() <= 65_536) || cpus.is_err());
        let results = [
            size.map(drop),
            size::parse_list(text, size::message).map(drop),
            duration::budget(text).map(drop),
            duration::warmup(text).map(drop),
            rate::parse(text).map(drop),
            Route::parse_list(text).map(drop),
            Placement::parse(text).map(drop),
            Expression::parse(text).map(drop),
            SizeBound::parse(text).map(drop),
            Total::parse(text).map(drop),
            text.parse::<Label>().map(drop),
            text.parse::<Probe>().map(drop),
            nodes::named(text).map(drop),
            network(text).map(drop),
            model::lab::rate(text).map(drop),
            model::lab::loss(text).map(drop),
            model::lab::delay(text).map(drop),
            model::lab::mtu(text).map(drop),
            model::lab::hosts(text).map(drop),
            model::lab::hops(text).map(drop),
            model::lab::name(text).map(drop),
        ];
        for error in results.into_iter().filter_map(Result::err) {
            assert!(!error.is_empty() && !error.contains('\n'), "{text:?}: {error:?}");
        }
    }
}

/// Studies with words exchanged, doubled and lost are refused or declared.
#[test]
#[ignore = "long form"]
fn no_study_is_too_damaged_to_be_refused() {
    let mut rng = ChaCha8Rng::seed_from_u64(16);
    let (_, whole) = builtin::all().into_iter().min_by_key(|pair| pair.1.len()).expect("a study");
    let mut declared = 0;
    for _ in 0..300 {
        let mut text = String::new();
        for piece in whole.split_inclusive([' ', '"', '\n', '=', ',']) {
            match rng.random_range(0..2000) {
                0 => text.push_str(&words(&mut rng)),
                1 => write!(text, "{piece}{piece}").expect("a string"),
                2 => {}
                _ => text.push_str(piece),
            }
        }
        match validate(&text, "s.toml", &workload::catalogue(&[])) {
            Ok(_) => declared += 1,
            Err(error) => {
                assert!(error.starts_with("s.toml") && !error.contains('\n'), "{error:?}")
            }
        }
    }
    assert!(declared > 0, "damage that leaves nothing whole tries nothing");
}
