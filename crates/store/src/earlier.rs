//! What earlier runs of a store hold of the cases of a later one, without reading any sample.

use rusqlite::params;

use super::read::json;
use super::seal::Table;
use super::{Store, StoreError};
use model::host::Host;
use model::request::Request;
use model::workload::Arrivals;

/// Earlier runs that are considered.
const RUNS: u32 = 20;

pub struct RunBefore {
    pub id: i64,
    pub host: Host,
    /// How messages of its open loops arrived.
    pub arrivals: Arrivals,
}

/// What makes two cases of different runs the same one: the level of every factor, but for which CPUs a placement came
/// to.
pub type CaseKey = String;

const KEY: &str = "json_remove(levels, '$.place')";

impl Store {
    /// The runs before run `id` that are complete and were measured within one host, the latest first; at
    /// most 20. A damaged one is left out: it says nothing.
    pub fn runs_before(&self, id: i64) -> Result<Vec<RunBefore>, StoreError> {
        let sql = "SELECT id FROM runs
             WHERE id < ? AND status = 'complete' AND peer IS NULL AND fleet IS NULL
             ORDER BY id DESC LIMIT ?";
        let ids = self.rows(sql, params![id, RUNS], |row| row.get(0))?;
        let read = |id: i64| {
            self.require_all_rows(id)?;
            self.one_sealed(id, Table::Runs, "host, request", "id = ?", [id], |row| {
                let request: Request = json(row, 1)?;
                Ok(RunBefore { id, host: json(row, 0)?, arrivals: request.arrivals })
            })
        };
        Ok(ids.into_iter().filter_map(|id| read(id).ok()).collect())
    }

    /// The median of each launch of a run that became a result, in ns per operation, by case. None of what
    /// was stored without.
    pub fn launch_values(&self, run: i64) -> Result<Vec<(CaseKey, f64)>, StoreError> {
        let keys: std::collections::HashMap<i64, CaseKey> =
            self.case_keys(run)?.into_iter().collect();
        let columns = "case_id, json_extract(record, '$.initiator.median_ns')";
        let which =
            "case_id IN (SELECT id FROM cases WHERE run = ?) AND round > 0 AND status = 'ok'";
        let found = self.sealed(run, Table::Launches, columns, which, [run], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, Option<f64>>(1)?))
        })?;
        let of_case = |(case, value)| Some((keys.get(&case)?.clone(), value?));
        Ok(found.into_iter().filter_map(of_case).collect())
    }

    /// The key of each case of a run that became a result, by its id.
    pub fn case_keys(&self, run: i64) -> Result<Vec<(i64, CaseKey)>, StoreError> {
        let which = "run = ? AND NOT levels ->> 'twin' AND levels ->> 'observe' IS NULL
             AND levels ->> 'beside' IS NULL";
        self.sealed(run, Table::Cases, &format!("id, {KEY}"), which, [run], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
    }
}
