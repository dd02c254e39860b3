//! `process-vm`: one copy, straight from the sender's buffer into the receiver's
//! (process_vm_readv(2)). A message is a rendezvous: the sender sleeps until it was taken.
//! `call=writev` turns it round: the receiver offers its buffer, the sender writes into it.

use std::borrow::Cow::Borrowed;
use std::io;

use super::socket::wrong_length;
use super::{
    Carries, Choice, Deadline, Endpoint, Framing, Mechanism, OpenError, OpenSpec, Opened,
    OptionSpec, Options, Traits, Visitor,
};
use model::bend::{Bend, Length};
use sys::cross_memory::{Receiver, Sender, let_partners_in, two};
use sys::failed::try_futex;
use sys::parking;

pub struct ProcessVm;

/// One side; `READS` tells who copies: the receiver, or the sender.
pub struct ProcessVmEnd<const READS: bool> {
    out: Sender,
    into: Receiver,
}

impl Mechanism for ProcessVm {
    const NAME: &'static str = "process-vm";
    const SUMMARY: &'static str = "one copy, straight from process to process";
    const TRAITS: Traits = Traits { copies: 1, ..Traits::host(Carries::Bytes, Framing::Message) };
    const BENDS: &'static [Bend] = &[Bend::new(
        "pages pinned without an allocation (16)",
        Length::Times(Borrowed(&[Length::Page]), 16),
        "PVM_MAX_PP_ARRAY_COUNT, mm/process_vm_access.c",
    )];
    const OPTIONS: &'static [OptionSpec] = &[OptionSpec {
        name: "call",
        summary: "who copies: the receiver (readv) or the sender (writev)",
        words: &["readv", "writev"],
        takes_size: false,
    }];
    const SHOWN: &'static [&'static str] = &["", "call=writev"];

    fn summary(options: &Options) -> &'static str {
        match options.get(Self::OPTIONS, "call") {
            Choice::Word("writev") => "the sender copies (process_vm_writev)",
            _ => Self::SUMMARY,
        }
    }

    fn open<V: Visitor>(spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        match spec.options.get(Self::OPTIONS, "call") {
            Choice::Word("writev") => Ok(visitor.visit(pair::<false>(spec)?)),
            _ => Ok(visitor.visit(pair::<true>(spec)?)),
        }
    }
}

fn pair<const READS: bool>(spec: &OpenSpec) -> Result<Opened<ProcessVmEnd<READS>>, OpenError> {
    try_futex().map_err(OpenError::call("futex"))?;
    let failed = OpenError::call("mmap");
    let [there, back] = two(parking::flags(spec.same_process)).map_err(failed)?;
    let initiator = ProcessVmEnd { out: there.0, into: back.1 };
    Ok(Opened::new(initiator, ProcessVmEnd { out: back.0, into: there.1 }))
}

impl<const READS: bool> Endpoint for ProcessVmEnd<READS> {
    fn start(&mut self, _deadline: &Deadline) -> io::Result<()> {
        // Before it shows or offers anything.
        let_partners_in();
        Ok(())
    }

    #[inline(always)]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        if READS {
            self.out.show(message);
            Ok(())
        } else {
            self.out.fill(message)
        }
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        let length = if READS { self.into.take(message)? } else { self.into.offer(message) };
        if length != message.len() {
            return Err(wrong_length("process-vm", length, message.len()));
        }
        Ok(())
    }
}
