//! Locks on single bytes of a file that belong to an open file description (fcntl(2), F_OFD_SETLK): the
//! kernel lets go of one when its last descriptor is closed, however that came about.

use std::fs::File;
use std::io;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};

fn of(kind: i32, at: i64) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: at,
        l_len: 1,
        l_pid: 0,
    }
}

/// Locks the byte at `at` if nobody else has; says whether it did. The file is open for writing.
pub(crate) fn try_lock(file: &File, at: i64) -> io::Result<bool> {
    match fcntl(file, FcntlArg::F_OFD_SETLK(&of(libc::F_WRLCK, at))) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Lets go of the byte at `at`.
pub(crate) fn unlock(file: &File, at: i64) -> io::Result<()> {
    fcntl(file, FcntlArg::F_OFD_SETLK(&of(libc::F_UNLCK, at)))?;
    Ok(())
}

/// Whether somebody else has locked the byte at `at`. The file may be open for reading alone.
pub(crate) fn is_locked(file: &File, at: i64) -> io::Result<bool> {
    let mut lock = of(libc::F_WRLCK, at);
    fcntl(file, FcntlArg::F_OFD_GETLK(&mut lock))?;
    Ok(i32::from(lock.l_type) != libc::F_UNLCK)
}

/// Why locks of a process (F_SETLK), by which SQLite keeps programs apart, can't be had on the file system of `file`;
/// None where they can. Tried on a byte that nobody else locks; `file` must not be SQLite's, whose locks would go
/// with it.
pub(crate) fn no_process_locks(file: &File) -> Option<io::Error> {
    const AT: i64 = 1 << 60;
    match fcntl(file, FcntlArg::F_SETLK(&of(libc::F_WRLCK, AT))) {
        Ok(_) | Err(Errno::EAGAIN | Errno::EACCES | Errno::EINTR) => {
            let _ = fcntl(file, FcntlArg::F_SETLK(&of(libc::F_UNLCK, AT)));
            None
        }
        Err(error) => Some(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_locked_by_one_until_its_file_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "").unwrap();
        let open = || std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let (first, second) = (open(), open());
        let seen = std::fs::File::open(&path).unwrap();
        assert!(try_lock(&first, 3).unwrap() && try_lock(&first, 3).unwrap());
        assert!(!try_lock(&second, 3).unwrap() && try_lock(&second, 4).unwrap());
        assert!(is_locked(&seen, 3).unwrap() && !is_locked(&first, 3).unwrap());
        drop(first);
        // A child that another test has forked has the same files open until it executes its program.
        let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while is_locked(&seen, 3).unwrap() {
            assert!(std::time::Instant::now() < until, "still locked");
            std::thread::yield_now();
        }
        assert!(try_lock(&second, 3).unwrap());
        unlock(&second, 3).unwrap();
        assert!(!is_locked(&seen, 3).unwrap() && is_locked(&seen, 4).unwrap());
    }
}
