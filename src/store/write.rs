//! Writing: each function is one transaction.

use rusqlite::{Connection, params};
use serde::Serialize;

use super::ticks::{PART, pack};
use super::{Closed, RunStatus, Settle, Store, StoreError};
use crate::clock;
use crate::floor::Floors;
use crate::launch::peer::PeerRecord;
use crate::launch::{Outcome, Record};
use crate::observe::{Host, RoundNoise};
use crate::study::{Absence, Case, LabRecord, Request, Total};

/// A run about to be measured.
pub struct NewRun<'a> {
    /// UTC, RFC 3339.
    pub started: String,
    /// Version and build of this program.
    pub tool: &'a str,
    /// The command line.
    pub argv: &'a [String],
    /// What was asked.
    pub request: &'a Request,
    /// The machine.
    pub host: &'a Host,
    /// The clock, as calibrated at the start.
    pub clock: &'a clock::Record,
    /// The other host, if there is one.
    pub peer: Option<&'a PeerRecord>,
    /// The laboratories that it made.
    pub labs: &'a [LabRecord],
}

/// A case of a run, measured or not.
pub struct NewCase<'a> {
    /// Number of its group.
    pub group: usize,
    /// Position inside the group.
    pub nth: usize,
    /// The case.
    pub case: &'a Case,
    /// Why it isn't measured, if it isn't.
    pub absence: Option<(Absence, &'a str)>,
}

/// A launch that has ended.
pub struct NewLaunch {
    /// The case, by its id in the store.
    pub case: i64,
    /// The round.
    pub round: u64,
    /// Position in the round's random order.
    pub position: usize,
    /// Whether the initiator had the second CPU of the pair.
    pub swapped: bool,
    /// Bytes added to the environment.
    pub padding: usize,
    /// Bytes by which buffers were shifted.
    pub offset: usize,
    /// What it said of itself.
    pub record: Record,
    /// Its samples, in ticks.
    pub samples: Vec<u64>,
}

impl NewLaunch {
    /// Its status, and why it isn't `ok`.
    pub fn standing(&self) -> (&'static str, Option<String>) {
        match &self.record.outcome {
            Outcome::Ok => ("ok", None),
            Outcome::NotApplicable { reason } => ("not_applicable", Some(reason.clone())),
            Outcome::Unavailable(why) => {
                ("unavailable", Some(format!("{}; {}", why.reason, why.way_out)))
            }
            Outcome::Failed { reason } => ("failed", Some(reason.clone())),
        }
    }
}

/// The name that serde gives a unit-like value: `not_applicable`.
fn word<T: Serialize>(value: &T) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|value| value.as_str().map(str::to_string))
        .unwrap_or_default()
}

pub(super) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("records are always JSON")
}

impl Store {
    /// Begins a run; gives its id.
    pub fn begin_run(&mut self, run: &NewRun) -> Result<i64, StoreError> {
        self.db
            .execute(
                "INSERT INTO runs (started, status, pid, tool, argv, request, host, clock, settle,
                     peer, labs)
                 VALUES (?, 'running', ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                params![
                    run.started,
                    std::process::id(),
                    run.tool,
                    json(&run.argv),
                    json(run.request),
                    json(run.host),
                    json(run.clock),
                    json(&Settle::default()),
                    run.peer.map(json),
                    json(&run.labs),
                ],
            )
            .map_err(self.failed("write to"))?;
        Ok(self.db.last_insert_rowid())
    }

    /// Adds the cases of a run, all at once; gives their ids in order.
    pub fn add_cases(&mut self, run: i64, cases: &[NewCase]) -> Result<Vec<i64>, StoreError> {
        let failed = self.failed("write to");
        let transaction = self.db.transaction().map_err(&failed)?;
        let mut ids = Vec::with_capacity(cases.len());
        for case in cases {
            transaction
                .execute(
                    "INSERT OR IGNORE INTO groups (run, nth) VALUES (?, ?)",
                    params![run, case.group],
                )
                .map_err(&failed)?;
            insert_case(&transaction, run, case).map_err(&failed)?;
            ids.push(transaction.last_insert_rowid());
        }
        transaction.commit().map_err(&failed)?;
        Ok(ids)
    }

    /// Records what the pilot fixed for a case.
    pub fn set_pilot(
        &mut self,
        case: i64,
        batch: u64,
        samples: u64,
        operation_ns: f64,
    ) -> Result<(), StoreError> {
        self.update(
            "UPDATE cases SET batch = ?, samples_per_launch = ?, operation_ns = ? WHERE id = ?",
            params![batch, samples, operation_ns, case],
        )
    }

    /// Records the quiet before timing.
    pub fn set_settle(&mut self, run: i64, settle: &Settle) -> Result<(), StoreError> {
        self.update("UPDATE runs SET settle = ? WHERE id = ?", params![json(settle), run])
    }

    /// Records the bounds of the machine, as found at the start of a run.
    pub fn set_floors(&mut self, run: i64, floors: &Floors) -> Result<(), StoreError> {
        self.update("UPDATE runs SET floors = ? WHERE id = ?", params![json(floors), run])
    }

    /// Records a warning.
    pub fn warn(&mut self, run: i64, text: &str) -> Result<(), StoreError> {
        self.update("INSERT INTO warnings (run, text) VALUES (?, ?)", params![run, text])
    }

    /// Adds launches that have ended, all at once.
    pub fn add_launches(&mut self, launches: &[NewLaunch]) -> Result<(), StoreError> {
        let failed = self.failed("write to");
        let transaction = self.db.transaction().map_err(&failed)?;
        for launch in launches {
            insert_launch(&transaction, launch).map_err(&failed)?;
        }
        transaction.commit().map_err(&failed)
    }

    /// Records a round, and what the machine did during it.
    pub fn add_round(
        &mut self,
        run: i64,
        group: usize,
        round: u64,
        began_ns: u64,
        noise: &RoundNoise,
    ) -> Result<(), StoreError> {
        self.update(
            "INSERT OR REPLACE INTO rounds (run, group_nth, nth, began_ns, noise)
             VALUES (?, ?, ?, ?, ?)",
            params![run, group, round, began_ns, json(noise)],
        )
    }

    /// Records the error probability that a group has spent at its looks, and its end.
    pub fn set_group(
        &mut self,
        run: i64,
        group: usize,
        spent: f64,
        closed: Option<Closed>,
    ) -> Result<(), StoreError> {
        self.update(
            "UPDATE groups SET spent = ?, closed = ? WHERE run = ? AND nth = ?",
            params![spent, closed.map(|it| word(&it)), run, group],
        )
    }

    /// Records the wall time of measuring so far.
    pub fn set_measuring(&mut self, run: i64, measuring_ns: u64) -> Result<(), StoreError> {
        let sql = "UPDATE runs SET measuring_ns = ? WHERE id = ?";
        self.update(sql, params![measuring_ns, run])
    }

    /// Ends a run, or this part of it.
    pub fn end_run(
        &mut self,
        run: i64,
        status: RunStatus,
        ended: &str,
        clock: &clock::Record,
        measuring_ns: u64,
    ) -> Result<(), StoreError> {
        self.update(
            "UPDATE runs SET status = ?, ended = ?, clock = ?, measuring_ns = ? WHERE id = ?",
            params![word(&status), ended, json(clock), measuring_ns, run],
        )
    }

    /// Takes an unfinished run up again.
    pub fn resume_run(&mut self, run: i64) -> Result<(), StoreError> {
        self.update(
            "UPDATE runs SET status = 'running', pid = ? WHERE id = ?",
            params![std::process::id(), run],
        )
    }

    pub(super) fn update(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
    ) -> Result<(), StoreError> {
        self.db.execute(sql, values).map(drop).map_err(self.failed("write to"))
    }
}

fn insert_case(db: &Connection, run: i64, new: &NewCase) -> rusqlite::Result<()> {
    let case = new.case;
    db.execute(
        "INSERT INTO cases (run, group_nth, nth, mechanism, workload, message_bytes, placement,
             workers, payload, twin, cpu_first, cpu_second, swappable, absence, reason, total,
             observe, reach, rate)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            run,
            new.group,
            new.nth,
            case.variant.to_string(),
            case.workload.name(),
            case.message_bytes,
            case.placement.to_string(),
            case.workers.name(),
            case.payload.name(),
            case.twin,
            case.place.cpus.map(|cpus| cpus.0),
            case.place.cpus.map(|cpus| cpus.1),
            case.place.swappable,
            new.absence.map(|(absence, _)| word(&absence)),
            new.absence.map(|(_, reason)| reason),
            case.total.map(Total::stored),
            case.observe.map(|it| it.to_string()),
            case.reach.to_string(),
            case.rate,
        ],
    )?;
    Ok(())
}

pub(super) fn insert_launch(db: &Connection, new: &NewLaunch) -> rusqlite::Result<()> {
    let (status, reason) = new.standing();
    db.prepare_cached(
        "INSERT OR REPLACE INTO launches
             (case_id, round, position, swapped, padding, offset, status, reason, record)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![
        new.case,
        new.round,
        new.position,
        new.swapped,
        new.padding,
        new.offset,
        status,
        reason,
        json(&new.record),
    ])?;
    let launch = db.last_insert_rowid();
    let mut insert =
        db.prepare_cached("INSERT INTO samples (launch, part, count, ticks) VALUES (?, ?, ?, ?)")?;
    for (part, ticks) in new.samples.chunks(PART).enumerate() {
        insert.execute(params![launch, part, ticks.len(), pack(ticks)])?;
    }
    Ok(())
}
