//! The store: one SQLite file that keeps every run whole, down to each sample.
//!
//! It is the only bridge between measuring and judging. Launches are committed as they end, so
//! that after any kill the file opens and holds every finished launch (WAL; a crash of the
//! machine itself may cost the last second). docs/FORMAT.md describes it for other readers.

mod command_line;
pub mod fleet;
mod label;
mod read;
mod ticks;
mod write;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use serde::{Deserialize, Serialize};

pub use command_line::command_line;
pub use fleet::{
    Concurrent, FleetAsked, FleetCase, FleetGroup, FleetLaunch, NewFleet, NewFleetCase,
    StoredFleet, StoredNode,
};
pub use label::Label;
pub use read::{RunRow, StoredCase, StoredGroup, StoredLaunch, StoredRun};
pub use write::{NewCase, NewLaunch, NewRun};

pub use crate::launch::peer::{FarHost, PeerRecord};

/// Version of the schema: `PRAGMA user_version`.
pub const SCHEMA_VERSION: i64 = 7;
/// `PRAGMA application_id`: "ipcm".
const APPLICATION_ID: i64 = 0x6970_636d;

/// What brings a store from the version beside it to the next one.
const MIGRATIONS: [(i64, &str); 6] = [
    (1, "ALTER TABLE runs ADD COLUMN floors TEXT NOT NULL DEFAULT '{}'"),
    (2, "ALTER TABLE runs ADD COLUMN label TEXT"),
    // Until then a run had one total for all its transfers.
    (
        3,
        "ALTER TABLE cases ADD COLUMN total TEXT;
         UPDATE cases SET total = coalesce(
             (SELECT CAST(json_extract(request, '$.total_bytes') AS TEXT)
              FROM runs WHERE runs.id = cases.run), 'long')
         WHERE workload = 'throughput' AND message_bytes IS NOT NULL",
    ),
    (4, "ALTER TABLE cases ADD COLUMN observe TEXT"),
    (5, "ALTER TABLE runs ADD COLUMN peer TEXT"),
    // Until then all launches of a run went one way, and none was of many nodes.
    (
        6,
        "ALTER TABLE runs ADD COLUMN labs TEXT NOT NULL DEFAULT '[]';
         ALTER TABLE cases ADD COLUMN reach TEXT NOT NULL DEFAULT 'local';
         UPDATE cases SET reach = 'peer'
         WHERE run IN (SELECT id FROM runs WHERE peer IS NOT NULL);
         ALTER TABLE runs ADD COLUMN fleet TEXT;
         ALTER TABLE cases ADD COLUMN near INTEGER;
         ALTER TABLE cases ADD COLUMN far INTEGER;
         ALTER TABLE cases ADD COLUMN concurrent TEXT;
         ALTER TABLE cases ADD COLUMN rate INTEGER;
         CREATE TABLE nodes (
             run     INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
             nth     INTEGER NOT NULL,
             name    TEXT    NOT NULL,
             far     TEXT,
             floors  TEXT,
             reason  TEXT,
             PRIMARY KEY (run, nth)
         ) STRICT",
    ),
];

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Being measured, or its coordinator was killed.
    Running,
    /// Every group was closed.
    Complete,
    /// A signal ended it; what was measured is kept.
    Interrupted,
}

/// Why a group was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Closed {
    /// Every case has the precision that was asked.
    Precise,
    /// The budget was used up first.
    Budget,
    /// The number of launches that was asked, or the last look, was reached.
    Launches,
}

/// The quiet before timing, as the pilot found it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settle {
    /// How long launches across CPUs wait after the last fork, in ns.
    pub quiet_ns: u64,
    /// Median round trips of a pipe across CPUs in each 10 ms after forking, in ns.
    pub blocks_ns: Vec<f64>,
    /// The same from after the quiet on: it is long enough where they stay alike.
    #[serde(default)]
    pub quiet_blocks_ns: Vec<f64>,
}

/// An open store.
pub struct Store {
    db: Connection,
    path: PathBuf,
}

/// What is wrong with a store: a sentence that names the file and ends with the way out.
#[derive(Debug)]
pub struct StoreError {
    line: String,
    unusable: bool,
}

impl StoreError {
    fn unusable(line: String) -> StoreError {
        StoreError { line, unusable: true }
    }

    /// Whether what was asked for can't be used, as it is: there is no such store or run, it is damaged, may
    /// not be written, or is another program's. Else something came in the way.
    pub fn is_unusable(&self) -> bool {
        self.unusable
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

impl std::error::Error for StoreError {}

impl Store {
    /// `$IPCMARK_STORE`, else `ipcmark/runs.sqlite` below `$XDG_DATA_HOME` or
    /// `~/.local/share`, and below `/tmp` where there is no home.
    pub fn default_path() -> PathBuf {
        if let Some(path) = named("IPCMARK_STORE") {
            return path;
        }
        let home = || named("HOME").unwrap_or("/tmp".into());
        let data = named("XDG_DATA_HOME").unwrap_or_else(|| home().join(".local/share"));
        data.join("ipcmark/runs.sqlite")
    }

    /// Whether [`Store::default_path`] is below `/tmp`, for want of a better place.
    pub fn is_homeless() -> bool {
        ["IPCMARK_STORE", "XDG_DATA_HOME", "HOME"].into_iter().all(|name| named(name).is_none())
    }

    /// Opens the store at `path`, and makes it if it isn't there.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|error| {
                StoreError::unusable(format!(
                    "create {}: {error}; choose another store with --store FILE",
                    folder.display()
                ))
            })?;
        }
        let store = Store::connect(path)?;
        store.migrate()?;
        Ok(store)
    }

    /// Opens the store at `path` for reading; it must be there.
    pub fn open_existing(path: &Path) -> Result<Store, StoreError> {
        if !path.exists() {
            return Err(StoreError::unusable(format!(
                "no store at {}: measure first, or name one with --store FILE",
                path.display()
            )));
        }
        let store = Store::connect(path)?;
        store.migrate()?;
        Ok(store)
    }

    fn connect(path: &Path) -> Result<Store, StoreError> {
        let failed = |error| explain("open", path, error);
        // SQLite has names of its own (`:memory:`, `file:…`, none at all) for databases that
        // vanish. A whole path, without the flag for such names, is always a file.
        let whole = std::path::absolute(path)
            .map_err(|error| StoreError::unusable(format!("open {}: {error}", path.display())))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(whole, flags).map_err(failed)?;
        db.busy_timeout(Duration::from_secs(5)).map_err(failed)?;
        db.execute_batch("PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL;")
            .map_err(failed)?;
        Ok(Store { db, path: path.into() })
    }

    fn migrate(&self) -> Result<(), StoreError> {
        let failed = |error| explain("open", &self.path, error);
        let pragma =
            |name: &str| self.db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let tables: i64 = self
            .db
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(failed)?;
        let application = pragma("application_id").map_err(failed)?;
        let version = pragma("user_version").map_err(failed)?;
        let name = self.path.display();
        match (tables, application, version) {
            (0, 0, 0) => self.create().map_err(failed),
            (_, APPLICATION_ID, SCHEMA_VERSION) => Ok(()),
            (_, APPLICATION_ID, older) if (1..SCHEMA_VERSION).contains(&older) => {
                self.upgrade().map_err(|error| explain("upgrade", &self.path, error))
            }
            (_, APPLICATION_ID, newer) if newer > SCHEMA_VERSION => {
                Err(StoreError::unusable(format!(
                    "{name} was written by a newer ipcmark (schema {newer}, this one knows \
                 {SCHEMA_VERSION}): update, or choose another store with --store FILE"
                )))
            }
            _ => Err(StoreError::unusable(format!(
                "{name} is a database of another program: choose another store with --store FILE"
            ))),
        }
    }

    fn create(&self) -> rusqlite::Result<()> {
        self.db.pragma_update(None, "journal_mode", "WAL")?;
        self.db.execute_batch("BEGIN IMMEDIATE")?;
        self.db.execute_batch(include_str!("schema.sql"))?;
        self.db.pragma_update(None, "application_id", APPLICATION_ID)?;
        self.db.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        self.db.execute_batch("COMMIT")
    }

    /// Brings an older store to this version, in one transaction: it is whole before and after.
    fn upgrade(&self) -> rusqlite::Result<()> {
        let transaction = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
        // Another program may have done it while this one waited for the file.
        let version: i64 =
            transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
        for (_, sql) in MIGRATIONS.iter().filter(|(from, _)| *from >= version) {
            transaction.execute_batch(sql)?;
        }
        transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        transaction.commit()
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, what: &'static str) -> impl Fn(rusqlite::Error) -> StoreError + use<> {
        let path = self.path.clone();
        move |error| explain(what, &path, error)
    }
}

fn explain(what: &str, path: &Path, error: rusqlite::Error) -> StoreError {
    let (unusable, way_out) = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            (false, "free space on that disk; what was stored before is safe")
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            (true, "make it writable, or choose another store with --store FILE")
        }
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => (
            true,
            "it is damaged, or no ipcmark store: move it away, or choose another with --store FILE",
        ),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            false,
            "another program holds it: wait for it, or choose another store with --store FILE",
        ),
        _ => (false, "choose another store with --store FILE"),
    };
    StoreError { line: format!("{what} {}: {error}; {way_out}", path.display()), unusable }
}

/// A path in the environment; an empty one says nothing.
fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_store_opens_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/er/runs.sqlite");
        assert!(Store::open_existing(&path).is_err());
        Store::open(&path).unwrap();
        Store::open(&path).unwrap();
        assert!(Store::open_existing(&path).unwrap().runs().unwrap().is_empty());
    }

    /// A store as an older version left it, with one run and a warning in it.
    fn of_version(version: i64, path: &Path) {
        let schema = match version {
            1 => include_str!("../../tests/stores/schema-1.sql"),
            2 => include_str!("../../tests/stores/schema-2.sql"),
            3 => include_str!("../../tests/stores/schema-3.sql"),
            4 => include_str!("../../tests/stores/schema-4.sql"),
            5 => include_str!("../../tests/stores/schema-5.sql"),
            _ => include_str!("../../tests/stores/schema-6.sql"),
        };
        let db = Connection::open(path).unwrap();
        db.execute_batch(schema).unwrap();
        db.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
        db.pragma_update(None, "user_version", version).unwrap();
        db.execute_batch(
            r#"INSERT INTO runs (started, status, pid, tool, argv, request, host, clock, settle)
               VALUES ('2026-01-01T00:00:00Z', 'complete', 7, 'ipcmark 0.1.0', '["ipcmark"]',
                       '{}', '{}', '{}', '{}');
               INSERT INTO warnings VALUES (1, 'kept')"#,
        )
        .unwrap();
    }

    /// Names, types, defaults of every column, table by table.
    fn columns(db: &Connection) -> std::collections::BTreeSet<String> {
        let sql = "SELECT format('%s.%s %s %s %s', t.name, c.name, c.type, \"notnull\", dflt_value)
             FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'";
        let mut query = db.prepare(sql).unwrap();
        query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn an_older_store_is_upgraded_and_keeps_what_it_held() {
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("new");
        Store::open(&new).unwrap();
        for older in 1..SCHEMA_VERSION {
            let old = folder.path().join(format!("old-{older}"));
            of_version(older, &old);
            for _ in 0..2 {
                let store = Store::open_existing(&old).unwrap();
                let version = store.db.pragma_query_value(None, "user_version", |row| row.get(0));
                assert_eq!(version, Ok(SCHEMA_VERSION));
                assert_eq!(columns(&store.db), columns(&Store::open(&new).unwrap().db));
                let runs = store.runs().unwrap();
                assert_eq!((runs.len(), runs[0].pid, runs[0].status), (1, 7, RunStatus::Complete));
                assert_eq!(runs[0].label, None);
                let told = "SELECT floors || text FROM runs JOIN warnings ON run = id";
                let told: String = store.db.query_row(told, [], |row| row.get(0)).unwrap();
                assert_eq!(told, "{}kept");
            }
        }
    }

    #[test]
    fn transfers_of_an_older_store_get_the_total_of_their_run() {
        let folder = tempfile::tempdir().unwrap();
        for older in 1..=3 {
            let path = folder.path().join(format!("old-{older}"));
            of_version(older, &path);
            let db = Connection::open(&path).unwrap();
            db.execute_batch(
                r#"INSERT INTO runs (id, started, status, pid, tool, argv, request, host, clock,
                       settle)
                   SELECT 2, started, status, pid, tool, argv, '{"total_bytes":65536}', host,
                       clock, settle FROM runs;
                   INSERT INTO cases (run, group_nth, nth, mechanism, workload, message_bytes,
                       placement, workers, payload, twin, swappable)
                   VALUES (1, 0, 0, 'pipe', 'throughput', 64, 'free', 'process', 'read', 0, 0),
                          (1, 0, 1, 'pipe', 'latency', 64, 'free', 'process', 'read', 0, 0),
                          (2, 0, 0, 'pipe', 'throughput', 64, 'free', 'process', 'read', 0, 0),
                          (2, 0, 1, 'eventfd', 'throughput', NULL, 'free', 'process', 'read', 0, 0)
                "#,
            )
            .unwrap();
            drop(db);
            let store = Store::open(&path).unwrap();
            let mut query = store.db.prepare("SELECT total FROM cases ORDER BY id").unwrap();
            let totals = query.query_map([], |row| row.get::<_, Option<String>>(0)).unwrap();
            let totals: Vec<_> = totals.map(Result::unwrap).collect();
            let word = |it: &str| Some(it.to_string());
            assert_eq!(totals, [word("long"), None, word("65536"), None]);
        }
    }

    #[test]
    fn an_upgrade_that_fails_leaves_the_store_as_it_was() {
        for (from, sql) in MIGRATIONS {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("old");
            of_version(from, &path);
            let db = Connection::open(&path).unwrap();
            // The column is there already: the step from this version can't be taken.
            db.execute_batch(sql).unwrap();
            let error = Store::open(&path).err().unwrap().to_string();
            assert!(error.starts_with("upgrade ") && error.contains("--store FILE"), "{error}");
            let version = db.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
            assert_eq!(version, Ok(from));
        }
    }

    #[test]
    fn what_is_no_store_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("text");
        std::fs::write(&text, "x".repeat(5000)).unwrap();
        assert!(Store::open(&text).err().unwrap().to_string().contains("--store FILE"));
        assert_eq!(std::fs::read_to_string(&text).unwrap().len(), 5000);

        let foreign = folder.path().join("foreign");
        Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
        assert!(Store::open(&foreign).err().unwrap().to_string().contains("another program"));

        let newer = folder.path().join("newer");
        Store::open(&newer).unwrap().db.pragma_update(None, "user_version", 99).unwrap();
        assert!(Store::open(&newer).err().unwrap().to_string().contains("newer ipcmark"));
    }
}
