//! What `vmsplice` and `splice` share: two pipes whose writers pass pages to the kernel instead of copying
//! bytes into it, and fill them in place. The reader copies them out with read(2).

use std::io;
use std::os::fd::OwnedFd;

use rustix::pipe::PipeFlags;

use super::fd::try_read;
use super::pipe::two_pipes;
use super::{
    Choice, Deadline, Endpoint, OpenError, OpenSpec, Opened, OptionSpec, Options, Received, Waits,
};
use sys::zero_copy_pipe::{PageTransfer, Pool};

/// The option `pages=normal|huge`: which pages are passed.
pub const PAGES: OptionSpec = OptionSpec {
    name: "pages",
    summary: "pages of the usual size, or huge ones (vm.nr_hugepages)",
    words: &["normal", "huge"],
    takes_size: false,
};

/// The option `wait=sleep|spin`: whether who finds the pipe full or empty sleeps, or asks again at once.
pub const WAIT: OptionSpec = OptionSpec {
    name: "wait",
    summary: "asleep in the call, or asking again without waiting (O_NONBLOCK, SPLICE_F_NONBLOCK)",
    words: &["sleep", "spin"],
    takes_size: false,
};

/// Whether a worker sleeps by these options.
pub fn waits(options: &Options, specs: &'static [OptionSpec]) -> Waits {
    match options.get(specs, WAIT.name) {
        Choice::Word("spin") => Waits::Spinning,
        _ => Waits::Asleep,
    }
}

/// One side: a pool of pages for the pipe that it writes, and the pipe that it reads.
pub struct ZeroCopyEnd {
    pool: Pool,
    from: OwnedFd,
}

/// Opens two pipes and their pools of pages.
pub fn opened(
    spec: &OpenSpec,
    specs: &'static [OptionSpec],
    transfer: PageTransfer,
) -> Result<Opened<ZeroCopyEnd>, OpenError> {
    let spins = waits(&spec.options, specs) == Waits::Spinning;
    let flags = if spins { PipeFlags::NONBLOCK } else { PipeFlags::empty() };
    let [there, back] = two_pipes(spec, specs, flags)?;
    let huge = spec.options.get(specs, "pages") == Choice::Word("huge");
    let mapped = if huge { "mmap of huge pages" } else { "mmap" };
    let pool = |pipe| {
        let pool = Pool::new(pipe, spec.message_bytes, transfer, (huge, spins));
        pool.map_err(OpenError::call(mapped))
    };
    let effective_settings = vec![("pipe_capacity_bytes".into(), there.capacity)];
    let initiator = ZeroCopyEnd { pool: pool(there.to)?, from: back.from };
    let responder = ZeroCopyEnd { pool: pool(back.to)?, from: there.from };
    Ok(Opened::new(initiator, responder).effective_settings(effective_settings))
}

impl Endpoint for ZeroCopyEnd {
    fn start(&mut self, _deadline: &Deadline) -> io::Result<()> {
        self.pool.populate()
    }

    #[inline(always)]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.pool.place(message.len()).copy_from_slice(message);
        self.pool.hand_over(message.len())
    }

    #[inline(always)]
    fn send_with(&mut self, message: &mut [u8], fill: impl FnOnce(&mut [u8])) -> io::Result<()> {
        fill(self.pool.place(message.len()));
        self.pool.hand_over(message.len())
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        let mut received = 0;
        while try_read(&self.from, message, &mut received)? == Received::WouldBlock {
            std::hint::spin_loop();
        }
        Ok(())
    }
}
