//! Reading: rows as they were stored; samples one launch at a time.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, Row, params};
use serde::de::DeserializeOwned;

use super::ticks::unpack;
use super::{Closed, RunStatus, Settle, Store, StoreError};
use crate::clock;
use crate::floor::Floors;
use crate::launch::Record;
use crate::launch::peer::PeerRecord;
use crate::observe::{Host, Probe, RoundNoise};
use crate::study::{LabRecord, Reach, Request, Total};

/// A line of `ipcmark runs`.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    /// Its number.
    pub id: i64,
    /// What the user calls it.
    pub label: Option<String>,
    /// UTC, RFC 3339.
    pub started: String,
    /// How it stands.
    pub status: RunStatus,
    /// The coordinator, to tell running from killed.
    pub pid: u32,
    /// The command line.
    pub argv: Vec<String>,
    /// Launches stored.
    pub launches: u64,
}

/// A run, without its launches.
#[derive(Clone, Debug)]
pub struct StoredRun {
    /// Its number.
    pub id: i64,
    /// What the user calls it.
    pub label: Option<String>,
    /// UTC, RFC 3339.
    pub started: String,
    /// UTC, RFC 3339; None while it runs, or if it was killed.
    pub ended: Option<String>,
    /// How it stands.
    pub status: RunStatus,
    /// Version and build that measured.
    pub tool: String,
    /// The command line.
    pub argv: Vec<String>,
    /// What was asked.
    pub request: Request,
    /// The machine.
    pub host: Host,
    /// The clock.
    pub clock: clock::Record,
    /// The host on which the responders were; None where all was on one.
    pub peer: Option<PeerRecord>,
    /// The laboratories that it made.
    pub labs: Vec<LabRecord>,
    /// The quiet before timing.
    pub settle: Settle,
    /// The bounds of the machine; None where the run ended before, or was stored before they
    /// were measured.
    pub floors: Option<Floors>,
    /// Wall time of measuring, in ns.
    pub measuring_ns: u64,
    /// Warnings.
    pub warnings: Vec<String>,
    /// The groups.
    pub groups: Vec<StoredGroup>,
    /// What the machine did during each round.
    pub rounds: Vec<RoundNoise>,
}

impl StoredRun {
    /// The cases that become results, each with its group: those at which nothing looks.
    pub fn results(&self) -> impl Iterator<Item = (&StoredGroup, &StoredCase)> {
        let cases = self.groups.iter().flat_map(|it| it.cases.iter().map(move |case| (it, case)));
        cases.filter(|(_, case)| case.observe.is_none())
    }

    /// Where the halves of its cases were, each once.
    pub fn reaches(&self) -> Vec<&Reach> {
        let mut found: Vec<&Reach> = Vec::new();
        for case in self.groups.iter().flat_map(|it| &it.cases) {
            if !found.contains(&&case.reach) {
                found.push(&case.reach);
            }
        }
        found
    }
}

/// Cases that are compared with each other.
#[derive(Clone, Debug)]
pub struct StoredGroup {
    /// Its number.
    pub nth: usize,
    /// Why it was closed; None while open.
    pub closed: Option<Closed>,
    /// Error probability spent at the looks before the last.
    pub spent: f64,
    /// Its cases.
    pub cases: Vec<StoredCase>,
}

/// A case.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredCase {
    /// Its id.
    pub id: i64,
    /// With options: `tcp:nodelay=off`.
    pub mechanism: String,
    /// `latency`, `throughput`, `connect`, `rate`.
    pub workload: String,
    /// None where the mechanism carries none.
    pub message_bytes: Option<u64>,
    /// What one transfer carries; None where no bytes are transferred.
    pub total: Option<Total>,
    /// Messages due per second; None of other workloads than a rate.
    pub rate: Option<u64>,
    /// Where its two halves are.
    pub reach: Reach,
    /// `same-cpu`, …
    pub placement: String,
    /// `process`, `thread`.
    pub workers: String,
    /// `untouched`, `written`, `read`.
    pub payload: String,
    /// Second name of another case.
    pub twin: bool,
    /// What looks on; None where the case is a result.
    pub observe: Option<Probe>,
    /// The pair of CPUs; None when free.
    pub cpus: Option<(u32, u32)>,
    /// Whether roles change CPUs between rounds.
    pub swappable: bool,
    /// `not_applicable`, `unavailable`; None if measured.
    pub absence: Option<String>,
    /// Why it isn't measured.
    pub reason: Option<String>,
    /// Operations per sample, fixed by the pilot.
    pub batch: Option<u64>,
    /// Samples per launch, fixed by the pilot.
    pub samples_per_launch: Option<u64>,
    /// The pilot's estimate of one operation, in ns.
    pub operation_ns: Option<f64>,
}

/// A launch, without its samples.
#[derive(Clone, Debug)]
pub struct StoredLaunch {
    /// Its id.
    pub id: i64,
    /// The round.
    pub round: u64,
    /// Whether the initiator had the second CPU.
    pub swapped: bool,
    /// `ok`, `failed`, …
    pub status: String,
    /// Why it isn't `ok`.
    pub reason: Option<String>,
    /// What it said of itself.
    pub record: Record,
}

const CASE_COLUMNS: &str = "id, mechanism, workload, message_bytes, placement, workers, payload, \
     twin, cpu_first, cpu_second, swappable, absence, reason, batch, samples_per_launch, \
     operation_ns, total, observe, reach, rate";

impl Store {
    /// Every run, oldest first.
    pub fn runs(&self) -> Result<Vec<RunRow>, StoreError> {
        let sql = "SELECT id, started, status, pid, argv,
                (SELECT count(*) FROM launches JOIN cases ON case_id = cases.id
                 WHERE cases.run = runs.id), label
             FROM runs ORDER BY id";
        self.rows(sql, params![], |row| {
            Ok(RunRow {
                id: row.get(0)?,
                started: row.get(1)?,
                status: word(row, 2)?,
                pid: row.get(3)?,
                argv: json(row, 4)?,
                launches: row.get(5)?,
                label: row.get(6)?,
            })
        })
    }

    pub(super) fn one(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
    ) -> Result<Option<i64>, StoreError> {
        let found = self.db.query_row(sql, values, |row| row.get::<_, Option<i64>>(0)).optional();
        found.map(Option::flatten).map_err(self.failed("read"))
    }

    /// A run, with its groups and cases.
    ///
    /// # Errors
    /// A run on many nodes has no clock of its own and is read by [`Store::fleet`].
    pub fn run(&self, id: i64) -> Result<StoredRun, StoreError> {
        let fleet = self.one("SELECT fleet IS NOT NULL FROM runs WHERE id = ?", [id])?;
        if fleet == Some(1) {
            return Err(StoreError::unusable(format!(
                "run {id} was measured on many nodes: `ipcmark report {id}` shows it"
            )));
        }
        let sql = "SELECT started, ended, status, tool, argv, request, host, clock, settle,
                measuring_ns, nullif(floors, '{}'), label, peer, labs FROM runs WHERE id = ?";
        let mut run = self
            .db
            .query_row(sql, [id], |row| {
                Ok(StoredRun {
                    id,
                    started: row.get(0)?,
                    ended: row.get(1)?,
                    status: word(row, 2)?,
                    tool: row.get(3)?,
                    argv: json(row, 4)?,
                    request: json(row, 5)?,
                    host: json(row, 6)?,
                    clock: json(row, 7)?,
                    settle: json(row, 8)?,
                    measuring_ns: row.get(9)?,
                    floors: row
                        .get_ref(10)?
                        .as_str_or_null()?
                        .map(|_| json(row, 10))
                        .transpose()?,
                    label: row.get(11)?,
                    peer: row.get_ref(12)?.as_str_or_null()?.map(|_| json(row, 12)).transpose()?,
                    labs: json(row, 13)?,
                    warnings: Vec::new(),
                    groups: Vec::new(),
                    rounds: Vec::new(),
                })
            })
            .map_err(self.failed("read"))?;
        let warnings = "SELECT text FROM warnings WHERE run = ?";
        run.warnings = self.rows(warnings, [id], |row| row.get(0))?;
        let rounds = "SELECT noise FROM rounds WHERE run = ? ORDER BY began_ns";
        run.rounds = self.rows(rounds, [id], |row| json(row, 0))?;
        run.groups = self.groups(id)?;
        Ok(run)
    }

    fn groups(&self, run: i64) -> Result<Vec<StoredGroup>, StoreError> {
        let sql = "SELECT nth, closed, spent FROM groups WHERE run = ? ORDER BY nth";
        let mut groups = self.rows(sql, [run], |row| {
            let closed: Option<String> = row.get(1)?;
            Ok(StoredGroup {
                nth: row.get(0)?,
                closed: closed.and_then(|word| serde_json::from_value(word.into()).ok()),
                spent: row.get(2)?,
                cases: Vec::new(),
            })
        })?;
        for group in &mut groups {
            let sql = format!(
                "SELECT {CASE_COLUMNS} FROM cases WHERE run = ? AND group_nth = ? ORDER BY nth"
            );
            group.cases = self.rows(&sql, params![run, group.nth], case)?;
        }
        Ok(groups)
    }

    /// The launches of a case, by round.
    pub fn launches(&self, case: i64) -> Result<Vec<StoredLaunch>, StoreError> {
        let sql = "SELECT id, round, swapped, status, reason, record FROM launches
             WHERE case_id = ? ORDER BY round";
        self.rows(sql, [case], |row| {
            Ok(StoredLaunch {
                id: row.get(0)?,
                round: row.get(1)?,
                swapped: row.get(2)?,
                status: row.get(3)?,
                reason: row.get(4)?,
                record: json(row, 5)?,
            })
        })
    }

    /// When each round, by group and number, began: ns of measuring since the run began.
    pub fn round_starts(&self, run: i64) -> Result<HashMap<(usize, u64), u64>, StoreError> {
        let sql = "SELECT group_nth, nth, began_ns FROM rounds WHERE run = ?";
        let rows = self.rows(sql, [run], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?;
        Ok(rows.into_iter().collect())
    }

    /// The last round of a group that was stored to its end.
    pub fn finished_rounds(&self, run: i64, group: usize) -> Result<u64, StoreError> {
        let sql = "SELECT max(nth) FROM rounds WHERE run = ? AND group_nth = ?";
        Ok(self.one(sql, params![run, group])?.unwrap_or(0) as u64)
    }

    /// Every sample of a launch, in ticks, in the order they were taken.
    pub fn samples(&self, launch: i64) -> Result<Vec<u64>, StoreError> {
        let sql = "SELECT count, ticks FROM samples WHERE launch = ? ORDER BY part";
        let total = "SELECT sum(count) FROM samples WHERE launch = ?";
        let total = self.one(total, [launch])?.unwrap_or(0);
        let mut samples = Vec::with_capacity(total as usize);
        let mut damaged = false;
        self.rows(sql, [launch], |row| {
            let blob = row.get_ref(1)?.as_blob()?;
            damaged |= unpack(blob, row.get(0)?, &mut samples).is_none();
            Ok(())
        })?;
        match damaged {
            false => Ok(samples),
            true => Err(StoreError::unusable(format!(
                "{}: the samples of launch {launch} are damaged; restore the file from a copy",
                self.path().display()
            ))),
        }
    }

    pub(super) fn rows<T>(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        mut each: impl FnMut(&Row) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let failed = self.failed("read");
        let mut query = self.db.prepare_cached(sql).map_err(&failed)?;
        let rows = query.query_map(values, |row| each(row)).map_err(&failed)?;
        rows.collect::<rusqlite::Result<Vec<T>>>().map_err(&failed)
    }
}

fn case(row: &Row) -> rusqlite::Result<StoredCase> {
    let cpus: (Option<u32>, Option<u32>) = (row.get(8)?, row.get(9)?);
    Ok(StoredCase {
        id: row.get(0)?,
        mechanism: row.get(1)?,
        workload: row.get(2)?,
        message_bytes: row.get(3)?,
        placement: row.get(4)?,
        workers: row.get(5)?,
        payload: row.get(6)?,
        twin: row.get(7)?,
        cpus: cpus.0.zip(cpus.1),
        swappable: row.get(10)?,
        absence: row.get(11)?,
        reason: row.get(12)?,
        batch: row.get(13)?,
        samples_per_launch: row.get(14)?,
        operation_ns: row.get(15)?,
        total: row.get::<_, Option<String>>(16)?.and_then(|it| Total::parse(&it).ok()),
        observe: row.get::<_, Option<String>>(17)?.map(|_| word(row, 17)).transpose()?,
        reach: word(row, 18)?,
        rate: row.get(19)?,
    })
}

pub(super) fn json<T: DeserializeOwned>(row: &Row, column: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(column)?.as_str()?;
    serde_json::from_slice(text.as_bytes()).map_err(|error| conversion(column, error))
}

pub(super) fn word<T: DeserializeOwned>(row: &Row, column: usize) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_value(text.into()).map_err(|error| conversion(column, error))
}

fn conversion(column: usize, error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}
