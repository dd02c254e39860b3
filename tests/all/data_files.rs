//! What a statistics program reads: launches and samples as CSV and as numpy's arrays, and files written
//! beside what a run shows.

/// What says which commit the program is built from.
#[allow(dead_code)]
#[path = "../../build.rs"]
mod build_script;

use std::process::Command;

use crate::cli_support::{Bench, can_run, has, number, output, say, stored};
use model::case::Case;
use model::load::{Load, Service};
use model::placement::{Placement, ResolvedPlacement};
use model::total::Total;
use model::workload::Workload;
use store::Store;

/// Two mechanisms of which one carries no bytes, quickly.
const TWO: &str = "run pipe futex -w latency -s 64 -p same-cpu --launches 6 --samples 50 --seed 1";

fn measured() -> Bench {
    let bench = Bench::new();
    bench.must(TWO);
    bench
}

/// The cells of a column of a table without quotes.
fn column<'a>(table: &'a str, name: &str) -> Vec<&'a str> {
    let mut lines = table.split("\r\n").filter(|part| !part.is_empty());
    let header = lines.next().expect("a header");
    let at = header.split(',').position(|part| part == name).unwrap_or_else(|| panic!("{header}"));
    lines.map(|line| line.split(',').nth(at).expect("a cell")).collect()
}

#[test]
fn every_launch_and_every_sample_is_a_row() {
    let bench = measured();
    let launches = bench.must("export --format launches").out;
    let samples = bench.must("export --format samples").out;
    let db = bench.open();
    let count = |what: &str| number(&db, what) as usize;
    let of_results = "FROM launches WHERE round > 0 AND status = 'ok'";
    let ids = column(&launches, "launch");
    assert_eq!(ids.len(), count("SELECT count(*) FROM launches WHERE round > 0"));
    assert_eq!(column(&samples, "ns").len(), count(&format!("SELECT sum(samples) {of_results}")));
    assert!(column(&samples, "ns").iter().all(|ns| ns.parse::<f64>().unwrap() > 0.0));
    // The median of a launch's samples is the one that its own row says.
    for (id, median) in ids.iter().zip(column(&launches, "median_ns")) {
        let of: Vec<f64> = column(&samples, "launch")
            .iter()
            .zip(column(&samples, "ns"))
            .filter(|(launch, _)| *launch == id)
            .map(|(_, ns)| ns.parse().unwrap())
            .collect();
        // Ticks tie: it lies between two samples whose mid-ranks have a half between them, or is one.
        let median_ns: f64 = median.parse().unwrap();
        let many = |what: &dyn Fn(f64) -> bool| of.iter().filter(|ns| what(**ns)).count() as f64;
        let mid_rank = |at: f64| many(&|ns| ns < at) + many(&|ns| ns == at) / 2.0;
        let below = of.iter().copied().filter(|ns| *ns <= median_ns + 0.01).fold(0.0, f64::max);
        let above =
            of.iter().copied().filter(|ns| *ns >= median_ns - 0.01).fold(f64::MAX, f64::min);
        let half = of.len() as f64 / 2.0;
        assert!(mid_rank(below) <= half && half <= mid_rank(above), "{median_ns} of {of:?}");
    }
    let bytes = column(&launches, "message_bytes");
    assert!(bytes.contains(&"64") && bytes.contains(&""), "{bytes:?}");
    let shown = bench.must(&format!("{TWO} --format samples -q")).out;
    assert_eq!(shown.lines().next(), samples.lines().next());
}

#[test]
fn a_name_that_ends_in_npy_is_numpys_array() {
    let bench = measured();
    for rows in ["launches", "samples"] {
        bench.must(&format!("export --format {rows} -o {rows}.npy"));
        bench.must(&format!("export --format {rows} -o {rows}.csv"));
        let array = std::fs::read(bench.path(&format!("{rows}.npy"))).unwrap();
        assert!(array.starts_with(b"\x93NUMPY\x01\x00"), "{rows}");
        let head = 10 + usize::from(u16::from_le_bytes([array[8], array[9]]));
        assert_eq!((head % 64, array[head - 1]), (0, b'\n'), "{rows}");
    }
    let numpy = ["python3", "-c", "import numpy"];
    let Some(()) = can_run("reading arrays", &numpy) else { return };
    let program = "import csv, numpy as np\n\
        for rows, real in (('launches', 'median_ns'), ('samples', 'ns')):\n\
        \x20   a, c = np.load(rows + '.npy'), list(csv.DictReader(open(rows + '.csv', newline='')))\n\
        \x20   assert list(a.dtype.names) == list(c[0]), (a.dtype.names, c[0])\n\
        \x20   assert len(a) == len(c), (len(a), len(c))\n\
        \x20   words = [n for n in a.dtype.names if a.dtype[n].kind == 'U']\n\
        \x20   assert all([str(v) for v in a[n]] == [r[n] for r in c] for n in words), words\n\
        \x20   assert ('variant' in words) == (rows == 'launches'), words\n\
        \x20   assert [int(v) for v in a['launch']] == [int(r['launch']) for r in c]\n\
        \x20   sizes = set(a['message_bytes']) if rows == 'launches' else {-1, 64}\n\
        \x20   assert sizes == {-1, 64}, sizes\n\
        \x20   assert np.allclose(a[real], [float(r[real]) for r in c], atol=1e-3)\n\
        print('read')";
    let mut python = Command::new("python3");
    let said = output(python.args(["-c", program]).current_dir(bench.path("")));
    assert_eq!(said.out.trim(), "read", "{}", said.err);

    let text = include_str!("../../docs/FORMAT.md");
    let blocks = text.split("```python\n").skip(1).map(|part| part.split("```").next().unwrap());
    let documented =
        blocks.into_iter().find(|block| block.contains("np.load")).expect("such a block");
    let mut python = Command::new("python3");
    let said = output(python.args(["-c", documented]).current_dir(bench.path(""))).ends(0);
    assert!(said.out.starts_with('['), "two percentiles: {}", said.out);
}

/// Cases whose words a reader could take for numbers, for truth values, or for nothing.
fn misleading() -> Vec<Vec<Case>> {
    let base = Case {
        message_bytes: None,
        placement: Placement::Cpus(0, 1),
        place: ResolvedPlacement { cpus: Some((0, 1)), ..ResolvedPlacement::FREE },
        ..Case::usual("noop".into(), Workload::Rate)
    };
    let served = |service| Some(Load { service, ..Load::USUAL });
    let transfer = |total| Case {
        variant: "pipe".into(),
        workload: Workload::Throughput,
        message_bytes: Some(64),
        total: Some(total),
        load: None,
        ..base.clone()
    };
    vec![
        vec![base.clone()],
        vec![Case { load: served(Service::Fixed(5_000)), ..base.clone() }],
        vec![Case { load: served(Service::Exponential(5_000)), ..base.clone() }],
        vec![transfer(Total::Bytes(1 << 20))],
        vec![transfer(Total::Long)],
    ]
}

/// What each reader makes of a table, cell by cell, against the text of it.
const READERS: &str = r#"
import csv, json, math, sys

def is_number(text):
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False

def raw(name):
    return list(csv.DictReader(open(name, newline='')))

def same(text, value):
    if text == '':
        return value is None or value != value
    if isinstance(value, bool) or type(value).__name__ == 'bool':
        return text == str(value).lower()
    if isinstance(value, str):
        return text == value
    return is_number(text) and float(text) == float(value)

def check(reader, name, column, values):
    texts = [row[column] for row in raw(name)]
    assert len(texts) == len(values), (reader, name, column)
    for text, value in zip(texts, values):
        assert same(text, value), (reader, name, column, text, value)
    # A column of words is one of words in all rows, and one of numbers of numbers.
    kinds = {is_number(text) for text in texts if text != ''}
    assert len(kinds) <= 1, (name, column, set(texts))
    for value in values:
        if isinstance(value, str):
            assert kinds == {False}, (reader, name, column, value)

def integers(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for each in value for number in integers(each)]
    return [value] if isinstance(value, int) else []

assert all(abs(number) <= 2 ** 53 for number in integers(json.load(open('run.json'))))
for name in ('run.csv', 'launches.csv', 'samples.csv'):
    try:
        import pandas
    except ImportError:
        print('skipped pandas')
    else:
        table = pandas.read_csv(name)
        for column in table.columns:
            check('pandas', name, column, table[column].tolist())
    try:
        import duckdb
    except ImportError:
        print('skipped duckdb')
    else:
        table = duckdb.read_csv(name)
        rows = table.fetchall()
        for nth, column in enumerate(table.columns):
            check('duckdb', name, column, [row[nth] for row in rows])
print('read')
"#;

/// The same of R: base and readr.
const R_READERS: &str = r#"
text <- function(name) read.csv(name, colClasses = "character", na.strings = NULL, check.names = FALSE)
check <- function(reader, name, table) {
  raw <- text(name)
  stopifnot(names(raw) == names(table), nrow(raw) == nrow(table))
  for (column in names(raw)) {
    cells <- raw[[column]]
    values <- table[[column]]
    there <- cells != ""
    found <- if (is.logical(values)) tolower(as.character(values)) == cells
      # readr may miss the last bits of a number.
      else if (is.numeric(values)) abs(as.numeric(cells) - values) <= 1e-12 * abs(values)
      else as.character(values) == cells
    right <- all(is.na(values[!there]) | values[!there] == "") && all(found[there] %in% TRUE)
    if (!right) stop(paste(reader, name, column, paste(head(cells[there][!(found[there] %in% TRUE)]), collapse = " ")))
  }
}
for (name in c("run.csv", "launches.csv", "samples.csv")) {
  check("R", name, read.csv(name, check.names = FALSE))
  if (requireNamespace("readr", quietly = TRUE)) {
    check("readr", name, readr::read_csv(name, show_col_types = FALSE, progress = FALSE))
  } else cat("skipped readr\n")
}
cat("read\n")
"#;

/// Runs a program that reads the tables in a folder, and says aloud which readers are not installed.
fn read_by(program: &str, line: [&str; 2], bench: &Bench) {
    let Some(()) = can_run("reading tables", &[program, "--version"]) else { return };
    let said = output(Command::new(program).args(line).current_dir(bench.path("")));
    assert!(said.out.ends_with("read\n"), "{program}: {}{}", said.out, said.err);
    let skipped: Vec<&str> = said.out.lines().filter(|line| line.starts_with("skipped")).collect();
    if let Some(one) = skipped.first() {
        say(&format!("{one} (and {} more): not installed", skipped.len() - 1));
    }
}

#[test]
fn readers_find_every_word_and_number_in_their_default_settings() {
    let bench = Bench::new();
    let mut store = Store::open(&bench.path("runs.sqlite")).unwrap();
    stored::run_of(&mut store, &misleading()).unwrap();
    drop(store);
    for (format, name) in [("csv", "run"), ("launches", "launches"), ("samples", "samples")] {
        bench.must(&format!("export --format {format} -o {name}.csv"));
    }
    bench.must("export -o run.json");
    read_by("python3", ["-c", READERS], &bench);
    read_by("Rscript", ["-e", R_READERS], &bench);
    // What they take for a missing value or a number is not written as one.
    let table = bench.read("run.csv");
    let header = table.lines().next().unwrap();
    for column in ["total_bytes", "service_ns", "placement"] {
        assert!(header.split(',').any(|part| part == column), "{column}: {header}");
    }
    assert!(table.contains(",0+1,"), "{table}");
}

#[test]
fn the_citation_is_of_this_version() {
    let citation = include_str!("../../CITATION.cff");
    let line = format!("version: {}", env!("CARGO_PKG_VERSION"));
    // What a BibTeX entry is made of.
    for line in [line.as_str(), "type: software", "  - name: \"The ipcmark authors\""] {
        assert!(citation.lines().any(|text| text == line), "no {line}: {citation}");
    }
    for key in ["title: ", "date-released: "] {
        assert!(citation.lines().any(|line| line.starts_with(key)), "no {key}: {citation}");
    }
}

#[test]
fn files_are_written_beside_what_is_shown() {
    let bench = Bench::new();
    let said = bench
        .must(&format!("{TWO} --export-json a.json --export-csv a.csv --export-markdown a.md"));
    assert!(said.out.contains("pipe"), "the text is shown as ever: {}", said.out);
    for (file, format) in [("a.json", "json"), ("a.csv", "csv"), ("a.md", "markdown")] {
        assert_eq!(bench.read(file), bench.must(&format!("export --format {format}")).out);
    }
}

#[test]
fn what_can_answer_nothing_does_not_end_well() {
    let bench = Bench::new();
    let line = "-w latency -s 64 -p same-cpu --launches 1 --samples 20";
    bench.must(&format!("run pipe {line}"));
    bench.must(&format!("run eventfd {line}"));
    let refused = |line: &str, code: i32, words: &str| {
        let said = bench.run(line).ends(code);
        has(&format!("{}{}", said.out, said.err), &[words]);
    };
    refused("export last --format claims-csv", 2, "is of no study");
    refused("compare 1 2", 4, "");
    bench.edit("DELETE FROM samples; DELETE FROM launches");
    refused("report 1", 1, "run 1 has no results");
    for format in ["samples", "launches", "hgrm", "bmf"] {
        refused(&format!("export 1 --format {format}"), 2, "`ipcmark report 1` says why");
    }
    // What says of each case why it isn't there is an answer.
    for format in ["json", "csv"] {
        bench.must(&format!("export 1 --format {format}"));
    }
}

#[test]
fn a_program_names_the_commit_that_it_is_built_from_and_whether_that_is_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let git = |words: &[&str]| {
        let who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
        let said = Command::new("git").arg("-C").arg(root).args(who).args(words).output();
        said.is_ok_and(|output| output.status.success())
    };
    if !git(&["init", "-q"]) {
        return say("skipped the commit: no git here");
    }
    let write = |name: &str, text: &str| {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("make it");
        std::fs::write(path, text).expect("write");
    };
    write("src/main.rs", "fn main() {}");
    write("crates/unpacked/Cargo.toml", "");
    assert_eq!(build_script::commit(root), None, "there is no commit yet");
    assert!(git(&["add", "."]) && git(&["commit", "-q", "-m", "first"]));
    let clean = build_script::commit(root).expect("a commit");
    assert!(clean.len() == 12 && clean.chars().all(|letter| letter.is_ascii_hexdigit()), "{clean}");
    write("report.html", "what a run has left");
    assert_eq!(build_script::commit(root).as_deref(), Some(&*clean));
    write("src/main.rs", "fn main() { loop {} }");
    assert_eq!(build_script::commit(root), Some(format!("{clean}, modified")));
    // An archive that was unpacked within another project's checkout is not of its commit.
    assert_eq!(build_script::commit(&root.join("crates/unpacked")), None);
}
