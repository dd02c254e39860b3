//! Ends whose datagrams the caller delivers (`udp::by_hand`).

use std::io;
use std::net::UdpSocket;

use super::plan::Strategy;
use super::{ArqEnd, FecEnd, Plan};
use crate::udp::by_hand::send;
use crate::{OpenError, OpenSpec};

/// An end with or without retransmission.
pub enum ByHand {
    Fec(FecEnd<UdpSocket>),
    Arq(ArqEnd<UdpSocket>),
}

impl ByHand {
    /// An end over `socket`, which must be connected; the responder's if it `answers`.
    ///
    /// # Errors
    /// As the calls that set it up.
    pub fn new(
        spec: &OpenSpec,
        plan: &Plan,
        socket: UdpSocket,
        answers: bool,
    ) -> Result<ByHand, OpenError> {
        let window = plan.window(&socket, spec.message_bytes)?;
        let path = plan.path(socket, answers, spec.seed)?;
        Ok(match plan.strategy {
            Strategy::Fec => ByHand::Fec(plan.fec_end(path, answers, window)),
            Strategy::Arq { .. } => ByHand::Arq(plan.arq_end(path, answers, window)),
        })
    }

    /// Receives a message, as far as datagrams have come; true where all of it is in `message`.
    ///
    /// # Errors
    /// What an end says of datagrams that are no part of it, or of a loss.
    pub fn receive(&mut self, message: &mut [u8]) -> io::Result<bool> {
        match self {
            ByHand::Fec(it) => it.receive_at_hand(message),
            ByHand::Arq(it) => it.receive_at_hand(message),
        }
    }

    /// Sends a message. Room that has to be waited for is late at once.
    ///
    /// # Errors
    /// No room for it, and what the socket says.
    pub fn send(&mut self, message: &[u8]) -> io::Result<()> {
        match self {
            ByHand::Fec(it) => send(it, message),
            ByHand::Arq(it) => send(it, message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::{DatagramKind, Header};
    use crate::udp::by_hand::ByHand;
    use crate::udp::tests::sockets;
    use crate::{OpenSpec, Variant};
    use std::net::UdpSocket;

    /// The partner's socket, and an end for messages of 8 bytes.
    fn pair(text: &str, answers: bool) -> (UdpSocket, ByHand) {
        let (near, far) = sockets();
        let options = Variant::parse(text).unwrap().options;
        let spec = OpenSpec { options, message_bytes: 8, same_process: false, seed: 1 };
        (near, ByHand::new(&spec, far, answers).unwrap())
    }

    /// The trace of losses draws for every number up to it: for minutes.
    #[test]
    fn a_datagram_whose_number_is_far_ahead_is_none_of_the_partners() {
        let (near, mut end) = pair("udp:reliability=none,loss=0.0001%", true);
        let mut message = [0; 8];
        let mut receive = |number, byte: u8| {
            let header =
                Header { number, length: 8, ends: true, ..Header::new(DatagramKind::Data) };
            let mut datagram = header.to_bytes().to_vec();
            datagram.extend([byte; 8]);
            near.send(&datagram).unwrap();
            (end.receive(&mut message).unwrap(), message[0])
        };
        assert_eq!(receive(1 << 21, 1), (false, 0));
        assert_eq!(receive(1, 2), (true, 2));
    }

    #[test]
    fn a_credit_for_more_than_was_sent_is_one_for_what_was_sent() {
        let (near, mut end) = pair("udp:reliability=none", false);
        let credit = Header { number: 1_000, ..Header::new(DatagramKind::Credit) };
        near.send(&credit.to_bytes()).unwrap();
        assert!(!end.receive(&mut [0; 8]).unwrap());
        end.send(&[7; 8]).unwrap();
        let mut came = [0; 64];
        while near.recv(&mut came).unwrap() != 16 + 8 {}
        assert_eq!(came[16..24], [7; 8]);
    }
}
