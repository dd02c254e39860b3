//! Names of runs: a number, `last`, `last~1` for the one before it, or the label that a user gave.

use std::fmt;
use std::str::FromStr;

use super::seal::Table;
use super::{Store, StoreError};

const LONGEST: usize = 64;

/// What a user calls a run: letters, digits, `.`, `_` and `-`, so that it can't be taken for a
/// number, for `last`, or for a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label(String);

impl FromStr for Label {
    type Err = String;

    fn from_str(text: &str) -> Result<Label, String> {
        let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let why = match text {
            "" => "is empty",
            "last" => "means the newest run",
            _ if !text.chars().all(fits) => "holds other characters than letters, digits, . _ -",
            _ if text.starts_with('-') => "begins like a flag",
            _ if text.parse::<i64>().is_ok() => "would be taken for the number of a run",
            _ if text.ends_with(".json") => "would be taken for a file",
            _ if text.len() > LONGEST => "is longer than 64 characters",
            _ => return Ok(Label(text.into())),
        };
        Err(format!("label `{text}` {why}: write one such as `before`"))
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Store {
    /// The run called `name`: a number, `last`, `last~N` for the Nth before it, or a label, of
    /// several the newest.
    ///
    /// # Errors
    /// Where there is none, or the store can't be read.
    pub fn find_run(&self, name: &str) -> Result<i64, StoreError> {
        let found = match (name.parse::<i64>(), before_last(name)) {
            (Ok(id), _) => self.run_ids()?.into_iter().find(|number| *number == id),
            (_, Some(back)) => self.run_ids()?.into_iter().rev().nth(back as usize),
            _ => self.labelled(name)?,
        };
        found.ok_or_else(|| {
            StoreError::unusable(format!(
                "no run `{name}` in {}: `ipcmark runs` lists them",
                self.path().display()
            ))
        })
    }

    /// The newest run that its user called `name`; a run that is damaged may have been called so too.
    fn labelled(&self, name: &str) -> Result<Option<i64>, StoreError> {
        for id in self.run_ids()?.into_iter().rev() {
            let label = |row: &rusqlite::Row| row.get(0);
            let found: Option<String> =
                self.one_sealed(id, Table::Runs, "label", "id = ?", [id], label)?;
            if found.as_deref() == Some(name) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Gives a run a label, in place of the one it had.
    ///
    /// # Errors
    /// Where the store can't be written.
    pub fn set_label(&mut self, run: i64, label: &Label) -> Result<(), StoreError> {
        self.write(|writer| writer.set(Table::Runs, &[&run], &[("label", &label.0)]))
    }
}

/// How far before the newest run: 0 for `last`, 2 for `last~2`.
fn before_last(name: &str) -> Option<u32> {
    match name.strip_prefix("last")? {
        "" => Some(0),
        back => back.strip_prefix('~')?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::Writer;

    #[test]
    fn a_label_is_nothing_else() {
        for good in ["before", "v1.2", "3a", "last-week", "a_b", "HEAD"] {
            assert_eq!(good.parse::<Label>().unwrap().to_string(), good);
        }
        let long = "x".repeat(65);
        for bad in ["", "12", "-3", "--x", "last", "last~1", "a b", "a/b", "a.json", "é", &long] {
            let error = bad.parse::<Label>().unwrap_err();
            assert!(error.contains(bad) && error.contains("`before`"), "{error}");
        }
    }

    #[test]
    fn a_run_is_found_by_number_place_and_label() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("runs.sqlite")).unwrap();
        // Number 2 was deleted.
        for id in [1, 3, 4] {
            let insert = |writer: &Writer| {
                let texts =
                    ["started", "status", "tool", "argv", "request", "host", "clock", "settle"];
                let mut columns: Vec<(&str, &dyn rusqlite::ToSql)> = vec![("id", &id)];
                columns.extend(texts.iter().map(|text| (*text, &"" as &dyn rusqlite::ToSql)));
                writer.put(Table::Runs, &columns)?;
                writer.put(Table::Tallies, &[("run", &id)])
            };
            store.write(insert).unwrap();
        }
        for (run, label) in [(1, "before"), (3, "before"), (4, "other"), (4, "after")] {
            store.set_label(run, &label.parse().unwrap()).unwrap();
        }
        let found = |name| store.find_run(name).ok();
        assert_eq!((found("3"), found("last"), found("last~0")), (Some(3), Some(4), Some(4)));
        assert_eq!((found("last~1"), found("last~2"), found("last~3")), (Some(3), Some(1), None));
        assert_eq!((found("before"), found("after"), found("other")), (Some(3), Some(4), None));
        assert_eq!(
            (found("2"), found("last~"), found("last~-1"), found("")),
            (None, None, None, None)
        );
        let error = store.find_run("best").unwrap_err().to_string();
        assert!(error.contains("no run `best`") && error.contains("ipcmark runs"), "{error}");
    }
}
