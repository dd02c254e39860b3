//! A run on many nodes: what was asked, the nodes, and a case for every pair of them.
//!
//! Cases, launches and samples lie where those of other runs do; node and pair are columns of a case.
//! What differs is whose ticks samples are in: those of the initiator's node, `nodes.far.clock`.

mod records;

use std::collections::HashSet;

use rusqlite::{OptionalExtension, params};

use super::read::{json as read_json, word};
use super::ticks::unpack;
use super::write::json;
use super::{RunStatus, Settle, Store, StoreError};
use crate::floor::Floors;
use crate::launch::peer::FarHost;
use crate::study::{Request, Total};

pub use records::{
    Concurrent, FleetAsked, FleetCase, FleetGroup, FleetLaunch, NewFleet, NewFleetCase,
    StoredFleet, StoredNode,
};

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
