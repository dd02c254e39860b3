//! A network of a thread's own: one loopback interface, with the largest packet that was asked for.
//! And the addresses of the network one is in.

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::process::{WaitOptions, getgid, getuid, waitpid};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use crate::process::fork_with_first;
use model::peer::Address;

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

/// Whether the loopback interface of this network is up; None where it can't be asked.
pub fn loopback_is_up() -> Option<bool> {
    let kind = (AddressFamily::INET, SocketType::DGRAM);
    let control = socket_with(kind.0, kind.1, SocketFlags::CLOEXEC, None)
        .or_else(|_| socket_with(AddressFamily::UNIX, kind.1, SocketFlags::CLOEXEC, None))
        .ok()?;
    let found = ask(&control, libc::SIOCGIFFLAGS, |_| ()).ok()?;
    // SAFETY: this is the member that the kernel has just filled.
    let flags = unsafe { found.ifru_flags };
    Some(libc::c_int::from(flags) & libc::IFF_UP != 0)
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

/// The addresses of interfaces that are up, but for those of loopback and of single links
/// (getifaddrs(3)).
///
/// # Errors
/// As the call's.
pub fn addresses() -> io::Result<Vec<Address>> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: `list` is a place for one pointer.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let (mut found, mut next) = (Vec::new(), list);
    while !next.is_null() {
        // SAFETY: the list is well formed until it is freed below: each entry is whole, and its
        // addresses are null or of the size that their family says.
        unsafe {
            let entry = &*next;
            next = entry.ifa_next;
            let up = entry.ifa_flags & libc::IFF_UP as u32 != 0;
            if !up || entry.ifa_addr.is_null() || entry.ifa_netmask.is_null() {
                continue;
            }
            if let (Some(address), Some(mask)) = (ip(entry.ifa_addr), ip(entry.ifa_netmask)) {
                let prefix = match mask {
                    IpAddr::V4(it) => it.to_bits().leading_ones(),
                    IpAddr::V6(it) => it.to_bits().leading_ones(),
                };
                found.push(Address { address, prefix: prefix as u8 });
            }
        }
    }
    // SAFETY: the list is getifaddrs's, and nothing of it is used any more.
    unsafe { libc::freeifaddrs(list) };
    let single = |address: IpAddr| match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    found.retain(|address| !address.address.is_loopback() && !single(address.address));
    Ok(found)
}

/// The address in a socket address; None of other families.
///
/// # Safety
/// `address` points to a socket address of the size that its family says.
unsafe fn ip(address: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: the caller's promise; the structures may be unaligned in a list of others.
    unsafe {
        match i32::from((*address).sa_family) {
            libc::AF_INET => {
                let it = address.cast::<libc::sockaddr_in>().read_unaligned();
                Some(Ipv4Addr::from_bits(u32::from_be(it.sin_addr.s_addr)).into())
            }
            libc::AF_INET6 => {
                let it = address.cast::<libc::sockaddr_in6>().read_unaligned();
                Some(Ipv6Addr::from(it.sin6_addr.s6_addr).into())
            }
            _ => None,
        }
    }
}

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

/// Where shared memory has names.
pub const SHARED_MEMORY: &str = "/dev/shm";

/// Gives the calling process, and those that it will start, an empty folder in memory in place of each of `folders`: they
/// end with the last of them. A user without rights gets them inside a new user namespace, in which he stays who he is.
///
/// # Errors
/// As unshare(2) and mount(2): EPERM where neither is allowed. A user without rights is then where he was.
pub fn own_folders(folders: &[&str]) -> io::Result<()> {
    if folders.is_empty() {
        return Ok(());
    }
    let has_rights = !capabilities(None)?.effective.is_empty();
    // Some systems allow the namespace of a user, and nothing in it: another process tries first.
    if has_rights || is_allowed(folders)? {
        return replace(folders, has_rights);
    }
    Err(io::ErrorKind::PermissionDenied.into())
}

fn is_allowed(folders: &[&str]) -> io::Result<bool> {
    let folders: Vec<String> = folders.iter().map(|folder| folder.to_string()).collect();
    let tries = |folders: Vec<String>| {
        let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
        i32::from(replace(&folders, false).is_err())
    };
    let child = fork_with_first(&mut vec![folders], tries)?;
    let ended = waitpid(Some(child), WaitOptions::empty())?;
    Ok(ended.is_some_and(|(_, status)| status.exit_status() == Some(0)))
}

fn replace(folders: &[&str], has_rights: bool) -> io::Result<()> {
    if has_rights {
        own_mounts()?
    } else {
        own_mounts_of_a_user()?
    }
    // Or the mounts would be everybody's.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    folders
        .iter()
        .try_for_each(|folder| mount("ipcmark", *folder, "tmpfs", flags, c"mode=1777"))?;
    if !has_rights {
        // What such a namespace grants counts in it alone: a library that looks would believe in rights that it hasn't.
        let none = CapabilitySet::empty();
        let (effective, permitted, inheritable) = (none, none, none);
        set_capabilities(None, CapabilitySets { effective, permitted, inheritable })?;
    }
    Ok(())
}

fn own_mounts_of_a_user() -> io::Result<()> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS)?;
    let says = |file: &str, text: String| std::fs::write(format!("/proc/self/{file}"), text);
    says("setgroups", "deny".into())?;
    says("uid_map", format!("{user} {user} 1"))?;
    says("gid_map", format!("{group} {group} 1"))
}

fn unshare(flag: libc::c_int) -> io::Result<()> {
    // SAFETY: neither flag changes memory or descriptors of this thread.
    match unsafe { libc::unshare(flag) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Makes a TAP device in the network namespace of the calling thread: whole frames are read and
/// written, never waited for. The device is gone when the descriptor is closed.
///
/// # Errors
/// ENOENT and ENODEV where the kernel has no TUN, EPERM without CAP_NET_ADMIN, EBUSY if the name is
/// taken, EINVAL if it is too long.
pub fn open_tap(interface: &str) -> io::Result<File> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_share_the_leading_bits() {
        let beside = |own: &str, prefix, other: &str| {
            let own = Address { address: own.parse().unwrap(), prefix };
            own.is_beside(other.parse().unwrap())
        };
        assert!(beside("10.1.2.3", 24, "10.1.2.200") && !beside("10.1.2.3", 24, "10.1.3.3"));
        assert!(beside("10.1.2.3", 0, "192.0.2.1") && !beside("10.1.2.3", 32, "10.1.2.4"));
        assert!(beside("fd00::1", 64, "fd00::2") && !beside("fd00::1", 64, "fd01::2"));
        assert!(!beside("fd00::1", 0, "10.0.0.1"));
    }

    #[test]
    #[cfg_attr(miri, ignore = "it makes system calls")]
    fn what_is_listed_reaches_beyond_this_host() {
        for address in addresses().unwrap() {
            assert!(
                !address.address.is_loopback() && !address.address.is_unspecified(),
                "{address:?}"
            );
        }
    }
}
