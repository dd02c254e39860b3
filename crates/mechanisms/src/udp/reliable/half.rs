//! One end whose partner is on another host: the same ends as over loopback, each with the trace of
//! its own direction, and both with the smaller one of their windows.

use std::net::UdpSocket;

use super::path::Path;
use super::{Plan, Strategy, arq, fec, told};
use crate::OpenError;
use crate::network::Granted;
use crate::udp::remote::Make;

/// What an end is made by.
#[derive(Clone)]
pub struct Half {
    /// What the options ask for.
    pub plan: Plan,
    /// Bytes of a message.
    pub message_bytes: usize,
    /// Whether it is the responder's.
    pub answers: bool,
    /// Of the trace, alike on both hosts.
    pub seed: u64,
}

impl Half {
    /// Whether it retransmits what is lost.
    pub fn is_arq(&self) -> bool {
        matches!(self.plan.strategy, Strategy::Arq { .. })
    }

    fn datagram(&self) -> usize {
        self.plan.datagram_bytes(self.message_bytes)
    }

    /// The path, how many datagrams may be under way on it, and what is told of both.
    fn path(&self, socket: UdpSocket, theirs: u32) -> Result<(Path, u64, Granted), OpenError> {
        let window = self.plan.window(&socket, self.message_bytes)?.min(theirs.max(1).into());
        let path = self.plan.path(socket, self.answers, self.seed)?;
        let mtu = path.mtu().map(|it| ("path_mtu_bytes".into(), it.into()));
        let granted = told(&self.plan, window, self.message_bytes).into_iter().chain(mtu);
        let granted = granted.collect();
        Ok((path, window, granted))
    }
}

/// Makes an endpoint without retransmission.
#[derive(Clone)]
pub struct MakeFec(pub Half);

/// Makes an endpoint that retransmits what is lost.
#[derive(Clone)]
pub struct MakeArq(pub Half);

impl Make for MakeFec {
    type End = fec::End;

    fn datagram(&self) -> usize {
        self.0.datagram()
    }

    fn make(&self, socket: UdpSocket, window: u32) -> Result<(Self::End, Granted), OpenError> {
        let (path, window, granted) = self.0.path(socket, window)?;
        Ok((self.0.plan.fec_end(path, self.0.answers, window), granted))
    }
}

impl Make for MakeArq {
    type End = arq::End;

    fn datagram(&self) -> usize {
        self.0.datagram()
    }

    fn make(&self, socket: UdpSocket, window: u32) -> Result<(Self::End, Granted), OpenError> {
        let (path, window, granted) = self.0.path(socket, window)?;
        Ok((self.0.plan.arq_end(path, self.0.answers, window), granted))
    }
}
