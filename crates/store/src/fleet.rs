//! A run on many nodes: what was asked, the nodes, and a case for every pair of them.
//!
//! Cases, launches and samples lie where those of other runs do; node and pair are columns of a case.
//! What differs is whose ticks samples are in: those of the initiator's node, `nodes.far.clock`.

mod records;

use rusqlite::params;

use super::read::{given, word};
use super::seal::Table;
use super::ticks::unpack;
use super::write::json;
use super::{Store, StoreError, StoredRun};
use model::floors::Floors;
use model::peer::FarHost;

pub use records::{
    Concurrent, Ends, FleetGroup, FleetLaunch, FleetRequest, StoredFleet, StoredNode,
};

impl Store {
    /// Records what a node said of itself.
    pub fn set_node(&mut self, run: i64, nth: usize, far: &FarHost) -> Result<(), StoreError> {
        self.write(|writer| {
            let columns: super::seal::Columns = &[("far", &json(far)), ("reason", &NOTHING)];
            writer.set(Table::Nodes, &[&run, &nth], columns)
        })
    }

    /// Records the bounds of a node.
    pub fn set_node_floors(
        &mut self,
        run: i64,
        nth: usize,
        floors: &Floors,
    ) -> Result<(), StoreError> {
        self.write(|writer| writer.set(Table::Nodes, &[&run, &nth], &[("floors", &json(floors))]))
    }

    /// Records why a node takes no part any more.
    pub fn set_node_reason(&mut self, run: i64, nth: usize, why: &str) -> Result<(), StoreError> {
        self.write(|writer| writer.set(Table::Nodes, &[&run, &nth], &[("reason", &why)]))
    }

    /// Takes a node in again.
    pub fn clear_node_reason(&mut self, run: i64, nth: usize) -> Result<(), StoreError> {
        self.write(|writer| writer.set(Table::Nodes, &[&run, &nth], &[("reason", &NOTHING)]))
    }

    /// A fleet run with its nodes, without its groups and rounds, which may be many; None where the run is none.
    pub fn fleet(&self, id: i64) -> Result<Option<(StoredRun, StoredFleet)>, StoreError> {
        let mut run = self.head(id)?;
        Ok(run.fleet.take().map(|fleet| (run, fleet)))
    }

    /// The nodes of a fleet that was asked for as `asked`.
    pub(super) fn nodes(&self, id: i64, asked: FleetRequest) -> Result<StoredFleet, StoreError> {
        let columns = "name, far, floors, reason";
        let nodes =
            self.sealed(id, Table::Nodes, columns, "run = ? ORDER BY nth", [id], |row| {
                Ok(StoredNode {
                    name: row.get(0)?,
                    far: given(row, 1)?,
                    floors: given(row, 2)?,
                    reason: row.get(3)?,
                })
            })?;
        if nodes.len() != asked.nodes.len() {
            return Err(self.damaged(id, "it has other nodes than were asked for"));
        }
        Ok(StoredFleet { asked, nodes })
    }

    /// What the groups of a fleet do, in their order.
    pub fn fleet_groups(&self, run: i64) -> Result<Vec<FleetGroup>, StoreError> {
        let columns = "group_nth, levels, concurrent";
        let which = "run = ? AND nth = 0 ORDER BY group_nth";
        self.sealed(run, Table::Cases, columns, which, [run], |row| {
            let concurrent: Option<String> = row.get(2)?;
            Ok(FleetGroup {
                nth: row.get(0)?,
                case: super::read::json(row, 1)?,
                concurrent: concurrent.map(|_| word(row, 2)).transpose()?,
            })
        })
    }

    /// Goes through the launches of a group, one at a time.
    pub fn fleet_launches(
        &self,
        run: i64,
        group: usize,
        mut each: impl FnMut(FleetLaunch),
    ) -> Result<(), StoreError> {
        let sql = format!(
            "SELECT cases.nth, round, swapped, batch, status, launches.reason, launches.samples, count, ticks,
                 {} AND {} AND (samples.seal IS NULL OR {})
             FROM cases CROSS JOIN launches ON case_id = cases.id
             LEFT JOIN samples ON launch = launches.id
             WHERE cases.run = ? AND group_nth = ? ORDER BY cases.id, round, part",
            self.seals.holds(Table::Cases),
            self.seals.holds(Table::Launches),
            self.seals.holds(Table::Samples),
        );
        let mut open: Option<(FleetLaunch, usize)> = None;
        let mut whole = true;
        self.holding(run, "launches", &sql, params![run, group], |row| {
            let (nth, round) = (row.get(0)?, row.get(1)?);
            let same =
                open.as_ref().is_some_and(|(launch, _)| (launch.nth, launch.round) == (nth, round));
            if !same {
                let status: String = row.get(4)?;
                let reason: Option<String> = row.get(5)?;
                let found = match &*status {
                    "ok" => Ok(Vec::new()),
                    other => Err(reason.unwrap_or_else(|| other.to_string())),
                };
                let batch = row.get::<_, Option<u64>>(3)?.unwrap_or(1).max(1);
                let next = FleetLaunch { nth, round, swapped: row.get(2)?, batch, found };
                if let Some((done, samples)) = open.replace((next, row.get(6)?)) {
                    whole &= done.has(samples);
                    each(done);
                }
            }
            let blob = row.get_ref(8)?.as_blob_or_null()?;
            if let (Some(blob), Some((launch, _))) = (blob, &mut open)
                && let Ok(ticks) = &mut launch.found
            {
                whole &= unpack(blob, row.get(7)?, ticks).is_some();
            }
            Ok(())
        })?;
        if let Some((done, samples)) = open {
            whole &= done.has(samples);
            each(done);
        }
        if whole { Ok(()) } else { Err(self.damaged(run, "samples of its launches are damaged")) }
    }
}

const NOTHING: Option<&str> = None;

impl FleetLaunch {
    fn has(&self, samples: usize) -> bool {
        self.found.as_ref().is_ok_and(|numbers| numbers.len() == samples && samples > 0)
            || self.found.is_err()
    }
}
