//! One end whose partner is on another host: the same ends as over loopback, each with the trace of
//! its own direction, and both with the smaller one of their windows.

use super::path::Path;
use super::{ArqEnd, DatagramSocket, FecEnd, Plan};
use crate::OpenError;
use crate::network::EffectiveSettings;

/// What an end is made by.
pub struct Half {
    pub plan: Plan,
    pub message_bytes: usize,
    /// Whether it is the responder's.
    pub answers: bool,
    /// Of the trace, alike on both hosts.
    pub seed: u64,
}

impl Half {
    pub fn datagram(&self) -> usize {
        self.plan.datagram_bytes(self.message_bytes)
    }

    /// An end without retransmission, with no more under way than `theirs`.
    ///
    /// # Errors
    /// As the calls that set its socket up.
    pub fn fec<S: DatagramSocket>(
        &self,
        socket: S,
        theirs: u32,
    ) -> Result<(FecEnd<S>, EffectiveSettings), OpenError> {
        let (path, window, effective_settings) = self.path(socket, theirs)?;
        Ok((self.plan.fec_end(path, self.answers, window), effective_settings))
    }

    /// The same of an end that retransmits what is lost.
    ///
    /// # Errors
    /// As [`Half::fec`].
    pub fn arq<S: DatagramSocket>(
        &self,
        socket: S,
        theirs: u32,
    ) -> Result<(ArqEnd<S>, EffectiveSettings), OpenError> {
        let (path, window, effective_settings) = self.path(socket, theirs)?;
        Ok((self.plan.arq_end(path, self.answers, window), effective_settings))
    }

    /// The path, how many datagrams may be in flight on it, and the effective settings of both.
    fn path<S: DatagramSocket>(
        &self,
        socket: S,
        theirs: u32,
    ) -> Result<(Path<S>, u64, EffectiveSettings), OpenError> {
        let window = self.plan.window(&socket, self.message_bytes)?.min(theirs.max(1).into());
        let path = self.plan.path(socket, self.answers, self.seed)?;
        let mtu = path.mtu().map(|mtu| ("path_mtu_bytes".into(), mtu.into()));
        let effective_settings =
            self.plan.path_settings(window, self.message_bytes).into_iter().chain(mtu);
        let effective_settings = effective_settings.collect();
        Ok((path, window, effective_settings))
    }
}
