//! The far side's listener accepts the holder of the cookie at once, whatever strangers do meanwhile,
//! and accepts nobody else.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use crate::common::ends::HANG;
use crate::common::say;
use mechanisms::network::{
    Call, ConnectVisitor, ConnectionKind, Cookie, EffectiveSettings, ListenVisitor, Listener, Wait,
};
use mechanisms::{Deadline, Endpoint, OpenError, OpenSpec, Variant};

/// Accepts its partner, and answers messages of 64 bytes until it is gone.
struct Answering {
    port: Sender<u16>,
    until: Duration,
}

impl ListenVisitor for Answering {
    type Output = Result<(), OpenError>;

    fn visit<L: Listener>(self, listener: L) -> Self::Output {
        self.port.send(listener.port()).unwrap();
        let (owner, _hold) = std::io::pipe().unwrap();
        let wait = Wait { until: Instant::now() + self.until, owner: owner.as_fd() };
        let (mut end, _) = listener.accept(&wait)?;
        end.start(&Deadline::default()).unwrap();
        for _ in 0..100 {
            let mut message = [0; 64];
            end.recv(&mut message).unwrap();
            end.send(&message).unwrap();
        }
        Ok(())
    }
}

/// Sends a hundred messages, and holds the answers against them.
struct Asking;

impl ConnectVisitor for Asking {
    type Output = ();

    fn visit<E: Endpoint + 'static>(self, mut end: E, _granted: EffectiveSettings) {
        end.start(&Deadline::default()).unwrap();
        for number in 0..100 {
            let mut answer = [0; 64];
            end.send(&[number; 64]).unwrap();
            end.recv(&mut answer).unwrap();
            assert_eq!(answer, [number; 64]);
        }
    }
}

fn to_open(variant: &str) -> (&'static str, OpenSpec) {
    let variant = Variant::parse(variant).unwrap();
    let spec =
        OpenSpec { options: variant.options, message_bytes: 64, same_process: false, seed: 0 };
    (variant.entry.name, spec)
}

fn families() -> Vec<(&'static str, IpAddr)> {
    let mut families = vec![("4", IpAddr::from([127, 0, 0, 1]))];
    match UdpSocket::bind("[::1]:0") {
        Ok(_) => families.push(("6", "::1".parse().unwrap())),
        Err(_) => say("skipped IPv6: this machine has no such loopback"),
    }
    families
}

/// Opens a listener of each kind, lets `disturb` do its worst at it, and then has the partner come.
fn undisturbed(disturb: impl Fn(&str, SocketAddr) -> Box<dyn std::any::Any>) {
    for name in ["tcp", "udp"] {
        for (family, at) in families() {
            let variant = format!("{name}:family={family}");
            let (name, spec) = to_open(&variant);
            let cookie = Cookie::drawn().unwrap();
            std::thread::scope(|scope| {
                let (port, chosen) = channel();
                let far = spec.clone();
                let responder = scope.spawn(move || {
                    let answering = Answering { port, until: HANG };
                    mechanisms::listen(name, &far, at, cookie, answering).expect("it listens")
                });
                let to = SocketAddr::new(at, chosen.recv_timeout(HANG).unwrap());
                let _connection = disturb(name, to);
                let call = Call { to, cookie, kind: ConnectionKind::Persistent };
                mechanisms::connect(name, &spec, &call, Asking).expect("let in");
                responder.join().unwrap().expect("the partner came");
                if name == "tcp" {
                    // After the partner nobody is accepted. A process that another test has just forked holds the port until
                    // it runs its program.
                    let since = Instant::now();
                    while TcpStream::connect(to).is_ok() {
                        assert!(since.elapsed() < HANG, "{to} still listens");
                        std::thread::sleep(Duration::from_millis(10));
                    }
                }
            });
        }
    }
}

#[test]
fn the_partner_comes_in_where_nobody_else_is() {
    undisturbed(|_, _| Box::new(()));
}

#[test]
fn a_silent_or_half_cookie_delays_nobody() {
    undisturbed(|name, to| match name {
        "tcp" => {
            let silent: Vec<TcpStream> = (0..10)
                .map(|nth| {
                    let mut stream = TcpStream::connect(to).unwrap();
                    stream.write_all(&vec![0; nth]).unwrap();
                    stream
                })
                .collect();
            Box::new(silent)
        }
        _ => Box::new(()),
    });
}

#[test]
fn rubbish_is_thrown_out() {
    undisturbed(|name, to| {
        let own = if to.is_ipv4() { "127.0.0.1:0" } else { "[::1]:0" };
        match name {
            "tcp" => {
                for length in [1, 20, 21, 22, 5_000] {
                    let mut stream = TcpStream::connect(to).unwrap();
                    // The listener may close before all of it is written.
                    let _ = stream.write_all(&vec![0x5A; length]);
                    if length >= 21 {
                        stream.set_read_timeout(Some(HANG)).unwrap();
                        assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
                    }
                }
                Box::new(())
            }
            _ => {
                let socket = UdpSocket::bind(own).unwrap();
                for length in [0, 1, 20, 21, 22, 64, 5_000] {
                    socket.send_to(&vec![0x5A; length], to).unwrap();
                }
                Box::new(socket)
            }
        }
    });
}

#[test]
fn a_flood_keeps_nobody_out() {
    undisturbed(|name, to| match name {
        "tcp" => {
            let flood = |_| TcpStream::connect_timeout(&to, HANG).unwrap();
            Box::new((0..400).map(flood).collect::<Vec<_>>())
        }
        _ => {
            let own = if to.is_ipv4() { "127.0.0.1:0" } else { "[::1]:0" };
            let socket = UdpSocket::bind(own).unwrap();
            for _ in 0..3_000 {
                let _ = socket.send_to(&[0x5A; 1_000], to);
            }
            Box::new(socket)
        }
    });
}

#[test]
fn the_wrong_cookie_opens_nothing_and_the_deadline_closes_the_listener() {
    for name in ["tcp", "udp"] {
        let (name, spec) = to_open(name);
        let at = IpAddr::from([127, 0, 0, 1]);
        std::thread::scope(|scope| {
            let (port, chosen) = channel();
            let far = spec.clone();
            let responder = scope.spawn(move || {
                let answering = Answering { port, until: Duration::from_secs(1) };
                let cookie = Cookie::drawn().unwrap();
                mechanisms::listen(name, &far, at, cookie, answering).expect("it listens")
            });
            let to = SocketAddr::new(at, chosen.recv_timeout(HANG).unwrap());
            let cookie = Cookie::drawn().unwrap();
            let call = Call { to, cookie, kind: ConnectionKind::Persistent };
            let error = mechanisms::connect(name, &spec, &call, Asking).unwrap_err();
            assert!(matches!(error, OpenError::Unavailable(_)), "{name}: {error}");
            let error = responder.join().unwrap().unwrap_err().to_string();
            assert!(error.contains("nobody showed the launch's cookie"), "{name}: {error}");
        });
    }
}

#[test]
fn a_listener_whose_owner_is_gone_closes_at_once() {
    struct Orphan;
    impl ListenVisitor for Orphan {
        type Output = String;
        fn visit<L: Listener>(self, listener: L) -> String {
            let (owner, _) = std::io::pipe().unwrap();
            let wait = Wait { until: Instant::now() + 10 * HANG, owner: owner.as_fd() };
            listener.accept(&wait).err().expect("nobody came").to_string()
        }
    }
    for name in ["tcp", "udp"] {
        let (name, spec) = to_open(name);
        let cookie = Cookie::drawn().unwrap();
        let refusal =
            mechanisms::listen(name, &spec, [127, 0, 0, 1].into(), cookie, Orphan).unwrap();
        assert!(refusal.contains("the coordinator is gone"), "{name}: {refusal}");
    }
}

#[test]
fn an_address_of_another_host_is_refused_with_the_remedy() {
    for name in ["tcp", "udp"] {
        let (name, spec) = to_open(name);
        let cookie = Cookie::drawn().unwrap();
        let answering = Answering { port: channel().0, until: HANG };
        // Of a block that is kept for documentation.
        let at = [192, 0, 2, 1].into();
        let error = mechanisms::listen(name, &spec, at, cookie, answering).unwrap_err().to_string();
        assert!(error.contains("192.0.2.1") && error.contains("--peer-address"), "{name}: {error}");
    }
}
