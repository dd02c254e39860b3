//! Opening: to measure into, where the file is made if it isn't there, and to read, where nothing is written
//! and nothing needs to be writable.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::{Access, AtFlags, CWD, accessat};

use super::claim::Claims;
use super::migrate::{self, migrate, pragma};
use super::seal::{Seals, define};
use super::{APPLICATION_ID, SCHEMA_VERSION, Store, StoreError, explain, kind, place};

/// What is named instead of a file where nothing is to be kept; a file of that name is `./none`.
pub const NONE: &str = "none";

/// How long another process may hold the file.
const BUSY: Duration = Duration::from_secs(5);
/// Longest value: a part of samples is 2 MiB before it is packed.
const LONGEST: i32 = 64 << 20;
/// Statements kept prepared: about as many as there are.
const STATEMENTS: usize = 64;
/// Instructions after which a statement's progress is looked at.
const STRIDE: i32 = 10_000;
/// Steps of so many instructions that any statement may take, and more for each so many bytes of the
/// file: a row takes some hundred instructions, and tens of bytes at least.
const STEPS: u64 = 2_000;
const BYTES_PER_STEP: u64 = 500;

/// How far a statement may go: a damaged tree of pages can lead in circles.
#[derive(Clone)]
pub(super) struct Bound(Arc<AtomicU64>);

impl Bound {
    /// Begins to count anew.
    pub(super) fn renew(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// A file at a moment: another once it was written to.
#[derive(PartialEq)]
pub(super) struct Stamp(u64, SystemTime);

impl Stamp {
    pub(super) fn of(path: &Path) -> Option<Stamp> {
        let found = path.metadata().ok()?;
        Some(Stamp(found.len(), found.modified().ok()?))
    }
}

const NO_MUTEX: OpenFlags = OpenFlags::SQLITE_OPEN_NO_MUTEX;

impl Store {
    /// Opens the store at `path` to measure into it, and makes it if it isn't there. That of [`NONE`] keeps what is
    /// measured until it is dropped, and is nowhere.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        if path == Path::new(NONE) {
            return Store::in_memory();
        }
        place::make_folder(&place::whole(path)?)?;
        Store::to_write(path, OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens the store at `path` to go on with a run; it must be there.
    pub fn reopen(path: &Path) -> Result<Store, StoreError> {
        require(path)?;
        Store::to_write(path, OpenFlags::empty())
    }

    fn in_memory() -> Result<Store, StoreError> {
        let path = Path::new(NONE);
        let failed = |error| explain("open", path, error);
        let db = Connection::open_in_memory().map_err(failed)?;
        guard(&db).map_err(failed)?;
        db.execute_batch("PRAGMA foreign_keys = ON").map_err(failed)?;
        let claims = Claims::nowhere().map_err(|error| {
            StoreError::other(format!("memfd_create: {error}; choose a store with --store FILE"))
        })?;
        make(&db, &claims, path)?;
        Store::of(db, path, claims)
    }

    fn to_write(path: &Path, more: OpenFlags) -> Result<Store, StoreError> {
        let failed = |error| explain("open", path, error);
        let whole = place::whole(path)?;
        place::refuse_planted(&whole)?;
        let seen = kind::look(&whole, path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | NO_MUTEX | more;
        let db = Connection::open_with_flags(&whole, flags).map_err(failed)?;
        // What was made, or opened, is a file, and nothing was written to it yet.
        let opened = kind::look(&whole, path)?;
        let is_same = match &seen {
            Some(seen) => seen.is_at(&whole, path)?,
            None => opened.is_some(),
        };
        if !is_same {
            return Err(replaced(path));
        }
        guard(&db).map_err(failed)?;
        db.execute_batch("PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL;")
            .map_err(failed)?;
        let claims = Claims::beside(&whole);
        if is_empty(&db).map_err(failed)? {
            make(&db, &claims, path)?;
        }
        migrate(&db, &migrate::STEPS).map_err(failed)?;
        Store::of(db, path, claims)
    }

    /// Opens the store at `path` for reading; it must be there.
    pub fn open_existing(path: &Path) -> Result<Store, StoreError> {
        let failed = |error| explain("read", path, error);
        require(path)?;
        let whole = place::whole(path)?;
        place::refuse_planted(&whole)?;
        let Some(seen) = kind::look(&whole, path)? else { return Err(nowhere(path)) };
        let (mut db, unlocked) = connect_to_read(&whole, path)?;
        if !seen.is_at(&whole, path)? {
            return Err(replaced(path));
        }
        let bound = Bound(Arc::default());
        let steps = STEPS + size(&whole) / BYTES_PER_STEP;
        let spent = bound.0.clone();
        let beyond = move || spent.fetch_add(1, Ordering::Relaxed) > steps;
        db.progress_handler(STRIDE, Some(beyond)).map_err(failed)?;
        if is_empty(&db).map_err(failed)? {
            return Err(nowhere(path));
        }
        // What is read is of one moment.
        db.execute_batch("BEGIN").map_err(failed)?;
        let mut store = Store::of(db, path, Claims::beside(&whole))?;
        (store.bound, store.unlocked) = (Some(bound), unlocked);
        Ok(store)
    }

    /// What an open file is, if it is a store of this version.
    fn of(db: Connection, path: &Path, claims: Claims) -> Result<Store, StoreError> {
        let failed = |error| explain("open", path, error);
        let name = path.display();
        let other = "choose another store with --store FILE";
        let found = (pragma(&db, "application_id"), pragma(&db, "user_version"));
        match (found.0.map_err(failed)?, found.1.map_err(failed)?) {
            (APPLICATION_ID, SCHEMA_VERSION) => {}
            (APPLICATION_ID, newer) if newer > SCHEMA_VERSION => {
                return Err(StoreError::unusable(format!(
                    "{name} was written by a newer ipcmark (schema {newer}, this one knows \
                     {SCHEMA_VERSION}): update, or {other}"
                )));
            }
            (APPLICATION_ID, _) => {
                return Err(StoreError::damaged(format!(
                    "{name} is damaged: it has no version; {other}"
                )));
            }
            _ => {
                return Err(StoreError::unusable(format!(
                    "{name} is a database of another program: {other}"
                )));
            }
        }
        let (is, ought) = (tables(&db), wanted());
        if is.map_err(failed)? != *ought.map_err(failed)? {
            return Err(StoreError::damaged(format!(
                "{name} is damaged, or another program or an unreleased ipcmark wrote it: its tables aren't those \
                 of a store; restore it from a copy, or {other}"
            )));
        }
        let seals = Seals::of(&db).map_err(failed)?;
        Ok(Store { db, path: path.into(), seals, claims, bound: None, unlocked: None })
    }
}

fn require(path: &Path) -> Result<(), StoreError> {
    if path == Path::new(NONE) {
        return Err(StoreError::unusable(format!(
            "--store {NONE} keeps nothing, so that there is nothing to read: name a store with --store FILE"
        )));
    }
    if path.exists() { Ok(()) } else { Err(nowhere(path)) }
}

fn nowhere(path: &Path) -> StoreError {
    StoreError::unusable(format!(
        "no store at {}: measure first, or name one with --store FILE",
        path.display()
    ))
}

/// Somebody put another file in its place while it was opened.
fn replaced(path: &Path) -> StoreError {
    StoreError::other(format!("open {}: it was replaced meanwhile: try again", path.display()))
}

/// What holds of every connection: nothing in the file makes SQLite do anything but read rows.
fn guard(db: &Connection) -> rusqlite::Result<()> {
    db.busy_timeout(BUSY)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    db.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST)?;
    db.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    db.execute_batch("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0")?;
    define(db)
}

/// Whether nobody has made anything of the file yet.
fn is_empty(db: &Connection) -> rusqlite::Result<bool> {
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(tables == 0 && pragma(db, "application_id")? == 0 && pragma(db, "user_version")? == 0)
}

/// Everything that the file declares.
fn tables(db: &Connection) -> rusqlite::Result<Vec<[String; 4]>> {
    let sql =
        "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema ORDER BY type, name";
    let mut query = db.prepare(sql)?;
    let rows =
        query.query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]))?;
    rows.collect()
}

/// Everything that a store declares. Found out once: that takes as long as what else opening a store does.
fn wanted() -> rusqlite::Result<&'static Vec<[String; 4]>> {
    static WANTED: OnceLock<Vec<[String; 4]>> = OnceLock::new();
    if let Some(known) = WANTED.get() {
        return Ok(known);
    }
    let db = Connection::open_in_memory()?;
    db.execute_batch(include_str!("schema.sql"))?;
    let found = tables(&db)?;
    Ok(WANTED.get_or_init(|| found))
}

/// Makes a store of an empty file; of many that would, one does, and the others wait for it.
fn make(db: &Connection, claims: &Claims, path: &Path) -> Result<(), StoreError> {
    let failed = |error| explain("create", path, error);
    let making = claims.making().map_err(|error| {
        StoreError::unusable(format!(
            "create {}: lock {}: {error}; choose another store with --store FILE",
            path.display(),
            claims.path().display()
        ))
    })?;
    if making.is_none() {
        return Err(StoreError::other(format!(
            "create {}: another process has been at it for long: end it, or choose another store with \
             --store FILE",
            path.display()
        )));
    }
    if !is_empty(db).map_err(failed)? {
        return Ok(());
    }
    // A process that reads meanwhile locks the file for a moment, which this statement doesn't wait for.
    let until = Instant::now() + BUSY;
    while let Err(error) = db.pragma_update(None, "journal_mode", "WAL") {
        if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) || Instant::now() > until {
            return Err(failed(error));
        }
        sleep(Duration::from_millis(2));
    }
    let made = db.execute_batch(&format!(
        "BEGIN IMMEDIATE;
         {}
         PRAGMA application_id = {APPLICATION_ID};
         PRAGMA user_version = {SCHEMA_VERSION};
         COMMIT",
        include_str!("schema.sql")
    ));
    made.map_err(failed)
}

fn may_write(path: &Path) -> bool {
    accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}

fn size(path: &Path) -> u64 {
    let of = |path: &Path| path.metadata().map_or(0, |metadata| metadata.len());
    of(path) + of(&kind::beside(path, "-wal"))
}

/// A connection that changes nothing.
///
/// A process that may write opens the file like a writer, so that what SQLite creates beside it for the readers of a
/// moment goes again. One that may not must not create anything there, because its owner couldn't write it.
fn connect_to_read(whole: &Path, path: &Path) -> Result<(Connection, Option<Stamp>), StoreError> {
    let failed = |error| explain("read", path, error);
    let connect = |flags: OpenFlags, name: &Path| -> rusqlite::Result<Connection> {
        let db = Connection::open_with_flags(name, flags | NO_MUTEX)?;
        guard(&db)?;
        db.execute_batch("PRAGMA query_only = ON")?;
        // The first that looks into it.
        is_empty(&db)?;
        Ok(db)
    };
    // Whichever name led to it: what SQLite keeps beside it has the name of the file itself.
    let real = whole.canonicalize().unwrap_or_else(|_| whole.into());
    if may_write(&real) && real.parent().is_some_and(may_write) {
        match connect(OpenFlags::SQLITE_OPEN_READ_WRITE, &real) {
            Ok(db) => return Ok((db, None)),
            Err(error) if is_refused(&error) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    let read_only = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let wal = kind::beside(&real, "-wal");
    let unread = match wal.metadata() {
        Ok(wal) => wal.len() > 0,
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    };
    if !unread {
        // Everything is in the file. Should its owner begin to write now, checksums tell.
        let stamp = Stamp::of(&real);
        let db = connect(read_only, &uri(&real, "immutable=1")).map_err(failed)?;
        return Ok((db, stamp));
    }
    if kind::beside(&real, "-shm").exists()
        && let Ok(db) = connect(read_only, &uri(&real, "readonly_shm=1"))
    {
        return Ok((db, None));
    }
    Err(StoreError::unusable(format!(
        "read {}: {} holds what isn't in the file yet, and can't be read without writing beside it: copy \
         both into a folder of yours, and name the copy with --store FILE",
        path.display(),
        wal.display()
    )))
}

fn is_refused(error: &rusqlite::Error) -> bool {
    use ErrorCode::{CannotOpen, DiskFull, PermissionDenied, ReadOnly, SystemIoFailure};
    let code = error.sqlite_error_code();
    matches!(code, Some(CannotOpen | DiskFull | PermissionDenied | ReadOnly | SystemIoFailure))
}

/// A file's name as SQLite takes options with it (sqlite.org/uri.html).
fn uri(path: &Path, options: &str) -> PathBuf {
    let mut text = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'_' | b'-' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                text.push(*byte as char)
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    format!("{text}?{options}").into()
}
