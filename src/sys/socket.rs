//! Socket facts that rustix doesn't wrap.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Datagrams the kernel dropped at this socket because its buffer was full
/// (SO_MEMINFO, SK_MEMINFO_DROPS; Linux 4.12).
pub fn drops(socket: impl AsFd) -> io::Result<u64> {
    const SO_MEMINFO: libc::c_int = 55;
    const SK_MEMINFO_DROPS: usize = 8;
    let mut values = [0u32; 16];
    let mut bytes = size_of_val(&values) as libc::socklen_t;
    // SAFETY: the descriptor is borrowed and open; `values` has room for `bytes` bytes, and the
    // kernel writes at most that many.
    let code = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            SO_MEMINFO,
            values.as_mut_ptr().cast(),
            &mut bytes,
        )
    };
    match code {
        0 if bytes as usize > SK_MEMINFO_DROPS * 4 => Ok(u64::from(values[SK_MEMINFO_DROPS])),
        0 => Err(io::ErrorKind::Unsupported.into()),
        _ => Err(io::Error::last_os_error()),
    }
}
