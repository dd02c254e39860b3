//! Reliability over datagrams: messages whose loss is recovered by retransmission (`arq`) or by forward
//! error correction (`fec`), over any mechanism of datagrams ([`DatagramSocket`]) and under the same losses.
//! A mechanism takes the seven options into its own and picks a [`Plan`]; without one it knows nothing of this.
//!
//! What is lost is drawn from one seeded trace at each receiver (`path`): the n-th datagram that an end
//! sends meets the n-th draw, whatever the scheme. docs/RELIABILITY.md says what that means for results.

mod arq;
mod by_hand;
mod fec;
mod flipped;
mod half;
mod inbox;
mod path;
mod plan;
mod shape;
mod timer;
mod wire;

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

pub use self::arq::ArqEnd;
pub use self::by_hand::ByHand;
pub use self::fec::FecEnd;
pub use self::half::Half;
pub use self::plan::{
    BURST, DEADLINE_OPTION, FLIPS, LOSS, Plan, RELIABILITY, RESEND_AFTER, WINDOW_OPTION,
};
use self::wire::Header;
use crate::{Deadline, OpenError};

/// How long an end waits for a partner from which nothing arrives.
const GIVE_UP: Duration = Duration::from_secs(10);
/// How often it has asked again in vain before it gives up, however long that took: on a busy machine the wait between two
/// tries is long, and bursts lose several in a row.
const TRIES: u32 = 16;
/// How long before its launch's deadline an end gives up in any case, so that its error is reported.
const REPORTS_BEFORE: Duration = Duration::from_millis(700);

/// A connected socket whose datagrams may get lost.
pub trait DatagramSocket: AsFd + Send + 'static {
    /// The mechanism's name, for what is said to users.
    const NAME: &'static str;

    /// Bytes of the headers that each datagram gets on its way.
    ///
    /// # Errors
    /// As getsockname(2).
    fn header_bytes(&self) -> io::Result<u64>;

    /// Bytes of the largest packet on the way, as far as the kernel knows.
    fn mtu(&self) -> Option<u32>;

    /// How many datagrams of so many bytes may be under way to a socket like this one, whose waits end
    /// in time from now on.
    ///
    /// # Errors
    /// As those of setsockopt(2).
    fn window(&self, bytes: usize) -> Result<u32, OpenError>;

    /// From now on the kernel hands wrong bits over, too.
    ///
    /// # Errors
    /// As those of setsockopt(2).
    fn without_checksums(&self) -> Result<(), OpenError>;
}

/// When an end gives up.
struct Patience {
    mechanism: &'static str,
    ends: Deadline,
    /// How many datagrams had arrived when one was last missed, when the first was missed since, and how often.
    silent: Option<(u64, Instant, u32)>,
}

impl Patience {
    /// Of an end whose launch isn't known yet.
    fn of<S: DatagramSocket>() -> Patience {
        Patience { mechanism: S::NAME, ends: Deadline::default(), silent: None }
    }

    /// The launch ends at `deadline`.
    fn end_before(&mut self, deadline: &Deadline) {
        self.ends = deadline.clone();
    }

    /// Continues a wait that has lasted since `since`. By now `heard` datagrams have come: a partner from which
    /// something arrives is only slow.
    ///
    /// # Errors
    /// `what` has not come, and nothing has for a long time, or the launch ends.
    #[cold]
    fn bear(&mut self, since: Instant, received: u64, what: &str) -> io::Result<()> {
        let known = self.silent.filter(|known| known.0 == received);
        let (_, silent, tries) = known.unwrap_or_else(|| (received, Instant::now(), 0));
        self.silent = Some((received, silent, tries + 1));
        let waited = since.max(silent).elapsed();
        let ends = self.ends.get().is_some_and(|end| Instant::now() + REPORTS_BEFORE >= end);
        let why = if waited > GIVE_UP && tries >= TRIES {
            format!("{what}, and nothing else in {:.1} s", waited.as_secs_f64())
        } else if ends {
            format!("its launch took too long, and {what} had come when it ended")
        } else {
            return Ok(());
        };
        Err(io::Error::new(io::ErrorKind::TimedOut, format!("{}: {why}", self.mechanism)))
    }
}

#[cold]
fn not_ours(header: &Header, length: usize) -> io::Error {
    let text =
        format!("recv: a datagram of {length} bytes that is no part of a message: {header:?}");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partner_is_given_up_for_silence_and_tries_together() {
        let long_ago = Instant::now().checked_sub(2 * GIVE_UP).unwrap_or_else(Instant::now);
        let with = |tries| Patience {
            mechanism: "udp",
            ends: Deadline::default(),
            silent: Some((7, long_ago, tries)),
        };
        // Few tries: the wait between them was long, or a burst lost them.
        assert!(with(3).bear(long_ago, 7, "nothing").is_ok());
        assert!(with(TRIES).bear(long_ago, 7, "nothing").is_err());
        assert!(with(TRIES).bear(long_ago, 8, "nothing").is_ok());
    }
}
