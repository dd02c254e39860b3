//! Clean-ups that failed when nobody listened any more: kept in a file of the user's own, and told by the next command. A
//! command that stands there is shown, and never executed.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::complain;
use model::visible::one_line;
use rustix::fs::OFlags;
use rustix::process::geteuid;

/// The beginning of a name of such a file.
const NAME: &str = "undone-";
/// Most bytes of one that are read.
const MOST: u64 = 4096;

/// Keeps what became of a clean-up. What can't be kept was complained of.
pub fn keep(command: &str, why: &str) {
    let Some(folder) = folder() else { return };
    let _ = fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    let path = folder.join(format!("{NAME}{}", std::process::id()));
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    if let Ok(mut file) = file {
        let _ = file.write_all(format!("--arm-cleanup {why}: `{command}`").as_bytes());
    }
}

/// Tells each that is kept, once.
pub fn tell() {
    let Some(folder) = folder() else { return };
    for line in take(&folder) {
        complain(&format!("an earlier run: {line}; undo by hand what its arms have set"));
    }
}

/// Takes what is kept in `folder`: of files of this user's own, which nobody else can have written.
fn take(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(NAME));
    named
        .filter_map(|entry| {
            let path = entry.path();
            let file = OpenOptions::new()
                .read(true)
                .custom_flags(OFlags::NOFOLLOW.bits() as i32)
                .open(&path);
            let text = own_text(file.ok()?)?;
            fs::remove_file(path).ok()?;
            Some(one_line(&text).to_string())
        })
        .collect()
}

fn own_text(file: File) -> Option<String> {
    let found = file.metadata().ok()?;
    if !found.is_file() || found.uid() != geteuid().as_raw() {
        return None;
    }
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Where state is (XDG Base Directory Specification).
fn folder() -> Option<PathBuf> {
    let of =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = of("XDG_STATE_HOME").or_else(|| Some(of("HOME")?.join(".local/state")));
    Some(state?.join("ipcmark"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_told_once_and_nothing_else_is_touched() {
        let folder = tempfile::tempdir().unwrap();
        let put =
            |name: &str| fs::write(folder.path().join(name), "--arm-cleanup ended with 1").unwrap();
        put("undone-7");
        put("other");
        std::os::unix::fs::symlink("/etc/hostname", folder.path().join("undone-8")).unwrap();
        assert_eq!(take(folder.path()), ["--arm-cleanup ended with 1"]);
        assert!(take(folder.path()).is_empty());
        assert!(
            folder.path().join("other").exists() && folder.path().join("undone-8").is_symlink()
        );
    }
}
