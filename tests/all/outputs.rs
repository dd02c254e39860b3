//! Files that a user names are there whole or as they were, and nothing is started that only lies in the
//! working folder.

use std::fs;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::cli_support::{Bench, Said, can_run, flat, has, output, parse, wait_for};
use crate::common::say;
use rustix::process::Signal;

/// Against hangs.
const SOON: Duration = Duration::from_secs(60);
const SMALL: &str = "-q run pipe -w latency -s 64 -p same-cpu --launches 12 --samples 100";
/// What a file holds before it is written anew.
const EARLIER: &str = "written before\n";

/// A bench with a stored run.
fn measured() -> Bench {
    let bench = Bench::new();
    bench.must(SMALL);
    bench
}

fn put_earlier(path: &Path, mode: u32) {
    fs::write(path, EARLIER).expect("write the earlier file");
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set its mode");
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("the file").mode() & 0o7777
}

fn is_earlier(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|text| text == EARLIER)
}

/// Files that nobody named.
fn strays(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).expect("the folder").flatten();
    let names = names.map(|name| name.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with('.')).collect()
}

/// What must hold after a file couldn't be written.
#[track_caller]
fn assert_kept(said: Said, code: i32, path: &Path, why: &str) {
    let name = path.file_name().unwrap().to_string_lossy();
    said.fails(code, &[&format!("{name} was kept as it was; "), why]);
    assert!(is_earlier(path), "the earlier file is lost");
    assert_eq!(strays(path.parent().unwrap()), Vec::<String>::new());
}

fn make_fifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.expect("run mkfifo").success());
}

/// Root may write what nobody may.
const WITHOUT: [&str; 2] = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"];

#[test]
#[ignore = "long form"]
fn on_a_full_disk_every_earlier_file_is_kept() {
    let bench = measured();
    let folder = bench.path("full");
    fs::create_dir(&folder).unwrap();
    put_earlier(&bench.path("earlier"), 0o644);
    // As large as the earlier files, with nothing to spare.
    let fill = "mount -t tmpfs -o size=8k tmpfs full && cp earlier full/out && mkdir full/dir \
                && cp earlier full/dir/ipcmark.1 && { cat /dev/zero > full/rest 2>/dev/null; true; }";
    let look = "cat full/out full/dir/ipcmark.1; ls -A full full/dir";
    let listed = |script: &str| {
        let script = format!("{fill} && {{ {script}; {look}; }}");
        output(&mut bench.behind(&["unshare", "-m", "sh", "-c", &script], ""))
    };
    if listed("true").code != Some(0) {
        return say("skipped the full disk: no mount namespace can be had here");
    }
    let untouched = listed("true").out;
    for line in [
        "report -o full/out",
        "report --html full/out",
        "report --format typst -o full/out",
        "report --format markdown -o full/out",
        "export -o full/out",
        "export --format csv -o full/out",
        "export --format ndjson -o full/out",
        "export --format hgrm -o full/out",
        "compare 1 1 --html full/out",
        "floor --quick -q -o full/out",
        "floor --quick -q --html full/out",
        "man -o full/dir",
    ] {
        let said = listed(&format!("\"$0\" {line}"));
        assert_eq!(said.err.lines().count(), 1, "{line}: {}", said.err);
        assert!(said.err.contains("No space left"), "{line}: {}", said.err);
        // Pictures beside a text come first, and are new.
        if !line.contains("markdown") {
            assert!(said.err.contains("was kept as it was; "), "{line}: {}", said.err);
        }
        let found = said.out.replace("out.figures\n", "");
        assert!(found.ends_with(&untouched), "{line}: {found}");
    }
}

#[test]
fn beyond_the_file_size_limit_the_earlier_file_is_kept_and_the_limit_is_named() {
    let bench = measured();
    let path = bench.path("page.html");
    put_earlier(&path, 0o644);
    // In blocks of 512 or 1024 bytes: the store can be opened, and the page is larger.
    let said = output(&mut bench.after("ulimit -f 128", "report --html page.html"));
    assert_kept(said, 1, &path, "the file size limit (ulimit -f)");
    // A run that can't keep what it measures says why, too.
    let line = "-q run pipe -w latency -s 64 -p same-cpu --launches 300 --samples 20000";
    output(&mut bench.after("ulimit -f 512", line)).fails(1, &["the file size limit (ulimit -f)"]);
}

#[test]
fn what_is_written_whole_takes_the_place_of_the_earlier_file_and_its_mode() {
    let bench = measured();
    let path = bench.path("out.csv");
    put_earlier(&path, 0o640);
    let other_name = bench.path("linked.csv");
    fs::hard_link(&path, &other_name).unwrap();
    bench.must("export --format csv -o out.csv");
    assert!(fs::read_to_string(&path).unwrap().starts_with("run,case,"));
    assert_eq!(mode(&path), 0o640);
    assert!(is_earlier(&other_name), "another name of it keeps the earlier content");

    output(&mut bench.after("umask 027", "export --format csv -o new.csv")).ends(0);
    assert_eq!(mode(&bench.path("new.csv")), 0o640, "a new file has what umask leaves");
    assert_eq!(strays(&bench.path("")), Vec::<String>::new());
}

#[test]
fn the_owner_of_the_earlier_file_stays() {
    if !rustix::process::geteuid().is_root() {
        return say("skipped the owner: only root gives files away");
    }
    let bench = measured();
    let path = bench.path("out.csv");
    put_earlier(&path, 0o604);
    std::os::unix::fs::chown(&path, Some(4711), Some(4712)).unwrap();
    bench.must("export --format csv -o out.csv");
    let found = fs::metadata(&path).unwrap();
    assert_eq!((found.uid(), found.gid(), found.mode() & 0o777), (4711, 4712, 0o604));
    assert!(found.len() > EARLIER.len() as u64);
}

#[test]
fn links_are_followed_and_stay() {
    let bench = measured();
    fs::create_dir(bench.path("there")).unwrap();
    put_earlier(&bench.path("there/target"), 0o600);
    symlink("there/target", bench.path("direct")).unwrap();
    symlink("direct", bench.path("over-another")).unwrap();
    symlink("there/none-yet", bench.path("dangling")).unwrap();
    symlink("round", bench.path("round")).unwrap();
    for (name, target) in [("over-another", "there/target"), ("dangling", "there/none-yet")] {
        bench.must(&format!("export --format csv -o {name}"));
        assert!(fs::symlink_metadata(bench.path(name)).unwrap().is_symlink(), "{name}");
        assert!(fs::symlink_metadata(bench.path(target)).unwrap().is_file(), "{target}");
        assert!(!is_earlier(&bench.path(target)), "{target}");
    }
    assert_eq!(mode(&bench.path("there/target")), 0o600);
    bench.run("export --format csv -o round").fails(2, &[]);
    assert_eq!(strays(&bench.path("there")), Vec::<String>::new());
}

#[test]
fn devices_fifos_and_open_files_are_written_directly() {
    let bench = measured();
    let said = bench.run("export -o /dev/full").fails(1, &["No space left"]);
    assert!(!said.err.contains("kept"), "{}", said.err);
    bench.must("export -o /dev/null");
    assert!(!fs::metadata("/dev/null").unwrap().is_file());

    let shown = bench.must("export --format csv").out;
    for name in ["/dev/stdout", "/proc/self/fd/1", "/dev/fd/1"] {
        assert_eq!(bench.must(&format!("export --format csv -o {name}")).out, shown, "{name}");
    }
    make_fifo(&bench.path("fifo"));
    // Its reader is there before it is written: opened so, it waits for nobody.
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let mut reader =
        fs::OpenOptions::new().read(true).custom_flags(flags).open(bench.path("fifo")).unwrap();
    bench.must("export --format csv -o fifo");
    let mut read = String::new();
    std::io::Read::read_to_string(&mut reader, &mut read).unwrap();
    assert_eq!(read, shown);
    assert!(!fs::metadata(bench.path("fifo")).unwrap().is_file(), "the FIFO stays");

    // What the shell has opened keeps what it holds.
    put_earlier(&bench.path("log"), 0o644);
    output(&mut bench.after("exec >> log", "export --format csv -o /dev/stdout")).ends(0);
    assert_eq!(bench.read("log"), format!("{EARLIER}{shown}"));
}

#[test]
fn what_may_not_be_written_is_kept() {
    let root = rustix::process::geteuid().is_root();
    let tried = ["setpriv", WITHOUT[1], "true"];
    if root && can_run("what may not be written", &tried).is_none() {
        return;
    }
    let bench = measured();
    let export = |name: &str| {
        let line = format!("export --format csv -o {name}");
        let before: &[&str] = if root { &WITHOUT } else { &["env"] };
        output(&mut bench.behind(before, &line))
    };
    put_earlier(&bench.path("read-only.csv"), 0o444);
    assert_kept(export("read-only.csv"), 2, &bench.path("read-only.csv"), "Permission denied");
    assert_eq!(mode(&bench.path("read-only.csv")), 0o444);

    let folder = bench.path("closed");
    fs::create_dir(&folder).unwrap();
    put_earlier(&folder.join("out.csv"), 0o644);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    assert_kept(export("closed/out.csv"), 2, &folder.join("out.csv"), "make a file beside it");
    let said = export("closed/new.csv").fails(2, &[]);
    assert!(!said.err.contains("kept"), "{}", said.err);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_cannot_be_written_is_no_reason_to_keep_the_rest_back() {
    let bench = Bench::new();
    let said = bench.run(&format!("{SMALL} --html /dev/full --export-csv out.csv"));
    has(&said.fails(1, &["/dev/full"]).out, &["pipe"]);
    assert!(bench.path("out.csv").exists());
}

/// The line names the command that writes that very thing, and it does.
#[test]
fn what_could_not_be_written_is_written_by_the_command_that_is_named() {
    let bench = measured();
    for (line, begins) in [
        ("report 1 --html /dev/full", "<!doctype html"),
        ("report 1 -o /dev/full", "run 1"),
        ("report 1 --format typst -o /dev/full", "#"),
        ("export 1 --format json -o /dev/full", "{"),
        ("export 1 --format csv -o /dev/full", "run,case,"),
        ("export 1 --format samples -o /dev/full", "launch,case,"),
        ("export 1 --format ndjson -o /dev/full", "{\"event\":\"start\""),
        ("export 1 --format hgrm -o /dev/full", "#"),
    ] {
        let said = bench.run(line).fails(1, &[]);
        let named = said.err.split("`ipcmark ").nth(1).and_then(|rest| rest.split('`').next());
        let named = named.unwrap_or_else(|| panic!("{line}: no command: {}", said.err));
        assert_eq!(named, line.replace("/dev/full", "FILE"));
        bench.must(&named.replace("FILE", "again"));
        let text = bench.read("again").to_lowercase();
        assert!(text.trim_start().starts_with(begins), "{line}: {}", &text[..80.min(text.len())]);
    }
}

#[test]
fn files_that_cannot_be_written_are_refused_before_anything_is_measured() {
    let bench = Bench::new();
    put_earlier(&bench.path("file"), 0o644);
    make_fifo(&bench.path("fifo"));
    let refused = |line: &str, words: &[&str]| {
        bench.run(line).is_refused(words);
        assert!(!bench.store().exists(), "{line}: something was stored");
    };
    for (flags, flag) in [
        ("--html none/x", "--html"),
        ("-o none/x", "-o"),
        ("--format json -o none/x", "-o"),
        ("--format ndjson -o none/x", "-o"),
        ("--format hgrm -o none/x", "-o"),
        ("--format hgrm -o file/x/", "-o"),
        ("--export-json none/x --export-csv b.csv", "--export-json"),
        ("--export-csv none/x", "--export-csv"),
        ("--export-markdown .", "--export-markdown"),
    ] {
        let named = format!("with {flag}");
        let missing = if flags.contains("none") { "No such file" } else { "irectory" };
        refused(&format!("{SMALL} {flags}"), &[&named, missing]);
    }
    for flag in ["-o", "--html", "--export-json", "--format ndjson -o"] {
        refused(&format!("{SMALL} {flag} fifo"), &["nobody reads it"]);
    }
    for line in [
        "choose pipe -s 64 --rate 1k --bound p99:1ms --html none/x",
        "floor --quick -q --html none/x",
        "floor --quick -q -o none/x",
        "fleet --simulate 4 --html none/x",
        "fleet --simulate 4 -o none/x",
    ] {
        refused(line, &["none/x: No such file"]);
    }
    assert!(is_earlier(&bench.path("file")) && !bench.path("b.csv").exists());
    assert_eq!(strays(&bench.path("")), Vec::<String>::new());
}

#[test]
#[ignore = "long form"]
fn without_a_store_nothing_is_kept_and_nothing_is_said_to_be() {
    let bench = Bench::new();
    let none = |line: &str| {
        output(
            bench
                .line(line)
                .env_remove("IPCMARK_STORE")
                .env_remove("HOME")
                .current_dir(bench.path("")),
        )
    };
    let said = none(&format!("{SMALL} --store none --export-json out.json --html page.html"));
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{}", said.out);
    has(&flat(&said.out), &["pipe", "nothing is stored"]);
    assert!(!said.out.contains("ipcmark report"), "{}", said.out);
    let page = bench.read("page.html");
    assert!(page.contains("Nothing of it is stored") && !page.contains("ipcmark report 1"));
    assert_eq!(parse(&bench.read("out.json"))["results"][0]["launches"], 12);
    let mut names: Vec<_> =
        fs::read_dir(bench.path("")).unwrap().flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    assert_eq!(names, ["out.json", "page.html"]);

    for form in ["-v", "-vv", "--format markdown"] {
        let said = none(&format!("{SMALL} --store none {form}"));
        let names = ["ipcmark report 1", "ipcmark export 1"];
        assert!(!names.iter().any(|name| said.out.contains(name)), "{form}: {}", said.out);
    }
    let said =
        none(&format!("{SMALL} --store none --html /dev/full")).fails(1, &["nothing is stored"]);
    assert!(!said.err.contains('`'), "{}", said.err);
    for line in ["report", "runs", "export", "compare 1 2", "run --resume", "fleet --resume"] {
        none(&format!("{line} --store none")).fails(2, &["keeps nothing", "--store FILE"]);
    }
    none("run pipe").fails(2, &["--store none"]);
    // A file of that name is one by its path.
    none(&format!("{SMALL} --store ./none")).ends(0);
    assert!(bench.path("none").exists());
}

/// A link from `name` in `folder`, laid by somebody else.
fn plant_link(target: &Path, folder: &Path, name: &str) {
    let link = folder.join(name);
    symlink(target, &link).unwrap();
    std::os::unix::fs::lchown(link, Some(65534), Some(65534)).unwrap();
}

#[test]
fn a_link_of_a_stranger_leads_nowhere() {
    if !rustix::process::geteuid().is_root() {
        return say("skipped a stranger's link: only root can lay one");
    }
    let bench = measured();
    let victim = bench.path("victim");
    let victims = bench.path("victims");
    put_earlier(&victim, 0o644);
    fs::create_dir(&victims).unwrap();
    put_earlier(&victims.join("kept"), 0o644);
    let shared = bench.path("shared");
    fs::create_dir(&shared).unwrap();
    for name in ["out", "out.npy", "report.html"] {
        plant_link(&victim, &shared, name);
    }
    plant_link(&victims.join("new"), &shared, "dangling");
    for name in ["folder", "p.md.figures"] {
        plant_link(&victims, &shared, name);
    }
    for mode in [0o777, 0o1777, 0o775] {
        fs::set_permissions(&shared, fs::Permissions::from_mode(mode)).unwrap();
        for line in [
            "report --html shared/out",
            "report -o shared/dangling",
            "report -o shared/folder/kept",
            "report --format markdown -o shared/p.md",
            "export -o shared/out",
            "export --format samples -o shared/out.npy",
            "export --format hgrm -o shared/folder",
            "export --format hgrm -o shared/folder/more/",
            "compare 1 1 --html shared/out",
            "man -o shared/folder",
        ] {
            // Pictures beside a text have names of their own.
            let code = if line.ends_with("p.md") { 1 } else { 2 };
            bench.run(line).fails(code, &["is a symbolic link of user 65534"]);
            assert!(is_earlier(&victim) && is_earlier(&victims.join("kept")), "{line}");
            assert_eq!(fs::read_dir(&victims).unwrap().count(), 1, "{line}");
        }
        bench.run(&format!("{SMALL} --html shared/out")).ends(2);
    }
    // Nobody named the page: the run goes on without it.
    let mut command = bench.command(["-q"]);
    command.current_dir(&shared).env("IPCMARK_STORE", bench.path("other.sqlite"));
    let running = bench.begin_with(command);
    let begun = || bench.path("other.sqlite").exists().then_some(());
    wait_for("its store", SOON, begun);
    running.signal(Signal::INT);
    has(&running.finish(SOON).ends(130).err, &["goes on without the page"]);
    assert!(is_earlier(&victim));
    // One's own link is followed.
    symlink(&victim, shared.join("own")).unwrap();
    bench.must("export -o shared/own");
    assert!(!is_earlier(&victim));
}

#[test]
fn events_take_the_place_of_an_earlier_file_when_the_run_has_ended() {
    let bench = Bench::new();
    let path = bench.path("events");
    put_earlier(&path, 0o644);
    // A second launch has been reported, and the file is as it was.
    let line = SMALL.replace("--launches 12", "--launches 9000");
    let running = bench.begin(&format!("{line} --format ndjson -o events"));
    bench.wait_until("SELECT count(*) > 1 FROM rounds");
    assert!(is_earlier(&path));
    running.signal(Signal::INT);
    let said = running.finish(SOON).ends(130);
    assert_eq!(said.out, "", "events go to the file alone");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("{\"event\":\"start\""), "{text}");
    assert!(text.lines().last().unwrap().contains("\"interrupted\""), "{text}");

    let said = bench.run("-q run --resume --budget 1s --format ndjson -o /dev/full");
    said.fails(1, &["No space left", "--resume 1"]);
}

/// A store is nobody's file to write over: by its name, by a link, by what lies beside it, before it is there.
#[test]
fn no_store_is_written_over_and_no_file_twice() {
    let bench = measured();
    let kept = bench.must("runs").out;
    symlink(bench.store(), bench.path("link")).unwrap();
    let name = bench.store().file_name().unwrap().to_string_lossy().into_owned();
    let new = format!("{SMALL} --store new.sqlite");
    for line in [
        format!("export --format csv -o {name}"),
        "report --html link".into(),
        format!("compare 1 1 --html {name}-wal"),
        format!("{SMALL} --export-csv {name}-claims"),
        format!("floor --quick -q -o {name}"),
        format!("{SMALL} --html a.html --store {name} -o link"),
    ] {
        for end in ["-wal", "-claims"].iter().filter(|end| line.contains(**end)) {
            fs::write(bench.path(&format!("{name}{end}")), "").unwrap();
        }
        bench.run(&line).is_refused(&["it is a database"]);
    }
    bench.run(&format!("{new} -o new.sqlite")).is_refused(&["what --store names"]);
    bench.run(&format!("{new} -o same --export-csv ./same")).is_refused(&["what -o names"]);
    bench.run("report --html same -o same").is_refused(&["what --html names"]);
    assert!(!bench.path("same").exists() && !bench.path("new.sqlite").exists());
    assert_eq!(bench.must("runs").out, kept);
}

/// Puts programs of these names into a folder, which leave a mark where they are started.
fn plant(bench: &Bench, folder: &str, names: &[&str]) {
    let mark = bench.path("mark");
    fs::create_dir_all(bench.path(folder)).unwrap();
    for name in names {
        let path = bench.path(folder).join(name);
        let text = if name.ends_with(".py") {
            format!("open({:?}, 'w')\n", mark.display().to_string())
        } else {
            format!("#!/bin/sh\necho started > {}\n", mark.display())
        };
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

const PLANTED: [&str; 8] = ["typst", "typst.py", "python3", "scontrol", "srun", "ip", "tc", "nft"];

#[test]
fn nothing_is_started_that_lies_in_the_working_folder() {
    let bench = measured();
    plant(&bench, ".", &PLANTED);
    plant(&bench, "bin", &PLANTED);
    let own = std::env::var("PATH").unwrap_or_default();
    let never = |path: &str, line: &str| {
        let mut command = bench.line(line);
        command.env("PATH", path).env("SLURM_JOB_NODELIST", "n[1-2]");
        command.env("PYTHONPATH", bench.path("")).env("PYTHONSTARTUP", bench.path("typst.py"));
        output(&mut command);
        assert!(!bench.path("mark").exists(), "PATH={path} ipcmark {line}");
    };
    for path in ["", ".", "bin:./bin:"] {
        for line in ["fleet tcp", "fleet tcp --nodes a,b --rounds 1", "lab up --name planted"] {
            never(path, line);
        }
        never(path, "report --pdf paper.pdf");
        never(&format!("{path}:{own}"), "report --pdf paper.pdf");
    }
    never(&own, "report --pdf paper.pdf");
    // The trap works: where the folder is named by its absolute path, it is the user's choice.
    output(bench.line("report --pdf paper.pdf").env("PATH", bench.path("bin")));
    assert!(bench.path("mark").exists());
}

/// The runtime of the language opens /dev/null in the place of a closed standard output, and takes a write to one that is open
/// for reading for done.
#[test]
fn a_standard_output_that_takes_nothing_is_a_failure() {
    let bench = Bench::new();
    bench.must("run null -w latency -s 64 -p same-cpu --launches 1 --samples 10");
    for first in ["exec >&-", "exec 1</dev/null"] {
        for line in ["report", "export last --format csv", "list", "--version", "runs", "clean"] {
            let said = output(&mut bench.after(first, line));
            assert_eq!(said.code, Some(1), "`{line}` after `{first}`: {}", said.err);
            assert!(said.err.contains("write to standard output: it is closed"), "{}", said.err);
        }
    }
    for first in ["exec >/dev/null", "exec 1<>/dev/null"] {
        let said = output(&mut bench.after(first, "report"));
        assert_eq!(said.code, Some(0), "`{first}` is what somebody asked for: {}", said.err);
    }
}
