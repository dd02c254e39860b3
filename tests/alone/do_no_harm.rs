//! `clean`, which every run calls first, among things that are not ours, or whose owner lives: the
//! inventories before and after are equal, but for what dead processes of this program left.
//!
//! Every test has a folder for temporary files to itself, and an IPC namespace where that is allowed;
//! else it says so aloud, and looks at its own objects alone.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::{
    DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink,
};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::RwLockWriteGuard;
use std::time::Duration;

use crate::cli_support::{
    Bench, Said, behind, can_run, output, send, wait_for, wait_until_startable,
};
use crate::common::inventory::Inventory;
use crate::common::launching::{endless, reach};
use crate::common::proc::Process;
use crate::common::{Rng, say};
use crate::long_form::many;
use model::launch::Workers;
use model::workload::Workload;
use run::launch::{Launch, Launcher, Stage};
use rustix::process::Signal;
use serde_json::{Value, json};
use sys::system_v::{self, Envelope, Object, ObjectKind};

/// Against hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// Random rounds, and those of the long form.
const ROUNDS: (u64, u64) = (3, 8);
/// Bytes of a record's header and of each of its slots.
const HEADER: usize = 512;
const SLOT: usize = 192;

// ---- a place of one's own ----------------------------------------------------------------------

/// A folder for temporary files, and objects of ours in it.
struct Site {
    bench: Bench,
    tmp: PathBuf,
    /// Held where all tests share the machine's IPC namespace.
    alone: Option<RwLockWriteGuard<'static, ()>>,
}

impl Site {
    fn new() -> Site {
        let alone = system_v::enter_private_namespace().is_err().then(|| {
            say("skipped an IPC namespace of the test's own: not allowed here");
            crate::common::rooms::alone()
        });
        let bench = Bench::new();
        let tmp = bench.path("tmp");
        fs::create_dir(&tmp).expect("a folder");
        Site { bench, tmp, alone }
    }

    fn command(&self, line: &str) -> Command {
        let mut command = self.bench.line(line);
        command.env("TMPDIR", &self.tmp);
        command
    }

    fn clean(&self) -> Said {
        cleaned(&mut self.command("clean"))
    }

    fn inventory(&self) -> Inventory {
        // Strangers come and go there.
        let own = self.alone.is_some().then(|| rustix::process::geteuid().as_raw());
        Inventory::of(own, &[&self.tmp])
    }

    /// A launch of ours that stands ready, and what it made.
    fn launch(&self, mechanism: &str) -> (Launch, BTreeSet<String>) {
        let before = self.inventory();
        let spec = endless(mechanism, Workers::Process);
        let mut launch = self.launcher().start(&spec, 0).expect("the program starts");
        reach(&mut launch, Stage::Ready);
        let made = self.inventory().names_since(&before);
        assert!(made.len() > 1, "{mechanism} makes something and notes it: {made:?}");
        (launch, made)
    }

    /// Starts this program with the folder for temporary files.
    fn launcher(&self) -> Launcher {
        self.launcher_in(&self.tmp)
    }

    /// Starts this program in the folder of the test, with such a TMPDIR.
    fn launcher_in(&self, tmp: &Path) -> Launcher {
        let script = self.bench.path("started");
        let program = env!("CARGO_BIN_EXE_ipcmark");
        let (here, tmp) = (self.bench.path(""), tmp.display());
        let text = format!(
            "#!/bin/sh\ncd '{}' && TMPDIR='{tmp}' exec '{program}' \"$@\"\n",
            here.display()
        );
        fs::write(&script, text).expect("a script");
        fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).expect("it can be run");
        wait_until_startable(&script);
        Launcher::new(script)
    }

    /// What a launch of ours left whose processes were all killed, and nobody saw.
    fn dead(&self, mechanism: &str) -> BTreeSet<String> {
        let (launch, made) = self.launch(mechanism);
        kill_unseen(launch);
        made
    }

    fn records(&self) -> Vec<PathBuf> {
        let entries =
            fs::read_dir(&self.tmp).expect("a folder").flatten().map(|entry| entry.path());
        entries.filter(|path| path.to_string_lossy().ends_with(".record")).collect()
    }
}

impl Drop for Site {
    /// Where nothing vanishes with a namespace, what this test left on purpose goes now.
    fn drop(&mut self) {
        if self.alone.is_some() {
            output(&mut self.command("clean"));
        }
    }
}

/// What `clean` says, without the laboratories of others on this machine.
fn cleaned(command: &mut Command) -> Said {
    let mut said = output(command);
    // One of another version of this program can't be read.
    let of_others =
        said.err.lines().all(|line| line.contains("laborator") || line.contains("ipcmark-lab"));
    assert!(said.code == Some(0) || said.code == Some(1) && of_others, "{}{}", said.out, said.err);
    let is_ours = |line: &&str| !line.contains(" laboratory ");
    said.out = said.out.lines().filter(is_ours).map(|line| line.to_string() + "\n").collect();
    said
}

/// Kills a launch; its handle, which would clean up after it, is forgotten.
fn kill_unseen(launch: Launch) {
    let group = launch.pid() as i32;
    std::mem::forget(launch);
    send(group, Signal::KILL);
    wait_for("the launch to vanish", PATIENCE, || {
        Process::in_group(group).is_empty().then_some(())
    });
}

/// A process that has ended, by its id.
fn dead_pid() -> u32 {
    let mut child = Command::new("true").spawn().expect("true");
    child.wait().expect("its end");
    child.id()
}

/// A name of the form that ours have.
fn drawn(rng: &mut Rng) -> String {
    format!("ipcmark-{:016x}", rng.next())
}

fn private_folder(path: &Path) {
    fs::DirBuilder::new().mode(0o700).create(path).expect("a folder");
}

// ---- what is not ours --------------------------------------------------------------------------

/// Objects of others; removed when dropped, where the namespace doesn't do it.
struct Objects(Vec<Object>);

impl Drop for Objects {
    fn drop(&mut self) {
        self.0.iter().for_each(|object| drop(system_v::remove(*object)));
    }
}

/// Queues with a message, and sets, under keys as `ftok(path, 'i')` makes them.
fn foreign_objects(rng: &mut Rng) -> Objects {
    let mut objects = Vec::new();
    for pid in [dead_pid(), std::process::id(), rng.below(1 << 22) as u32] {
        let key = 0x6900_0000 | ((pid & 0x3F_FFFF) << 2) as i32;
        if let Ok(id) = system_v::make_queue(key) {
            let mut envelope = Envelope::new(8);
            envelope.text(5).copy_from_slice(b"hello");
            envelope.send(id, 5).expect("a message");
            objects.push(Object { kind: ObjectKind::Queue, id });
        }
        if let Ok(id) = system_v::make_semaphores(key | 1, 3) {
            objects.push(Object { kind: ObjectKind::Semaphores, id });
        }
    }
    assert!(!objects.is_empty(), "some key was free");
    Objects(objects)
}

/// A queue of another user's; None, said aloud, where this one can't be another.
fn strangers_queue() -> Option<i32> {
    let as_nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "ipcmk", "-Q"];
    let made = Command::new("setpriv").args(as_nobody).output();
    let made = made.ok().filter(|output| output.status.success());
    if made.is_none() {
        say("skipped an object of another user: setpriv and ipcmk don't make one here");
    }
    String::from_utf8_lossy(&made?.stdout).split_whitespace().last()?.parse().ok()
}

/// Files that look like ours, by the names of today and of an earlier kind, and a precious folder.
fn look_alikes(tmp: &Path, rng: &mut Rng) -> Vec<String> {
    let before = Inventory::of(None, &[tmp]);
    let precious = tmp.join("precious");
    if !precious.exists() {
        private_folder(&precious);
        fs::write(precious.join("thesis"), b"years of work").expect("a file");
    }
    let (dead, drawn) = (dead_pid(), |rng: &mut Rng| tmp.join(drawn(rng)));
    for name in
        ["ipcmark.20241123".into(), "ipcmark.2024.results".into(), format!("ipcmark.{dead}.0")]
    {
        let folder = tmp.join(name);
        if fs::create_dir(&folder).is_ok() {
            fs::write(folder.join("out.json"), b"{}").expect("a file");
        }
    }
    symlink(&precious, tmp.join(format!("ipcmark.{dead}.{}", rng.next()))).expect("a link");
    symlink(&precious, drawn(rng)).expect("a link");
    symlink(precious.join("thesis"), drawn(rng).with_extension("record")).expect("a link");
    private_folder(&drawn(rng));
    let folder = drawn(rng);
    private_folder(&folder);
    fs::write(folder.join("0"), b"mine").expect("a file");
    private_folder(&drawn(rng).with_extension("record"));
    fs::write(drawn(rng).with_extension("record"), b"not a record").expect("a file");
    fs::write(drawn(rng), b"a file").expect("a file");
    Inventory::of(None, &[tmp]).names_since(&before).into_iter().collect()
}

#[test]
fn clean_removes_nothing_of_anyone_elses() {
    let site = Site::new();
    let mut rng = Rng(1);
    let _objects = foreign_objects(&mut rng);
    let stranger = strangers_queue();
    look_alikes(&site.tmp, &mut rng);
    let before = site.inventory();
    let said = site.clean();
    assert_eq!(site.inventory(), before, "{}", said.out);
    assert!(!said.out.contains("removed"), "{}", said.out);
    // A run cleans too, and needs none of the names that are taken.
    let run =
        "run fifo sysv-sem:namespace=host -w latency -s 64 -p same-cpu --launches 1 --samples 10";
    output(&mut site.command(run)).ends(0);
    assert_eq!(site.inventory(), before);
    if let Some(id) = stranger {
        let _ = system_v::remove(Object { kind: ObjectKind::Queue, id });
    }
}

/// Says of everything that is there what became of it, and of what it can't see that it can't.
#[test]
fn nothing_was_left_behind_is_said_where_that_was_seen() {
    const NOTHING: &str = "nothing was left behind";
    let site = Site::new();
    assert!(site.clean().out.contains(NOTHING), "an empty folder");
    let (launch, _) = site.launch("sysv-queue:namespace=host");
    let said = site.clean().out;
    assert!(!said.contains(NOTHING) && said.contains("left what "), "{said}");
    drop(launch);

    let mut elsewhere = site.command("clean");
    let said = output(elsewhere.env("TMPDIR", site.tmp.join("none")));
    assert_eq!((said.code, said.out.contains(NOTHING)), (Some(1), false), "{}", said.out);
    assert!(said.err.contains("could not look at") && said.err.contains("TMPDIR"), "{}", said.err);

    let hide = "mount -t tmpfs none /proc && exec \"$0\" \"$@\"";
    if can_run("a hidden /proc", &["unshare", "-m", "sh", "-c", hide, "true"]).is_some() {
        let said =
            output(&mut behind(&site.command("clean"), &["unshare", "-m", "sh", "-c", hide]));
        assert_eq!((said.code, said.out.contains(NOTHING)), (Some(1), false), "{}", said.out);
        assert!(said.err.contains("could not look at /proc"), "{}", said.err);
    }
}

/// Anybody can make any number of names.
#[test]
fn the_records_of_other_users_are_one_line() {
    let site = Site::new();
    let mut rng = Rng(5);
    for nth in 0..300 {
        let path = site.tmp.join(drawn(&mut rng)).with_extension("record");
        fs::write(&path, b"not a record").expect("a file");
        if std::os::unix::fs::chown(&path, Some(65_534), None).is_err() {
            return say("skipped records of another user: none can be given away here");
        }
        if nth == 0 {
            let said = site.clean().out;
            assert!(said.ends_with("it belongs to user 65534\n"), "{said}");
        }
    }
    let said = site.clean().out;
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("left 300 records of other users, as "), "{said}");
}

// ---- what is ours ------------------------------------------------------------------------------

#[test]
fn what_the_dead_left_is_removed_and_what_the_living_hold_is_not() {
    let site = Site::new();
    for mechanism in ["sysv-queue:namespace=host", "sysv-sem:namespace=host"] {
        let (launch, living) = site.launch(mechanism);
        let left = site.dead(mechanism);
        let before = site.inventory();
        let said = site.clean();
        assert_eq!(site.inventory(), before.without(&left), "{mechanism}: {}", said.out);
        assert!(said.out.contains("that made it runs"), "{}", said.out);
        for object in
            left.iter().filter(|text| text.starts_with("msg ") || text.starts_with("sem "))
        {
            let id = object.split_whitespace().nth(1).expect("an id");
            assert!(said.out.contains(&format!(" {id}, left by process")), "{id}: {}", said.out);
        }
        drop(launch);
        assert_eq!(site.inventory(), before.without(&left).without(&living));
    }
}

#[test]
fn a_folder_of_names_that_a_kill_left_is_removed() {
    let site = Site::new();
    let empty = site.inventory();
    for mechanism in ["fifo", "unix-stream:bind=path"] {
        let connect = run::launch::Spec {
            workload: Workload::Connect,
            message_bytes: workload::connect::OPENED_FOR as usize,
            ..endless(mechanism, Workers::Process)
        };
        let is_folder = |path: &PathBuf| {
            fs::symlink_metadata(path).is_ok_and(|symlink_metadata| symlink_metadata.is_dir())
        };
        let folder = || {
            let entries = fs::read_dir(&site.tmp).expect("a folder").flatten();
            entries.map(|entry| entry.path()).find(is_folder)
        };
        // That of the first set-up, before the launch keeps one, may go just before the kill.
        let killed = || {
            let mut launch = site.launcher().start(&connect, 0).expect("the program starts");
            reach(&mut launch, Stage::Ready);
            launch.go();
            wait_for("a private folder", PATIENCE, folder);
            kill_unseen(launch);
            folder()
        };
        let folder = (0..20).find_map(|_| killed()).expect("a folder that a kill left");
        let holds = fs::read_dir(&folder).expect("it is left").count();
        let said = site.clean();
        assert!(said.out.contains(&folder.display().to_string()), "{}", said.out);
        assert_eq!(site.inventory(), empty, "{mechanism} left {holds} names: {}", said.out);
    }
}

#[test]
fn whoever_sees_a_launch_die_removes_what_it_left_and_nothing_else() {
    let site = Site::new();
    let mut rng = Rng(2);
    let _objects = foreign_objects(&mut rng);
    look_alikes(&site.tmp, &mut rng);
    let before = site.inventory();
    let run =
        "run sysv-queue:namespace=host -w latency -s 64 -p same-cpu --launches 9000 --samples 100";
    let running = site.bench.begin_with(site.command(run));
    for _ in 0..3 {
        // Not a pilot, without which the run would end.
        let (done, _) = site.bench.launches();
        wait_for("launches", PATIENCE, || (site.bench.launches().0 > done).then_some(()));
        // In one look: a supervisor is a process whose parent is the run, and which has children.
        let supervisor = wait_for("a supervisor with workers", PATIENCE, || {
            let all = site.bench.processes();
            let parents: BTreeSet<i32> = all.values().map(|process| process.parent).collect();
            let is_supervisor =
                |pid: &i32| all[pid].parent == running.pid() && parents.contains(pid);
            all.keys().copied().find(is_supervisor)
        });
        send(supervisor, Signal::KILL);
        wait_for("its end", PATIENCE, || Process::in_group(supervisor).is_empty().then_some(()));
    }
    running.signal(Signal::TERM);
    running.finish(PATIENCE);
    site.bench.wait_for_silence(PATIENCE);
    let unnoted: Vec<PathBuf> = site
        .records()
        .into_iter()
        .filter(|record| !before.0.contains_key(&record.display().to_string()))
        .collect();
    if unnoted.is_empty() {
        assert_eq!(site.inventory(), before);
    } else {
        // Killed between making a queue and noting it: named, and left to its user.
        assert!(site.clean().out.contains("was killed before it noted"), "{unnoted:?}");
    }
}

// ---- records that are not what they seem -------------------------------------------------------

/// A record in parts, as it lies in its file.
struct Record {
    header: Value,
    entries: Vec<Value>,
}

impl Record {
    fn read(path: &Path) -> Record {
        let text = fs::read(path).expect("a record");
        let parsed = |bytes: &[u8]| serde_json::from_slice(bytes.trim_ascii()).ok();
        let entries = text[HEADER..].chunks(SLOT).filter_map(parsed).collect();
        Record { header: parsed(&text[..HEADER]).expect("a header"), entries }
    }

    /// Writes it under a name that it says itself, unless it says another.
    fn forge(mut self, folder: &Path, name: &str) -> PathBuf {
        if !self.header["record"].as_str().is_some_and(|text| text.starts_with("another")) {
            self.header["record"] = json!(name);
        }
        let path = folder.join(name);
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(&path).expect("a file");
        write_padded(&file, 0, &self.header, HEADER);
        for (nth, entry) in self.entries.iter().enumerate() {
            write_padded(&file, HEADER + nth * SLOT, entry, SLOT);
        }
        path
    }
}

fn write_padded(file: &File, at: usize, what: &Value, length: usize) {
    let mut line = serde_json::to_vec(what).expect("JSON");
    line.resize(length - 1, b' ');
    line.push(b'\n');
    file.write_all_at(&line, at as u64).expect("write");
}

/// What the kernel says of a queue, as a record notes it.
fn noted(id: i32) -> Value {
    let object = Object { kind: ObjectKind::Queue, id };
    json!({"made": {"object": object, "status": system_v::status(object).expect("a queue")}})
}

#[test]
fn a_record_that_disagrees_with_anything_removes_nothing() {
    let site = Site::new();
    let mut rng = Rng(3);
    let left = site.dead("sysv-queue:namespace=host");
    let genuine = site.records().pop().expect("a record");
    let objects = foreign_objects(&mut rng);
    let foreign = noted(objects.0[0].id);
    // The entry of a real queue of ours, and what makes it another's.
    let ours = Record::read(&genuine).entries.remove(0);
    let changed = |entry: &Value, path: &str, value: Value| {
        let mut entry = entry.clone();
        *entry.pointer_mut(path).expect("a field") = value;
        entry
    };
    let time = ours["made"]["status"]["ctime"].as_i64().expect("a time");
    let id = foreign["made"]["object"]["id"].clone();
    let key = foreign["made"]["status"]["key"].clone();
    // Empty and private, but not named as ours are.
    private_folder(&site.tmp.join("precious"));
    let precious = fs::metadata(site.tmp.join("precious")).expect("a folder");
    let (device, inode) = (precious.dev(), precious.ino());
    let entries = [
        ("ctime", changed(&ours, "/made/status/ctime", json!(time - 1))),
        ("key", changed(&ours, "/made/status/key", json!(1))),
        ("uid", changed(&ours, "/made/status/uid", json!(12_345))),
        ("creator", changed(&ours, "/made/status/creator", json!(12_345))),
        ("mode", changed(&ours, "/made/status/mode", json!(0o666))),
        ("id", changed(&ours, "/made/object/id", id)),
        ("kind", changed(&foreign, "/made/status/ctime", json!(0))),
        ("planned", json!({"planned": {"kind": "queue", "key": key}})),
        ("folder", json!({"folder": {"name": "precious", "device": device, "inode": inode}})),
        ("up", json!({"folder_planned": {"name": "../tmp"}})),
        ("nonsense", json!({"everything": true})),
    ];
    for (what, entry) in entries {
        let record = Record { entries: vec![entry], ..Record::read(&genuine) };
        let name = format!("{}.record", drawn(&mut rng));
        let forged = Record { header: record.header, entries: record.entries };
        let path = forged.forge(&site.tmp, &name);
        untouched(&site, &left, what, &name);
        fs::remove_file(path).expect("it is left");
    }
    // Headers, with an entry that agrees with a foreign queue in everything.
    let headers: [(&str, &str, Value); 5] = [
        ("boot", "/process/boot", json!("another boot")),
        ("user", "/uid", json!(12_345)),
        ("IPC namespace", "/ipc_namespace", json!(1)),
        ("name", "/record", json!("another.record")),
        ("version", "/process", json!({"pid": 1})),
    ];
    for (what, field, value) in headers {
        let mut record = Record { entries: vec![foreign.clone()], ..Record::read(&genuine) };
        *record.header.pointer_mut(field).expect("a field") = value;
        let name = format!("{}.record", drawn(&mut rng));
        let path = record.forge(&site.tmp, &name);
        untouched(&site, &left, what, &name);
        fs::remove_file(path).expect("it is left");
    }
    // Files that others may have written, and one whose owner lives though nobody holds its lock.
    for what in ["mode", "owner", "link", "living"] {
        let mut record = Record { entries: vec![foreign.clone()], ..Record::read(&genuine) };
        if what == "living" {
            let own = sys::identity::ProcessIdentity::own().expect("/proc");
            record.header["process"] = serde_json::to_value(own).expect("JSON");
        }
        let name = format!("{}.record", drawn(&mut rng));
        let path = record.forge(&site.tmp, &name);
        let other = site.tmp.join("another-name");
        match what {
            "mode" => fs::set_permissions(&path, PermissionsExt::from_mode(0o622)).expect("chmod"),
            "link" => fs::hard_link(&path, &other).expect("a link"),
            "owner" if std::os::unix::fs::chown(&path, Some(65_533), None).is_err() => {
                say("skipped another user's record: this one can't be another");
                fs::remove_file(path).expect("it is there");
                continue;
            }
            _ => {}
        }
        untouched(&site, &left, what, &name);
        fs::remove_file(path).expect("it is left");
        let _ = fs::remove_file(other);
    }
}

/// Cleans, and sees that nothing but `dead` is gone, and that the record is named.
#[track_caller]
fn untouched(site: &Site, dead: &BTreeSet<String>, what: &str, name: &str) {
    // What is really ours stays as well, held by its own lock, until the test is over.
    let locks: Vec<File> = site
        .records()
        .into_iter()
        .filter(|record| dead.contains(&record.display().to_string()))
        .map(|path| {
            let file = File::open(path).expect("a record");
            file.lock().expect("its lock");
            file
        })
        .collect();
    assert_eq!(locks.len(), 1);
    let before = site.inventory();
    let said = site.clean();
    assert_eq!(site.inventory(), before, "{what}: {}", said.out);
    let names_it = |line: &str| line.starts_with("left ") && line.contains(name);
    assert!(said.out.lines().any(names_it), "{what}: it isn't named: {}", said.out);
}

#[test]
fn a_folder_that_is_not_the_one_that_was_made_stays() {
    let site = Site::new();
    let mut rng = Rng(4);
    let _left = site.dead("sysv-sem:namespace=host");
    let genuine = site.records().pop().expect("a record");
    let header = Record::read(&genuine).header;
    assert!(site.clean().out.contains("removed"));
    let forge = |rng: &mut Rng, entry: Value| {
        let name = format!("{}.record", drawn(rng));
        Record { header: header.clone(), entries: vec![entry] }.forge(&site.tmp, &name)
    };
    let identity = |path: &Path| {
        let found = fs::symlink_metadata(path).expect("it is there");
        let name = path.file_name().expect("a name").to_str();
        json!({"folder": {"name": name, "device": found.dev(), "inode": found.ino()}})
    };
    let precious = site.tmp.join("precious");
    private_folder(&precious);
    fs::write(precious.join("thesis"), b"years of work").expect("a file");
    // A link to a folder, by the folder's own identity.
    let link = site.tmp.join(drawn(&mut rng));
    symlink(&precious, &link).expect("a link");
    let mut of_link = identity(&precious);
    of_link["folder"]["name"] = json!(link.file_name().expect("a name").to_str());
    forge(&mut rng, of_link);
    // One that holds more than ipcmark makes; one that others may enter; another inode; one that was
    // never noted and isn't empty.
    for what in ["file", "mode", "inode", "unnoted"] {
        let folder = site.tmp.join(drawn(&mut rng));
        private_folder(&folder);
        if what == "file" || what == "unnoted" {
            fs::write(folder.join("0"), b"mine").expect("a file");
        }
        let mut entry = identity(&folder);
        match what {
            "mode" => {
                fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).expect("chmod")
            }
            "inode" => entry["folder"]["inode"] = json!(1),
            "unnoted" => entry = json!({"folder_planned": {"name": entry["folder"]["name"]}}),
            _ => {}
        }
        forge(&mut rng, entry);
    }
    let before = site.inventory();
    let said = site.clean();
    assert_eq!(site.inventory(), before, "{}", said.out);
    let left = said.out.lines().filter(|line| line.starts_with("left "));
    assert_eq!(left.count(), 5, "{}", said.out);
}

// ---- any mixture -------------------------------------------------------------------------------

#[test]
fn any_mixture_is_sorted_out() {
    for seed in 0..many(ROUNDS.0, ROUNDS.1) {
        let site = Site::new();
        let mut rng = Rng(seed);
        let (mut foreign, mut living, mut dead) = (Vec::new(), Vec::new(), BTreeSet::new());
        for _ in 0..3 + rng.below(6) {
            let mechanism =
                ["sysv-queue:namespace=host", "sysv-sem:namespace=host"][rng.below(2) as usize];
            match rng.below(4) {
                0 => foreign.push(foreign_objects(&mut rng)),
                1 => drop(look_alikes(&site.tmp, &mut rng)),
                2 => living.push(site.launch(mechanism).0),
                _ => dead.extend(site.dead(mechanism)),
            }
        }
        let before = site.inventory();
        let said = site.clean();
        assert_eq!(site.inventory(), before.without(&dead), "round {seed}: {}", said.out);
        let removed = said.out.lines().filter(|line| line.starts_with("removed ")).count();
        let objects = dead.iter().filter(|text| !text.starts_with('/')).count();
        assert_eq!(removed, objects, "round {seed}: {}", said.out);
    }
}

// ---- other names, other namespaces -------------------------------------------------------------

const LONG: &str =
    "run sysv-queue:namespace=host -w latency -s 64 -p same-cpu --launches 9000 --samples 100";

/// Cleans by `clean` again and again while a run of ours goes on, which must not notice.
fn a_live_run_goes_on(site: &Site, run: Command, clean: &mut Command) {
    let found = site.inventory();
    let running = site.bench.begin_with(run);
    for _ in 0..10 {
        let (before, _) = site.bench.launches();
        let said = cleaned(clean);
        assert!(!said.out.contains("removed"), "{}", said.out);
        wait_for("three launches", PATIENCE, || {
            (site.bench.launches().0 >= before + 3).then_some(())
        });
    }
    assert_eq!(site.bench.launches().1, 0, "launches failed");
    // As a service manager ends a service: all its processes at once. Launches fail by that, and leave nothing.
    for pid in site.bench.processes().into_keys() {
        send(pid, Signal::TERM);
    }
    running.finish(PATIENCE);
    site.bench.wait_for_silence(PATIENCE);
    assert_eq!(site.inventory(), found);
}

#[test]
fn a_live_run_of_a_renamed_binary_goes_on() {
    let site = Site::new();
    let renamed = site.bench.path("measure");
    fs::copy(env!("CARGO_BIN_EXE_ipcmark"), &renamed).expect("a copy");
    wait_until_startable(&renamed);
    let ours = site.command(LONG);
    let mut run = Command::new(&renamed);
    let set = ours.get_envs().filter_map(|(name, value)| Some((name, value?)));
    run.args(ours.get_args()).env_clear().envs(set).stdin(Stdio::null());
    a_live_run_goes_on(&site, run, &mut site.command("clean"));
}

#[test]
fn a_live_run_of_another_pid_namespace_goes_on() {
    let flags = ["unshare", "--pid", "--fork", "--mount-proc"];
    let Some(()) = can_run("PID namespaces", &[&flags[..], &["true"]].concat()) else { return };
    let site = Site::new();
    // Seen from outside, and from inside another one.
    let inside = behind(&site.command(LONG), &flags);
    a_live_run_goes_on(&site, inside, &mut site.command("clean"));
    let site = Site::new();
    let mut clean = behind(&site.command("clean"), &flags);
    a_live_run_goes_on(&site, site.command(LONG), &mut clean);
    // One whose /proc is that of outside, so that ids there mean other processes.
    let site = Site::new();
    let mut clean = behind(&site.command("clean"), &flags[..3]);
    a_live_run_goes_on(&site, site.command(LONG), &mut clean);
}

#[test]
fn what_the_dead_of_another_pid_namespace_left_is_removed() {
    let flags = ["unshare", "--pid", "--fork", "--mount-proc"];
    let Some(()) = can_run("PID namespaces", &[&flags[..], &["true"]].concat()) else { return };
    let site = Site::new();
    let left = site.dead("sysv-sem:namespace=host");
    let before = site.inventory();
    // No id of outside can be looked at there: the lock alone tells.
    let said = cleaned(&mut behind(&site.command("clean"), &flags));
    assert_eq!(site.inventory(), before.without(&left), "{}", said.out);
}

#[test]
fn objects_of_another_ipc_namespace_are_left_and_named() {
    let Some(()) = can_run("IPC namespaces", &["unshare", "--ipc", "true"]) else { return };
    let site = Site::new();
    let left = site.dead("sysv-queue:namespace=host");
    let before = site.inventory();
    let said = cleaned(&mut behind(&site.command("clean"), &["unshare", "--ipc"]));
    assert_eq!(site.inventory(), before, "{}", said.out);
    assert!(said.out.contains("it is in another IPC namespace"), "{}", said.out);
    site.clean();
    assert_eq!(site.inventory(), before.without(&left));
}

// ---- every call --------------------------------------------------------------------------------

#[test]
fn not_one_call_is_made_on_what_is_not_ours() {
    let calls = "unlink,unlinkat,rmdir,msgctl,semctl,shmctl,kill,rename,renameat,renameat2";
    let tracer = ["-f", "-qq", "-o"];
    let tried = Command::new("strace").args(["-e", "trace=none", "true"]).output();
    if !tried.is_ok_and(|output| output.status.success()) {
        return say("skipped every call of `clean`: strace doesn't work here");
    }
    let site = Site::new();
    let mut rng = Rng(5);
    let objects = foreign_objects(&mut rng);
    let stranger = strangers_queue();
    look_alikes(&site.tmp, &mut rng);
    // A forged record that names a foreign queue by its id.
    let mut dead = site.dead("sysv-queue:namespace=host");
    let genuine = Record::read(
        &site
            .records()
            .into_iter()
            .find(|record| dead.contains(&record.display().to_string()))
            .expect("a record"),
    );
    let mut foreign = noted(objects.0[0].id);
    foreign["made"]["status"]["ctime"] = json!(1);
    Record { header: genuine.header, entries: vec![foreign] }
        .forge(&site.tmp, &format!("{}.record", drawn(&mut rng)));
    let before = site.inventory();
    let log = site.bench.path("calls");
    let filter = format!("trace={calls}");
    let before_words =
        [&["strace"], &tracer[..], &[log.to_str().expect("a path"), "-e", &filter]].concat();
    let said = cleaned(&mut behind(&site.command("clean"), &before_words));
    assert_eq!(site.inventory(), before.without(&dead), "{}", said.out);
    // By what they name, the calls are those on what was ours, and no others.
    let calls = fs::read_to_string(&log).expect("a log");
    let calls: Vec<&str> = calls.lines().filter(|line| line.contains('(')).collect();
    assert!(!calls.is_empty());
    for call in &calls {
        let object = |name: &String| {
            let id = name.split_whitespace().nth(1).unwrap_or_default();
            !name.starts_with('/') && call.contains(&format!("ctl({id},"))
        };
        let file = |name: &String| {
            let name = name.rsplit('/').next().unwrap_or_default();
            call.contains(&format!("\"{name}\""))
        };
        assert!(
            dead.iter().any(|text| object(text) || file(text)),
            "a call on something else: {call}"
        );
    }
    for kind in ["msgctl", "unlinkat"] {
        assert!(calls.iter().any(|call| call.contains(kind)), "{kind} was traced: {calls:?}");
    }
    dead.clear();
    if let Some(id) = stranger {
        let _ = system_v::remove(Object { kind: ObjectKind::Queue, id });
    }
}

/// A name that says nothing is no folder, least of all the working one, which `clean` would not find again.
#[test]
fn an_empty_tmpdir_is_none() {
    let site = Site::new();
    let records = |folder: &Path| -> BTreeSet<String> {
        let names = fs::read_dir(folder).expect("a folder").flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with("ipcmark-")).collect()
    };
    let there = Path::new("/tmp");
    let before = records(there);
    let spec = endless("sysv-queue:namespace=host", Workers::Process);
    let mut launch = site.launcher_in(Path::new("")).start(&spec, 0).expect("it starts");
    reach(&mut launch, Stage::Ready);
    assert_ne!(records(there), before);
    assert_eq!(records(&site.bench.path("")), BTreeSet::new());
}
