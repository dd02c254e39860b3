//! A bare datagram a message, by calls that don't wait (MSG_DONTWAIT).
//!
//! Both ends may send at once. Messages that cross acknowledge nothing, so each end returns a credit for every
//! half window that it reads, and sends no more than a window that no credit has acknowledged. A
//! partner that isn't switched gives credits from when it is asked to (`bare`): once the window is full and
//! nothing is there to receive.

use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv, sockopt};

use super::{UdpEnd, accounted, set_failed};
use crate::{Nonblocking, OpenError, Received, Sent, socket};
use sys::failed::failed;

/// Refuses a buffer in which a datagram of `bytes` may leave no room for a credit. The kernel drops what it
/// has no room for, and keeps up to a quarter of the buffer for what was read already (`window`).
pub(super) fn check_room(socket: &UdpSocket, bytes: usize) -> Result<(), OpenError> {
    let room =
        sockopt::socket_recv_buffer_size(socket).map_err(|error| set_failed(error.into()))?;
    if accounted(bytes) + accounted(0) <= room - room / 4 {
        return Ok(());
    }
    Err(OpenError::NotApplicable(format!(
        "udp: a receive buffer of {room} bytes has no room for a credit beside a datagram of {bytes} bytes, as \
         messages both ways at once need: choose a larger `buffer=`"
    )))
}

impl Nonblocking for UdpEnd {
    fn prepare(&mut self, message_bytes: usize) -> Result<(), OpenError> {
        check_room(&self.socket, message_bytes)
    }

    /// Each call says so for itself. The first switch ends the taking of turns for good: no end knows when
    /// its partner would take them again.
    fn set_nonblocking(&mut self, on: bool) -> io::Result<()> {
        self.takes_turns &= !on;
        Ok(())
    }

    /// Without a credit there is no room. One that arrived behind a message is reached once that message
    /// is received.
    #[inline(always)]
    fn try_send(&mut self, message: &[u8]) -> io::Result<Sent> {
        while self.under_way >= self.window {
            if !self.take_first_credit(message.len())? {
                return Ok(Sent::WouldBlock);
            }
        }
        let sent = socket::try_send_message(&self.socket, message)?;
        self.under_way += u32::from(sent == Sent::Whole);
        Ok(sent)
    }

    #[inline(always)]
    fn try_recv(&mut self, message: &mut [u8]) -> io::Result<Received> {
        loop {
            // Also what the socket had no room for before.
            self.give_credit()?;
            match socket::try_recv_length(&self.socket, message)? {
                None => return Ok(Received::WouldBlock),
                Some(0) => self.take_credit(),
                Some(length) if length == message.len() => break,
                Some(length) => self.answer(message, length, ("recv", message.len()))?,
            }
        }
        self.owed += 1;
        self.give_credit()?;
        Ok(Received::Whole)
    }

    fn ready(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn room(&self) -> Option<PollFd<'_>> {
        let full = self.under_way >= self.window;
        Some(PollFd::new(&self.socket, if full { PollFlags::IN } else { PollFlags::OUT }))
    }
}

impl UdpEnd {
    /// Acknowledges half a window, if so much was read and the socket takes the credit.
    #[inline(always)]
    fn give_credit(&mut self) -> io::Result<()> {
        if self.owed >= self.credit() && socket::try_send_message(&self.socket, &[])? == Sent::Whole
        {
            self.owed -= self.credit();
            self.given = self.given.wrapping_add(1);
        }
        Ok(())
    }

    /// Takes a credit from the socket; whether one was the first thing there. Where nothing is, the partner is
    /// asked for what a message of `bytes` waits for.
    #[cold]
    fn take_first_credit(&mut self, bytes: usize) -> io::Result<bool> {
        let flags = RecvFlags::PEEK | RecvFlags::TRUNC | RecvFlags::DONTWAIT;
        let first = loop {
            match recv(&self.socket, &mut [0], flags) {
                Ok((_, length)) => break length,
                Err(Errno::AGAIN) => return self.ask_for_credits(bytes).map(|()| false),
                Err(Errno::INTR) => {}
                Err(error) => return Err(failed("recvfrom", error)),
            }
        };
        let credited = first == 0 && socket::try_recv_length(&self.socket, &mut [])? == Some(0);
        if credited {
            self.take_credit();
        }
        Ok(credited)
    }
}
