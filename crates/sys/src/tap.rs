//! An Ethernet device whose cable is a descriptor (the kernel's networking/tuntap.rst).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// Makes a TAP device in the network namespace of the calling thread: whole frames are read and
/// written, never waited for. The device is gone when the descriptor is closed.
///
/// # Errors
/// ENOENT and ENODEV where the kernel has no TUN, EPERM without CAP_NET_ADMIN, EBUSY if the name is
/// taken, EINVAL if it is too long.
pub fn open(interface: &str) -> io::Result<File> {
    // A path is resolved in the mount namespace, the device made in the network namespace.
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open("/dev/net/tun")?;
    // SAFETY: a structure of plain integers, for which zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if interface.len() >= request.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    for (place, letter) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *place = letter as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the descriptor is open; the kernel reads and writes one `ifreq`, which outlives the call.
    let code =
        unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as libc::Ioctl, &raw mut request) };
    match code {
        0 => Ok(file),
        _ => Err(io::Error::last_os_error()),
    }
}
