//! What is on the wire: every datagram begins with a header of 16 bytes. Data that is resent where
//! it is lost carries an acknowledgement of 20 more.

pub const HEADER: usize = 16;
/// Bytes of an acknowledgement.
pub const ACK: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramKind {
    /// A part of a message, or repair of it.
    Data,
    /// An acknowledgement by itself.
    Ack,
    /// How far its sender has read, so that no buffer overflows.
    Credit,
    /// So many messages have been sent, and whatever isn't there is lost.
    Over,
    /// What became of the answer that somebody waits for.
    Status,
}

const KINDS: [DatagramKind; 5] = [
    DatagramKind::Data,
    DatagramKind::Ack,
    DatagramKind::Credit,
    DatagramKind::Over,
    DatagramKind::Status,
];

/// What every datagram says first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub kind: DatagramKind,
    /// Whether it has been sent before.
    pub again: bool,
    /// Data: whether it is the last of its message.
    pub ends: bool,
    /// Data: its place in the message.
    pub place: u16,
    /// Data: the message's number. Over, Status: how many messages were sent. Credit: how many were
    /// taken.
    pub message: u32,
    /// Data: bytes of the message. Status: the number of the last answer that was none.
    pub length: u32,
    /// Data, Ack: which datagram of its sender it is. Others: the last that was read.
    pub number: u32,
}

impl Header {
    /// One that says no more than its kind.
    pub fn new(kind: DatagramKind) -> Header {
        Header { kind, again: false, ends: false, place: 0, message: 0, length: 0, number: 0 }
    }

    pub fn to_bytes(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[0] = self.kind as u8;
        bytes[1] = u8::from(self.again) | u8::from(self.ends) << 1;
        bytes[2..4].copy_from_slice(&self.place.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.message.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.length.to_le_bytes());
        bytes[12..].copy_from_slice(&self.number.to_le_bytes());
        bytes
    }

    /// None of what is no datagram of ours.
    pub fn parse(bytes: &[u8]) -> Option<Header> {
        let bytes = bytes.first_chunk::<HEADER>()?;
        Some(Header {
            kind: *KINDS.get(usize::from(bytes[0]))?,
            again: bytes[1] & 1 != 0,
            ends: bytes[1] & 2 != 0,
            place: u16::from_le_bytes([bytes[2], bytes[3]]),
            message: word(bytes, 4),
            length: word(bytes, 8),
            number: word(bytes, 12),
        })
    }
}

/// What an end has received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// The message that it waits for: it has all before.
    pub next: u32,
    /// The last datagram that came.
    pub last: u32,
    /// Which of the 64 before that came, the nearest in the lowest bit.
    pub before: u64,
    /// Which of the 32 messages after the awaited one are whole.
    pub whole: u32,
}

impl Ack {
    pub fn to_bytes(self) -> [u8; ACK] {
        let mut bytes = [0; ACK];
        bytes[..4].copy_from_slice(&self.next.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.last.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.before.to_le_bytes());
        bytes[16..].copy_from_slice(&self.whole.to_le_bytes());
        bytes
    }

    pub fn parse(bytes: &[u8]) -> Option<Ack> {
        let bytes = bytes.first_chunk::<ACK>()?;
        let before = u64::from(word(bytes, 12)) << 32 | u64::from(word(bytes, 8));
        Some(Ack { next: word(bytes, 0), last: word(bytes, 4), before, whole: word(bytes, 16) })
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The count whose lower half is `low`, and which is nearest to `near`.
pub fn widened(near: u64, low: u32) -> u64 {
    let ahead = i64::from(low.wrapping_sub(near as u32) as i32);
    // There is nothing before the first.
    near.saturating_add_signed(ahead)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for kind in KINDS {
            let header = Header {
                kind,
                place: 7,
                message: 1 << 31,
                length: 5,
                number: 99,
                ..Header::new(kind)
            };
            for (again, ends) in [(false, false), (true, false), (false, true)] {
                let header = Header { again, ends, ..header };
                assert_eq!(Header::parse(&header.to_bytes()), Some(header));
            }
        }
        let ack = Ack { next: 3, last: u32::MAX, before: 1 << 63 | 5, whole: 0x8000_0001 };
        assert_eq!(Ack::parse(&ack.to_bytes()), Some(ack));
        assert_eq!(Header::parse(&[0; HEADER - 1]), None);
        assert_eq!(Header::parse(&[9; HEADER]), None);
        assert_eq!(Ack::parse(&[0; ACK - 1]), None);
    }

    #[test]
    fn counts_go_on_where_their_lower_half_begins_again() {
        assert_eq!(widened(u64::from(u32::MAX), 2), (1 << 32) + 2);
        assert_eq!(widened((1 << 32) + 2, u32::MAX), u64::from(u32::MAX));
        assert_eq!(widened(0, u32::MAX), 0);
    }
}
