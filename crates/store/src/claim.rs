//! Who measures a run: the one that holds its claim, a lock on one byte of a file beside the store. The
//! kernel lets go of it when its holder dies, whatever its name was and in whichever PID namespace it lived;
//! children lose it when they begin a program. The row of a run says only who it was.

use std::cell::OnceCell;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use model::process_stat;
use rusqlite::params;
use rustix::fs::{MemfdFlags, memfd_create};

use super::lock::{is_locked, no_process_locks, try_lock, unlock};
use super::seal::{Table, Writer};
use super::{Store, StoreError};

/// The byte for the process that makes the store; runs have the byte of their number.
const MAKING: i64 = 0;
/// How long another may take to make a store.
const MADE_WITHIN: Duration = Duration::from_secs(10);
/// How long a holder may take to write down who it is.
const WRITTEN_WITHIN: Duration = Duration::from_millis(500);

/// No link is followed, and no FIFO waited for.
const WITHOUT_WAITING: i32 = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;

/// The file of locks beside a store: `runs.sqlite-claims`. It holds nothing, and may stay.
pub(super) struct Claims {
    path: PathBuf,
    file: OnceCell<File>,
}

impl Claims {
    /// Those of the store at `path`, which is a whole path.
    pub(super) fn beside(path: &Path) -> Claims {
        // Whichever name led to it.
        let path = path.canonicalize().unwrap_or_else(|_| path.into());
        let mut name = path.into_os_string();
        name.push("-claims");
        Claims { path: name.into(), file: OnceCell::new() }
    }

    /// Those of a store that is nowhere: nobody else could hold one.
    pub(super) fn nowhere() -> io::Result<Claims> {
        let file = memfd_create("claims", MemfdFlags::CLOEXEC)?;
        Ok(Claims { path: PathBuf::new(), file: OnceCell::from(File::from(file)) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file, made if it isn't there, for those who may write the store.
    fn file(&self) -> io::Result<&File> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let options = || {
            let mut options = OpenOptions::new();
            options.read(true).write(true).custom_flags(WITHOUT_WAITING).clone()
        };
        let file = match options().mode(0o600).create_new(true).open(&self.path) {
            Ok(file) => {
                let store = self.path.as_os_str().as_encoded_bytes();
                let store = &store[..store.len() - "-claims".len()];
                let store: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(store);
                if let Ok(store) = Path::new(store).metadata() {
                    file.set_permissions(PermissionsExt::from_mode(store.mode() & 0o666))?;
                    // Only root may, and only root needs to.
                    let _ = fchown(&file, Some(store.uid()), Some(store.gid()));
                }
                file
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => options().open(&self.path)?,
            Err(error) => return Err(error),
        };
        Ok(self.file.get_or_init(|| file))
    }

    fn take(&self, run: i64) -> io::Result<bool> {
        try_lock(self.file()?, run)
    }

    fn release(&self, run: i64) {
        if let Some(file) = self.file.get() {
            let _ = unlock(file, run);
        }
    }

    /// Whether another holds the claim of a run; None where that can't be known.
    fn is_taken(&self, run: i64) -> Option<bool> {
        let seen = |file: &File| is_locked(file, run).ok();
        match self.file.get() {
            Some(file) => seen(file),
            None => {
                match OpenOptions::new().read(true).custom_flags(WITHOUT_WAITING).open(&self.path) {
                    Ok(file) => seen(&file),
                    Err(error) if error.kind() == ErrorKind::NotFound => Some(false),
                    Err(_) => None,
                }
            }
        }
    }

    /// Why there are no locks where the store is; None where there are, or nobody can tell. The file is made only if
    /// it may be.
    pub(super) fn no_locks(&self, may_make: bool) -> Option<io::Error> {
        if !may_make && !self.path.exists() {
            return None;
        }
        no_process_locks(self.file().ok()?)
    }

    /// Keeps everybody else from making the store meanwhile; None where that lasts too long.
    pub(super) fn making(&self) -> io::Result<Option<Making<'_>>> {
        let until = Instant::now() + MADE_WITHIN;
        while !self.take(MAKING)? {
            if Instant::now() > until {
                return Ok(None);
            }
            sleep(Duration::from_millis(2));
        }
        Ok(Some(Making(self)))
    }
}

/// The right to make a store, until it is dropped.
pub(super) struct Making<'a>(&'a Claims);

impl Drop for Making<'_> {
    fn drop(&mut self) {
        self.0.release(MAKING);
    }
}

/// A process, so that it can't be taken for another that got its number later.
#[derive(PartialEq)]
struct Coordinator {
    pid: u32,
    /// In clock ticks since the machine was started (proc_pid_stat(5)).
    start: i64,
    boot_id: String,
}

impl Coordinator {
    /// The process that /proc calls `name`: a number, or `self`.
    fn seen(name: &str) -> Option<Coordinator> {
        let stat = std::fs::read_to_string(format!("/proc/{name}/stat")).ok()?;
        let pid = stat.split_once(" (")?.0.parse().ok()?;
        Some(Coordinator { pid, start: process_stat::number(&stat, 22)?, boot_id: boot_id() })
    }

    fn own() -> Coordinator {
        let unseen = || Coordinator { pid: std::process::id(), start: 0, boot_id: boot_id() };
        Coordinator::seen("self").unwrap_or_else(unseen)
    }
}

/// Which start of this machine this is; empty where the kernel doesn't say.
fn boot_id() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map(|id| id.trim().to_string()).unwrap_or_default()
}

impl Store {
    /// Claims a run that was interrupted or killed, to go on with it.
    ///
    /// # Errors
    /// Where another process measures it, or the store can't be written.
    pub fn claim(&mut self, run: i64) -> Result<(), StoreError> {
        if !self.claims.take(run).map_err(|error| self.unclaimed(run, &error))? {
            let holder = self.holder(run)?;
            return Err(StoreError::unusable(format!(
                "run {run} is being measured by {holder}: wait for its end, or end it"
            )));
        }
        self.write(|writer| tell(writer, run))
    }

    /// Removes runs with all that is stored of them, all or none.
    ///
    /// # Errors
    /// Where another process measures one of them, or the store can't be written.
    pub fn remove_runs(&mut self, runs: &[i64]) -> Result<(), StoreError> {
        for (nth, run) in runs.iter().enumerate() {
            let taken = self.claims.take(*run).map_err(|error| self.unclaimed(*run, &error));
            if !matches!(taken, Ok(true)) {
                runs[..nth].iter().for_each(|run| self.release(*run));
                taken?;
                let holder = self.holder(*run)?;
                return Err(StoreError::unusable(format!(
                    "run {run} is being measured by {holder}: nothing was removed; wait for its end, or end it"
                )));
            }
        }
        let removed = self.write(|writer| {
            for run in runs {
                writer.remove(Table::Runs, "id = ?", [run])?;
                // Of a damaged run only these may tell.
                for table in [Table::Tallies, Table::Cases, Table::Nodes] {
                    writer.remove(table, "run = ?", [run])?;
                }
            }
            Ok(())
        });
        runs.iter().for_each(|run| self.release(*run));
        removed
    }

    /// Claims a run that is just begun.
    pub(super) fn claim_new(&self, writer: &Writer, run: i64) -> rusqlite::Result<()> {
        let failed = |why: String| rusqlite::Error::ToSqlConversionFailure(why.into());
        match self.claims.take(run) {
            Ok(true) => tell(writer, run),
            Ok(false) => Err(failed(format!("another process has claimed run {run} already"))),
            Err(error) => {
                Err(failed(format!("claim run {run} by {}: {error}", self.claims.path.display())))
            }
        }
    }

    /// Lets go of a run, which has ended.
    pub(super) fn release(&self, run: i64) {
        self.claims.release(run);
    }

    /// Whether a process measures a run now; None where that can't be known.
    pub(super) fn is_claimed(&self, run: i64) -> Option<bool> {
        self.claims.is_taken(run)
    }

    fn unclaimed(&self, run: i64, error: &io::Error) -> StoreError {
        StoreError::unusable(format!(
            "claim run {run} by {}: {error}; make it writable, or choose another store with --store FILE",
            self.claims.path.display()
        ))
    }

    /// Who holds the claim of a run, as it wrote down itself.
    fn holder(&self, run: i64) -> Result<String, StoreError> {
        let until = Instant::now() + WRITTEN_WITHIN;
        let sql = "SELECT pid, pid_start, boot_id FROM runs WHERE id = ?";
        loop {
            let holder = self.rows(sql, params![run], |row| {
                Ok(Coordinator { pid: row.get(0)?, start: row.get(1)?, boot_id: row.get(2)? })
            })?;
            let Some(holder) = holder.into_iter().next() else {
                return Ok("another process".into());
            };
            let pid = holder.pid;
            if Coordinator::seen(&pid.to_string()).is_some_and(|coordinator| coordinator == holder)
            {
                return Ok(format!("process {pid}"));
            }
            if Instant::now() > until {
                let of = if holder.boot_id == boot_id() { "PID namespace" } else { "machine" };
                return Ok(format!("process {pid} of another {of}"));
            }
            // It may have claimed the run, and not said so yet.
            sleep(Duration::from_millis(10));
        }
    }
}

/// Writes down that this process measures a run.
fn tell(writer: &Writer, run: i64) -> rusqlite::Result<()> {
    let Coordinator { pid, start, boot_id } = Coordinator::own();
    writer.set(Table::Runs, &[&run], &[("pid", &pid), ("pid_start", &start), ("boot_id", &boot_id)])
}
