//! What the processor packages have used of energy: the counters of RAPL as powercap shows them
//! (Documentation/power/powercap/powercap.rst), all packages together. What is inside a package (cores, `uncore`) is
//! in its counter; memory and the whole platform (`dram`, `psys`) have counters of their own, which are not read.
//!
//! The counters move about once a millisecond. Reading them interrupts a CPU of each package: not between samples.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Instant;

use rustix::io::pread;

use model::energy::Energy;

use super::tree;

const POWERCAP: &str = "sys/class/powercap";

pub struct PackageCounters(Vec<Package>);

struct Package {
    counter: File,
    /// Where it begins again from zero, in µJ; None where that isn't said.
    range_uj: Option<u64>,
}

/// What the counters said at one moment.
pub struct EnergyReading {
    microjoules: Vec<u64>,
    at: Instant,
}

/// Why they can't be read.
#[derive(Debug)]
pub enum EnergyUnavailable {
    /// There are none.
    NoCounters,
    /// There are some, and this one can't be read.
    Unreadable {
        /// Its file, below the root.
        path: String,
        /// What the kernel said.
        error: io::Error,
    },
}

impl fmt::Display for EnergyUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EnergyUnavailable::NoCounters => {
                write!(f, "no package counters under /{POWERCAP} (virtual machines have none)")
            }
            EnergyUnavailable::Unreadable { path, error }
                if error.kind() == io::ErrorKind::PermissionDenied =>
            {
                write!(f, "/{path}: permission denied (run as root)")
            }
            EnergyUnavailable::Unreadable { path, error } => write!(f, "/{path}: {error}"),
        }
    }
}

impl PackageCounters {
    /// Opens the counters below `root`, each of which can be read.
    ///
    /// # Errors
    /// There are none, or one can't be read: mostly root alone may.
    pub fn open(root: &Path) -> Result<PackageCounters, EnergyUnavailable> {
        let mut zones = BTreeMap::new();
        for zone in tree::names(root, POWERCAP) {
            let zone = format!("{POWERCAP}/{zone}");
            let name = tree::text(root, &format!("{zone}/name"));
            // A package may have two zones: `intel-rapl:0`, by its registers, comes after `intel-rapl-mmio:0`.
            if let Some(name) = name.filter(|name| name.starts_with("package-")) {
                zones.insert(name, zone);
            }
        }
        if zones.is_empty() {
            return Err(EnergyUnavailable::NoCounters);
        }
        zones.values().map(|zone| Package::open(root, zone)).collect::<Result<_, _>>().map(Self)
    }

    /// Reads all of them; None where one can't be read any more.
    pub fn take(&self) -> Option<EnergyReading> {
        let microjoules =
            self.0.iter().map(|package| package.read().ok()).collect::<Option<_>>()?;
        Some(EnergyReading { microjoules, at: Instant::now() })
    }

    /// What was used from one reading to the next; None where a counter went backwards and doesn't say where it
    /// begins again. Each may do so once in between, which takes minutes at the least.
    pub fn between(&self, earlier: &EnergyReading, later: &EnergyReading) -> Option<Energy> {
        let readings = earlier.microjoules.iter().zip(&later.microjoules);
        let each = self.0.iter().zip(readings);
        let mut used = each.map(|(package, (then, now))| package.used(*then, *now));
        let microjoules = used.try_fold(0_u64, |sum, used| sum.checked_add(used?))?;
        let ns = later.at.duration_since(earlier.at).as_nanos() as u64;
        Some(Energy { microjoules, ns })
    }
}

impl Package {
    fn open(root: &Path, zone: &str) -> Result<Package, EnergyUnavailable> {
        let path = format!("{zone}/energy_uj");
        let opened = File::open(root.join(&path)).and_then(|counter| {
            let range_uj = tree::number(root, &format!("{zone}/max_energy_range_uj"));
            let package = Package { counter, range_uj };
            package.read().map(|_| package)
        });
        opened.map_err(|error| EnergyUnavailable::Unreadable { path, error })
    }

    /// The counter now, in µJ.
    fn read(&self) -> io::Result<u64> {
        let mut text = [0; 32];
        let length = pread(&self.counter, &mut text[..], 0)?;
        let number =
            std::str::from_utf8(&text[..length]).ok().and_then(|text| text.trim().parse().ok());
        number.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a number"))
    }

    fn used(&self, then: u64, now: u64) -> Option<u64> {
        let wrapped = || self.range_uj?.checked_sub(then)?.checked_add(now);
        now.checked_sub(then).or_else(wrapped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored;
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    use std::os::unix::fs::PermissionsExt;
    use tempfile::TempDir;

    /// Two packages, one of them twice, with what is inside and beside them.
    fn two_packages() -> TempDir {
        let zones = [
            ("intel-rapl-mmio:0", "package-0", "77", "900"),
            ("intel-rapl:0", "package-0", "100", "1000"),
            ("intel-rapl:0:0", "core", "40", "1000"),
            ("intel-rapl:0:1", "dram", "30", "1000"),
            ("intel-rapl:1", "package-1", "2000", "5000"),
            ("intel-rapl:2", "psys", "9999", "10000"),
        ];
        let files = zones.iter().flat_map(|(zone, name, energy, range)| {
            let file =
                |file: &str, text: &str| (format!("{POWERCAP}/{zone}/{file}"), text.to_string());
            [file("name", name), file("energy_uj", energy), file("max_energy_range_uj", range)]
        });
        let files: Vec<(String, String)> = files.collect();
        let root = stored::unpack(files.iter().map(|(path, text)| (path.as_str(), text.as_str())));
        stored::add(root.path(), [("sys/class/powercap/intel-rapl/enabled", "1")]);
        root
    }

    fn set(root: &TempDir, zone: &str, energy: &str) {
        let path = format!("{POWERCAP}/{zone}/energy_uj");
        stored::add(root.path(), [(path.as_str(), energy)]);
    }

    #[test]
    fn packages_are_summed_once_each_without_what_is_inside_or_beside_them() {
        let root = two_packages();
        let counters = PackageCounters::open(root.path()).unwrap();
        let before = counters.take().unwrap();
        for (zone, energy) in [
            ("intel-rapl-mmio:0", "800"),
            ("intel-rapl:0", "130"),
            ("intel-rapl:0:0", "900"),
            ("intel-rapl:0:1", "900"),
            ("intel-rapl:1", "2005"),
            ("intel-rapl:2", "10000"),
        ] {
            set(&root, zone, energy);
        }
        let used = counters.between(&before, &counters.take().unwrap()).unwrap();
        assert_eq!(used.microjoules, 30 + 5);
        assert!(used.ns > 0);
    }

    #[test]
    fn a_counter_that_is_full_begins_again() {
        let root = two_packages();
        let counters = PackageCounters::open(root.path()).unwrap();
        let before = counters.take().unwrap();
        set(&root, "intel-rapl:0", "7");
        let used = counters.between(&before, &counters.take().unwrap()).unwrap();
        assert_eq!(used.microjoules, 1000 - 100 + 7, "the other package used nothing");
        std::fs::remove_file(
            root.path().join("sys/class/powercap/intel-rapl:0/max_energy_range_uj"),
        )
        .unwrap();
        let unbounded = PackageCounters::open(root.path()).unwrap();
        let before = unbounded.take().unwrap();
        set(&root, "intel-rapl:0", "5");
        assert_eq!(unbounded.between(&before, &unbounded.take().unwrap()), None);
    }

    #[test]
    fn a_counter_that_may_not_be_read_is_named_with_the_remedy() {
        let root = two_packages();
        let file = root.path().join("sys/class/powercap/intel-rapl:1/energy_uj");
        let mode = PermissionsExt::from_mode(0o000);
        std::fs::set_permissions(file, mode).unwrap();
        // Root may read what nobody may: this thread gives that up.
        let refused = std::thread::scope(|scope| {
            let open = || {
                let mut mine = capabilities(None).unwrap();
                mine.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
                set_capabilities(None, mine).unwrap();
                PackageCounters::open(root.path()).err().map(|why| why.to_string())
            };
            scope.spawn(open).join().unwrap()
        });
        let why = "/sys/class/powercap/intel-rapl:1/energy_uj: permission denied (run as root)";
        assert_eq!(refused.as_deref(), Some(why));
    }

    #[test]
    fn no_counters_and_no_numbers_are_said_and_never_zero() {
        let none = "no package counters under /sys/class/powercap (virtual machines have none)";
        for root in [
            stored::machine("guest-2cpu"),
            stored::unpack([("sys/class/powercap/dtpm/name", "soc")]),
        ] {
            assert_eq!(PackageCounters::open(root.path()).err().unwrap().to_string(), none);
        }
        let root = two_packages();
        let counters = PackageCounters::open(root.path()).unwrap();
        set(&root, "intel-rapl:0", "");
        assert!(counters.take().is_none());
        let why = PackageCounters::open(root.path()).err().unwrap().to_string();
        assert_eq!(why, "/sys/class/powercap/intel-rapl:0/energy_uj: not a number");
    }
}
