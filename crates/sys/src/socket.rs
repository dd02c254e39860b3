//! Options and facts of sockets that rustix doesn't wrap, and receiving what the kernel has put
//! together.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd};

use libc::c_int;

use super::last_error;

/// Busy polling on a socket (socket(7)).
const SO_BUSY_POLL: c_int = 46;
const SO_MEMINFO: c_int = 55;
/// Level of the options of Multipath TCP (linux/mptcp.h).
const SOL_MPTCP: c_int = 284;
const MPTCP_INFO: c_int = 1;

/// Sets an option that is a plain number (setsockopt(2)).
fn set(socket: impl AsFd, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
    let bytes = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the descriptor is borrowed and open; the kernel reads `bytes` bytes of `value`,
    // which outlives the call.
    let code = unsafe {
        libc::setsockopt(socket.as_fd().as_raw_fd(), level, name, (&raw const value).cast(), bytes)
    };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads an option that is a list of words; gives them and how many the kernel wrote
/// (getsockopt(2)).
fn get<const N: usize>(
    socket: impl AsFd,
    level: c_int,
    name: c_int,
) -> io::Result<([u32; N], usize)> {
    let mut words = [0u32; N];
    let mut bytes = size_of_val(&words) as libc::socklen_t;
    let place = words.as_mut_ptr().cast();
    // SAFETY: the descriptor is borrowed and open; `words` has room for `bytes` bytes, and the
    // kernel writes at most that many.
    let code =
        unsafe { libc::getsockopt(socket.as_fd().as_raw_fd(), level, name, place, &mut bytes) };
    match code {
        0 => Ok((words, bytes as usize / size_of::<u32>())),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The process that listens where a Unix socket is connected; None where it is of another PID
/// namespace (SO_PEERCRED, unix(7)).
pub fn listening_process(socket: impl AsFd) -> io::Result<Option<u32>> {
    let (words, _) = get::<3>(socket, libc::SOL_SOCKET, libc::SO_PEERCRED)?;
    Ok((words[0] != 0).then_some(words[0]))
}

/// The largest packet on the way to whom a socket is connected, as far as the kernel knows
/// (IP_MTU, ip(7); IPV6_MTU, ipv6(7)).
pub fn path_mtu(socket: impl AsFd, ipv6: bool) -> io::Result<u32> {
    let (level, name) =
        if ipv6 { (libc::IPPROTO_IPV6, libc::IPV6_MTU) } else { (libc::IPPROTO_IP, libc::IP_MTU) };
    get::<1>(socket, level, name).map(|(words, _)| words[0])
}

/// Has datagrams sent without a checksum: IPv4 takes those from anybody (SO_NO_CHECK, socket(7)), IPv6
/// only where the receiver says so (UDP_NO_CHECK6_TX and _RX, linux/udp.h).
pub fn without_checksums(socket: impl AsFd, ipv6: bool) -> io::Result<()> {
    const UDP_NO_CHECK6_TX: c_int = 101;
    const UDP_NO_CHECK6_RX: c_int = 102;
    if !ipv6 {
        return set(socket, libc::SOL_SOCKET, libc::SO_NO_CHECK, 1);
    }
    set(&socket, libc::SOL_UDP, UDP_NO_CHECK6_TX, 1)?;
    set(socket, libc::SOL_UDP, UDP_NO_CHECK6_RX, 1)
}

/// Datagrams the kernel dropped at this socket because its buffer was full
/// (SO_MEMINFO, SK_MEMINFO_DROPS; Linux 4.12).
pub fn drops(socket: impl AsFd) -> io::Result<u64> {
    const SK_MEMINFO_DROPS: usize = 8;
    let (words, known) = get::<16>(socket, libc::SOL_SOCKET, SO_MEMINFO)?;
    if known > SK_MEMINFO_DROPS {
        Ok(u64::from(words[SK_MEMINFO_DROPS]))
    } else {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Has the kernel poll the device for so many microseconds before a receiver sleeps
/// (SO_BUSY_POLL, socket(7)).
pub fn set_busy_poll(socket: impl AsFd, microseconds: u32) -> io::Result<()> {
    let value = c_int::try_from(microseconds).map_err(|_| io::ErrorKind::InvalidInput)?;
    set(socket, libc::SOL_SOCKET, SO_BUSY_POLL, value)
}

/// Has the kernel cut whatever is sent at once into datagrams of `bytes` (UDP_SEGMENT, udp(7);
/// Linux 4.18).
pub fn cut_when_sent(socket: impl AsFd, bytes: u16) -> io::Result<()> {
    set(socket, libc::SOL_UDP, libc::UDP_SEGMENT, bytes.into())
}

/// Has the kernel hand over together the datagrams that came together (UDP_GRO, udp(7);
/// Linux 5.0).
pub fn join_when_received(socket: impl AsFd) -> io::Result<()> {
    set(socket, libc::SOL_UDP, libc::UDP_GRO, 1)
}

/// Subflows of a Multipath TCP connection, the first one included (MPTCP_INFO; Linux 5.16);
/// None if it is plain TCP, or has fallen back to it.
pub fn subflows(socket: impl AsFd) -> io::Result<Option<u64>> {
    // struct mptcp_info of linux/mptcp.h: its first byte counts the additional subflows; the
    // third word holds flags.
    const FELL_BACK: u32 = 1;
    match get::<8>(socket, SOL_MPTCP, MPTCP_INFO) {
        Ok((words, known)) if known > 2 && words[2] & FELL_BACK == 0 => {
            Ok(Some(1 + u64::from(words[0].to_ne_bytes()[0])))
        }
        Ok(_) => Ok(None),
        Err(error) => match error.raw_os_error() {
            Some(libc::EOPNOTSUPP | libc::ENOPROTOOPT) => Ok(None),
            _ => Err(error),
        },
    }
}

/// Room for the one control message asked for: a length, as CMSG_SPACE wants it, and aligned.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// Receives a datagram, or several that the kernel has put together, into `slices`, in their
/// order; gives the bytes of all, and of each datagram but the last, which may be shorter
/// (recvmsg(2), UDP_GRO). What doesn't fit is cut off.
#[inline(always)]
pub fn recv_joined(socket: impl AsFd, slices: &mut [IoSliceMut<'_>]) -> io::Result<(usize, usize)> {
    let mut control = Control([0; 64]);
    // SAFETY: all-zero bytes are a valid msghdr. An IoSliceMut has the layout of an iovec
    // (std::io), and `slices` and `control` outlive the call. The kernel writes at most what the
    // lengths allow; the control message it wrote is read within its bounds, as an int that may
    // be unaligned (udp(7)).
    unsafe {
        let mut header: libc::msghdr = std::mem::zeroed();
        header.msg_iov = slices.as_mut_ptr().cast();
        header.msg_iovlen = slices.len() as _;
        header.msg_control = (&raw mut control).cast();
        header.msg_controllen = size_of::<Control>() as _;
        let code = libc::recvmsg(socket.as_fd().as_raw_fd(), &mut header, 0);
        if code < 0 {
            return Err(last_error("recvmsg"));
        }
        let (bytes, mut each) = (code as usize, code as usize);
        let first = libc::CMSG_FIRSTHDR(&header);
        if !first.is_null()
            && (*first).cmsg_level == libc::SOL_UDP
            && (*first).cmsg_type == libc::UDP_GRO
        {
            each = libc::CMSG_DATA(first).cast::<c_int>().read_unaligned() as usize;
        }
        Ok((bytes, each))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "it makes system calls")]
    fn checksums_are_left_out_of_both_families() {
        let of = |address: &str| std::net::UdpSocket::bind((address, 0));
        let four = of("127.0.0.1").unwrap();
        let is_off = || get::<1>(&four, libc::SOL_SOCKET, libc::SO_NO_CHECK).unwrap().0[0];
        assert_eq!(is_off(), 0);
        without_checksums(&four, false).unwrap();
        assert_eq!(is_off(), 1);
        // A machine may have no IPv6.
        if let Ok(six) = of("::1") {
            without_checksums(&six, true).unwrap();
            for option in [101, 102] {
                assert_eq!(get::<1>(&six, libc::SOL_UDP, option).unwrap().0[0], 1);
            }
        }
    }
}
