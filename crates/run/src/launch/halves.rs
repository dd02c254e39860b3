//! The endpoints of a workload that sets up, between two hosts. The near side has none before it is
//! timed, because it times the set-up itself; the far side only accepts.

use std::io;

use mechanisms::Endpoint;
use mechanisms::network::Listener;

/// The near side's endpoint: none. Sending and receiving fail with `NotConnected`.
pub struct NoEndpoint;

impl Endpoint for NoEndpoint {
    fn send(&mut self, _message: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::NotConnected.into())
    }

    fn recv(&mut self, _message: &mut [u8]) -> io::Result<()> {
        Err(io::ErrorKind::NotConnected.into())
    }
}

/// The far side's endpoint: a listener. Each `recv` accepts and closes one connection and fills the
/// message with its kind. Sending fails with `NotConnected`.
pub struct AcceptOnly<L>(pub L);

impl<L: Listener> Endpoint for AcceptOnly<L> {
    fn send(&mut self, _message: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::NotConnected.into())
    }

    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        let kind = self.0.accept_and_close()?;
        message.fill(kind as u8);
        Ok(())
    }
}
