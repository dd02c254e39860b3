//! Checksums: every row carries one over all its other columns, and every run a count of its rows, so that
//! a byte that changed, or a row that went, is noticed before anything is made of it.
//!
//! CRC-32C finds every damage of up to 32 bits in a row, and all but one in 4,000 million of the larger
//! ones. It is no signature: a forger can compute it anew.

use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ToSql, params_from_iter};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Runs,
    Nodes,
    Groups,
    Cases,
    Rounds,
    Launches,
    Samples,
    Warnings,
    Tallies,
}

use Table::{Cases, Groups, Launches, Nodes, Rounds, Runs, Samples, Tallies, Warnings};

model::named!(Table {
    Runs => "runs",
    Nodes => "nodes",
    Groups => "groups",
    Cases => "cases",
    Rounds => "rounds",
    Launches => "launches",
    Samples => "samples",
    Warnings => "warnings",
    Tallies => "tallies",
});

impl Table {
    /// The columns that tell a row from the others.
    fn key(self) -> &'static [&'static str] {
        match self {
            Runs | Cases | Launches | Warnings => &["id"],
            Nodes | Groups => &["run", "nth"],
            Rounds => &["run", "group_nth", "nth"],
            Samples => &["launch", "part"],
            Tallies => &["run"],
        }
    }

    /// What picks one row, by the first parameters of a statement.
    fn one(self) -> String {
        let terms =
            self.key().iter().enumerate().map(|(nth, name)| format!("{name} = ?{}", nth + 1));
        terms.collect::<Vec<_>>().join(" AND ")
    }
}

/// For each table the expression that is a row's checksum.
pub(super) struct Seals([String; Table::ALL.len()]);

impl Seals {
    /// As the tables are.
    pub(super) fn of(db: &Connection) -> rusqlite::Result<Seals> {
        let mut found = std::array::from_fn(|_| String::new());
        for table in Table::ALL {
            let sql = "SELECT group_concat(?1 || '.' || name, ', ' ORDER BY cid)
                 FROM pragma_table_info(?1) WHERE name <> 'seal'";
            let columns: String = db.query_row(sql, [table.name()], |row| row.get(0))?;
            found[table as usize] = format!("checksum({columns})");
        }
        Ok(Seals(found))
    }

    /// The checksum that a row of this table ought to have.
    pub(super) fn checksum(&self, table: Table) -> &str {
        &self.0[table as usize]
    }

    /// Whether a row of this table has the checksum that it ought to have.
    pub(super) fn holds(&self, table: Table) -> String {
        format!("{}.seal IS {}", table.name(), self.checksum(table))
    }
}

/// Makes `checksum(…)` known to a connection: CRC-32C over each value's type (a byte), the length of text
/// and blobs (eight bytes), and the value itself; numbers are eight bytes, all of them little-endian.
pub(super) fn define(db: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_DIRECTONLY;
    db.create_scalar_function("checksum", -1, flags, |values| {
        let mut sum = 0;
        for nth in 0..values.len() {
            let mut take = |bytes: &[u8]| sum = crc32c::crc32c_append(sum, bytes);
            match values.get_raw(nth) {
                ValueRef::Null => take(&[0]),
                ValueRef::Integer(it) => {
                    take(&[1]);
                    take(&it.to_le_bytes());
                }
                ValueRef::Real(it) => {
                    take(&[2]);
                    take(&it.to_le_bytes());
                }
                ValueRef::Text(it) => {
                    take(&[3]);
                    take(&(it.len() as u64).to_le_bytes());
                    take(it);
                }
                ValueRef::Blob(it) => {
                    take(&[4]);
                    take(&(it.len() as u64).to_le_bytes());
                    take(it);
                }
            }
        }
        Ok(i64::from(sum))
    })
}

/// A value for each of some columns.
pub(super) type Columns<'a> = &'a [(&'a str, &'a dyn ToSql)];

/// Writes rows with their checksums, inside a transaction.
pub(super) struct Writer<'a> {
    pub(super) db: &'a Connection,
    pub(super) seals: &'a Seals,
}

impl Writer<'_> {
    /// Adds a row; gives its rowid, where the table has any.
    pub(super) fn put(&self, table: Table, columns: Columns) -> rusqlite::Result<i64> {
        let names: Vec<&str> = columns.iter().map(|column| column.0).collect();
        let places: Vec<String> = (1..=columns.len()).map(|nth| format!("?{nth}")).collect();
        let sql = format!(
            "INSERT INTO {} ({}) VALUES ({})",
            table.name(),
            names.join(", "),
            places.join(", ")
        );
        let values = params_from_iter(columns.iter().map(|column| column.1));
        self.db.prepare_cached(&sql)?.execute(values)?;
        let id = self.db.last_insert_rowid();
        let value = |name: &&str| match columns.iter().find(|column| column.0 == *name) {
            Some((_, value)) => *value,
            None => &id as &dyn ToSql,
        };
        self.seal(table, &table.key().iter().map(value).collect::<Vec<_>>())?;
        Ok(id)
    }

    /// Changes columns of the row whose key is `row`.
    pub(super) fn set(
        &self,
        table: Table,
        row: &[&dyn ToSql],
        columns: Columns,
    ) -> rusqlite::Result<()> {
        let first = row.len() + 1;
        let set: Vec<String> = columns
            .iter()
            .enumerate()
            .map(|(nth, (name, _))| format!("{name} = ?{}", first + nth))
            .collect();
        // A checksum made anew over what is damaged would hide it.
        let sql = format!(
            "UPDATE {} SET {} WHERE {} AND {}",
            table.name(),
            set.join(", "),
            table.one(),
            self.seals.holds(table)
        );
        let values = row.iter().copied().chain(columns.iter().map(|column| column.1));
        match self.db.prepare_cached(&sql)?.execute(params_from_iter(values))? {
            0 => Err(rusqlite::Error::StatementChangedRows(0)),
            _ => self.seal(table, row),
        }
    }

    /// Removes rows; gives how many.
    pub(super) fn remove(
        &self,
        table: Table,
        which: &str,
        values: impl rusqlite::Params,
    ) -> rusqlite::Result<usize> {
        let sql = format!("DELETE FROM {} WHERE {which}", table.name());
        self.db.prepare_cached(&sql)?.execute(values)
    }

    /// Counts rows of a run: `more` than there were.
    pub(super) fn count(&self, run: i64, more: i64) -> rusqlite::Result<()> {
        let sql = "SELECT rows FROM tallies WHERE run = ?";
        let rows: i64 = self.db.prepare_cached(sql)?.query_row([run], |row| row.get(0))?;
        self.set(Tallies, &[&run], &[("rows", &(rows + more))])
    }

    fn seal(&self, table: Table, row: &[&dyn ToSql]) -> rusqlite::Result<()> {
        let sum = self.seals.checksum(table);
        let sql = format!("UPDATE {} SET seal = {sum} WHERE {}", table.name(), table.one());
        self.db.prepare_cached(&sql)?.execute(params_from_iter(row.iter().copied())).map(drop)
    }

    /// Adds a part of a launch's samples: at once with its checksum, for it may be large.
    pub(super) fn put_samples(
        &self,
        launch: i64,
        part: usize,
        count: usize,
        ticks: &[u8],
    ) -> rusqlite::Result<()> {
        let sql = "INSERT INTO samples (launch, part, count, ticks, seal)
             VALUES (?1, ?2, ?3, ?4, checksum(?1, ?2, ?3, ?4))";
        self.db.prepare_cached(sql)?.execute((launch, part, count, ticks)).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_is_of_types_lengths_and_values() {
        let db = Connection::open_in_memory().unwrap();
        define(&db).unwrap();
        let sum = |values: &str| -> i64 {
            db.query_row(&format!("SELECT checksum({values})"), [], |row| row.get(0)).unwrap()
        };
        let mut by_hand = vec![3, 9, 0, 0, 0, 0, 0, 0, 0];
        by_hand.extend(b"123456789");
        assert_eq!(sum("'123456789'"), i64::from(crc32c::crc32c(&by_hand)));
        assert_eq!(crc32c::crc32c(b"123456789"), 0xE306_9283);
        let all = ["", "NULL", "0", "0.0", "''", "x''", "'a','b'", "'ab',''", "'','ab'", "1", "-1"];
        let sums: std::collections::BTreeSet<i64> = all.iter().map(|text| sum(text)).collect();
        assert_eq!(sums.len(), all.len());
    }
}
