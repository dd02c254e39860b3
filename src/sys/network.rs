//! A network of a thread's own: one loopback interface, with the largest packet that was asked for.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

thread_local! {
    /// The MTU of the network that this thread made for itself.
    static ENTERED: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Moves this thread, and the processes that it will fork, into a network namespace whose only
/// interface is a loopback of `mtu` bytes; an unprivileged user gets it inside a new user namespace
/// (unshare(2)). Nothing is left of it when the last of them has ended. Does nothing the second time.
/// Gives the MTU that the interface then has.
///
/// # Errors
/// What unshare(2) or the interface says (netdevice(7)).
pub fn enter_loopback_of(mtu: u32) -> io::Result<u32> {
    if ENTERED.get() == Some(mtu) {
        return Ok(mtu);
    }
    // SAFETY: neither flag changes memory or descriptors of this thread.
    let unshare = |flags| match unsafe { libc::unshare(flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    unshare(libc::CLONE_NEWNET).or_else(|_| unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET))?;
    let flags = SocketFlags::CLOEXEC;
    let control = socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
    let size =
        libc::c_int::try_from(mtu).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    ask(&control, libc::SIOCSIFMTU, |request| request.ifru_mtu = size)?;
    let up = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    ask(&control, libc::SIOCSIFFLAGS, |request| request.ifru_flags = up)?;
    let found = ask(&control, libc::SIOCGIFMTU, |_| ())?;
    // SAFETY: this is the member that the kernel has just filled.
    let found = unsafe { found.ifru_mtu } as u32;
    ENTERED.set(Some(found));
    Ok(found)
}

/// Asks something of the interface `lo` (ioctl(2), netdevice(7)).
fn ask(
    control: &OwnedFd,
    what: libc::c_ulong,
    fill: impl FnOnce(&mut libc::__c_anonymous_ifr_ifru),
) -> io::Result<libc::__c_anonymous_ifr_ifru> {
    // SAFETY: a structure of plain integers, for which zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, letter) in request.ifr_name.iter_mut().zip(b"lo\0") {
        *place = *letter as libc::c_char;
    }
    fill(&mut request.ifr_ifru);
    // SAFETY: the descriptor is open; the kernel reads and writes one `ifreq`, which outlives the call.
    match unsafe { libc::ioctl(control.as_raw_fd(), what as libc::Ioctl, &raw mut request) } {
        0 => Ok(request.ifr_ifru),
        _ => Err(io::Error::last_os_error()),
    }
}
