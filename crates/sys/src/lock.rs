//! Locks on single bytes of a file that belong to an open file description (fcntl(2), F_OFD_SETLK): the
//! kernel lets go of one when its last descriptor is closed, however that came about.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

fn ask(file: BorrowedFd<'_>, command: i32, kind: i32, at: i64) -> io::Result<libc::flock> {
    // SAFETY: all-zero bytes are a valid flock; l_pid must be zero for these commands.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = at;
    lock.l_len = 1;
    // SAFETY: the descriptor is open, and the kernel reads and writes one flock and keeps nothing of it.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, &mut lock) } {
        0.. => Ok(lock),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Locks the byte at `at` if nobody else has; says whether it did. The file is open for writing.
pub fn try_lock(file: BorrowedFd<'_>, at: i64) -> io::Result<bool> {
    match ask(file, libc::F_OFD_SETLK, libc::F_WRLCK, at) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Lets go of the byte at `at`.
pub fn unlock(file: BorrowedFd<'_>, at: i64) -> io::Result<()> {
    ask(file, libc::F_OFD_SETLK, libc::F_UNLCK, at).map(drop)
}

/// Whether somebody else has locked the byte at `at`. The file may be open for reading alone.
pub fn is_locked(file: BorrowedFd<'_>, at: i64) -> io::Result<bool> {
    let found = ask(file, libc::F_OFD_GETLK, libc::F_WRLCK, at)?;
    Ok(i32::from(found.l_type) != libc::F_UNLCK)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_byte_is_locked_by_one_until_its_file_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "").unwrap();
        let open = || std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let (first, second) = (open(), open());
        let seen = std::fs::File::open(&path).unwrap();
        assert!(try_lock(first.as_fd(), 3).unwrap() && try_lock(first.as_fd(), 3).unwrap());
        assert!(!try_lock(second.as_fd(), 3).unwrap() && try_lock(second.as_fd(), 4).unwrap());
        assert!(is_locked(seen.as_fd(), 3).unwrap() && !is_locked(first.as_fd(), 3).unwrap());
        drop(first);
        assert!(!is_locked(seen.as_fd(), 3).unwrap() && try_lock(second.as_fd(), 3).unwrap());
        unlock(second.as_fd(), 3).unwrap();
        assert!(!is_locked(seen.as_fd(), 3).unwrap() && is_locked(seen.as_fd(), 4).unwrap());
    }
}
