//! `sysv-queue`: two System V message queues, one each way (sysvipc(7)). The kernel wants a
//! type word right before the bytes, so each end keeps an envelope, filled and read in place.

use std::borrow::Cow::Borrowed;
use std::io;

use super::residue::{NAMESPACE, private};
use super::{
    Carries, Endpoint, Framing, Mechanism, OpenError, OpenSpec, Opened, OptionSpec, Options,
    Residue, Traits, Visitor, socket::wrong_length,
};
use model::bend::{Bend, Length};
use sys::system_v::{self, Envelope, ObjectKind};

/// The kernel's `struct msg_msg`, at the head of a queued message (64-bit).
const MSG_MSG: u64 = 48;
/// What lies behind that in its first page, of either kind of queue.
pub const FIRST_PIECE: Bend = Bend::new(
    "first piece of a message",
    Length::Less(Borrowed(&[Length::Page, Length::Bytes(MSG_MSG)])),
    "DATALEN_MSG, ipc/msgutil.c",
);
/// All that a queue takes.
const FULL: Bend =
    Bend::new("queue capacity", Length::setting("queue_capacity_bytes"), "granted: IPC_STAT");

pub struct SysvQueue;

/// One side: where messages leave and arrive, by the queues' ids.
pub struct SysvQueueEnd {
    to: i32,
    from: i32,
    envelope: Envelope,
}

impl Mechanism for SysvQueue {
    const NAME: &'static str = "sysv-queue";
    const SUMMARY: &'static str = "two System V message queues, one each way";
    const TRAITS: Traits = Traits::host(Carries::Bytes, Framing::Message);
    const BENDS: &'static [Bend] = &[FIRST_PIECE, FULL];
    const OPTIONS: &'static [OptionSpec] = &[NAMESPACE];
    const LEAVES_OBJECTS: bool = true;

    fn wants_namespace(options: &Options) -> bool {
        private(options, Self::OPTIONS)
    }

    fn largest(options: &Options) -> Option<usize> {
        // A new namespace starts with the kernel's default, whatever was set in this one.
        const DEFAULT: usize = 8192;
        let text = std::fs::read_to_string("/proc/sys/kernel/msgmax").ok()?;
        let here = text.trim().parse::<usize>().ok()?;
        Some(if private(options, Self::OPTIONS) { here.min(DEFAULT) } else { here })
    }

    fn open<V: Visitor>(spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        let mut residue = Residue::of_objects()?;
        let mut queue = || {
            residue.make(ObjectKind::Queue, system_v::make_queue).map_err(OpenError::call("msgget"))
        };
        let (there, back) = (queue()?, queue()?);
        let bytes = system_v::queue_bytes(there).map_err(OpenError::call("msgctl IPC_STAT"))?;
        let end = |to, from| SysvQueueEnd { to, from, envelope: Envelope::new(spec.message_bytes) };
        let opened = Opened::new(end(there, back), end(back, there))
            .effective_settings(vec![("queue_capacity_bytes".into(), bytes)])
            .residue(residue);
        Ok(visitor.visit(opened))
    }
}

impl SysvQueueEnd {
    /// Takes the next message into the envelope; `length` is what both sides agreed.
    #[inline(always)]
    fn take(&mut self, length: usize) -> io::Result<()> {
        loop {
            match self.envelope.recv(self.from) {
                Ok(got) if got == length => return Ok(()),
                Ok(got) => return Err(wrong_length("msgrcv", got, length)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    #[inline(always)]
    fn put(&mut self, length: usize) -> io::Result<()> {
        loop {
            match self.envelope.send(self.to, length) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}

impl Endpoint for SysvQueueEnd {
    #[inline(always)]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        if message.len() > self.envelope.room() {
            return Err(wrong_length("msgsnd", message.len(), self.envelope.room()));
        }
        self.envelope.text(message.len()).copy_from_slice(message);
        self.put(message.len())
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        self.take(message.len())?;
        message.copy_from_slice(self.envelope.text(message.len()));
        Ok(())
    }

    #[inline(always)]
    fn send_with(&mut self, message: &mut [u8], fill: impl FnOnce(&mut [u8])) -> io::Result<()> {
        fill(self.envelope.text(message.len()));
        self.put(message.len())
    }

    #[inline(always)]
    fn recv_with(
        &mut self,
        message: &mut [u8],
        look: impl FnOnce(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        self.take(message.len())?;
        look(self.envelope.text(message.len()))
    }
}
