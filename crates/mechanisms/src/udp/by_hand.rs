//! An end of `udp` over a socket that the caller connected and whose datagrams the caller brings: in any
//! order, twice, never, or not ours at all. Nothing is timed here, and nothing waits. The fuzzer (fuzz/)
//! puts datagrams through it that no partner would send.

use std::io;
use std::net::UdpSocket;
use std::time::Instant;

use super::fragments::{self, SEGMENTS};
use super::lossy;
use super::{UdpEnd, check, datagram_here, fragmented, set_failed};
use crate::{Deadline, Endpoint, OpenError, OpenSpec};

/// An end as the options ask for it.
pub struct ByHand(Form);

enum Form {
    Bare(UdpEnd),
    Fragments(Box<fragments::FragmentsEnd<1, 2>>),
    Joined(Box<fragments::FragmentsEnd<1, { SEGMENTS + 1 }>>),
    Reliable(Box<crate::reliable::ByHand>),
}

impl ByHand {
    /// An end over `socket`, which must be connected; the responder's if it `answers`.
    ///
    /// # Errors
    /// What the options exclude.
    pub fn new(spec: &OpenSpec, socket: UdpSocket, answers: bool) -> Result<ByHand, OpenError> {
        check(&spec.options)?;
        socket.set_nonblocking(true).map_err(set_failed)?;
        if let Some(plan) = lossy::plan(&spec.options)? {
            let end = crate::reliable::ByHand::new(spec, &plan, socket, answers)?;
            return Ok(ByHand(Form::Reliable(Box::new(end))));
        }
        let (bytes, together) = fragmented(spec, Some(datagram_here(&spec.options) as u32))?;
        Ok(ByHand(match together {
            None => Form::Bare(UdpEnd::new(socket, spec.message_bytes).map_err(set_failed)?),
            Some((_, false)) => {
                let end = fragments::FragmentsEnd::of(socket, bytes, spec.message_bytes)?;
                Form::Fragments(Box::new(end))
            }
            Some((_, true)) => {
                let end = fragments::FragmentsEnd::of(socket, bytes, spec.message_bytes)?;
                Form::Joined(Box::new(end))
            }
        }))
    }

    /// Receives a message, as far as datagrams have come; true where all of it is in `message`.
    ///
    /// # Errors
    /// What an end says of datagrams that are no part of it, or of a loss.
    pub fn receive(&mut self, message: &mut [u8]) -> io::Result<bool> {
        match &mut self.0 {
            Form::Bare(it) => it.recv(message).map(|()| true),
            Form::Fragments(it) => it.recv(message).map(|()| true),
            Form::Joined(it) => it.recv(message).map(|()| true),
            Form::Reliable(it) => it.receive(message),
        }
    }

    /// Sends a message. Room that has to be waited for is late at once.
    ///
    /// # Errors
    /// No room for it, and what the socket says.
    pub fn send(&mut self, message: &[u8]) -> io::Result<()> {
        match &mut self.0 {
            Form::Bare(it) => send(it, message),
            Form::Fragments(it) => send(&mut **it, message),
            Form::Joined(it) => send(&mut **it, message),
            Form::Reliable(it) => it.send(message),
        }
    }
}

pub(crate) fn send(end: &mut impl Endpoint, message: &[u8]) -> io::Result<()> {
    let now = Deadline::default();
    now.set(Instant::now());
    end.start(&now)?;
    end.send(message)
}
