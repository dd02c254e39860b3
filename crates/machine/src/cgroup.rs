//! A group of processes with a quota of CPU time (cgroups(7), version 2), of this program's own making: made
//! below the nearest group above this process that passes the cpu controller on and may be written to, and
//! removed when it is dropped. No group that was there before is changed or removed: what a killed process left
//! can't be told from a group of somebody else's.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

use model::company::{PERIOD_US, QUOTA_US};
use model::probe::Refusal;

use crate::tree;

/// Where version 2 is mounted: alone, or beside version 1.
const MOUNTS: [&str; 2] = ["sys/fs/cgroup", "sys/fs/cgroup/unified"];
/// What the names of our groups begin with; a process follows.
const PREFIX: &str = "ipcmark-";
/// How long to wait for the kernel to see that a group is empty whose processes are reaped.
const EMPTY_WITHIN: Duration = Duration::from_secs(1);

/// The changes that a group is made of: the kernel's files, or a fake of them.
pub trait Files {
    /// As mkdir(2).
    ///
    /// # Errors
    /// The same.
    fn make(&self, group: &Path) -> io::Result<()>;
    /// Writes one line to a file of a group.
    ///
    /// # Errors
    /// As open(2) and write(2).
    fn write(&self, file: &Path, line: &str) -> io::Result<()>;
    /// As rmdir(2).
    ///
    /// # Errors
    /// The same.
    fn remove(&self, group: &Path) -> io::Result<()>;
}

/// The kernel's own.
pub struct Kernel;

impl Files for Kernel {
    fn make(&self, group: &Path) -> io::Result<()> {
        fs::create_dir(group)
    }

    fn write(&self, file: &Path, line: &str) -> io::Result<()> {
        fs::write(file, line)
    }

    fn remove(&self, group: &Path) -> io::Result<()> {
        fs::remove_dir(group)
    }
}

/// A group whose processes get [`QUOTA_US`] of CPU time in every [`PERIOD_US`], together. Removed when dropped.
pub struct Quota<F: Files = Kernel> {
    files: F,
    group: PathBuf,
}

/// Whether such a group can be made here: makes one, and removes it.
///
/// # Errors
/// What is in the way, and what changes it.
pub fn available(root: &Path) -> Result<(), Refusal> {
    Quota::make(Kernel, root, "probe").map(drop)
}

impl<F: Files> Quota<F> {
    /// Makes a group, empty; `root` is `/`, or a stored tree. `name` tells the groups of this process apart.
    ///
    /// # Errors
    /// What is in the way, and what changes it.
    pub fn make(files: F, root: &Path, name: &str) -> Result<Quota<F>, Refusal> {
        let (mount, own) = own_group(root).ok_or_else(|| {
            let reason = "the cpu controller is in no cgroup hierarchy of version 2 here".into();
            let remedy = Some("boot with systemd.unified_cgroup_hierarchy=1".into());
            Refusal { reason, remedy }
        })?;
        let name = format!("{PREFIX}{}-{name}", std::process::id());
        let passes_on = |dir: &Path| {
            let list = tree::text(dir, "cgroup.subtree_control").unwrap_or_default();
            list.split(' ').any(|part| part == "cpu")
        };
        let mut refused: Option<(PathBuf, io::Error)> = None;
        let above = own.ancestors().take_while(|folder| folder.starts_with(&mount));
        for dir in above.filter(|path| passes_on(path)) {
            let group = dir.join(&name);
            match files.make(&group) {
                Ok(()) => {
                    let quota = Quota { files, group };
                    let limit = format!("{QUOTA_US} {PERIOD_US}");
                    let set = quota.files.write(&quota.group.join("cpu.max"), &limit);
                    return match set {
                        Ok(()) => Ok(quota),
                        Err(error) => Err(not_written(&quota.group.join("cpu.max"), &error)),
                    };
                }
                Err(error) => refused = refused.or(Some((group, error))),
            }
        }
        Err(match refused {
            Some((group, error)) => not_written(&group, &error),
            None => Refusal {
                reason: "no cgroup above this process passes the cpu controller on".into(),
                remedy: Some(WAY_OUT.into()),
            },
        })
    }

    /// Moves a process into it, with all its threads.
    ///
    /// # Errors
    /// What is in the way, and what changes it.
    pub fn take(&self, process: u32) -> Result<(), Refusal> {
        let file = self.group.join("cgroup.procs");
        self.files.write(&file, &process.to_string()).map_err(|error| not_written(&file, &error))
    }
}

impl<F: Files> Drop for Quota<F> {
    fn drop(&mut self) {
        let until = Instant::now() + EMPTY_WITHIN;
        while let Err(error) = self.files.remove(&self.group) {
            let busy = error.kind() == io::ErrorKind::ResourceBusy;
            if !busy || Instant::now() >= until {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

const WAY_OUT: &str =
    "run it as root, or as `systemd-run --user --scope ipcmark …`, or leave quota out";

fn not_written(path: &Path, error: &io::Error) -> Refusal {
    let reason = format!("cgroups can't be written here: {}: {error}", path.display());
    Refusal { reason, remedy: Some(WAY_OUT.into()) }
}

/// Where version 2 with the cpu controller is mounted, and the group of this process below.
fn own_group(root: &Path) -> Option<(PathBuf, PathBuf)> {
    let mount = MOUNTS.iter().map(|mount| root.join(mount)).find(|path| {
        let controllers = tree::text(path, "cgroup.controllers").unwrap_or_default();
        controllers.split(' ').any(|part| part == "cpu")
    })?;
    let groups = tree::text(root, "proc/self/cgroup")?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    // Outside of its namespace there is no name for it.
    let own = if own.split('/').any(|part| part == "..") { "" } else { own };
    Some((mount.clone(), mount.join(own)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// What was asked of the kernel, and below which groups it lets nobody make any.
    #[derive(Clone, Default)]
    struct Fake {
        asked: Rc<RefCell<Vec<String>>>,
        sealed: Vec<&'static str>,
        mute: bool,
        busy: Rc<RefCell<u32>>,
    }

    impl Fake {
        fn ask(&self, what: String) {
            self.asked.borrow_mut().push(what);
        }

        /// What was asked, without where the tree lies and which process asked.
        fn asked(&self, root: &Path) -> Vec<String> {
            let root = format!("{}/", root.display());
            let own = format!("ipcmark-{}-", std::process::id());
            let plain = |text: &String| text.replace(&root, "").replace(&own, "own-");
            self.asked.borrow().iter().map(plain).collect()
        }
    }

    impl Files for Fake {
        fn make(&self, group: &Path) -> io::Result<()> {
            self.ask(format!("mkdir {}", group.display()));
            let dir = group.parent().unwrap();
            if self.sealed.iter().any(|text| dir.ends_with(text)) {
                return Err(io::Error::from(io::ErrorKind::PermissionDenied));
            }
            Ok(())
        }

        fn write(&self, file: &Path, line: &str) -> io::Result<()> {
            self.ask(format!("write {} {line}", file.display()));
            if self.mute {
                return Err(io::Error::from(io::ErrorKind::PermissionDenied));
            }
            Ok(())
        }

        fn remove(&self, group: &Path) -> io::Result<()> {
            self.ask(format!("rmdir {}", group.display()));
            let mut busy = self.busy.borrow_mut();
            if *busy > 0 {
                *busy -= 1;
                return Err(io::Error::from(io::ErrorKind::ResourceBusy));
            }
            Ok(())
        }
    }

    /// A tree whose process is in `user/scope`; the groups of `passing` pass the cpu controller on.
    fn tree(controllers: &str, passing: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let mount = root.path().join("sys/fs/cgroup");
        fs::create_dir_all(mount.join("user/scope")).unwrap();
        fs::create_dir_all(root.path().join("proc/self")).unwrap();
        fs::write(root.path().join("proc/self/cgroup"), "1:cpu:/x\n0::/user/scope\n").unwrap();
        fs::write(mount.join("cgroup.controllers"), controllers).unwrap();
        for group in passing {
            fs::write(mount.join(group).join("cgroup.subtree_control"), "cpu memory\n").unwrap();
        }
        root
    }

    #[test]
    fn a_group_is_made_below_the_nearest_that_passes_cpu_on_and_removed_again() {
        let root = tree("cpuset cpu memory", &["", "user"]);
        let fake = Fake { busy: Rc::new(RefCell::new(1)), ..Fake::default() };
        let quota = Quota::make(fake.clone(), root.path(), "a").unwrap();
        quota.take(77).unwrap();
        drop(quota);
        let group = "sys/fs/cgroup/user/own-a";
        let expected = [
            format!("mkdir {group}"),
            format!("write {group}/cpu.max 50000 100000"),
            format!("write {group}/cgroup.procs 77"),
            format!("rmdir {group}"),
            format!("rmdir {group}"),
        ];
        assert_eq!(fake.asked(root.path()), expected, "a process may be gone a little later");
    }

    #[test]
    fn where_the_nearest_may_not_be_written_the_next_one_is_tried() {
        let root = tree("cpu", &["", "user"]);
        let fake = Fake { sealed: vec!["user"], ..Fake::default() };
        drop(Quota::make(fake.clone(), root.path(), "a").unwrap());
        let asked = fake.asked(root.path());
        assert_eq!(asked[1], "mkdir sys/fs/cgroup/own-a");
        let fake = Fake { sealed: vec!["user", "cgroup"], ..Fake::default() };
        let refusal = Quota::make(fake, root.path(), "a").err().unwrap().to_string();
        assert!(refusal.contains("cgroup/user/ipcmark-"), "the nearest is named: {refusal}");
        assert!(refusal.contains("systemd-run") && refusal.lines().count() == 1, "{refusal}");
    }

    #[test]
    fn a_group_without_a_quota_is_removed_and_refused() {
        let root = tree("cpu", &["user"]);
        let fake = Fake { mute: true, ..Fake::default() };
        let refusal = Quota::make(fake.clone(), root.path(), "a").err().unwrap().to_string();
        assert!(refusal.contains("cpu.max"), "{refusal}");
        assert_eq!(fake.asked(root.path()).last().unwrap(), "rmdir sys/fs/cgroup/user/own-a");
    }

    #[test]
    fn no_group_is_removed_that_this_one_did_not_make_whatever_its_name() {
        let root = tree("cpu", &["user"]);
        for name in ["ipcmark-41-launch", "ipcmark-x", "other"] {
            fs::create_dir(root.path().join("sys/fs/cgroup/user").join(name)).unwrap();
        }
        let fake = Fake::default();
        drop(Quota::make(fake.clone(), root.path(), "a").unwrap());
        let asked = fake.asked(root.path());
        let removed: Vec<_> = asked.iter().filter(|text| text.starts_with("rmdir")).collect();
        assert_eq!(removed, ["rmdir sys/fs/cgroup/user/own-a"]);
    }

    #[test]
    fn without_the_controller_nothing_is_made() {
        for (controllers, passing) in [("memory", vec![""]), ("cpu", vec![])] {
            let root = tree(controllers, &passing);
            let fake = Fake::default();
            let refusal = Quota::make(fake.clone(), root.path(), "a").err().unwrap();
            assert!(refusal.remedy.is_some() && refusal.reason.contains("cpu controller"));
            assert!(fake.asked(root.path()).is_empty());
        }
    }
}
