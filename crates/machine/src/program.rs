//! Where a program lies that ipcmark starts by name. Only absolute entries of `PATH` are looked into:
//! an empty one, `.` and other relative ones mean the working folder, where a file of that name may be
//! anybody's. What is found is started by its absolute path.
//!
//! Commands that the user gives (`--peer`, `--launcher`, `lab exec`) are the user's own, and are
//! started as they stand.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

use rustix::fs::{Access, access};

/// Where to look if `PATH` isn't set.
const USUAL: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// The absolute path of the program `name`.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] where no absolute entry of `PATH` has it.
pub fn find(name: &str) -> io::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| USUAL.into());
    find_in(&path, name).ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, "not found in an absolute entry of PATH")
    })
}

fn find_in(path: &OsStr, name: &str) -> Option<PathBuf> {
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|file| file.is_file() && access(file, Access::EXEC_OK).is_ok())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_absolute_entries_are_looked_into() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, mode: u32| {
            let path = folder.path().join(name);
            std::fs::write(&path, "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let (program, _) = (file("ipcmark-a", 0o755), file("ipcmark-b", 0o644));
        std::fs::create_dir(folder.path().join("ipcmark-c")).unwrap();
        let here = std::env::current_dir().unwrap();
        let up = "../".repeat(here.components().count());
        let relative = format!("{up}{}", folder.path().display());
        assert!(PathBuf::from(&relative).join("ipcmark-a").is_file(), "{relative}");
        let found = |path: &str, name: &str| find_in(OsStr::new(path), name);
        let absolute = folder.path().to_str().unwrap();
        for path in ["", ".", ":", &relative, &format!("{relative}:.:")] {
            assert_eq!(found(path, "ipcmark-a"), None, "{path}");
        }
        let both = format!("{relative}::{absolute}");
        assert_eq!(found(&both, "ipcmark-a"), Some(program));
        assert_eq!(found(absolute, "ipcmark-b"), None, "not executable");
        assert_eq!(found(absolute, "ipcmark-c"), None, "a folder");
    }
}
