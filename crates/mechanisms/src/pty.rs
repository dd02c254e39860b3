//! `pty`: a pseudoterminal in raw mode (pty(7)): what a shell and its terminal talk over. The
//! initiator holds the master, the responder the terminal.

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use super::fd::OneFd;
use super::{Carries, Framing, Mechanism, OpenError, OpenSpec, Opened, Traits, Visitor};
use model::bend::{Bend, Length};

/// The mechanism's row.
pub struct Pty;

impl Mechanism for Pty {
    const NAME: &'static str = "pty";
    const SUMMARY: &'static str = "a pseudoterminal in raw mode";
    const TRAITS: Traits = Traits::host(Carries::Bytes, Framing::Stream);
    const BENDS: &'static [Bend] = &[Bend::new(
        "line buffer of a terminal",
        Length::Bytes(4096),
        "N_TTY_BUF_SIZE, linux/tty.h",
    )];

    fn open<V: Visitor>(_spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        let failed = |call| OpenError::call::<rustix::io::Errno>(call);
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .map_err(failed("open /dev/ptmx"))?;
        grantpt(&master).map_err(failed("grantpt"))?;
        unlockpt(&master).map_err(failed("unlockpt"))?;
        let name = ptsname(&master, Vec::new()).map_err(failed("ptsname"))?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let terminal =
            open(name.as_c_str(), flags, Mode::empty()).map_err(failed("open the terminal"))?;
        let mut modes = tcgetattr(&terminal).map_err(failed("tcgetattr"))?;
        modes.make_raw();
        tcsetattr(&terminal, OptionalActions::Now, &modes).map_err(failed("tcsetattr"))?;
        Ok(visitor.visit(Opened::new(OneFd::new(master), OneFd::new(terminal))))
    }
}
