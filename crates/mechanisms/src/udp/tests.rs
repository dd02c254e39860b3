//! A bare datagram a message: its window, and what is lost.

use super::*;
use crate::open_nonblocking;
use crate::table::Close;
use crate::{Endpoint, Nonblocking, Received, Sent};

struct Keep;

impl Visitor for Keep {
    type Output = Box<dyn Endpoint>;
    fn visit<E: Endpoint + 'static>(self, opened: Opened<E>) -> Self::Output {
        Box::new(opened.responder)
    }
}

/// Two sockets that are connected to each other.
pub(crate) fn sockets() -> (UdpSocket, UdpSocket) {
    let bind = || UdpSocket::bind("127.0.0.1:0").unwrap();
    let (near, far) = (bind(), bind());
    near.connect(far.local_addr().unwrap()).unwrap();
    far.connect(near.local_addr().unwrap()).unwrap();
    (near, far)
}

fn pair() -> (UdpEnd, UdpEnd) {
    let (near, far) = sockets();
    (UdpEnd::new(near, 1000).unwrap(), UdpEnd::new(far, 1000).unwrap())
}

fn lost(end: &impl Endpoint) -> u64 {
    end.stats().expect("it counts").lost
}

#[test]
fn a_datagram_that_never_comes_is_an_error_not_a_hang() {
    let spec =
        OpenSpec { options: Options::default(), message_bytes: 8, same_process: false, seed: 0 };
    let mut far = Udp::open(&spec, Keep).unwrap();
    let error = far.recv(&mut [0; 8]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(error.to_string().contains("a datagram was lost"), "{error}");
}

#[test]
fn what_a_full_buffer_drops_is_counted() {
    let (near, far) = pair();
    for _ in 0..1000 {
        near.socket.send(&[1; 1000]).unwrap();
    }
    assert!(lost(&far) > 0, "1,000 datagrams of 1,000 bytes don't fit the default buffer");
    assert_eq!(lost(&near), 0);
}

#[test]
fn a_window_keeps_a_fast_sender_from_losing_any() {
    let (mut near, mut far) = pair();
    let count = 20 * near.window;
    let sender = std::thread::spawn(move || {
        for _ in 0..count {
            near.send(&[7; 1000]).unwrap();
        }
        near.recv(&mut [0]).unwrap();
    });
    for _ in 0..count {
        far.recv(&mut [0; 1000]).unwrap();
    }
    far.send(&[1]).unwrap();
    sender.join().unwrap();
    assert_eq!(lost(&far), 0);
}

/// A server of many never waits, a client does until its schedule begins: what the server had under way by then is
/// acknowledged all the same, however much it was.
#[test]
fn an_end_that_is_switched_later_than_its_partner_owes_what_came_before() {
    const WINDOW: u32 = 8;
    const TRIES: usize = 1_000;
    for early in 0..WINDOW {
        let (client, server) = pair();
        let (mut client, mut server) = (client.narrowed(WINDOW), server.narrowed(WINDOW));
        server.set_nonblocking(true).unwrap();
        let mut into = [0; 1000];
        for _ in 0..early {
            client.send(&[1; 1000]).unwrap();
            while server.try_recv(&mut into).unwrap() == Received::WouldBlock {}
            assert_eq!(server.try_send(&into).unwrap(), Sent::Whole);
            client.recv(&mut into).unwrap();
        }
        client.set_nonblocking(true).unwrap();
        for nth in 0..4 * WINDOW {
            let mut at = 0;
            for _ in 0..TRIES {
                let done = match at {
                    0 => client.try_send(&[1; 1000]).unwrap() == Sent::Whole,
                    1 => server.try_recv(&mut into).unwrap() == Received::Whole,
                    2 => {
                        let sent = server.try_send(&into).unwrap() == Sent::Whole;
                        at += usize::from(sent);
                        client.try_recv(&mut into).unwrap() == Received::Whole
                    }
                    3 => client.try_recv(&mut into).unwrap() == Received::Whole,
                    _ => break,
                };
                at += usize::from(done);
            }
            assert_eq!(at, 4, "{early} before, answer {nth}");
        }
    }
}

#[test]
fn what_has_no_room_for_a_credit_or_only_waits_is_refused_where_nobody_waits() {
    for (option, value, expected) in
        [("buffer", "1", "larger `buffer=`"), ("reliability", "none", "udp blocks: ")]
    {
        let options = Options::default().with(option, value);
        let spec = OpenSpec { options, message_bytes: 1_000, same_process: true, seed: 0 };
        match open_nonblocking(Udp::NAME, &spec, Close) {
            Err(OpenError::NotApplicable(reason)) => assert!(reason.contains(expected), "{reason}"),
            other => panic!("{option}={value}: {other:?}"),
        }
        Udp::open(&spec, Keep).expect("a listener receives it");
    }
}
