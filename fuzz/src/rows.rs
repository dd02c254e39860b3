//! Stores whose rows, tables or bytes were changed. A change that leaves the checksums as they were is
//! noticed, or all output is what it was. One that makes them anew may be reported; it breaks
//! nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use analysis::Judged;
use report::compose::{Detail, compose};
use report::export::{self, Format};
use report::{html, markdown, terminal};
use rusqlite::{Connection, ToSql};
use store::{Store, StoreError};
use tempfile::TempDir;

use crate::edit::{edit, rows};
use crate::input::Input;
use crate::stored::store_of;

/// A table's columns that hold JSON, and where in them a value stands.
const JSON: [(&str, &str); 10] = [
    ("runs", "request"),
    ("runs", "host"),
    ("runs", "clock"),
    ("runs", "settle"),
    ("runs", "argv"),
    ("runs", "catalogue"),
    ("runs", "floors"),
    ("runs", "labs"),
    ("rounds", "noise"),
    ("launches", "record"),
];
const TABLES: [&str; 9] =
    ["runs", "nodes", "groups", "cases", "rounds", "launches", "samples", "warnings", "tallies"];

/// Thousands of SQLite's steps that changes of tables may take.
const MOST_TURNS: u32 = 100;

/// The output about a run, one of them for each input: all of them take most of its time.
const FORMATS: [Format; 4] = [Format::Json, Format::Ndjson, Format::Csv, Format::Hgrm];

#[derive(Clone, Copy, PartialEq)]
enum Form {
    As(Format),
    Shown,
    /// All that there is, pages too.
    All,
}

struct Base {
    folder: TempDir,
    bytes: Vec<u8>,
    outputs: Vec<Outputs>,
    columns: BTreeMap<&'static str, Vec<String>>,
    leaves: Vec<(&'static str, &'static str, String)>,
}

/// The output about each run, or why there is none.
type Outputs = BTreeMap<i64, Result<String, String>>;

fn base() -> &'static Base {
    static BASE: OnceLock<Base> = OnceLock::new();
    BASE.get_or_init(|| {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let folder = folder.expect("a folder");
        let path = folder.path().join("base.sqlite");
        store_of(&path, 1);
        let db = Connection::open(&path).expect("a store");
        db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE")
            .expect("one file");
        let columns = TABLES.map(|table| {
            let sql = format!("SELECT name FROM pragma_table_info('{table}')");
            (table, rows(&db, &sql))
        });
        let leaves = JSON.iter().flat_map(|(table, column)| {
            let sql = format!(
                "SELECT DISTINCT fullkey FROM {table}, json_tree({table}.{column}) ORDER BY 1"
            );
            rows(&db, &sql).into_iter().map(|row| (*table, *column, row)).collect::<Vec<_>>()
        });
        let leaves = leaves.collect();
        drop(db);
        let bytes = fs::read(&path).expect("a store");
        let outputs = forms().map(|form| outputs_of(&path, form, true).expect("a whole store"));
        let outputs: Vec<Outputs> = outputs.collect();
        assert!(outputs.iter().flat_map(BTreeMap::values).all(Result::is_ok), "{outputs:?}");
        Base { folder, bytes, outputs, columns: columns.into_iter().collect(), leaves }
    })
}

fn forms() -> impl Iterator<Item = Form> {
    FORMATS.into_iter().map(Form::As).chain([Form::Shown])
}

pub fn run(data: &[u8]) {
    let base = base();
    let mut input = Input::new(data);
    let path = base.folder.path().join("changed.sqlite");
    let mut bytes = base.bytes.clone();
    let kind = input.below(8);
    if kind == 0 {
        change_bytes(&mut input, &mut bytes);
    }
    fs::write(&path, &bytes).expect("room in memory");
    let forged = kind >= 5;
    if kind > 0 && change_rows(&mut input, base, &path, kind == 1, forged).is_none() {
        return;
    }
    let nth = input.below(base.outputs.len());
    let form = forms().nth(nth).expect("as many as there are");
    // An input that has ended goes on as zeroes: what takes long is another number.
    let form = if forged && input.below(64) == 1 { Form::All } else { form };
    let after = outputs_of(&path, form, input.below(4) == 1);
    if forged {
        return;
    }
    let Ok(after) = after else { return };
    let noticed = after.values().any(Result::is_err);
    for (run, output) in &after {
        if let Ok(text) = output {
            let known = base.outputs[nth].get(run).and_then(|output| output.as_ref().ok());
            assert!(known == Some(text), "run {run} has another output, and no error");
        }
    }
    let missing = base.outputs[nth].keys().any(|run| !after.contains_key(run));
    assert!(noticed || !missing, "a run vanished unnoticed");
}

fn change_bytes(input: &mut Input, bytes: &mut Vec<u8>) {
    for _ in 0..1 + input.below(4) {
        // SQLite's own structures are at the beginning of each page.
        let page = 4096 * input.below(bytes.len().div_ceil(4096).max(1));
        let at = match input.below(2) {
            0 => page + input.below(108),
            _ => page + input.below(4096),
        };
        if input.below(16) == 0 {
            bytes.truncate(at.max(1));
        }
        let new = input.bytes().to_vec();
        for (to, from) in bytes.iter_mut().skip(at).zip(new) {
            *to = from;
        }
    }
}

/// One to three changes; None where SQLite itself refuses one.
fn change_rows(
    input: &mut Input,
    base: &Base,
    path: &PathBuf,
    tables: bool,
    forged: bool,
) -> Option<()> {
    let mut db = Connection::open(path).ok()?;
    db.execute_batch(
        "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; PRAGMA foreign_keys = OFF",
    )
    .ok()?;
    // What reads an endless view here is cut off; what the program makes of one is to be seen.
    let mut left = MOST_TURNS;
    let is_over = move || {
        left -= 1;
        left == 0
    };
    if tables {
        db.progress_handler(1_000, Some(is_over)).ok()?;
    }
    for _ in 0..1 + input.below(3) {
        if tables {
            change_tables(input, &db)?;
        } else {
            change_row(input, base, &db)?;
        }
    }
    if forged {
        edit(&db, "").ok()?;
    }
    Some(())
}

fn value(input: &mut Input) -> Box<dyn ToSql> {
    match input.below(8) {
        0 => Box::new(None::<i64>),
        1 | 2 => Box::new(input.edge() as i64),
        3 => Box::new(f64::from_bits(input.edge())),
        4 => Box::new(f64::from(input.byte())),
        5 => Box::new(input.bytes().to_vec()),
        6 => Box::new(["", "{}", "[]", "null", "running", "0", "local", "lab"][input.below(8)]),
        _ => Box::new(String::from_utf8_lossy(input.bytes()).into_owned()),
    }
}

fn change_row(input: &mut Input, base: &Base, db: &Connection) -> Option<()> {
    if input.below(2) == 0 {
        // One value somewhere in a JSON text.
        let (table, column, key) = &base.leaves[input.below(base.leaves.len())];
        let nth = input.below(12);
        let set = format!(
            "UPDATE {table} SET {column} = json_set({column}, ?1, {}) WHERE {}",
            ["?2", "json(?2)", "json_extract(?2, '$')"][input.below(3)],
            which(table, nth)
        );
        let gone = format!(
            "UPDATE {table} SET {column} = json_remove({column}, ?1) WHERE {}",
            which(table, nth)
        );
        return match input.below(4) {
            0 => db.execute(&gone, [key]).ok().map(drop),
            _ => db.execute(&set, (key, value(input).as_ref())).ok().map(drop),
        };
    }
    let table = TABLES[input.below(TABLES.len())];
    let columns = &base.columns[table];
    let column = &columns[input.below(columns.len())];
    let which = which(table, input.below(12));
    let done = match input.below(5) {
        0 => db.execute(&format!("DELETE FROM {table} WHERE {which}"), ()),
        1 => {
            let other = format!("SELECT {column} FROM {table} LIMIT 1 OFFSET {}", input.below(12));
            db.execute(&format!("UPDATE {table} SET {column} = ({other}) WHERE {which}"), ())
        }
        _ => {
            let value = value(input);
            db.execute(&format!("UPDATE {table} SET {column} = ?1 WHERE {which}"), [value.as_ref()])
        }
    };
    done.ok().map(drop)
}

/// The condition that picks row `nth` of a table.
fn which(table: &str, nth: usize) -> String {
    let keys = match table {
        "groups" | "nodes" => "run, nth",
        "rounds" => "run, group_nth, nth",
        "samples" => "launch, part",
        "tallies" => "run",
        _ => "id",
    };
    format!("({keys}) = (SELECT {keys} FROM {table} LIMIT 1 OFFSET {nth})")
}

fn change_tables(input: &mut Input, db: &Connection) -> Option<()> {
    let table = TABLES[input.below(TABLES.len())];
    let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n";
    let sql = match input.below(12) {
        0 => {
            format!(
                "ALTER TABLE {table} RENAME TO hidden; CREATE VIEW {table} AS SELECT * FROM hidden"
            )
        }
        1 => format!("DROP TABLE {table}; CREATE VIEW {table} AS {endless}"),
        2 => format!("CREATE TRIGGER more AFTER INSERT ON {table} BEGIN DELETE FROM runs; END"),
        3 => {
            format!("CREATE TEMP TRIGGER more AFTER UPDATE ON {table} BEGIN DELETE FROM runs; END")
        }
        4 => format!("ALTER TABLE {table} ADD COLUMN more TEXT"),
        5 => format!("CREATE TABLE more AS SELECT * FROM {table}"),
        6 => format!("CREATE INDEX more ON {table} (1)"),
        7 => format!("DROP TABLE {table}"),
        8 => format!("PRAGMA user_version = {}", input.edge() as i32),
        9 => format!("PRAGMA application_id = {}", input.edge() as i32),
        10 => {
            let text = String::from_utf8_lossy(input.bytes()).replace('\'', "''").replace('\0', "");
            format!(
                "PRAGMA writable_schema = ON;
                 UPDATE sqlite_schema SET sql = '{text}' WHERE name = '{table}'"
            )
        }
        _ => "VACUUM".to_string(),
    };
    db.execute_batch(&sql).ok()
}

/// What the commands that read make of a store; where it is `checked`, with what a check says of it.
fn outputs_of(path: &std::path::Path, form: Form, checked: bool) -> Result<Outputs, String> {
    let run = |store: &Store, id: i64| -> Result<String, StoreError> {
        let mut text = format!("{:?}\n", store.run_row(id)?);
        let judged = Judged::of(store, id)?;
        for format in FORMATS {
            if form == Form::All || form == Form::As(format) {
                text += &export::text(format, &judged, store)?;
            }
        }
        if matches!(form, Form::Shown | Form::All) {
            let document = compose(&judged, Detail::Full);
            text += &terminal::render(&document, &terminal::Style::default());
            if form == Form::All {
                let _ = (html::render(&document), markdown::render(&document));
                for (_, format) in Format::names() {
                    if matches!(format, Format::Tool(_)) {
                        let _ = export::text(format, &judged, store)?;
                    }
                }
            }
        }
        Ok(text)
    };
    let store = Store::open_existing(path).map_err(|error| error.to_string())?;
    let checked = checked.then(|| store.check());
    let ids = store.run_ids().map_err(|error| error.to_string())?;
    let outputs =
        ids.into_iter().map(|id| (id, run(&store, id).map_err(|error| error.to_string())));
    let outputs: Outputs = outputs.collect();
    // What is exported can't be what a check calls damaged.
    if let Some(Ok(checked)) = checked
        && checked.file.is_empty()
    {
        for (id, line) in &checked.damaged {
            let shown = outputs.get(id).is_some_and(Result::is_ok);
            assert!(!shown, "run {id} is shown, and damaged: {line}");
        }
    }
    Ok(outputs)
}
