//! `ipcmark runs --check`: whether everything is there, and is what was stored.

use super::{Store, StoreError};

/// Lines that the file's own check may say.
const LINES: usize = 3;

pub struct Checked {
    /// What is wrong with the file as SQLite reads it, whichever run that concerns.
    pub file: Vec<String>,
    /// The runs that are damaged, each with a line.
    pub damaged: Vec<(i64, String)>,
    pub whole: u64,
    pub launches: u64,
}

impl Store {
    /// Reads everything, and compares it with its checksums.
    ///
    /// # Errors
    /// Where something else than damage came in the way.
    pub fn check(&self) -> Result<Checked, StoreError> {
        let pages = format!("PRAGMA integrity_check({LINES})");
        let mut file: Vec<String> = match self.rows(&pages, [], |row| row.get(0)) {
            Err(error) if error.is_damage() => vec![error.to_string()],
            found => found?,
        };
        file.retain(|line| line != "ok");
        let orphans = "SELECT \"table\", count(*) FROM pragma_foreign_key_check GROUP BY 1";
        let orphans = self.rows(orphans, [], |row| {
            Ok(format!(
                "{} rows of {} belong to nothing",
                row.get::<_, i64>(1)?,
                row.get::<_, String>(0)?
            ))
        });
        match orphans {
            Err(error) if error.is_damage() => file.push(error.to_string()),
            found => file.extend(found?),
        }
        let mut checked = Checked { file, damaged: Vec::new(), whole: 0, launches: 0 };
        for run in self.run_ids()? {
            match self.check_run(run) {
                Ok(launches) => {
                    checked.whole += 1;
                    checked.launches += launches;
                }
                Err(error) if error.is_damage() => checked.damaged.push((run, error.to_string())),
                Err(error) => return Err(error),
            }
        }
        Ok(checked)
    }

    /// Reads a run to its last sample; gives its launches.
    fn check_run(&self, run: i64) -> Result<u64, StoreError> {
        let launches = self.run_row(run)?.launches;
        let stored = self.run(run)?;
        if stored.fleet.is_some() {
            for group in self.fleet_groups(run)? {
                self.fleet_launches(run, group.nth, drop)?;
            }
            return Ok(launches);
        }
        for case in stored.groups.iter().flat_map(|group| &group.cases) {
            for launch in self.launches(case.id)? {
                self.samples(launch.id)?;
            }
        }
        Ok(launches)
    }
}
