//! Writing: each function is one transaction.

use model::catalogue::Catalogue;
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};
use serde::Serialize;

use super::seal::{Table, Writer};
use super::ticks::{PART, pack};
use super::{Closed, Concurrent, Ends, FleetRequest, RunStatus, Settle, Store, StoreError};
use model::case::Case;
use model::floors::Floors;
use model::host::Host;
use model::json::Json;
use model::launch::{Outcome, Record};
use model::noise::RoundNoise;
use model::peer::PeerRecord;
use model::request::{Absence, Request};
use model::route::LabRecord;

pub struct NewRun<'a> {
    /// UTC, RFC 3339.
    pub started: String,
    /// Version and build of this program.
    pub tool: &'a str,
    /// The command line.
    pub argv: &'a [String],
    pub request: &'a Request,
    pub host: &'a Host,
    /// The clock, as calibrated at the start.
    pub clock: &'a model::clock::Record,
    /// The other host, if there is one.
    pub peer: Option<&'a PeerRecord>,
    pub labs: &'a [LabRecord],
    /// What this build can measure, and what the variants of the run are.
    pub catalogue: &'a Catalogue,
    /// What was asked of many nodes; None of other runs. Its `host` is then the coordinator's, whose `clock`
    /// stamps nothing.
    pub fleet: Option<&'a FleetRequest>,
}

/// A case of a run, measured or not.
pub struct NewCase<'a> {
    pub group: usize,
    /// Position inside the group.
    pub nth: usize,
    pub case: Case,
    /// Why it isn't measured, if it isn't.
    pub absence: Option<(Absence, &'a str)>,
    /// The node that it is of, or the pair; None outside a fleet.
    pub ends: Option<Ends>,
    /// Operations per sample and samples per launch, where no pilot finds them.
    pub fixed: Option<(u64, u64)>,
}

pub struct NewLaunch {
    /// The case, by its id in the store.
    pub case: i64,
    pub round: u64,
    /// Position in the round's random order.
    pub position: usize,
    /// Whether the initiator had the second CPU of the pair.
    pub swapped: bool,
    /// Bytes added to the environment.
    pub padding: usize,
    /// Bytes by which buffers were shifted.
    pub offset: usize,
    pub record: Record,
    pub samples: Vec<u64>,
}

impl NewLaunch {
    /// Its status, and why it isn't `ok`.
    pub fn standing(&self) -> (&'static str, Option<String>) {
        match &self.record.outcome {
            Outcome::Ok => ("ok", None),
            Outcome::NotApplicable { reason } => ("not_applicable", Some(reason.clone())),
            Outcome::Unavailable(why) => {
                ("unavailable", Some(format!("{}; {}", why.reason, why.remedy)))
            }
            Outcome::Failed { reason } => ("failed", Some(reason.clone())),
        }
    }
}

/// The name that serde gives a unit-like value: `not_applicable`.
pub(super) fn word<T: Serialize>(value: &T) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|value| value.as_str().map(str::to_string))
        .unwrap_or_default()
}

pub(super) fn json(value: &impl Json) -> String {
    value.to_json()
}

impl Store {
    /// Begins a run, and claims it; gives its id.
    pub fn begin_run(&mut self, run: &NewRun) -> Result<i64, StoreError> {
        let quiet_ns = run.fleet.map_or(0, |fleet| fleet.settle_ns);
        let nodes = run.fleet.map_or(&[][..], |fleet| &fleet.nodes);
        self.write(|writer| {
            let id = writer.put(
                Table::Runs,
                &[
                    ("started", &run.started),
                    ("status", &"running"),
                    ("tool", &run.tool),
                    ("argv", &json(&run.argv.to_vec())),
                    ("request", &json(run.request)),
                    ("host", &json(run.host)),
                    ("clock", &json(run.clock)),
                    ("settle", &json(&Settle { quiet_ns, ..Settle::default() })),
                    ("peer", &run.peer.map(json)),
                    ("labs", &json(&run.labs.to_vec())),
                    ("catalogue", &json(run.catalogue)),
                    ("fleet", &run.fleet.map(json)),
                ],
            )?;
            writer.put(Table::Tallies, &[("run", &id)])?;
            for (nth, name) in nodes.iter().enumerate() {
                writer.put(Table::Nodes, &[("run", &id), ("nth", &nth), ("name", name)])?;
            }
            writer.count(id, nodes.len() as i64)?;
            self.claim_new(writer, id)?;
            Ok(id)
        })
    }

    /// Adds the cases of a run, all at once; gives their ids in order.
    pub fn add_cases<'a>(
        &mut self,
        run: i64,
        cases: impl IntoIterator<Item = NewCase<'a>>,
    ) -> Result<Vec<i64>, StoreError> {
        self.write(|writer| {
            let (mut last, mut ids) = (None, Vec::new());
            for case in cases {
                if last != Some(case.group) {
                    need_group(writer, run, case.group)?;
                    last = Some(case.group);
                }
                ids.push(insert_case(writer, run, &case)?);
            }
            writer.count(run, ids.len() as i64)?;
            Ok(ids)
        })
    }

    /// Records what the pilot fixed for a case.
    pub fn set_pilot(
        &mut self,
        case: i64,
        batch: u64,
        samples: u64,
        operation_ns: f64,
    ) -> Result<(), StoreError> {
        self.write(|writer| {
            writer.set(
                Table::Cases,
                &[&case],
                &[
                    ("batch", &batch),
                    ("samples_per_launch", &samples),
                    ("operation_ns", &operation_ns),
                ],
            )
        })
    }

    /// Records the quiet before timing.
    pub fn set_settle(&mut self, run: i64, settle: &Settle) -> Result<(), StoreError> {
        self.write(|writer| writer.set(Table::Runs, &[&run], &[("settle", &json(settle))]))
    }

    /// Records the bounds of the machine, as found at the start of a run.
    pub fn set_floors(&mut self, run: i64, floors: &Floors) -> Result<(), StoreError> {
        self.write(|writer| writer.set(Table::Runs, &[&run], &[("floors", &json(floors))]))
    }

    pub fn warn(&mut self, run: i64, text: &str) -> Result<(), StoreError> {
        self.write(|writer| {
            writer.put(Table::Warnings, &[("run", &run), ("text", &text)])?;
            writer.count(run, 1)
        })
    }

    /// Adds launches that have ended, all at once. Those of a round that is measured again replace what was
    /// stored of it.
    pub fn add_launches(&mut self, launches: &[NewLaunch]) -> Result<(), StoreError> {
        self.write(|writer| {
            for launch in launches {
                let sql = "SELECT run FROM cases WHERE id = ?";
                let mut query = writer.db.prepare_cached(sql)?;
                let run = query.query_row([launch.case], |row| row.get(0))?;
                let which = "case_id = ? AND round = ?";
                let before =
                    writer.remove(Table::Launches, which, params![launch.case, launch.round])?;
                insert_launch(writer, launch)?;
                writer.count(run, 1 - before as i64)?;
            }
            Ok(())
        })
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
        self.write(|writer| {
            let which = "run = ? AND group_nth = ? AND nth = ?";
            let before = writer.remove(Table::Rounds, which, params![run, group, round])?;
            writer.put(
                Table::Rounds,
                &[
                    ("run", &run),
                    ("group_nth", &group),
                    ("nth", &round),
                    ("began_ns", &began_ns),
                    ("noise", &json(noise)),
                ],
            )?;
            writer.count(run, 1 - before as i64)
        })
    }

    /// Records the end of a group.
    pub fn set_group(
        &mut self,
        run: i64,
        group: usize,
        closed: Option<Closed>,
    ) -> Result<(), StoreError> {
        let closed = closed.map(|closed| word(&closed));
        self.write(|writer| writer.set(Table::Groups, &[&run, &group], &[("closed", &closed)]))
    }

    /// Records the wall time of measuring so far.
    pub fn set_measuring(&mut self, run: i64, measuring_ns: u64) -> Result<(), StoreError> {
        self.write(|writer| writer.set(Table::Runs, &[&run], &[("measuring_ns", &measuring_ns)]))
    }

    /// Ends a run, or this part of it, and lets go of it.
    pub fn end_run(
        &mut self,
        run: i64,
        status: RunStatus,
        ended: &str,
        clock: &model::clock::Record,
        measuring_ns: u64,
    ) -> Result<(), StoreError> {
        self.write(|writer| {
            writer.set(
                Table::Runs,
                &[&run],
                &[
                    ("status", &word(&status)),
                    ("ended", &ended),
                    ("clock", &json(clock)),
                    ("measuring_ns", &measuring_ns),
                ],
            )
        })?;
        self.release(run);
        Ok(())
    }

    /// Takes an unfinished run up again, which is claimed.
    pub fn resume_run(&mut self, run: i64) -> Result<(), StoreError> {
        self.write(|writer| writer.set(Table::Runs, &[&run], &[("status", &"running")]))
    }

    pub(super) fn write<T>(
        &self,
        each: impl FnOnce(&Writer) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let failed = self.failed("write to");
        let transaction = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)
            .map_err(&failed)?;
        let found = each(&Writer { db: &transaction, seals: &self.seals }).map_err(&failed)?;
        transaction.commit().map_err(&failed)?;
        Ok(found)
    }
}

/// Makes the group of a case, if it isn't there.
fn need_group(writer: &Writer, run: i64, group: usize) -> rusqlite::Result<()> {
    let sql = "SELECT 1 FROM groups WHERE run = ? AND nth = ?";
    let found =
        writer.db.prepare_cached(sql)?.query_row(params![run, group], |_| Ok(())).optional()?;
    if found.is_some() {
        return Ok(());
    }
    writer.put(Table::Groups, &[("run", &run), ("nth", &group)])?;
    writer.count(run, 1)
}

fn insert_case(writer: &Writer, run: i64, new: &NewCase) -> rusqlite::Result<i64> {
    let NewCase { case, ends, fixed, .. } = new;
    writer.put(
        Table::Cases,
        &[
            ("run", &run),
            ("group_nth", &new.group),
            ("nth", &new.nth),
            ("levels", &json(case)),
            ("absence", &new.absence.map(|(absence, _)| word(&absence))),
            ("reason", &new.absence.map(|(_, reason)| reason)),
            ("near", &ends.map(|ends| ends.near)),
            ("far", &ends.and_then(|ends| ends.far)),
            ("concurrent", &ends.and_then(|ends| ends.concurrent).map(Concurrent::name)),
            ("batch", &fixed.map(|pair| pair.0)),
            ("samples_per_launch", &fixed.map(|pair| pair.1)),
        ],
    )
}

fn insert_launch(writer: &Writer, new: &NewLaunch) -> rusqlite::Result<()> {
    let (status, reason) = new.standing();
    let launch = writer.put(
        Table::Launches,
        &[
            ("case_id", &new.case),
            ("round", &new.round),
            ("position", &new.position),
            ("swapped", &new.swapped),
            ("padding", &new.padding),
            ("offset", &new.offset),
            ("status", &status),
            ("reason", &reason),
            ("record", &json(&new.record)),
            ("samples", &new.samples.len()),
        ],
    )?;
    for (part, ticks) in new.samples.chunks(PART).enumerate() {
        writer.put_samples(launch, part, ticks.len(), &pack(ticks))?;
    }
    Ok(())
}
