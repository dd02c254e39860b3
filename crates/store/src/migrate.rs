//! From a store of an earlier version to one of this: a step for each version, all of them or none.

use rusqlite::{Connection, Error, Transaction, TransactionBehavior};

use super::APPLICATION_ID;
use super::seal::{Seals, Table};

/// What makes a store of each version, from 1 on, one of the next: SQL, after which its tables are those of schema.sql,
/// word for word. A step more is a version more.
pub(super) const STEPS: [&str; 0] = [];

/// Goes the steps that a store lacks. What is no store, or is of no earlier version, is left as it is.
///
/// # Errors
/// A step that fails, or a row that isn't what was stored: a checksum made anew would hide it.
pub(super) fn migrate(db: &Connection, steps: &[&str]) -> rusqlite::Result<()> {
    let lacking = || -> rusqlite::Result<&[&str]> {
        let version = usize::try_from(pragma(db, "user_version")?).unwrap_or(0);
        let ours = pragma(db, "application_id")? == APPLICATION_ID && version > 0;
        Ok(if ours { steps.get(version - 1..).unwrap_or_default() } else { &[] })
    };
    if lacking()?.is_empty() {
        return Ok(());
    }
    let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
    let before = Seals::of(db)?;
    for table in Table::ALL {
        let broken =
            format!("SELECT count(*) FROM {0} WHERE NOT ({1})", table.name(), before.holds(table));
        if db.query_row(&broken, [], |row| row.get::<_, i64>(0))? > 0 {
            return Err(Error::StatementChangedRows(0));
        }
    }
    // Another process may have gone them meanwhile.
    for step in lacking()? {
        db.execute_batch(step)?;
    }
    let after = Seals::of(db)?;
    for table in Table::ALL {
        db.execute(&format!("UPDATE {} SET seal = {}", table.name(), after.checksum(table)), [])?;
    }
    db.pragma_update(None, "user_version", steps.len() as i64 + 1)?;
    transaction.commit()
}

pub(super) fn pragma(db: &Connection, name: &str) -> rusqlite::Result<i64> {
    db.pragma_query_value(None, name, |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::super::{SCHEMA_VERSION, Store, StoreError};
    use super::*;
    use std::path::Path;

    /// A run of one launch, as the first version stored it.
    const VERSION_1: &str = include_str!("version_1.sql");

    fn stored(path: &Path) -> Connection {
        let db = Connection::open(path).unwrap();
        db.execute_batch(VERSION_1).unwrap();
        super::super::seal::define(&db).unwrap();
        db
    }

    #[test]
    fn a_store_of_version_1_opens_with_every_sample() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.sqlite");
        drop(stored(&path));
        for open in [Store::reopen, Store::open_existing] {
            let store = open(&path).unwrap();
            let checked = store.check().unwrap();
            assert_eq!((checked.whole, checked.launches), (1, 1), "{:?}", checked.damaged);
            assert_eq!(store.samples(1).unwrap(), [8_007, 8_038, 8_069]);
        }
    }

    #[test]
    fn a_store_of_a_later_version_is_refused_and_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.sqlite");
        stored(&path).pragma_update(None, "user_version", SCHEMA_VERSION + 1).unwrap();
        let before = std::fs::read(&path).unwrap();
        for open in [Store::open, Store::reopen, Store::open_existing] {
            let refused: StoreError = open(&path).err().expect("a later version");
            assert!(
                refused.is_unusable() && refused.to_string().contains("newer ipcmark"),
                "{refused}"
            );
            assert_eq!(std::fs::read(&path).unwrap(), before);
        }
    }

    /// As the day after the first release.
    #[test]
    fn a_step_is_gone_once_with_its_checksums_and_not_over_damage() {
        let folder = tempfile::tempdir().unwrap();
        let steps = ["ALTER TABLE runs ADD COLUMN note TEXT", "UPDATE runs SET note = 'kept'"];
        let db = stored(&folder.path().join("whole"));
        let notes = |db: &Connection| -> String {
            let seals = Seals::of(db).unwrap();
            let sql = format!("SELECT note FROM runs WHERE {}", seals.holds(Table::Runs));
            db.query_row(&sql, [], |row| row.get(0)).unwrap()
        };
        for _ in 0..2 {
            migrate(&db, &steps).unwrap();
            assert_eq!((pragma(&db, "user_version").unwrap(), &*notes(&db)), (3, "kept"));
        }
        let columns = |db: &Connection| pragma(db, "user_version").unwrap();
        for harm in ["UPDATE launches SET position = 7", "CREATE VIEW note AS SELECT 1"] {
            let path = folder.path().join(&harm[..6]);
            let db = stored(&path);
            db.execute_batch(harm).unwrap();
            let steps = [steps[0], "CREATE TABLE note (x)"];
            assert!(migrate(&db, &steps).is_err(), "{harm}");
            assert_eq!(columns(&db), 1);
            assert!(db.prepare("SELECT note FROM runs").is_err(), "{harm}: half a step is gone");
        }
    }
}
