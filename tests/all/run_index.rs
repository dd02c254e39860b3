//! `ipcmark runs --html`: a row for each run, which leads to its page; the history of cases; and that nothing is
//! written over which this program didn't write. On stored runs.

use std::fs;

use crate::cli_support::stored::{Made, store_of};
use crate::cli_support::{Bench, has, output};
use model::case::Case;
use model::host::Host;
use model::placement::{Placement, ResolvedPlacement};
use model::workload::Workload;
use store::Store;

fn read(bench: &Bench, name: &str) -> String {
    fs::read_to_string(bench.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn names(bench: &Bench, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(bench.path(folder)).expect("a folder").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// What stands behind each `before`, up to the next double quote.
fn behind<'a>(page: &'a str, before: &str) -> Vec<&'a str> {
    page.split(before).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// What `$BROWSER` names gets the page's path, and nobody waits for its end.
#[test]
fn the_index_is_opened_by_the_users_browser() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    store_of(&bench.store(), 1);
    let (browser, told) = (bench.path("browser"), bench.path("told"));
    // The name appears when the whole line is in the file.
    let script = format!("#!/bin/sh\necho \"$1\" > {0}.new && mv {0}.new {0}\n", told.display());
    std::fs::write(&browser, script).unwrap();
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    let open = |browser: &str| {
        let mut command = bench.command(["runs", "--html", "pages", "--open"]);
        output(command.env("BROWSER", browser))
    };
    open(browser.to_str().unwrap()).ends(0);
    while !told.exists() {
        std::thread::yield_now();
    }
    let index = bench.path("pages/index.html").canonicalize().unwrap();
    assert_eq!(std::fs::read_to_string(&told).unwrap().trim_end(), index.to_str().unwrap());
    open("/nowhere/browser").fails(2, &["/nowhere/browser", "index.html"]);
}

#[test]
fn every_run_has_a_row_that_leads_to_its_page() {
    let bench = Bench::new();
    store_of(&bench.store(), 3);
    let said = bench.must("runs --html made/pages");
    assert_eq!(said.out, "made/pages/index.html: 3 runs, with a page of each beside it\n");
    let all = ["index.html", "run-1.html", "run-2.html", "run-3.html"];
    assert_eq!(names(&bench, "made/pages"), all);
    let index = read(&bench, "made/pages/index.html");
    assert_eq!(behind(&index, "href=\"./"), ["run-3.html", "run-2.html", "run-1.html"]);
    for words in
        ["newest", "latency of 64\u{a0}B", "2 cases, 12 launches", "complete", "2026-01-01"]
    {
        assert!(index.contains(words), "no {words}");
    }
    // Pages of runs that are gone are left, and lead nowhere.
    bench.must("runs rm 2");
    bench.must("runs --html made/pages");
    let index = read(&bench, "made/pages/index.html");
    assert_eq!(behind(&index, "href=\"./"), ["run-3.html", "run-1.html"]);
    assert_eq!(names(&bench, "made/pages"), all);
}

#[test]
fn a_history_is_of_one_case_on_one_host() {
    let place = ResolvedPlacement { cpus: Some((0, 0)), ..ResolvedPlacement::FREE };
    let case = |variant: &str| Case {
        placement: Placement::SameCpu,
        place,
        ..Case::usual(variant.to_string(), Workload::Latency)
    };
    let on = |name: &str| Host { hostname: Some(name.into()), ..Host::default() };
    let bench = Bench::new();
    let mut store = Store::open(&bench.store()).expect("a store");
    for (host, variants) in [
        ("one", ["pipe", "tcp"].as_slice()),
        ("other", &["pipe", "tcp"]),
        ("one", &["pipe"]),
        ("one", &["pipe", "fifo"]),
    ] {
        let groups = vec![variants.iter().map(|name| case(name)).collect()];
        Made { groups, ..Made::on(on(host)) }.write(&mut store).expect("a run");
    }
    drop(store);
    bench.must("runs --html pages");
    let index = read(&bench, "pages/index.html");
    assert_eq!(behind(&index, "<figure class=\"figure\" data-file=\"").len(), 1, "pipe on `one`");
    assert!(index.contains("1 case measured in several runs"));
    assert!(
        ["1, 2026-01-01", "3, 2026-01-01", "4, 2026-01-01"].iter().all(|run| index.contains(run))
    );
    assert!(!index.contains("2, 2026-01-01"));
}

#[test]
fn what_this_program_did_not_write_is_kept() {
    let bench = Bench::new();
    store_of(&bench.store(), 2);
    let foreign = "<!doctype html><title>mine</title>";
    for name in ["index.html", "run-2.html"] {
        let folder = bench.path(name).with_extension("");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(name), foreign).unwrap();
        fs::write(folder.join("notes.txt"), "mine").unwrap();
        let folder = folder.file_name().unwrap().to_str().unwrap();
        let said = bench.run(&format!("runs --html {folder}"));
        let file = format!("{folder}/{name} is not a page of ipcmark");
        said.is_refused(&[&file, "name another folder with --html"]);
        let mut kept = [name, "notes.txt"];
        kept.sort();
        assert_eq!(names(&bench, folder), kept, "nothing was written");
        assert_eq!(read(&bench, &format!("{folder}/{name}")), foreign);
    }
    fs::create_dir_all(bench.path("held/index.html")).unwrap();
    bench.run("runs --html held").is_refused(&["held/index.html is not a page of ipcmark"]);
    bench.put("file", "");
    bench.run("runs --html file").is_refused(&["make file", "name another folder with --html"]);
}

#[test]
fn a_store_without_runs_writes_no_page() {
    let bench = Bench::new();
    bench.run("runs --html pages").is_refused(&["no store at", "--store FILE"]);
    drop(Store::open(&bench.store()).unwrap());
    let said = bench.must("runs --html pages");
    assert!(said.out.starts_with("None yet: `ipcmark` measures") && said.out.lines().count() == 1);
    assert!(!bench.path("pages").exists());
}

#[test]
fn what_can_not_be_read_is_a_row_with_its_reason_and_no_word_is_markup() {
    let bench = Bench::new();
    store_of(&bench.store(), 3);
    let label = "<script>alert(1)</script><b title=\"x\">&";
    bench.edit(&format!("UPDATE runs SET label = '{label}' WHERE id = 1"));
    let study =
        "json_set(request, '$.study', json('{\"name\": \"<i>\", \"text\": \"later = 1\"}'))";
    bench.edit(&format!("UPDATE runs SET request = {study} WHERE id = 2"));
    bench.open().execute("UPDATE runs SET started = 'x' WHERE id = 3", []).unwrap();
    let said = bench.run("runs --html pages").ends(1);
    assert!(said.out.starts_with("pages/index.html: 1 run, "), "{}", said.out);
    assert_eq!(said.err.lines().count(), 2, "{}", said.err);
    assert_eq!(names(&bench, "pages"), ["index.html", "run-1.html"]);
    let index = read(&bench, "pages/index.html");
    assert_eq!(behind(&index, "href=\"./"), ["run-1.html"]);
    has(&index, &[" is damaged: ", "run 2: this build can&#39;t read its study"]);
    assert!(index.contains("&lt;script&gt;alert(1)"), "the label is shown");
    for page in [&index, &read(&bench, "pages/run-1.html")] {
        assert!(!page.contains("<script>alert") && !page.contains("<b title"), "a label is markup");
    }
}
