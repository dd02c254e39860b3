//! `null`: does nothing. What it measures is the harness: the clock and the loop.

use std::io;

use super::{Carries, Endpoint, Framing, Mechanism, OpenError, OpenSpec, Opened, Traits, Visitor};

/// The mechanism's row.
pub struct Null;

/// An end that carries nothing.
pub struct NullEnd;

impl Mechanism for Null {
    const NAME: &'static str = "null";
    const SUMMARY: &'static str = "nothing at all: the harness's own cost";
    const TRAITS: Traits = Traits::host(Carries::Nothing, Framing::Message);

    fn open<V: Visitor>(_spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        Ok(visitor.visit(Opened::new(NullEnd, NullEnd)))
    }
}

impl Endpoint for NullEnd {
    #[inline(always)]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        std::hint::black_box(message);
        Ok(())
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        std::hint::black_box(message);
        Ok(())
    }
}
