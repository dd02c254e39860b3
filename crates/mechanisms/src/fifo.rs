//! `fifo`: two named pipes, one each way (fifo(7)). The names exist while the pair is opened;
//! after that a FIFO is a pipe, and is measured to show just that.

use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, fcntl_setfl, mknodat, open};
use rustix::pipe::fcntl_getpipe_size;

use super::fd::TwoFds;
use super::pipe::{BUF, FULL, SLOT};
use super::{
    Carries, Framing, Mechanism, OpenError, OpenSpec, Opened, PrivateNames, Traits, Visitor,
};
use model::bend::Bend;
use std::os::fd::OwnedFd;

pub struct Fifo;

impl Mechanism for Fifo {
    const NAME: &'static str = "fifo";
    const SUMMARY: &'static str = "two named pipes, one each way";
    const TRAITS: Traits = Traits::host(Carries::Bytes, Framing::Stream);
    const BENDS: &'static [Bend] = &[SLOT, BUF, FULL];

    fn open<V: Visitor>(_spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        let names = PrivateNames::new()?;
        let (there, back) = (fifo(names.name()?.path())?, fifo(names.name()?.path())?);
        let capacity =
            fcntl_getpipe_size(&there.1).map_err(OpenError::call("fcntl F_GETPIPE_SZ"))?;
        let initiator = TwoFds::new(there.1, back.0);
        let responder = TwoFds::new(back.1, there.0);
        let effective_settings = vec![("pipe_capacity_bytes".into(), capacity as u64)];
        Ok(visitor.visit(Opened::new(initiator, responder).effective_settings(effective_settings)))
    }
}

/// The reading and the writing end of a new FIFO. The reader opens first and without waiting
/// for a writer; then it becomes an ordinary, blocking descriptor.
fn fifo(path: &Path) -> Result<(OwnedFd, OwnedFd), OpenError> {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
        .map_err(OpenError::call("mkfifo"))?;
    let failed = OpenError::call("open a FIFO");
    let reading = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let from = open(path, reading, Mode::empty()).map_err(&failed)?;
    let to = open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()).map_err(&failed)?;
    fcntl_setfl(&from, OFlags::empty()).map_err(OpenError::call("fcntl F_SETFL"))?;
    Ok((from, to))
}
