//! A store that isn't what was stored: whatever was changed in it, either a line says which run is damaged,
//! or everything that is printed is what it was. Damage is drawn, from fixed seeds.
//!
//! 60 drawn changes, and 240 in the long form.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::panic::catch_unwind;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::cli_support::stored::store_of;
use crate::cli_support::{Bench, edit, rows};
use crate::long_form::many;
use analysis::Judged;
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use report::export::{self, Format};
use rusqlite::Connection;
use serde_json::Value;
use store::{Store, StoreError};

/// Against hangs.
const HUNG: Duration = Duration::from_secs(60);

fn changes() -> u64 {
    many(60, 240)
}

const RUNS: [i64; 3] = [1, 2, 3];

/// What is printed of a run, or why nothing is.
type Output = Result<String, String>;

/// The export of a run, without the results of other runs in the store.
fn export_by_itself(bench: &Bench, run: &str) -> Value {
    let mut whole: Value = serde_json::from_str(&bench.must(&format!("export {run}")).out).unwrap();
    for case in whole["results"].as_array_mut().unwrap() {
        case["earlier"] = Value::Null;
    }
    whole
}

/// Everything that the commands that read make of a store: of each run its line in the list, and its
/// exports.
fn outputs(path: &Path) -> Result<BTreeMap<i64, Output>, String> {
    let run = |store: &Store, id: i64| -> Result<String, StoreError> {
        let row = format!("{:?}\n", store.run_row(id)?);
        let mut judged = Judged::of(store, id)?;
        // The results of other runs stand beside it, as far as they are whole.
        judged.results.iter_mut().for_each(|case| case.earlier = None);
        let formats = [Format::Json, Format::Ndjson, Format::Hgrm];
        formats
            .into_iter()
            .try_fold(row, |text, format| Ok(text + &export::text(format, &judged, store)?))
    };
    let store = Store::open_existing(path).map_err(|error| error.to_string())?;
    let ids = store.run_ids().map_err(|error| error.to_string())?;
    let found = ids.into_iter().map(|id| (id, run(&store, id).map_err(|error| error.to_string())));
    Ok(found.collect())
}

/// One change of a file's bytes.
fn damage_bytes(path: &Path, rng: &mut ChaCha8Rng) -> String {
    let mut bytes = fs::read(path).unwrap();
    let at = rng.random_range(0..bytes.len());
    let page = 4096;
    let pages = bytes.len() / page;
    let what = match rng.random_range(0..6) {
        0 | 1 => {
            bytes[at] ^= 1 << rng.random_range(0..8);
            format!("a bit of byte {at}")
        }
        2 => {
            let until = bytes.len().min(at + rng.random_range(1..512));
            bytes[at..until].fill_with(|| rng.random());
            format!("bytes {at}..{until}")
        }
        3 => {
            bytes.truncate(at);
            format!("all from byte {at} on are gone")
        }
        4 => {
            let (from, to) = (rng.random_range(0..pages), rng.random_range(0..pages));
            bytes.copy_within(from * page..(from + 1) * page, to * page);
            format!("page {to} is page {from}")
        }
        _ => {
            let (from, to) = (rng.random_range(0..pages), rng.random_range(1..pages));
            let (low, high) = (from.min(to), from.max(to));
            if low < high {
                let (before, behind) = bytes.split_at_mut(high * page);
                before[low * page..(low + 1) * page].swap_with_slice(&mut behind[..page]);
            }
            format!("pages {from} and {to} change places")
        }
    };
    fs::write(path, bytes).unwrap();
    what
}

const TABLES: [&str; 8] =
    ["runs", "groups", "cases", "rounds", "launches", "samples", "warnings", "tallies"];
const ODD: [&str; 16] = [
    "NULL",
    "0",
    "-1",
    "1",
    "9223372036854775807",
    "-9223372036854775808",
    "4294967296",
    "1e308",
    "''",
    "'x'",
    "x'00'",
    "x'789c'",
    "'[]'",
    "'{}'",
    "'null'",
    "zeroblob(1000000)",
];

/// The columns of a table, its checksum left out.
fn columns(db: &Connection, table: &str) -> Vec<String> {
    let sql = format!("SELECT name FROM pragma_table_info('{table}') WHERE name <> 'seal'");
    rows(db, &sql)
}

/// A change that keeps to the tables; None where SQLite itself refuses it.
fn damage_rows(db: &Connection, rng: &mut ChaCha8Rng, sealed: bool) -> Option<String> {
    let table = *TABLES.choose(rng).unwrap();
    let columns = columns(db, table);
    let column = columns.choose(rng).unwrap();
    let count: i64 =
        db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
    let nth = rng.random_range(0..count.max(1));
    let keys = match table {
        "groups" => "(run, nth)",
        "rounds" => "(run, group_nth, nth)",
        "samples" => "(launch, part)",
        "tallies" => "run",
        _ => "id",
    };
    let plain = keys.trim_matches(['(', ')']);
    let which = format!("{keys} = (SELECT {plain} FROM {table} LIMIT 1 OFFSET {nth})");
    let sql = match rng.random_range(0..8) {
        0..4 => format!("UPDATE {table} SET {column} = {} WHERE {which}", ODD.choose(rng).unwrap()),
        4 => format!("DELETE FROM {table} WHERE {which}"),
        5 => format!(
            "UPDATE {table} SET {column} = (SELECT {column} FROM {table} ORDER BY random() LIMIT 1)
             WHERE {which}"
        ),
        _ => {
            // One value somewhere in a JSON text.
            let (table, column) = *[
                ("runs", "request"),
                ("runs", "host"),
                ("runs", "clock"),
                ("rounds", "noise"),
                ("launches", "record"),
            ]
            .choose(rng)
            .unwrap();
            let value = *ODD[..8].choose(rng).unwrap();
            let leaf = rng.random_range(0..60);
            format!(
                "UPDATE {table} SET {column} = json_set({column},
                     (SELECT fullkey FROM json_tree({table}.{column}) WHERE atom IS NOT NULL
                      LIMIT 1 OFFSET {leaf}), {value})
                 WHERE rowid_of = {nth}"
            )
            .replace(
                &format!("WHERE rowid_of = {nth}"),
                match table {
                    "rounds" => "WHERE nth = 2",
                    "launches" => "WHERE id = 5",
                    _ => "WHERE id = 2",
                },
            )
        }
    };
    if sealed {
        return edit(db, &sql).ok().map(|()| sql);
    }
    db.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    db.execute_batch(&sql).ok().map(|()| sql)
}

/// A change of what the file declares.
fn damage_tables(db: &Connection, rng: &mut ChaCha8Rng) -> Option<String> {
    let table = *TABLES.choose(rng).unwrap();
    let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n";
    let columns = columns(db, table).join(", ");
    let changes = [
        format!(
            "ALTER TABLE {table} RENAME TO hidden; CREATE VIEW {table} AS SELECT * FROM hidden"
        ),
        format!("DROP TABLE {table}; CREATE VIEW {table} AS {endless}"),
        format!("CREATE TRIGGER more AFTER INSERT ON {table} BEGIN DELETE FROM runs; END"),
        format!("ALTER TABLE {table} ADD COLUMN more TEXT"),
        format!("CREATE TABLE more AS SELECT {columns} FROM {table}"),
        "DROP INDEX cases_of_run".to_string(),
        format!("DROP TABLE {table}"),
        format!("PRAGMA user_version = {}", rng.random_range(-2..5)),
        format!("PRAGMA application_id = {}", rng.random_range(-2..5)),
        "VACUUM".to_string(),
    ];
    let sql = changes.choose(rng).unwrap();
    db.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    db.execute_batch(sql).ok().map(|()| sql.clone())
}

/// A store in one file, and the output about it.
fn whole() -> (Bench, Vec<u8>, BTreeMap<i64, Output>) {
    let bench = Bench::new();
    store_of(&bench.store(), RUNS.len());
    bench.open().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let bytes = fs::read(bench.store()).unwrap();
    let outputs = outputs(&bench.store()).expect("a whole store");
    assert_eq!(outputs.keys().copied().collect::<Vec<_>>(), RUNS);
    assert!(outputs.values().all(Result::is_ok), "{outputs:?}");
    (bench, bytes, outputs)
}

#[test]
fn what_was_changed_is_noticed_or_changes_nothing() {
    let (bench, bytes, before) = whole();
    let path = bench.path("changed.sqlite");
    let mut rng = ChaCha8Rng::seed_from_u64(15);
    let (mut harmless, mut one, mut all, mut longest) = (0, 0, 0, Duration::ZERO);
    for nth in 0..changes() {
        fs::write(&path, &bytes).unwrap();
        let what = match nth % 3 {
            0 => Some(damage_bytes(&path, &mut rng)),
            kind => {
                let db = Connection::open(&path).unwrap();
                let done = match kind {
                    1 => damage_rows(&db, &mut rng, false),
                    _ if rng.random_range(0..3) == 0 => damage_tables(&db, &mut rng),
                    _ => damage_rows(&db, &mut rng, false),
                };
                db.execute_batch("PRAGMA journal_mode = DELETE").unwrap();
                done
            }
        };
        let Some(what) = what else { continue };
        let began = Instant::now();
        let after = catch_unwind(|| outputs(&path));
        let took = began.elapsed();
        longest = longest.max(took);
        assert!(took < HUNG, "change {nth}, {what}: {took:?}");
        match after.unwrap_or_else(|_| panic!("change {nth}, {what}: it panicked")) {
            Err(line) => {
                assert!(line.contains("--store FILE") && !line.contains('\n'), "{what}: {line}");
                all += 1;
            }
            Ok(after) => {
                let mut noticed = false;
                for (run, output) in &after {
                    match output {
                        Ok(text) => {
                            let known = before.get(run).and_then(|text| text.as_deref().ok());
                            let known = known.unwrap_or_default();
                            let mut lines = text.lines().zip(known.lines());
                            let other = lines.find(|(now, then)| now != then);
                            assert!(
                                text == known,
                                "change {nth}, {what}: run {run} is told as {other:?}"
                            );
                        }
                        Err(line) => {
                            let named = format!("run {run} in ");
                            assert!(
                                line.starts_with(&named) && !line.contains('\n'),
                                "{what}: {line}"
                            );
                            noticed = true;
                        }
                    }
                }
                let missing = before.keys().any(|run| !after.contains_key(run));
                assert!(noticed || !missing, "change {nth}, {what}: a run vanished unnoticed");
                if noticed { one += 1 } else { harmless += 1 }
            }
        }
    }
    // Unlike println!, also when the test passes.
    let _ = writeln!(
        std::io::stderr(),
        "{} changes: {one} named the runs, {all} the file, {harmless} changed nothing; the longest took \
         {longest:?}",
        one + all + harmless
    );
    assert!(one > 0 && all > 0);
}

/// What would take all memory, or divide by nothing.
const FORGED: [&str; 9] = [
    "UPDATE launches SET round = 4611686018427387904 WHERE id = 6",
    "UPDATE rounds SET nth = 0 WHERE run = 2 AND nth = 1",
    "UPDATE samples SET count = 1152921504606846976 WHERE launch = 6",
    "UPDATE samples SET count = 200000000, ticks = zeroblob(200000) WHERE launch = 6",
    "DELETE FROM samples WHERE launch = 6",
    "UPDATE runs SET clock = json_set(clock, '$.ns_per_tick', 0) WHERE id = 2",
    "UPDATE runs SET clock = json_set(clock, '$.ns_per_tick', -1e308) WHERE id = 2",
    "UPDATE cases SET samples_per_launch = 9223372036854775807 WHERE id = 2",
    "UPDATE tallies SET run = 9223372036854775807 WHERE run = 2",
];

/// A forger can compute checksums as well: that may be reported, but nothing may break.
#[test]
fn what_was_forged_breaks_nothing() {
    let (bench, bytes, _) = whole();
    let path = bench.path("forged.sqlite");
    let mut rng = ChaCha8Rng::seed_from_u64(16);
    let (mut refused, mut shown) = (0, 0);
    for nth in 0..changes() / 2 {
        fs::write(&path, &bytes).unwrap();
        let db = Connection::open(&path).unwrap();
        let done = match FORGED.get(nth as usize) {
            Some(sql) => edit(&db, sql).ok().map(|()| sql.to_string()),
            None => damage_rows(&db, &mut rng, true),
        };
        drop(db);
        let Some(what) = done else { continue };
        let began = Instant::now();
        let after = catch_unwind(|| outputs(&path));
        assert!(began.elapsed() < HUNG, "forgery {nth}, {what}");
        match after.unwrap_or_else(|_| panic!("forgery {nth}, {what}: it panicked")) {
            Ok(after) if after.values().all(Result::is_ok) => {
                assert!(nth as usize >= FORGED.len(), "{what} is shown");
                shown += 1;
            }
            _ => refused += 1,
        }
    }
    let _ = writeln!(std::io::stderr(), "{refused} forgeries were refused, {shown} shown");
    assert!(refused > 0);
}

#[test]
#[ignore = "long form"]
fn a_run_that_is_damaged_is_named_and_the_others_are_read() {
    let damages = [
        ("a warning", "UPDATE warnings SET text = 'the machine was idle' WHERE run = 2"),
        (
            "a case",
            "UPDATE cases SET levels = json_set(levels, '$.variant', 'tcp') WHERE run = 2 AND nth = 1",
        ),
        ("a round", "DELETE FROM rounds WHERE run = 2 AND nth = 4"),
        ("a launch", "DELETE FROM launches WHERE id = 15"),
        (
            "samples",
            "UPDATE samples SET ticks = (SELECT ticks FROM samples WHERE launch = 16) WHERE launch = 15",
        ),
        ("a count", "UPDATE samples SET count = 1152921504606846976 WHERE launch = 15"),
        ("no samples", "DELETE FROM samples WHERE launch = 15"),
        (
            "a JSON field",
            "UPDATE launches SET record = json_set(record, '$.initiator.batch', 2) WHERE id = 15",
        ),
        ("the clock", "UPDATE runs SET clock = json_set(clock, '$.ns_per_tick', 5) WHERE id = 2"),
        ("its row", "DELETE FROM runs WHERE id = 2"),
        ("its tally", "DELETE FROM tallies WHERE run = 2"),
    ];
    let (bench, bytes, _) = whole();
    assert_eq!(bench.must("runs --check").out, "whole: 3 runs, 36 launches\n");
    let (of_1, of_3) = (export_by_itself(&bench, "1"), export_by_itself(&bench, "newest"));
    for (what, sql) in damages {
        fs::write(bench.store(), &bytes).unwrap();
        let db = Connection::open(bench.store()).unwrap();
        db.execute_batch(&format!("PRAGMA foreign_keys = OFF; {sql}")).unwrap();
        drop(db);
        let said = bench.run("export 2");
        assert_eq!((said.code, said.err.lines().count()), (Some(2), 1), "{what}: {}", said.err);
        assert!(said.err.starts_with("ipcmark: run 2 in ") && said.err.contains(" is damaged: "));
        let said = bench.run("runs --check");
        let lines: Vec<&str> =
            said.out.lines().filter(|line| line.starts_with("run 2 in ")).collect();
        assert_eq!((said.code, lines.len()), (Some(1), 1), "{what}: {}", said.out);
        assert!(said.out.ends_with("whole: 2 runs, 24 launches\n"), "{what}: {}", said.out);
        // What the list shows is seen to be wrong there as well.
        let said = bench.run("runs");
        let listed = said.out.matches("complete").count();
        match what {
            "a round" | "a launch" | "the clock" | "its row" | "its tally" => {
                assert_eq!((said.code, listed), (Some(1), 2), "{what}: {}", said.out);
                assert!(said.out.contains("damaged") && said.err.starts_with("ipcmark: run 2 in "));
            }
            _ => assert_eq!((said.code, listed), (Some(0), 3), "{what}: {}", said.out),
        }
        assert_eq!(export_by_itself(&bench, "1"), of_1, "{what}");
        if !what.starts_with("its") {
            assert_eq!(export_by_itself(&bench, "newest"), of_3, "{what}");
        }
        let said = bench.run("run --resume 2");
        assert_eq!((said.code, said.err.lines().count()), (Some(2), 1), "{what}: {}", said.err);
    }
    assert!(bench.must("runs --help").out.contains("--check"));
}
