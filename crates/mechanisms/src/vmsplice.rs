//! `vmsplice`: two pipes whose writers lend their pages (vmsplice(2)) instead of copying: one
//! copy, by the reader, instead of two. `gift=on` gives the pages away (SPLICE_F_GIFT).

use super::pipe::{CAPACITY, FULL, SLOT};
use super::zero_copy_pipe::{self, PAGES, WAIT, opened};
use super::{
    Carries, Choice, Framing, Mechanism, OpenError, OpenSpec, OptionSpec, Options, Traits, Visitor,
    Waits,
};
use model::bend::Bend;
use sys::zero_copy_pipe::PageTransfer;

pub struct Vmsplice;

impl Mechanism for Vmsplice {
    const NAME: &'static str = "vmsplice";
    const SUMMARY: &'static str = "two pipes whose writers lend pages: one copy";
    const TRAITS: Traits = Traits { copies: 1, ..Traits::host(Carries::Bytes, Framing::Stream) };
    const BENDS: &'static [Bend] = &[SLOT, FULL];
    const OPTIONS: &'static [OptionSpec] = &[
        OptionSpec {
            name: "gift",
            summary: "give the pages to the kernel (SPLICE_F_GIFT)",
            words: &["off", "on"],
            takes_size: false,
        },
        PAGES,
        WAIT,
        CAPACITY,
    ];

    fn waits(options: &Options) -> Waits {
        zero_copy_pipe::waits(options, Self::OPTIONS)
    }

    fn open<V: Visitor>(spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        let gift = spec.options.get(Self::OPTIONS, "gift") == Choice::Word("on");
        Ok(visitor.visit(opened(spec, Self::OPTIONS, PageTransfer::Lend { gift })?))
    }
}
