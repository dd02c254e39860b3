//! Reading: rows as they were stored, or why they can't be; samples one launch at a time.

use std::collections::HashMap;
use std::num::NonZeroU64;

use rusqlite::{Row, params};
use serde::de::DeserializeOwned;

use super::seal::Table;
use super::ticks::{most_unpacked, unpack};
use super::{
    Ends, MadeLaunch, RunRow, RunStatus, Store, StoreError, StoredCase, StoredGroup, StoredLaunch,
    StoredRound, StoredRun,
};
use model::bound::RoundBound;
use model::json::Json;
use model::launch::MOST_SAMPLES;
use model::noise::RoundNoise;

const CASE_COLUMNS: &str =
    "id, levels, near, far, concurrent, absence, reason, batch, samples_per_launch, operation_ns";

impl Store {
    /// The number of every run, oldest first; also of those of which only other tables tell.
    pub fn run_ids(&self) -> Result<Vec<i64>, StoreError> {
        let sql = "SELECT id FROM runs UNION SELECT run FROM tallies UNION SELECT run FROM cases \
            UNION SELECT run FROM nodes ORDER BY 1";
        self.rows(sql, [], |row| row.get(0))
    }

    /// The line of `ipcmark runs` for a run.
    ///
    /// # Errors
    /// Where it is damaged, which says nothing about the others.
    pub fn run_row(&self, id: i64) -> Result<RunRow, StoreError> {
        self.require_all_rows(id)?;
        let columns = "started, status, argv, label";
        let mut row = self.one_sealed(id, Table::Runs, columns, "id = ?", [id], |row| {
            Ok(RunRow {
                id,
                started: row.get(0)?,
                status: word(row, 1)?,
                argv: json(row, 2)?,
                label: row.get(3)?,
                is_claimed: None,
                launches: 0,
            })
        })?;
        if row.status == RunStatus::Running {
            row.is_claimed = self.is_claimed(id);
        }
        let sql = "SELECT count(*) FROM cases JOIN launches ON case_id = cases.id WHERE run = ?";
        row.launches = self.db.query_row(sql, [id], |row| row.get(0)).map_err(self.unread(id))?;
        Ok(row)
    }

    /// A run, with its groups and cases.
    pub fn run(&self, id: i64) -> Result<StoredRun, StoreError> {
        let mut run = self.head(id)?;
        run.rounds = self.rounds(id)?;
        run.groups = self.groups(id)?;
        let nodes = run.fleet.as_ref().map_or(0, |fleet| fleet.nodes.len());
        let is_there = |ends: &Ends| ends.near < nodes && ends.far.is_none_or(|far| far < nodes);
        let mut cases = run.groups.iter().flat_map(|group| &group.cases);
        if !cases.all(|case| case.ends.as_ref().is_none_or(is_there)) {
            return Err(self.damaged(id, "a case is of a node that it hasn't"));
        }
        Ok(run)
    }

    /// A run without its groups and rounds.
    pub(super) fn head(&self, id: i64) -> Result<StoredRun, StoreError> {
        self.require_all_rows(id)?;
        let columns = "started, ended, status, tool, argv, request, host, clock, settle,
             measuring_ns, nullif(floors, '{}'), label, peer, labs, nullif(catalogue, '{}'), fleet";
        let mut asked = None;
        let mut run = self.one_sealed(id, Table::Runs, columns, "id = ?", [id], |row| {
            asked = given(row, 15)?;
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
                floors: given(row, 10)?,
                label: row.get(11)?,
                peer: given(row, 12)?,
                fleet: None,
                labs: json(row, 13)?,
                // Earlier builds kept none with a fleet.
                catalogue: given(row, 14)?.unwrap_or_default(),
                warnings: Vec::new(),
                groups: Vec::new(),
                rounds: Vec::new(),
            })
        })?;
        if let Some(asked) = asked {
            let fleet = self.nodes(id, asked)?;
            // Earlier builds kept neither with a fleet.
            run.request = fleet.asked.request();
            run.settle.quiet_ns = fleet.asked.settle_ns;
            run.fleet = Some(fleet);
        }
        let nodes =
            run.fleet.iter().flat_map(|fleet| &fleet.nodes).filter_map(|node| node.far.as_ref());
        for clock in nodes.map(|node| &node.clock).chain([&run.clock]) {
            if !(clock.ns_per_tick.is_finite() && clock.ns_per_tick > 0.0) {
                return Err(self.damaged(id, "its clock has no scale"));
            }
        }
        run.warnings = self.warnings(id)?;
        Ok(run)
    }

    /// The rounds of a run, in the order in which they were measured.
    pub fn rounds(&self, run: i64) -> Result<Vec<StoredRound>, StoreError> {
        let (columns, which) = ("group_nth, nth, noise", "run = ? ORDER BY began_ns");
        self.sealed(run, Table::Rounds, columns, which, [run], |row| {
            Ok(StoredRound { group: row.get(0)?, nth: from_1(row, 1)?, noise: json(row, 2)? })
        })
    }

    pub(super) fn warnings(&self, run: i64) -> Result<Vec<String>, StoreError> {
        let which = "run = ? ORDER BY id";
        self.sealed(run, Table::Warnings, "text", which, [run], |row| row.get(0))
    }

    fn groups(&self, run: i64) -> Result<Vec<StoredGroup>, StoreError> {
        let (columns, which) = ("nth, closed", "run = ? ORDER BY nth");
        let mut groups = self.sealed(run, Table::Groups, columns, which, [run], |row| {
            let closed: Option<String> = row.get(1)?;
            Ok(StoredGroup {
                nth: row.get(0)?,
                closed: closed.map(|_| word(row, 1)).transpose()?,
                cases: Vec::new(),
            })
        })?;
        for group in &mut groups {
            let which = "run = ? AND group_nth = ? ORDER BY nth";
            let values = params![run, group.nth];
            group.cases = self.sealed(run, Table::Cases, CASE_COLUMNS, which, values, case)?;
        }
        let cases: usize = groups.iter().map(|group| group.cases.len()).sum();
        let sql = "SELECT count(*) FROM cases WHERE run = ?";
        let stored: usize =
            self.db.query_row(sql, [run], |row| row.get(0)).map_err(self.unread(run))?;
        if cases != stored {
            return Err(self.damaged(run, "a case belongs to no group"));
        }
        Ok(groups)
    }

    /// The launches of a case, by round.
    pub fn launches(&self, case: i64) -> Result<Vec<StoredLaunch>, StoreError> {
        let run = self.run_of("SELECT run FROM cases WHERE id = ?", case)?;
        let (columns, which) = (
            "id, round, swapped, status, reason, record, case_id, samples",
            "case_id = ? ORDER BY round",
        );
        let rows = self.sealed(run, Table::Launches, columns, which, [case], |row| {
            let launch = StoredLaunch {
                id: row.get(0)?,
                round: row.get(1)?,
                swapped: row.get(2)?,
                status: row.get(3)?,
                reason: row.get(4)?,
                record: json(row, 5)?,
            };
            let (of, samples): (i64, u64) = (row.get(6)?, row.get(7)?);
            Ok((launch, of, samples))
        })?;
        // A round is one of those that are stored; there can't be more of them than rows.
        let rounds: u64 = self
            .db
            .query_row("SELECT rows FROM tallies WHERE run = ?", [run], |row| row.get(0))
            .map_err(self.unread(run))?;
        let mut last = None;
        for (launch, of, samples) in &rows {
            if *of != case || last >= Some(launch.round) || launch.round > rounds {
                return Err(
                    self.damaged(run, &format!("launch {} has a place of its own", launch.id))
                );
            }
            if launch.status == "ok" && *samples == 0 {
                return Err(
                    self.damaged(run, &format!("the samples of launch {} are missing", launch.id))
                );
            }
            last = Some(launch.round);
        }
        Ok(rows.into_iter().map(|row| row.0).collect())
    }

    /// The launches of a run that were made, by case, in the order of their rounds.
    pub fn made_launches(&self, run: i64) -> Result<HashMap<i64, Vec<MadeLaunch>>, StoreError> {
        let sql = format!(
            "SELECT case_id, round, launches.status = 'ok',
                 iif(json_valid(record), json_extract(record, '$.initiator.median_ns'), NULL), {}
             FROM launches JOIN cases ON case_id = cases.id WHERE cases.run = ? ORDER BY round",
            self.seals.holds(Table::Launches)
        );
        let mut made: HashMap<i64, Vec<MadeLaunch>> = HashMap::new();
        self.holding(run, "launches", &sql, [run], |row| {
            let worked = row.get(2)?;
            let median_ns = row.get::<_, Option<f64>>(3)?.filter(|_| worked);
            let launch = MadeLaunch { round: row.get(1)?, worked, median_ns };
            made.entry(row.get(0)?).or_default().push(launch);
            Ok(())
        })?;
        Ok(made)
    }

    /// What each round of a group measured beside its launches, by its number.
    pub fn round_bounds(
        &self,
        run: i64,
        group: usize,
    ) -> Result<Vec<(u64, Vec<RoundBound>)>, StoreError> {
        let which = "run = ? AND group_nth = ? ORDER BY nth";
        let values = params![run, group];
        self.sealed(run, Table::Rounds, "nth, noise", which, values, |row| {
            Ok((from_1(row, 0)?, json::<RoundNoise>(row, 1)?.bounds))
        })
    }

    /// The last round of a group that was stored to its end.
    pub fn finished_rounds(&self, run: i64, group: usize) -> Result<u64, StoreError> {
        let sql = "SELECT max(nth) FROM rounds WHERE run = ? AND group_nth = ?";
        let found = self.rows(sql, params![run, group], |row| row.get::<_, Option<u64>>(0))?;
        Ok(found.into_iter().flatten().next().unwrap_or(0))
    }

    /// Every sample of a launch, in ticks, in the order they were taken.
    pub fn samples(&self, launch: i64) -> Result<Vec<u64>, StoreError> {
        let of = "SELECT run FROM launches JOIN cases ON case_id = cases.id WHERE launches.id = ?";
        let run = self.run_of(of, launch)?;
        let damaged = || self.damaged(run, &format!("the samples of launch {launch} are damaged"));
        let total = "SELECT samples, (SELECT sum(length(ticks)) FROM samples WHERE launch = ?1)
             FROM launches WHERE id = ?1";
        let (total, packed): (usize, Option<usize>) = self
            .db
            .query_row(total, [launch], |row| Ok((row.get(0)?, row.get(1)?)))
            .map_err(self.unread(run))?;
        if total > most_unpacked(packed.unwrap_or(0)) {
            return Err(damaged());
        }
        let mut samples = Vec::with_capacity(total);
        let (columns, which) = ("part, count, ticks", "launch = ? ORDER BY part");
        let mut parts = 0;
        let mut whole = true;
        let read = self.sealed(run, Table::Samples, columns, which, [launch], |row| {
            let blob = row.get_ref(2)?.as_blob()?;
            whole &= row.get::<_, u64>(0)? == parts;
            whole = whole && unpack(blob, row.get(1)?, &mut samples).is_some();
            parts += 1;
            Ok(())
        });
        read.map_err(|error| if error.is_damage() { damaged() } else { error })?;
        // Their sum is the time that was timed.
        let timed = samples.iter().try_fold(0_u64, |sum, sample| sum.checked_add(*sample));
        if whole && samples.len() == total && timed.is_some() {
            Ok(samples)
        } else {
            Err(damaged())
        }
    }

    /// That a run has as many rows as it ought to have.
    pub(super) fn require_all_rows(&self, run: i64) -> Result<(), StoreError> {
        let sql = format!(
            "SELECT {}, rows = (SELECT count(*) FROM nodes WHERE run = ?1)
                 + (SELECT count(*) FROM groups WHERE run = ?1)
                 + (SELECT count(*) FROM cases WHERE run = ?1)
                 + (SELECT count(*) FROM rounds WHERE run = ?1)
                 + (SELECT count(*) FROM warnings WHERE run = ?1)
                 + (SELECT count(*) FROM cases JOIN launches ON case_id = cases.id WHERE run = ?1),
                 EXISTS (SELECT 1 FROM runs WHERE id = ?1)
             FROM tallies WHERE run = ?1",
            self.seals.holds(Table::Tallies)
        );
        self.renew();
        let found: rusqlite::Result<(bool, bool, bool)> =
            self.db.prepare_cached(&sql).and_then(|mut statement| {
                statement.query_row([run], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            });
        match found.map_err(self.unread(run))? {
            (true, true, true) => Ok(()),
            (_, _, false) => Err(self.damaged(run, "its own row is missing")),
            (false, ..) => {
                Err(self.damaged(run, "the count of its rows differs from its checksum"))
            }
            _ => Err(self.damaged(run, "rows of it are missing")),
        }
    }

    fn run_of(&self, sql: &str, id: i64) -> Result<i64, StoreError> {
        self.renew();
        let found = self
            .db
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row([id], |row| row.get(0)));
        found.map_err(self.failed("read"))
    }
}

/// Operations per sample and samples per launch: no more than a launch takes.
fn sizes(row: &Row, column: usize) -> rusqlite::Result<(Option<u64>, Option<u64>)> {
    let (batch, samples): (Option<u64>, Option<u64>) = (row.get(column)?, row.get(column + 1)?);
    let fits = samples.unwrap_or(0) <= MOST_SAMPLES
        && batch.unwrap_or(0).checked_mul(samples.unwrap_or(0)).is_some();
    if fits {
        Ok((batch, samples))
    } else {
        Err(rusqlite::Error::IntegralValueOutOfRange(column, row.get(column)?))
    }
}

fn case(row: &Row) -> rusqlite::Result<StoredCase> {
    let (batch, samples_per_launch) = sizes(row, 7)?;
    Ok(StoredCase {
        id: row.get(0)?,
        case: json(row, 1)?,
        ends: row.get::<_, Option<usize>>(2)?.map(|_| ends(row, 2)).transpose()?,
        absence: row.get::<_, Option<String>>(5)?.map(|_| word(row, 5)).transpose()?,
        reason: row.get(6)?,
        batch,
        samples_per_launch,
        operation_ns: row.get(9)?,
    })
}

/// The number of a stored round: they count from 1.
fn from_1(row: &Row, column: usize) -> rusqlite::Result<u64> {
    row.get(column).map(NonZeroU64::get)
}

/// The node, or the two nodes, that a case is of.
fn ends(row: &Row, column: usize) -> rusqlite::Result<Ends> {
    let concurrent: Option<String> = row.get(column + 2)?;
    Ok(Ends {
        near: row.get(column)?,
        far: row.get(column + 1)?,
        concurrent: concurrent.map(|_| word(row, column + 2)).transpose()?,
    })
}

/// JSON where there is any.
pub(super) fn given<T: Json>(row: &Row, column: usize) -> rusqlite::Result<Option<T>> {
    row.get_ref(column)?.as_str_or_null()?.map(|_| json(row, column)).transpose()
}

pub(super) fn json<T: Json>(row: &Row, column: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(column)?.as_str()?;
    T::from_json(text.as_bytes()).map_err(|error| conversion(column, error))
}

pub(super) fn word<T: DeserializeOwned>(row: &Row, column: usize) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_value(text.into()).map_err(|error| conversion(column, error))
}

fn conversion(column: usize, error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}
