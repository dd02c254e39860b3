//! Engines and plug-ins that a user keeps in a folder: `$IPCMARK_ENGINES`, else `ipcmark/engines` beside the file of defaults.
//! A mechanism that isn't built in is looked for there by the name of its file, and nowhere else: never in the working folder.

use std::fs::{metadata, read_dir};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ::run::plugin::parts;

/// The variable that names folders, parted by `:`.
pub const FOLDERS: &str = "IPCMARK_ENGINES";

/// Where a user's files of programs lie.
pub fn user_folder() -> Option<PathBuf> {
    let named =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = named("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    let home = || named("HOME").filter(|path| path.is_absolute()).map(|path| path.join(".config"));
    config.or_else(home)
}

/// What only the owner may do.
pub const WRITABLE_BY_OTHERS: u32 = 0o022;

/// A file of one of the folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// What it is called on the command line: `libmine.so` and `mine.toml` are `mine`.
    pub name: String,
    pub path: PathBuf,
}

/// The folders in which engines are kept.
pub fn folders() -> Vec<PathBuf> {
    match std::env::var_os(FOLDERS) {
        Some(named) => std::env::split_paths(&named).filter(|path| path.is_absolute()).collect(),
        None => user_folder().map(|folder| folder.join("ipcmark/engines")).into_iter().collect(),
    }
}

/// Every engine that is kept, in the order of the folders and of their names; or why one isn't taken.
pub fn all() -> Vec<Result<Kept, String>> {
    let mut found = Vec::new();
    for folder in folders() {
        let Ok(entries) = read_dir(&folder) else { continue };
        if let Err(why) = check(&folder) {
            found.push(Err(why));
            continue;
        }
        let mut kept: Vec<Kept> =
            entries.flatten().filter_map(|entry| kept(entry.path())).collect();
        kept.sort_by(|a, b| a.name.cmp(&b.name));
        found.extend(kept.into_iter().map(checked));
    }
    found
}

/// The first that is called so.
///
/// # Errors
/// Why it isn't taken.
pub fn named(name: &str) -> Result<Option<Kept>, String> {
    let ours = |path: &Path| kept(path.into()).is_some_and(|kept| kept.name == name);
    for folder in folders() {
        let files = read_dir(&folder).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = files.map(|entry| entry.path()).collect();
        files.retain(|path| ours(path));
        files.sort();
        if let Some(kept) = files.into_iter().find_map(kept) {
            check(&folder)?;
            return checked(kept).map(Some);
        }
    }
    Ok(None)
}

fn kept(path: PathBuf) -> Option<Kept> {
    let stem = path.file_stem()?.to_str()?;
    let name = match path.extension()?.to_str()? {
        "so" => stem.strip_prefix("lib").unwrap_or(stem).to_string(),
        "toml" => stem.to_string(),
        _ => return None,
    };
    Some(Kept { name, path })
}

/// One whose file, and whatever its command names beside it, may be executed.
fn checked(kept: Kept) -> Result<Kept, String> {
    check(&kept.path)?;
    parts(&kept.path)?.iter().try_for_each(|part| check(part))?;
    Ok(kept)
}

/// What is executed must be the user's own, or root's, and nobody else's to change.
fn check(path: &Path) -> Result<(), String> {
    let shown = path.display();
    let about = metadata(path).map_err(|error| format!("{shown}: {error}"))?;
    let own = [0, rustix::process::geteuid().as_raw()].contains(&about.uid());
    match own {
        false => {
            Err(format!("{shown}: it belongs to another user: copy it, or name it by --plugin"))
        }
        true if about.mode() & WRITABLE_BY_OTHERS != 0 => {
            Err(format!("{shown}: others may write it: `chmod go-w {shown}`"))
        }
        true => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_called_as_its_mechanism() {
        let name = |path: &str| kept(path.into()).map(|kept| kept.name);
        assert_eq!(name("/x/libmine.so"), Some("mine".into()));
        assert_eq!(name("/x/mine.so"), Some("mine".into()));
        assert_eq!(name("/x/go-grpc.toml"), Some("go-grpc".into()));
        assert_eq!((name("/x/mine.c"), name("/x/README")), (None, None));
    }

    #[test]
    fn the_script_of_an_engine_is_checked_as_its_file_is() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let [file, script] = ["mine.toml", "mine.py"].map(|name| folder.path().join(name));
        std::fs::write(&file, "run = [\"python3\", \"mine.py\"]").unwrap();
        std::fs::write(&script, "").unwrap();
        let mode = |mode| {
            std::fs::set_permissions(&script, std::fs::Permissions::from_mode(mode)).unwrap();
            checked(kept(file.clone()).unwrap())
        };
        assert!(mode(0o644).is_ok());
        assert!(mode(0o664).unwrap_err().contains("mine.py"));
    }

    #[test]
    fn what_others_may_write_is_not_taken() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("libmine.so");
        std::fs::write(&file, "").unwrap();
        let mode = |mode| {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            check(&file)
        };
        assert_eq!(mode(0o755), Ok(()));
        assert!(mode(0o775).unwrap_err().contains("chmod go-w"));
        assert!(check(Path::new("/nowhere")).unwrap_err().contains("/nowhere"));
    }
}
