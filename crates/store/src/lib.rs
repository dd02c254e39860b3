//! The store: one SQLite file that keeps every run whole, down to each sample.
//!
//! It is the only bridge between measuring and judging. Launches are committed as they end, so
//! that after any kill the file opens and holds every finished launch (WAL; a crash of the
//! machine itself may cost the last second). docs/FORMAT.md describes it for other readers.

#[cfg(not(feature = "schema"))]
extern crate schemaless as schemars;

mod check;
mod claim;
mod command_line;
mod earlier;
pub mod fleet;
mod kind;
mod label;
mod lock;
mod migrate;
mod open;
mod place;
mod read;
mod rows;
mod seal;
mod sealed;
mod ticks;
mod write;

use std::fmt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use check::Checked;
pub use command_line::{command_line, resume_fleet, resume_run, with_budget};
pub use earlier::RunBefore;
pub use fleet::{Concurrent, Ends, FleetGroup, FleetLaunch, FleetRequest, StoredFleet, StoredNode};
pub use kind::BESIDE;
pub use label::Label;
pub use open::NONE;

pub use rows::{MadeLaunch, RunRow, StoredCase, StoredGroup, StoredLaunch, StoredRound, StoredRun};
pub use write::{NewCase, NewLaunch, NewRun};

/// Version of the schema: `PRAGMA user_version`.
pub const SCHEMA_VERSION: i64 = 1 + migrate::STEPS.len() as i64;
/// `PRAGMA application_id`: "ipc1".
const APPLICATION_ID: i64 = 0x6970_6331;

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Closed {
    /// Every case has the precision that was asked.
    Precise,
    /// The budget was used up first.
    Budget,
    /// The number of launches that was asked, or that of the last analysis, was reached.
    Launches,
}

model::json!(FleetRequest, Settle);

/// The quiet before timing, as the pilot found it.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Settle {
    /// How long launches across CPUs wait after the last fork, in ns.
    pub quiet_ns: u64,
    /// Median round trips of a pipe across CPUs in each 10 ms after forking, in ns.
    pub blocks_ns: Vec<f64>,
    /// The same from after the quiet on: it is long enough where they stay alike.
    pub quiet_blocks_ns: Vec<f64>,
}

/// An open store.
pub struct Store {
    db: Connection,
    path: PathBuf,
    seals: seal::Seals,
    claims: claim::Claims,
    /// How far a statement may go; None of a store that is measured into.
    bound: Option<open::Bound>,
    /// What the file was when it was opened without any lock.
    unlocked: Option<open::Stamp>,
}

/// What is wrong with a store: a sentence that names the file and ends with the remedy.
#[derive(Debug)]
pub struct StoreError {
    line: String,
    kind: ErrorKind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum ErrorKind {
    Unusable,
    Damaged,
    Other,
}

impl StoreError {
    fn unusable(line: String) -> StoreError {
        StoreError { line, kind: ErrorKind::Unusable }
    }

    fn damaged(line: String) -> StoreError {
        StoreError { line, kind: ErrorKind::Damaged }
    }

    /// What is stored, and whole, but can't be understood: a sentence that ends with the remedy.
    pub fn unreadable(line: String) -> StoreError {
        StoreError::unusable(line)
    }

    fn other(line: String) -> StoreError {
        StoreError { line, kind: ErrorKind::Other }
    }

    /// Whether what was asked for can't be used, as it is: there is no such store or run, it is damaged, may
    /// not be written, or is another program's. Else something came in the way.
    pub fn is_unusable(&self) -> bool {
        self.kind != ErrorKind::Other
    }

    /// Whether what was stored isn't what is there.
    pub fn is_damage(&self) -> bool {
        self.kind == ErrorKind::Damaged
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

impl std::error::Error for StoreError {}

impl Store {
    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, what: &'static str) -> impl Fn(rusqlite::Error) -> StoreError + use<> {
        let path = self.path.clone();
        move |error| explain(what, &path, error)
    }
}

/// What can't be read, because something else was stored than what is there now.
fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, QueryReturnedNoRows,
        StatementChangedRows, Utf8Error,
    };
    match error {
        FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) => true,
        QueryReturnedNoRows | StatementChangedRows(_) | Utf8Error(..) => true,
        _ => matches!(
            error.sqlite_error_code(),
            Some(
                ErrorCode::DatabaseCorrupt
                    | ErrorCode::NotADatabase
                    | ErrorCode::OperationInterrupted
                    | ErrorCode::TooBig
            )
        ),
    }
}

fn explain(what: &str, path: &Path, error: rusqlite::Error) -> StoreError {
    // To SQLite a file system without locks is one where somebody else has it locked, or a broken disk.
    if let Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::SystemIoFailure) =
        error.sqlite_error_code()
        && let Some(why) = claim::Claims::beside(path).no_locks(what != "read")
    {
        return StoreError::unusable(format!(
            "{what} {}: this file system has no locks ({why}); choose a local place with --store FILE",
            path.display()
        ));
    }
    let (kind, remedy) = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            (ErrorKind::Other, "free space on that disk; what was stored before is safe")
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            (ErrorKind::Unusable, "make it writable, or choose another store with --store FILE")
        }
        _ if is_damage(&error) => (
            ErrorKind::Damaged,
            "it is damaged, or no ipcmark store: move it away, or choose another with --store FILE",
        ),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            ErrorKind::Other,
            "another program has it locked: wait until that ends, or choose another store with --store FILE",
        ),
        _ => (ErrorKind::Other, "choose another store with --store FILE"),
    };
    StoreError { line: format!("{what} {}: {}; {remedy}", path.display(), said(&error)), kind }
}

/// What SQLite says, in one line: of what is damaged it may quote much.
fn said(error: &rusqlite::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.chars().filter(|letter| !letter.is_control()).take(200).collect()
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
        assert!(Store::open_existing(&path).unwrap().run_ids().unwrap().is_empty());
    }

    /// Found by the fuzzer: both rows that name a run were gone, and its cases still named it.
    #[test]
    fn a_run_of_which_only_its_cases_or_nodes_are_left_is_damaged_and_not_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.sqlite");
        Store::open(&path)
            .unwrap()
            .db
            .execute_batch(
                "PRAGMA foreign_keys = OFF;
                 INSERT INTO cases (run, group_nth, nth, levels) VALUES (7, 0, 0, '{}');
                 INSERT INTO nodes (run, nth, name) VALUES (9, 0, 'a')",
            )
            .unwrap();
        let store = Store::open_existing(&path).unwrap();
        assert_eq!(store.run_ids().unwrap(), [7, 9]);
        assert!(
            [7, 9]
                .iter()
                .all(|number| store.run_row(*number).is_err_and(|error| error.is_damage()))
        );
        assert_eq!(store.check().unwrap().damaged.len(), 2);
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
    }
}
