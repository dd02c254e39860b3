//! `splice`: two pipes whose writers splice the pages of a memory file into them (splice(2)):
//! one copy, by the reader, instead of two.

use super::pipe::{CAPACITY, FULL, SLOT};
use super::zero_copy_pipe::{self, PAGES, WAIT, opened};
use super::{
    Carries, Framing, Mechanism, OpenError, OpenSpec, OptionSpec, Options, Traits, Visitor, Waits,
};
use model::bend::Bend;
use sys::zero_copy_pipe::PageTransfer;

pub struct Splice;

impl Mechanism for Splice {
    const NAME: &'static str = "splice";
    const SUMMARY: &'static str = "two pipes fed from a memory file: one copy";
    const TRAITS: Traits = Traits { copies: 1, ..Traits::host(Carries::Bytes, Framing::Stream) };
    const BENDS: &'static [Bend] = &[SLOT, FULL];
    const OPTIONS: &'static [OptionSpec] = &[PAGES, WAIT, CAPACITY];

    fn waits(options: &Options) -> Waits {
        zero_copy_pipe::waits(options, Self::OPTIONS)
    }

    fn open<V: Visitor>(spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        Ok(visitor.visit(opened(spec, Self::OPTIONS, PageTransfer::Splice)?))
    }
}
