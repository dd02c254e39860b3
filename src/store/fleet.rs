//! A run on many nodes: what was asked, the nodes, and a case for every pair of them.
//!
//! Cases, launches and samples lie where those of other runs do; node and pair are columns of a case.
//! What differs is whose ticks samples are in: those of the initiator's node, `nodes.far.clock`.

use std::collections::HashSet;

use rusqlite::{OptionalExtension, params};
use serde::{Deserialize, Serialize};

use super::read::{json as read_json, word};
use super::ticks::unpack;
use super::write::json;
use super::{RunStatus, Settle, Store, StoreError};
use crate::clock;
use crate::floor::Floors;
use crate::launch::Placement;
use crate::launch::peer::FarHost;
use crate::observe::Host;
use crate::study::{Case, Request, Total};
use crate::workload::Workload;

/// How many pairs of a turn are measured at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Concurrent {
    /// One, and every other node is idle.
    One,
    /// All, so that they share what they have in common.
    All,
}

impl Concurrent {
    /// Its name in the store.
    pub fn name(self) -> &'static str {
        match self {
            Concurrent::One => "one",
            Concurrent::All => "all",
        }
    }
}

/// What was asked of many nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FleetAsked {
    /// The nodes, in their order.
    pub nodes: Vec<String>,
    /// The words of the command that starts something on a node, with `{node}` for its name.
    pub launcher: Vec<String>,
    /// Where this program lies on every node.
    pub program: String,
    /// Variants that are measured on every node by itself.
    pub local: Vec<String>,
    /// Variants that are measured between all pairs.
    pub between: Vec<String>,
    /// Workloads and message sizes.
    pub workloads: Vec<(Workload, Vec<u64>)>,
    /// Where the workers of local cases run.
    pub placements: Vec<Placement>,
    /// Tournaments.
    pub rounds: u64,
    /// Levels of how many pairs are measured at a time.
    pub concurrent: Vec<Concurrent>,
    /// Samples per launch; None lets a pilot choose.
    pub samples: Option<u64>,
    /// Quiet between set-up and timing, in ns.
    pub settle_ns: u64,
    /// The network whose addresses are used, as in 10.1.0.0/16; None takes the first that both have.
    pub network: Option<String>,
    /// Whether bounds of the nodes are measured first.
    pub floors: bool,
    /// Nothing was measured: every answer is a stub's.
    #[serde(default)]
    pub simulated: bool,
    /// Seed of every random choice.
    pub seed: u64,
}

/// A fleet run about to be measured.
pub struct NewFleet<'a> {
    /// UTC, RFC 3339.
    pub started: String,
    /// Version and build of this program.
    pub tool: &'a str,
    /// The command line.
    pub argv: &'a [String],
    /// What was asked.
    pub asked: &'a FleetAsked,
    /// The machine of the coordinator.
    pub host: &'a Host,
    /// Its clock, which stamps nothing.
    pub clock: &'a clock::Record,
}

/// A case of one node, or of one pair.
pub struct NewFleetCase<'a> {
    /// Number of its group: what is done.
    pub group: usize,
    /// Which of its group it is.
    pub nth: usize,
    /// What is done.
    pub case: &'a Case,
    /// The node, or the first of the pair.
    pub near: usize,
    /// The second of the pair.
    pub far: Option<usize>,
    /// How many pairs at a time; None of local cases.
    pub concurrent: Option<Concurrent>,
    /// Operations per sample and samples per launch, where no pilot finds them.
    pub fixed: Option<(u64, u64)>,
}

/// A fleet run, without its launches.
#[derive(Clone, Debug)]
pub struct StoredFleet {
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
    /// The coordinator, to tell running from killed.
    pub pid: u32,
    /// Version that measured.
    pub tool: String,
    /// The command line.
    pub argv: Vec<String>,
    /// What was asked.
    pub asked: FleetAsked,
    /// Wall time of measuring, in ns.
    pub measuring_ns: u64,
    /// Warnings.
    pub warnings: Vec<String>,
    /// The nodes.
    pub nodes: Vec<StoredNode>,
}

/// A node of a fleet.
#[derive(Clone, Debug)]
pub struct StoredNode {
    /// As it was named.
    pub name: String,
    /// What it is; None where it never answered.
    pub far: Option<FarHost>,
    /// Its bounds, where they were measured.
    pub floors: Option<Floors>,
    /// Why it takes no part (any more).
    pub reason: Option<String>,
}

/// A case of a fleet as it is stored.
#[derive(Clone, Debug)]
pub struct FleetCase {
    /// Its id.
    pub id: i64,
    /// Number of its group.
    pub group: usize,
    /// Which of its group it is.
    pub nth: usize,
    /// The node, or the first of the pair.
    pub near: usize,
    /// The second of the pair.
    pub far: Option<usize>,
    /// Operations per sample, once a pilot found them.
    pub batch: Option<u64>,
    /// Samples per launch.
    pub samples: Option<u64>,
    /// The pilot's estimate, in ns.
    pub operation_ns: Option<f64>,
}

/// What all cases of a group do.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetGroup {
    /// Its number.
    pub nth: usize,
    /// With options: `tcp:nodelay=off`.
    pub mechanism: String,
    /// `latency`, `throughput`.
    pub workload: String,
    /// None where the mechanism carries none.
    pub message_bytes: Option<u64>,
    /// `free`, `same-cpu`.
    pub placement: String,
    /// How many pairs at a time; None of local cases.
    pub concurrent: Option<Concurrent>,
}

/// A launch in one row; its samples are gone through, and not kept.
#[derive(Clone, Debug)]
pub struct FleetLaunch {
    /// Which case of the group.
    pub nth: usize,
    /// The round; 0 is the pilot's.
    pub round: u64,
    /// Whether the second node of the pair was the initiator.
    pub swapped: bool,
    /// Operations per sample.
    pub batch: u64,
    /// Its samples, in ticks; or why there are none.
    pub found: Result<Vec<u64>, String>,
}

impl Store {
    /// Begins a fleet run; gives its id.
    pub fn begin_fleet(&mut self, new: &NewFleet) -> Result<i64, StoreError> {
        let failed = self.failed("write to");
        let request = Request { seed: new.asked.seed, ..Request::default() };
        let transaction = self.db.transaction().map_err(&failed)?;
        transaction
            .execute(
                "INSERT INTO runs (started, status, pid, tool, argv, request, host, clock, settle, fleet)
                 VALUES (?, 'running', ?, ?, ?, ?, ?, ?, ?, ?)",
                params![
                    new.started,
                    std::process::id(),
                    new.tool,
                    json(&new.argv),
                    json(&request),
                    json(new.host),
                    json(new.clock),
                    json(&Settle::default()),
                    json(new.asked),
                ],
            )
            .map_err(&failed)?;
        let run = transaction.last_insert_rowid();
        for (nth, name) in new.asked.nodes.iter().enumerate() {
            let sql = "INSERT INTO nodes (run, nth, name) VALUES (?, ?, ?)";
            transaction.execute(sql, params![run, nth, name]).map_err(&failed)?;
        }
        transaction.commit().map_err(&failed)?;
        Ok(run)
    }

    /// Adds cases of a fleet, all at once.
    pub fn add_fleet_cases<'a>(
        &mut self,
        run: i64,
        cases: impl Iterator<Item = NewFleetCase<'a>>,
    ) -> Result<(), StoreError> {
        let failed = self.failed("write to");
        let transaction = self.db.transaction().map_err(&failed)?;
        let mut last = None;
        for new in cases {
            if last != Some(new.group) {
                let sql = "INSERT OR IGNORE INTO groups (run, nth) VALUES (?, ?)";
                transaction.execute(sql, params![run, new.group]).map_err(&failed)?;
                last = Some(new.group);
            }
            let case = new.case;
            transaction
                .prepare_cached(
                    "INSERT INTO cases (run, group_nth, nth, mechanism, workload, message_bytes,
                         placement, workers, payload, twin, cpu_first, cpu_second, swappable, total,
                         near, far, concurrent, batch, samples_per_launch)
                     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                )
                .and_then(|mut it| {
                    it.execute(params![
                        run,
                        new.group,
                        new.nth,
                        case.variant.to_string(),
                        case.workload.name(),
                        case.message_bytes,
                        case.placement.to_string(),
                        case.workers.name(),
                        case.payload.name(),
                        case.place.cpus.map(|it| it.0),
                        case.place.cpus.map(|it| it.1),
                        new.far.is_some(),
                        case.total.map(Total::stored),
                        new.near,
                        new.far,
                        new.concurrent.map(Concurrent::name),
                        new.fixed.map(|it| it.0),
                        new.fixed.map(|it| it.1),
                    ])
                })
                .map_err(&failed)?;
        }
        transaction.commit().map_err(&failed)
    }

    /// Records what a node said of itself.
    pub fn set_node(&mut self, run: i64, nth: usize, far: &FarHost) -> Result<(), StoreError> {
        self.update(
            "UPDATE nodes SET far = ?, reason = NULL WHERE run = ? AND nth = ?",
            params![json(far), run, nth],
        )
    }

    /// Records the bounds of a node.
    pub fn set_node_floors(
        &mut self,
        run: i64,
        nth: usize,
        floors: &Floors,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE nodes SET floors = ? WHERE run = ? AND nth = ?";
        self.update(sql, params![json(floors), run, nth])
    }

    /// Records why a node takes no part any more.
    pub fn set_node_reason(&mut self, run: i64, nth: usize, why: &str) -> Result<(), StoreError> {
        let sql = "UPDATE nodes SET reason = ? WHERE run = ? AND nth = ?";
        self.update(sql, params![why, run, nth])
    }

    /// Takes a node in again.
    pub fn clear_node_reason(&mut self, run: i64, nth: usize) -> Result<(), StoreError> {
        self.update("UPDATE nodes SET reason = NULL WHERE run = ? AND nth = ?", params![run, nth])
    }

    /// Ends a fleet run, or this part of it.
    pub fn end_fleet(
        &mut self,
        run: i64,
        status: RunStatus,
        ended: &str,
        measuring_ns: u64,
    ) -> Result<(), StoreError> {
        let status = serde_json::to_value(status).ok();
        let status = status.and_then(|it| it.as_str().map(str::to_string));
        self.update(
            "UPDATE runs SET status = ?, ended = ?, measuring_ns = ? WHERE id = ?",
            params![status, ended, measuring_ns, run],
        )
    }

    /// Whether a run was measured on many nodes.
    pub fn is_fleet(&self, id: i64) -> Result<bool, StoreError> {
        let sql = "SELECT fleet IS NOT NULL FROM runs WHERE id = ?";
        Ok(self.one(sql, [id])? == Some(1))
    }

    /// A fleet run with its nodes; None where the run is none.
    pub fn fleet(&self, id: i64) -> Result<Option<StoredFleet>, StoreError> {
        let sql =
            "SELECT started, ended, status, pid, tool, argv, fleet, measuring_ns, label FROM runs
             WHERE id = ? AND fleet IS NOT NULL";
        let found = self
            .db
            .query_row(sql, [id], |row| {
                Ok(StoredFleet {
                    id,
                    started: row.get(0)?,
                    ended: row.get(1)?,
                    status: word(row, 2)?,
                    pid: row.get(3)?,
                    tool: row.get(4)?,
                    argv: read_json(row, 5)?,
                    asked: read_json(row, 6)?,
                    measuring_ns: row.get(7)?,
                    label: row.get(8)?,
                    warnings: Vec::new(),
                    nodes: Vec::new(),
                })
            })
            .optional();
        let Some(mut fleet) = found.map_err(self.failed("read"))? else { return Ok(None) };
        fleet.warnings =
            self.rows("SELECT text FROM warnings WHERE run = ?", [id], |row| row.get(0))?;
        let nodes = "SELECT name, far, floors, reason FROM nodes WHERE run = ? ORDER BY nth";
        fleet.nodes = self.rows(nodes, [id], |row| {
            let given =
                |column| row.get_ref(column).is_ok_and(|it| it != rusqlite::types::ValueRef::Null);
            Ok(StoredNode {
                name: row.get(0)?,
                far: given(1).then(|| read_json(row, 1)).transpose()?,
                floors: given(2).then(|| read_json(row, 2)).transpose()?,
                reason: row.get(3)?,
            })
        })?;
        Ok(Some(fleet))
    }

    /// What the groups of a fleet do, in their order.
    pub fn fleet_groups(&self, run: i64) -> Result<Vec<FleetGroup>, StoreError> {
        let sql = "SELECT group_nth, mechanism, workload, message_bytes, placement, concurrent
             FROM cases WHERE run = ? AND nth = 0 ORDER BY group_nth";
        self.rows(sql, [run], |row| {
            let concurrent: Option<String> = row.get(5)?;
            Ok(FleetGroup {
                nth: row.get(0)?,
                mechanism: row.get(1)?,
                workload: row.get(2)?,
                message_bytes: row.get(3)?,
                placement: row.get(4)?,
                concurrent: concurrent.map(|_| word(row, 5)).transpose()?,
            })
        })
    }

    /// Every case of a fleet, group by group.
    pub fn fleet_cases(&self, run: i64) -> Result<Vec<FleetCase>, StoreError> {
        let sql = "SELECT id, group_nth, nth, near, far, batch, samples_per_launch, operation_ns
             FROM cases WHERE run = ? AND near IS NOT NULL ORDER BY group_nth, nth";
        self.rows(sql, [run], |row| {
            Ok(FleetCase {
                id: row.get(0)?,
                group: row.get(1)?,
                nth: row.get(2)?,
                near: row.get(3)?,
                far: row.get(4)?,
                batch: row.get(5)?,
                samples: row.get(6)?,
                operation_ns: row.get(7)?,
            })
        })
    }

    /// Launches of a fleet that are stored already: case and round.
    pub fn fleet_done(&self, run: i64) -> Result<HashSet<(i64, u64)>, StoreError> {
        let sql = "SELECT case_id, round FROM launches JOIN cases ON case_id = cases.id
             WHERE cases.run = ?";
        let rows = self.rows(sql, [run], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.into_iter().collect())
    }

    /// Goes through the launches of a group, one at a time.
    pub fn fleet_launches(
        &self,
        run: i64,
        group: usize,
        mut each: impl FnMut(FleetLaunch),
    ) -> Result<(), StoreError> {
        let sql = "SELECT cases.nth, round, swapped, batch, status, launches.reason, count, ticks
             FROM cases CROSS JOIN launches ON case_id = cases.id
             LEFT JOIN samples ON launch = launches.id
             WHERE cases.run = ? AND group_nth = ? ORDER BY cases.id, round, part";
        let mut open: Option<FleetLaunch> = None;
        self.rows(sql, params![run, group], |row| {
            let (nth, round) = (row.get(0)?, row.get(1)?);
            let same = open.as_ref().is_some_and(|it| (it.nth, it.round) == (nth, round));
            if !same {
                let status: String = row.get(4)?;
                let reason: Option<String> = row.get(5)?;
                let found = match &*status {
                    "ok" => Ok(Vec::new()),
                    other => Err(reason.unwrap_or_else(|| other.to_string())),
                };
                let batch = row.get::<_, Option<u64>>(3)?.unwrap_or(1);
                let next = FleetLaunch { nth, round, swapped: row.get(2)?, batch, found };
                if let Some(done) = open.replace(next) {
                    each(done);
                }
            }
            let blob = row.get_ref(7)?.as_blob_or_null()?;
            if let (Some(blob), Some(launch)) = (blob, &mut open)
                && let Ok(ticks) = &mut launch.found
                && unpack(blob, row.get(6)?, ticks).is_none()
            {
                launch.found = Err("its samples are damaged in the store".into());
            }
            Ok(())
        })?;
        open.into_iter().for_each(each);
        Ok(())
    }
}
