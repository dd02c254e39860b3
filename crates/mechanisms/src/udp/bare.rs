//! A message that is one datagram, bare. An empty datagram is a credit; one of a length that no message has there
//! asks the partner to go by credits, not by turns.

use std::io;
use std::net::UdpSocket;
use std::time::Duration;

use super::{EffectiveSettings, PATIENCE, path, window};
use crate::{Endpoint, NonblockingCode, socket};
use model::mechanism::{Datagrams, Stats};

/// What asks for credits: of 24 to 31 bytes, by how many credits were taken, and by which length no message has.
const ASK: &[u8; 32] = b"ipcmark: go by credits, not turn";
const ASK_BYTES: [usize; 2] = [24, 28];
/// The number of credits taken is sent modulo so many: at most two are in flight.
const CREDIT_MODULUS: u32 = 4;

/// One socket, and what is on its way.
pub struct UdpEnd {
    pub(super) socket: UdpSocket,
    /// Most datagrams that may be under way to the partner.
    pub(super) window: u32,
    /// Datagrams sent that the partner has not acknowledged.
    pub(super) under_way: u32,
    /// Datagrams received that this end has not acknowledged.
    pub(super) owed: u32,
    /// Whether a message acknowledges all that its sender received before. Only credits do once this end or its
    /// partner has been switched to calls that don't wait.
    pub(super) takes_turns: bool,
    /// Whether the partner was asked to go by credits, too: once is enough.
    asked: bool,
    /// Credits sent and received since it was opened.
    pub(super) given: u32,
    taken: u32,
    /// How long nothing may come before a datagram counts as lost.
    patience: Duration,
}

impl UdpEnd {
    pub(super) fn new(socket: UdpSocket, message_bytes: usize) -> io::Result<UdpEnd> {
        let window = window(&socket, message_bytes)?;
        let (asked, given, taken) = (false, 0, 0);
        let turns = true;
        Ok(UdpEnd {
            socket,
            window,
            under_way: 0,
            owed: 0,
            takes_turns: turns,
            asked,
            given,
            taken,
            patience: PATIENCE,
        })
    }

    /// With no more under way than the partner's buffer holds.
    pub(super) fn narrowed(self, window: u32) -> UdpEnd {
        UdpEnd { window: self.window.min(window), ..self }
    }

    /// What it may have under way, in datagrams of at most `bytes`, and what a message comes to.
    pub(super) fn effective_settings(
        &self,
        bytes: usize,
        message_bytes: usize,
    ) -> EffectiveSettings {
        let mut effective_settings =
            path::effective_settings(&self.socket, message_bytes, path::Laid::Bare);
        effective_settings.push(("window_datagrams".into(), self.window.into()));
        effective_settings.push(("datagram_bytes".into(), bytes as u64));
        effective_settings
    }

    /// Receives a datagram's length; an empty one is a credit.
    #[inline(always)]
    fn datagram(&self, message: &mut [u8]) -> io::Result<usize> {
        socket::recv_length(&self.socket, message).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => self.gave_up(),
            _ => error,
        })
    }

    #[cold]
    fn gave_up(&self) -> io::Error {
        let text = format!(
            "udp: a datagram was lost: nothing for {} ms, {} dropped by a full buffer here",
            self.patience.as_millis(),
            sys::socket::drops(&self.socket).unwrap_or(0)
        );
        io::Error::new(io::ErrorKind::TimedOut, text)
    }

    /// Datagrams that a credit acknowledges.
    #[inline(always)]
    pub(super) fn credit(&self) -> u32 {
        self.window.div_ceil(2)
    }

    #[cold]
    pub(super) fn take_credit(&mut self) {
        self.taken = self.taken.wrapping_add(1);
        self.under_way = self.under_way.saturating_sub(self.credit());
    }

    /// Waits for a credit, before a message of `bytes` can go.
    #[cold]
    fn await_credit(&mut self, bytes: usize) -> io::Result<()> {
        if !self.takes_turns {
            self.ask_for_credits(bytes)?;
        }
        let mut other = [0; ASK.len()];
        match self.datagram(&mut other)? {
            0 => self.take_credit(),
            length => self.answer(&other, length, ("credit", 0))?,
        }
        Ok(())
    }

    /// Asks the partner to go by credits, where it may still take turns and this end, which doesn't, has a window
    /// under way and a message of `bytes` to send: the partner expects that one.
    #[cold]
    pub(super) fn ask_for_credits(&mut self, bytes: usize) -> io::Result<()> {
        if self.asked {
            return Ok(());
        }
        let credits = (self.taken % CREDIT_MODULUS) as usize;
        let length =
            ASK_BYTES.map(|byte| byte + credits).into_iter().find(|number| *number != bytes);
        socket::send_message(&self.socket, &ASK[..length.unwrap_or_default()])?;
        self.asked = true;
        Ok(())
    }

    /// A datagram came, of a length that isn't `expected` for `call`: the partner asks for credits. All that it
    /// sent has been read by now, and it had a window under way: what no credit under way to it says is owed.
    ///
    /// # Errors
    /// It asks nothing: the datagram has a wrong length.
    #[cold]
    pub(super) fn answer(
        &mut self,
        came: &[u8],
        length: usize,
        (call, expected): (&str, usize),
    ) -> io::Result<()> {
        let visible = &came[..came.len().min(length)];
        if !(ASK_BYTES[0]..ASK.len()).contains(&length) || !ASK.starts_with(visible) {
            return Err(socket::wrong_length(call, length, expected));
        }
        // Whoever asks has not been given credits for all that it sent: this end took turns then, and may have been
        // switched since. Of one that gave them the sum is the same.
        self.takes_turns = false;
        let coming = self.given.wrapping_sub(length as u32) % CREDIT_MODULUS;
        self.owed = self.window.saturating_sub(coming * self.credit());
        while self.owed >= self.credit() {
            self.send_credit()?;
        }
        Ok(())
    }

    #[cold]
    fn send_credit(&mut self) -> io::Result<()> {
        self.owed -= self.credit();
        self.given = self.given.wrapping_add(1);
        socket::send_message(&self.socket, &[])
    }
}

impl Endpoint for UdpEnd {
    #[inline(always)]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        while self.under_way >= self.window {
            self.await_credit(message.len())?;
        }
        self.under_way += 1;
        if self.takes_turns {
            self.owed = 0;
        }
        socket::send_message(&self.socket, message)
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        if self.owed >= self.credit() {
            self.send_credit()?;
        }
        loop {
            match self.datagram(message)? {
                0 => self.take_credit(),
                length if length == message.len() => break,
                length => self.answer(message, length, ("recv", message.len()))?,
            }
        }
        self.owed += 1;
        if self.takes_turns {
            self.under_way = 0;
        }
        Ok(())
    }

    fn nonblocking<'a, C: NonblockingCode<'a>>(&'a mut self, code: C) -> Option<C::Output> {
        Some(code.run(self))
    }

    fn bear_pauses(&mut self, pause: Duration) -> io::Result<()> {
        self.patience = PATIENCE + pause;
        self.socket.set_read_timeout(Some(self.patience))
    }

    fn stats(&self) -> Option<Stats> {
        let queue_overflows = sys::socket::drops(&self.socket).ok();
        let datagrams = Some(Datagrams { queue_overflows, fragments: None });
        Some(Stats { lost: queue_overflows.unwrap_or(0), datagrams, counts: Vec::new() })
    }
}
