//! What happens to a message's bytes around each transfer: the payload policy.
//!
//! Two kinds of loop are compiled: one that leaves messages alone, and has no branch for it, and
//! one for [`Touched`], which is called. `Check` is not a policy but the control: every message
//! carries a pattern made from its number, and the receiver compares all of it.

use std::io;

use model::workload::Policy;

/// What is done to each message, by the side that sends it and the side that receives it; in a thread of the
/// connection's where it has one.
pub trait Payload: Send {
    /// Prepares the next message.
    fn fill(&mut self, message: &mut [u8]);
    /// Looks at a message that has arrived.
    fn look(&mut self, message: &[u8]) -> io::Result<()>;
}

/// [`Untouched`](model::workload::Policy::Untouched).
#[derive(Default, Clone)]
pub struct Untouched;

impl Payload for Untouched {
    #[inline(always)]
    fn fill(&mut self, _message: &mut [u8]) {}
    #[inline(always)]
    fn look(&mut self, _message: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

/// [`Written`](model::workload::Policy::Written).
#[derive(Default)]
pub struct Written(u8);

impl Payload for Written {
    #[inline(always)]
    fn fill(&mut self, message: &mut [u8]) {
        self.0 = self.0.wrapping_add(1);
        message.fill(self.0);
        std::hint::black_box(message);
    }
    #[inline(always)]
    fn look(&mut self, _message: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

/// [`Read`](model::workload::Policy::Read).
#[derive(Default)]
pub struct Read(Written);

impl Payload for Read {
    #[inline(always)]
    fn fill(&mut self, message: &mut [u8]) {
        self.0.fill(message);
    }
    #[inline(always)]
    fn look(&mut self, message: &[u8]) -> io::Result<()> {
        let sum = message.iter().fold(0u64, |sum, byte| sum.wrapping_add(u64::from(*byte)));
        std::hint::black_box(sum);
        Ok(())
    }
}

/// Fills and checks every byte of every message. Each direction counts its own messages, and has patterns of its own: an
/// end that hands back what was sent over it is found out.
pub struct Check {
    /// That of what it sends, and that of what it sees.
    seeds: [u64; 2],
    sent: u64,
    seen: u64,
}

impl Check {
    /// That of whoever begins, whose patterns depend on `seed`; its partner's is [`Check::answering`].
    pub fn new(seed: u64) -> Check {
        Check { seeds: [seed, seed.rotate_left(32) ^ 0x5851_F42D_4C95_7F2D], sent: 0, seen: 0 }
    }

    /// That of the partner, from the same seed.
    pub fn answering(self) -> Check {
        let [own, partners] = self.seeds;
        Check { seeds: [partners, own], ..self }
    }

    /// That of whoever begins, where the partner sends back what it got.
    pub fn echoed(self) -> Check {
        let [own, _] = self.seeds;
        Check { seeds: [own, own], ..self }
    }

    /// Eight bytes of a message, from byte 8 × `nth` on.
    fn word(seed: u64, number: u64, nth: u64) -> [u8; 8] {
        let word = (seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_add(nth);
        word.wrapping_mul(0xD134_2543_DE82_EF95).to_le_bytes()
    }
}

impl Payload for Check {
    fn fill(&mut self, message: &mut [u8]) {
        for (part, nth) in message.chunks_mut(8).zip(0..) {
            part.copy_from_slice(&Self::word(self.seeds[0], self.sent, nth)[..part.len()]);
        }
        self.sent += 1;
    }

    fn look(&mut self, message: &[u8]) -> io::Result<()> {
        let number = self.seen;
        self.seen += 1;
        for (part, nth) in message.chunks(8).zip(0..) {
            let due = Self::word(self.seeds[1], number, nth);
            if *part != due[..part.len()] {
                let same = part.iter().zip(&due).take_while(|(byte, due)| byte == due).count();
                return Err(self.differs(number, 8 * nth as usize + same));
            }
        }
        Ok(())
    }
}

impl Check {
    fn differs(&self, number: u64, at: usize) -> io::Error {
        let text = if self.seeds[0] == self.seeds[1] {
            format!(
                "the server sent back something else than message {number}, from byte {at} on: it has to echo \
                 messages as they are"
            )
        } else {
            format!("message {number} differs from what was sent, from byte {at} on")
        };
        io::Error::new(io::ErrorKind::InvalidData, text)
    }
}

/// A payload that touches the bytes.
pub enum Touched {
    /// [`Written`](model::workload::Policy::Written).
    Written(Written),
    /// [`Read`](model::workload::Policy::Read).
    Read(Read),
    Check(Check),
    /// Something else that is done around each message.
    By(Box<dyn Payload>),
}

impl Touched {
    /// What a policy asks for; None if nothing.
    pub fn of(policy: Policy) -> Option<Touched> {
        match policy {
            Policy::Untouched => None,
            Policy::Written => Some(Touched::Written(Written::default())),
            Policy::Read => Some(Touched::Read(Read::default())),
        }
    }

    /// That of the partner.
    pub fn answering(self) -> Touched {
        match self {
            Touched::Check(check) => Touched::Check(check.answering()),
            other => other,
        }
    }
}

/// Functions that the loops call, as a program's would: in each of hundreds of loops they would be copied.
impl Payload for Touched {
    #[inline(never)]
    fn fill(&mut self, message: &mut [u8]) {
        match self {
            Touched::Written(it) => it.fill(message),
            Touched::Read(it) => it.fill(message),
            Touched::Check(it) => it.fill(message),
            Touched::By(it) => it.fill(message),
        }
    }

    #[inline(never)]
    fn look(&mut self, message: &[u8]) -> io::Result<()> {
        match self {
            Touched::Written(it) => it.look(message),
            Touched::Read(it) => it.look(message),
            Touched::Check(it) => it.look(message),
            Touched::By(it) => it.look(message),
        }
    }
}

/// Nothing is done where there is none.
impl<P: Payload> Payload for Option<P> {
    fn fill(&mut self, message: &mut [u8]) {
        if let Some(payload) = self {
            payload.fill(message);
        }
    }

    fn look(&mut self, message: &[u8]) -> io::Result<()> {
        self.as_mut().map_or(Ok(()), |payload| payload.look(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_finds_a_changed_byte_and_a_missing_message() {
        let (mut sender, mut receiver) = (Check::new(7), Check::new(7).answering());
        let mut message = [0; 100];
        sender.fill(&mut message);
        receiver.look(&message).unwrap();
        sender.fill(&mut message);
        message[99] ^= 1;
        assert!(receiver.look(&message).unwrap_err().to_string().contains("byte 99"));
        sender.fill(&mut message);
        sender.fill(&mut message);
        assert!(receiver.look(&message).is_err(), "a message was skipped");
    }

    #[test]
    fn an_echo_is_what_was_sent_and_nothing_older() {
        let mut check = Check::new(7).echoed();
        let (mut first, mut second) = ([0; 100], [0; 100]);
        check.fill(&mut first);
        check.look(&first).unwrap();
        check.fill(&mut second);
        assert!(check.look(&first).unwrap_err().to_string().contains("something else"));
        check.fill(&mut second);
        second[99] ^= 1;
        assert!(check.look(&second).unwrap_err().to_string().contains("byte 99"));
    }

    #[test]
    fn a_check_finds_what_it_has_sent_itself() {
        let mut one = Check::new(7);
        let mut message = [0; 8];
        one.fill(&mut message);
        assert!(one.look(&message).is_err());
        let (mut one, mut other) = (Check::new(7), Check::new(7).answering());
        other.fill(&mut message);
        one.look(&message).unwrap();
    }
}
