//! `--deploy`: this program copied to the other host over the very stream that then speaks with the
//! agent, and unlinked by the agent before it says a word. What an agent is killed at, or its coordinator,
//! leaves nothing there: launches start the program that runs, by `/proc/self/exe`, and need no name.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat, fstat, openat, stat, statat, unlinkat};
use rustix::process::geteuid;

/// The copy's name in a folder of its own.
const NAME: &str = "ipcmark";

/// This program, to be copied.
pub struct Copy {
    pub program: File,
    bytes: u64,
    folder: String,
}

impl Copy {
    /// Of the program that runs.
    ///
    /// # Errors
    /// Where it can't be read, or there is no randomness to name the folder by.
    pub fn of_this_program() -> Result<Copy, String> {
        let mut random = [0; 16];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
            .map_err(|error| format!("getrandom: {error}"))?;
        let name: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let failed = |error: io::Error| format!("read this program: {error}");
        let program = File::open("/proc/self/exe").map_err(failed)?;
        let bytes = program.metadata().map_err(failed)?.len();
        Ok(Copy { program, bytes, folder: format!("ipcmark.{name}") })
    }

    /// The words to run there: they take the program from their input, say that they have it by an end
    /// of a line, and become the agent. A copy that isn't whole, because the stream ended or the disk
    /// is full, or a signal came, one that can't be executed, and one whose agent was killed are removed:
    /// until the agent has unlinked it, it is theirs. While the folder is made no signal counts: mkdir says whether it is
    /// ours, and nothing is removed before; a stream that ended meanwhile is noticed by what lacks. Anybody who puts
    /// something else under that name afterwards loses nothing: a link, or a folder of somebody else's, is left.
    pub fn words(&self) -> [String; 3] {
        let Copy { bytes, folder, .. } = self;
        let inner = format!(
            "umask 077; d=${{TMPDIR:-/tmp}}/{folder}; \
             gone() {{ [ ! -L \"$d\" ] && [ -O \"$d\" ] && rm -f \"$d/{NAME}\" && rmdir \"$d\"; exit $1; }} 2>/dev/null; \
             trap \"\" HUP INT TERM; mkdir \"$d\" || exit 1; trap \"gone 1\" HUP INT TERM; \
             head -c {bytes} > \"$d/{NAME}\"; \
             [ \"$(wc -c < \"$d/{NAME}\")\" -eq {bytes} ] && chmod 700 \"$d/{NAME}\" || gone 1; \
             trap - HUP INT TERM; echo; \"$d/{NAME}\" peer \"$d\"; c=$?; \
             [ $c -le 125 ] || gone $c; exit $c"
        );
        // Where a shell splits the words once more (ssh), it runs what follows the first command.
        ["sh".into(), "-c".into(), format!(":; exec sh -c '{inner}'")]
    }
}

/// Reads the next piece of the program.
pub fn piece(from: &mut File, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Removes the copy that runs, and `folder`, in which it was put: that very file, in a folder that is
/// this user's alone. A name that stands for anything else by now is left.
///
/// # Errors
/// What isn't as it was made.
pub fn remove_own(folder: &Path) -> io::Result<()> {
    let not_ours = |what: &str| io::Error::other(format!("{}: {what}: left", folder.display()));
    let (Some(above), Some(name)) = (folder.parent(), folder.file_name()) else {
        return Err(not_ours("no folder of a copy"));
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let above = openat(CWD, above, flags, Mode::empty())?;
    let inside = openat(&above, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
    let made = fstat(&inside)?;
    if made.st_uid != geteuid().as_raw() || made.st_mode & 0o777 != 0o700 {
        return Err(not_ours("not a private folder"));
    }
    if !is_same(&at(&inside, NAME)?, &stat("/proc/self/exe")?) {
        return Err(not_ours("not the program that runs"));
    }
    unlinkat(&inside, NAME, AtFlags::empty())?;
    let there = statat(&above, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if !is_same(&there, &made) {
        return Err(not_ours("it was exchanged"));
    }
    Ok(unlinkat(&above, name, AtFlags::REMOVEDIR)?)
}

fn at(folder: impl AsFd, name: &str) -> io::Result<Stat> {
    Ok(statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?)
}

fn is_same(a: &Stat, b: &Stat) -> bool {
    (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn nothing_but_the_own_copy_is_removed() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("ipcmark.0");
        let refusal = || remove_own(&folder).unwrap_err().to_string();
        assert!(remove_own(&folder).is_err() && remove_own(Path::new("/")).is_err());
        std::fs::create_dir(&folder).unwrap();
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::write(folder.join(NAME), "another program").unwrap();
        assert!(refusal().contains("not a private folder"));
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o700)).unwrap();
        assert!(refusal().contains("not the program that runs"));
        // A name that leads to it isn't it.
        std::fs::remove_file(folder.join(NAME)).unwrap();
        symlink("/proc/self/exe", folder.join(NAME)).unwrap();
        assert!(refusal().contains("not the program that runs"));
        std::fs::remove_file(folder.join(NAME)).unwrap();
        // The very same file, under one more name.
        let own = std::fs::canonicalize("/proc/self/exe").unwrap();
        if std::fs::hard_link(own, folder.join(NAME)).is_ok() {
            let another = above.path().join("ipcmark.1");
            symlink(&folder, &another).unwrap();
            assert!(remove_own(&another).is_err(), "a link is not followed");
            remove_own(&folder).unwrap();
            assert!(!folder.exists());
        }
    }

    /// The agent is killed: its own copy goes, and what somebody has put under that name meanwhile stays.
    #[test]
    fn a_copy_whose_agent_was_killed_goes_and_nothing_else_does() {
        for swaps in [false, true] {
            let above = tempfile::tempdir().unwrap();
            let theirs = above.path().join("theirs");
            std::fs::create_dir(&theirs).unwrap();
            std::fs::write(theirs.join(NAME), "another program").unwrap();
            let swap = "rm -r \"$2\"; ln -s \"${2%/*}/theirs\" \"$2\";";
            let swap = if swaps { swap } else { "" };
            let agent = above.path().join("agent");
            let bytes = format!("#!/bin/sh\n{swap} kill -9 $$\n");
            std::fs::write(&agent, &bytes).unwrap();
            let copy = Copy {
                program: File::open(&agent).unwrap(),
                bytes: bytes.len() as u64,
                folder: "ipcmark.0".into(),
            };
            let words = copy.words();
            let mut shell = std::process::Command::new(&words[0]);
            shell.args(&words[1..]).env("TMPDIR", above.path()).stdin(copy.program);
            shell.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
            assert_eq!(shell.status().unwrap().code(), Some(137));
            assert!(theirs.join(NAME).exists(), "somebody else's file is gone");
            let left = std::fs::symlink_metadata(above.path().join("ipcmark.0"));
            assert_eq!(left.is_ok(), swaps);
        }
    }

    #[test]
    fn a_folder_goes_whose_shell_is_ended_as_soon_as_there_is_one() {
        let above = tempfile::tempdir().unwrap();
        let tools = above.path().join("tools");
        std::fs::create_dir(&tools).unwrap();
        let mkdir = "#!/bin/sh\nPATH=${PATH#*:} mkdir \"$@\" && kill -TERM $PPID\n";
        std::fs::write(tools.join("mkdir"), mkdir).unwrap();
        std::fs::set_permissions(tools.join("mkdir"), PermissionsExt::from_mode(0o700)).unwrap();
        let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
        let program = File::open("/dev/null").unwrap();
        let words = Copy { program, bytes: 1, folder: "ipcmark.0".into() }.words();
        let mut shell = std::process::Command::new(&words[0]);
        shell.args(&words[1..]).env("TMPDIR", above.path()).env("PATH", path);
        shell.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
        assert_eq!(shell.status().unwrap().code(), Some(1));
        assert!(!above.path().join("ipcmark.0").exists());
    }
}
