//! Ends of `udp` under datagrams that no partner sends: fragments and acknowledgements in any order, twice,
//! cut off, of other messages; and what the end itself sent, back at it.

use std::cell::RefCell;
use std::net::UdpSocket;
use std::sync::OnceLock;

use mechanisms::udp::by_hand::ByHand;
use mechanisms::{OpenSpec, Variant};

use crate::input::Input;

const ENDS: [&str; 14] = [
    "udp",
    "udp:datagram=100",
    "udp:datagram=100,gro=on",
    "udp:reliability=none,deadline=1",
    "udp:reliability=stop-and-wait,resend-after=1",
    "udp:reliability=selective-repeat,resend-after=1,datagram=100",
    "udp:reliability=hamming-7-4,deadline=1,datagram=100",
    "udp:reliability=golay-24-12+arq,resend-after=1,datagram=100",
    "udp:reliability=reed-solomon-4-3,deadline=1,loss=20%",
    "udp:reliability=raptorq,deadline=1,datagram=200",
    "udp:reliability=hamming-7-4,flips=0.01,deadline=1",
    "udp:reliability=none,flips=0.01,deadline=1",
    "udp:reliability=selective-repeat,flips=0.001,resend-after=1,datagram=100",
    "udp:reliability=none,window=none,deadline=1,datagram=200",
];
const SIZES: [usize; 5] = [1, 8, 64, 300, 3_000];
/// Steps of an input at most: each is a few system calls.
const MOST_STEPS: usize = 64;

thread_local! {
    /// The partner's socket, bound once.
    static NEAR: RefCell<UdpSocket> = {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
        socket.set_nonblocking(true).expect("a socket");
        RefCell::new(socket)
    };
}

/// The kernel changes its own code, on every CPU, when the first socket asks for joined datagrams and when the last
/// such is closed (`udp_encap_needed_key` in net/ipv4/udp.c): one stays open.
fn hold_joined() {
    static SOCKET: OnceLock<Option<UdpSocket>> = OnceLock::new();
    SOCKET.get_or_init(|| {
        let socket = UdpSocket::bind("127.0.0.1:0").ok()?;
        sys::socket::join_when_received(&socket).ok()?;
        Some(socket)
    });
}

pub fn run(data: &[u8]) {
    hold_joined();
    let mut input = Input::new(data);
    let variant = Variant::parse(input.pick(&ENDS)).expect("a variant");
    let bytes = input.pick(&SIZES);
    let answers = input.below(2) == 1;
    let spec =
        OpenSpec { options: variant.options, message_bytes: bytes, same_process: false, seed: 7 };
    NEAR.with_borrow(|near| {
        let far = UdpSocket::bind("127.0.0.1:0").expect("loopback");
        near.connect(far.local_addr().expect("an address")).expect("connect");
        far.connect(near.local_addr().expect("an address")).expect("connect");
        while near.recv(&mut [0; 1]).is_ok() {}
        if let Ok(end) = ByHand::new(&spec, far, answers) {
            talk(&mut input, near, end, bytes);
        }
    });
}

fn talk(input: &mut Input, near: &UdpSocket, mut end: ByHand, bytes: usize) {
    let mut message = vec![0x5a; bytes];
    let mut said = vec![0; 65_536];
    for _ in 0..MOST_STEPS {
        if !input.goes_on() {
            break;
        }
        match input.below(8) {
            0 => drop(near.send(input.bytes())),
            1 | 2 => drop(near.send(&fragment(input, bytes))),
            3 | 4 => drop(near.send(&numbered(input, bytes))),
            5 => drop(end.receive(&mut message)),
            6 => drop(end.send(&message)),
            _ => {
                // What it said comes back, changed or not.
                if let Ok(length) = near.recv(&mut said) {
                    let at = input.below(length.max(1));
                    said[at] ^= input.byte();
                    let _ = near.send(&said[..length]);
                }
            }
        }
    }
    let _ = end.receive(&mut message);
}

/// Bytes of a part of a message: often as many as fit.
fn part(input: &mut Input, bytes: usize, payload: usize) -> Vec<u8> {
    let fitting = [payload, bytes % payload, 0, 1, bytes.min(4 * payload)];
    vec![input.byte(); fitting[input.below(fitting.len())]]
}

/// A fragment: its message, its number with the mark of the last, and its part.
fn fragment(input: &mut Input, bytes: usize) -> Vec<u8> {
    let message = if input.below(4) == 0 { input.edge() as u32 } else { input.below(3) as u32 };
    let nth = if input.below(4) == 0 { input.edge() as u32 } else { input.below(40) as u32 };
    let last = (input.below(2) as u32) << 31;
    let mut datagram = message.to_le_bytes().to_vec();
    datagram.extend((nth | last).to_le_bytes());
    datagram.extend(part(input, bytes, 92));
    datagram
}

/// A datagram of a reliability: kind, marks, place, message, length, number; and an acknowledgement.
fn numbered(input: &mut Input, bytes: usize) -> Vec<u8> {
    let small = |input: &mut Input| match input.below(4) {
        0 => input.edge() as u32,
        _ => input.below(6) as u32,
    };
    let mut datagram = vec![input.below(6) as u8, input.below(4) as u8];
    datagram.extend((small(input) as u16).to_le_bytes());
    datagram.extend(small(input).to_le_bytes());
    let length = if input.below(3) == 0 { small(input) } else { bytes as u32 };
    datagram.extend(length.to_le_bytes());
    datagram.extend(small(input).to_le_bytes());
    if input.below(2) == 0 {
        datagram.extend(small(input).to_le_bytes());
        datagram.extend(small(input).to_le_bytes());
        datagram.extend(input.edge().to_le_bytes());
        datagram.extend(small(input).to_le_bytes());
    }
    datagram.extend(part(input, bytes, 64));
    datagram
}
