//! What is on the wire: a header of eight bytes and a part of the message, or eight bytes alone,
//! which are a credit. One system call sends or receives one datagram, or many that the kernel
//! cuts or has joined.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::UdpSocket;

use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use sys::failed::failed;

use super::early::FragmentId;
use crate::socket;

/// Bytes of a header: the lower half of the message's number, and the fragment's number with its
/// mark; each a little-endian u32.
pub const HEADER: usize = 8;
/// In a fragment's number: its message ends with it.
const LAST: u32 = 1 << 31;

/// The header of fragment `nth` of a message of `count`.
#[inline(always)]
pub fn header(message: u64, nth: u32, count: u32) -> [u8; HEADER] {
    let fragment = if nth + 1 == count { nth | LAST } else { nth };
    (u64::from(fragment) << 32 | message & u64::from(u32::MAX)).to_le_bytes()
}

/// Where the fragment with this header belongs, if `near` is about the message that is awaited;
/// and whether it is the last of its message.
pub fn place(header: &[u8; HEADER], near: u64) -> (FragmentId, bool) {
    let both = u64::from_le_bytes(*header);
    let (message, fragment) = (both as u32, (both >> 32) as u32);
    let ahead = i64::from(message.wrapping_sub(near as u32) as i32);
    // Saturating: there is nothing before the first message.
    ((near.saturating_add_signed(ahead), fragment & !LAST), fragment & LAST != 0)
}

/// Sends `slices` with one sendmsg(2).
#[inline(always)]
pub fn send(socket: &UdpSocket, slices: &[IoSlice<'_>]) -> io::Result<()> {
    let bytes: usize = slices.iter().map(|slice| slice.len()).sum();
    loop {
        match sendmsg(socket, slices, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL) {
            Ok(taken) if taken == bytes => return Ok(()),
            Ok(taken) => return Err(socket::wrong_length("sendmsg", taken, bytes)),
            Err(Errno::INTR) => {}
            Err(error) => return Err(failed("sendmsg", error)),
        }
    }
}

/// Receives into `slices` with one recvmsg(2); gives the bytes of all datagrams and of each; None
/// if nothing came in time.
#[inline(always)]
pub fn receive(
    socket: &UdpSocket,
    slices: &mut [IoSliceMut<'_>],
) -> io::Result<Option<(usize, usize)>> {
    loop {
        match sys::socket::recv_joined(socket, slices) {
            Ok(came) => return Ok(Some(came)),
            Err(error) => match error.kind() {
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock => return Ok(None),
                _ => return Err(error),
            },
        }
    }
}
