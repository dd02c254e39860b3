//! What the workers of a half launch hold where they hold no end: nothing on the near side of a
//! `connect`, which sets up what it times; a door on its far side.

use std::io;

use mechanisms::Endpoint;
use mechanisms::network::Door;

/// Nobody to talk to.
pub struct Nobody;

impl Endpoint for Nobody {
    fn send(&mut self, _message: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::NotConnected.into())
    }

    fn recv(&mut self, _message: &mut [u8]) -> io::Result<()> {
        Err(io::ErrorKind::NotConnected.into())
    }
}

/// A door; each message is a caller's, and one byte: what it came for.
pub struct Porch<D>(pub D);

impl<D: Door> Endpoint for Porch<D> {
    fn send(&mut self, _message: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::NotConnected.into())
    }

    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        let purpose = self.0.pass()?;
        message.fill(purpose as u8);
        Ok(())
    }
}
