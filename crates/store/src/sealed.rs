//! Queries whose rows must have the checksums that they ought to have, and what is said where they haven't.

use rusqlite::Row;

use super::seal::Table;
use super::{Store, StoreError, explain, is_damage, open, said};

impl Store {
    /// That a run isn't what was stored.
    pub(super) fn damaged(&self, run: i64, why: &str) -> StoreError {
        if self.unlocked.is_some() && self.unlocked != open::Stamp::of(&self.path) {
            return StoreError::other(format!(
                "read {}: somebody wrote to it meanwhile: read it again",
                self.path.display()
            ));
        }
        StoreError::damaged(format!(
            "run {run} in {} is damaged: {why}; restore the file from a copy, or choose another with \
             --store FILE (`ipcmark runs --check` tells what is whole)",
            self.path().display()
        ))
    }

    /// Why rows of a run can't be read.
    pub(super) fn unread(&self, run: i64) -> impl Fn(rusqlite::Error) -> StoreError + use<'_> {
        move |error| {
            if is_damage(&error) {
                let why = match error {
                    rusqlite::Error::QueryReturnedNoRows => "a row of it is missing".into(),
                    error => said(&error),
                };
                self.damaged(run, &why)
            } else {
                explain("read", self.path(), error)
            }
        }
    }

    pub(super) fn renew(&self) {
        if let Some(bound) = &self.bound {
            bound.renew();
        }
    }

    /// Rows of a table that belong to a run, each with the checksum that it ought to have.
    pub(super) fn sealed<T>(
        &self,
        run: i64,
        table: Table,
        columns: &str,
        which: &str,
        values: impl rusqlite::Params,
        each: impl FnMut(&Row) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let name = table.name();
        let holds = self.seals.holds(table);
        let sql = format!("SELECT {columns}, {holds} FROM {name} WHERE {which}");
        self.holding(run, name, &sql, values, each)
    }

    /// Rows of a query whose last column says whether the checksums hold.
    pub(super) fn holding<T>(
        &self,
        run: i64,
        of: &str,
        sql: &str,
        values: impl rusqlite::Params,
        mut each: impl FnMut(&Row) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        self.renew();
        let failed = self.unread(run);
        let mut query = self.db.prepare_cached(sql).map_err(&failed)?;
        let last = query.column_count() - 1;
        let mut rows = query.query(values).map_err(&failed)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(&failed)? {
            if !row.get::<_, bool>(last).map_err(&failed)? {
                return Err(
                    self.damaged(run, &format!("a row of its {of} differs from its checksum"))
                );
            }
            found.push(each(row).map_err(&failed)?);
        }
        Ok(found)
    }

    pub(super) fn one_sealed<T>(
        &self,
        run: i64,
        table: Table,
        columns: &str,
        which: &str,
        values: impl rusqlite::Params,
        each: impl FnMut(&Row) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let mut found = self.sealed(run, table, columns, which, values, each)?;
        found.pop().ok_or_else(|| self.damaged(run, "its own row is missing"))
    }

    pub(super) fn rows<T>(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        mut each: impl FnMut(&Row) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        self.renew();
        let failed = self.failed("read");
        let mut query = self.db.prepare_cached(sql).map_err(&failed)?;
        let rows = query.query_map(values, |row| each(row)).map_err(&failed)?;
        rows.collect::<rusqlite::Result<Vec<T>>>().map_err(&failed)
    }
}
