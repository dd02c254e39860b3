//! Namespaces that the calling thread makes for itself (unshare(2), namespaces(7)).

use std::io;

/// Moves the calling thread, and what it will start, into a fresh network namespace.
///
/// # Errors
/// EPERM without CAP_SYS_ADMIN.
pub fn fresh_network() -> io::Result<()> {
    unshare(libc::CLONE_NEWNET)
}

/// Moves the calling thread, and what it will start, into a copy of its mount namespace.
///
/// # Errors
/// EPERM without CAP_SYS_ADMIN; EINVAL where threads share their working directory with others.
pub fn own_mounts() -> io::Result<()> {
    unshare(libc::CLONE_NEWNS)
}

fn unshare(flag: libc::c_int) -> io::Result<()> {
    // SAFETY: neither flag changes memory or descriptors of this thread.
    match unsafe { libc::unshare(flag) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
