//! What the relay itself costs: a round trip over a relay without delay and loss against one over
//! a plain link, side by side, in namespaces that nobody else sees.

use std::io;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use rustix::net::Shutdown;
use serde::{Deserialize, Serialize};

use super::LabError;
use super::relay::{RelayEnd, RelaySpec, Started};
use super::run::run;
use super::space::Space;

/// Blocks of each link, in turn, so that a drift hits both alike.
const BLOCKS: usize = 5;
/// Round trips of a block, and those before that aren't counted.
const ROUND_TRIPS: usize = 200;
const WARM_UP: usize = 20;
const MESSAGE: usize = 64;
/// Against hangs: virtual machines pause for seconds at times.
const PATIENCE: Duration = Duration::from_secs(30);

/// Medians of UDP round trips of 64 bytes, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// Over a plain link.
    pub plain_ns: u64,
    /// Over a relay that neither delays nor loses.
    pub relay_ns: u64,
    pub round_trips: usize,
}

/// A link between both spaces: its name and the network that it has there.
const LINKS: [(&str, &str); 2] = [("plain", "198.18.254"), ("relay", "198.18.255")];

/// Measures it; asks before each step whether to `go_on`.
pub fn measure(name: &str, go_on: impl Fn() -> Result<(), LabError>) -> Result<Price, LabError> {
    let failed = |error: io::Error| LabError::Failed(format!("measure the relay: {error}"));
    let spaces = [Space::fresh().map_err(failed)?, Space::fresh().map_err(failed)?];
    let [left, right] = &spaces;
    let veth =
        format!("link add plain type veth peer name plain netns {}\n", right.path().display());
    run(left, &["ip", "-batch", "-"], &veth, None)?;
    let end = |space: &Space| {
        let identity = space.identity().map_err(failed)?;
        Ok(RelayEnd { namespace: space.path(), identity, interface: "relay".into() })
    };
    let ends = [end(left)?, end(right)?];
    go_on()?;
    let spec = RelaySpec { ends, delay_ns: 0, loss: 0, seed: 0, counts: None };
    let _relay = Started::start(name, &spec)?;
    for (number, space) in [(1, left), (2, right)] {
        go_on()?;
        let lines = LINKS.map(|(link, net)| {
            format!("link set {link} up\naddress add {net}.{number}/24 dev {link}\n")
        });
        run(space, &["ip", "-batch", "-"], &lines.concat(), None)?;
    }
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..BLOCKS {
        for (times, (_, net)) in times.iter_mut().zip(LINKS) {
            go_on()?;
            times.extend(block(left, right, net).map_err(failed)?);
        }
    }
    let [plain_ns, relay_ns] = times.each_mut().map(|times| {
        times.sort_unstable();
        times[times.len() / 2]
    });
    Ok(Price { plain_ns, relay_ns, round_trips: BLOCKS * ROUND_TRIPS })
}

/// The times of the round trips of one block, in ns.
fn block(left: &Space, right: &Space, net: &str) -> io::Result<Vec<u64>> {
    let socket = |space: &Space, number: u32| {
        space.inside(|| {
            let socket = UdpSocket::bind((format!("{net}.{number}"), 0))?;
            socket.set_read_timeout(Some(PATIENCE))?;
            Ok(socket)
        })
    };
    let (asks, answers) = (socket(left, 1)?, socket(right, 2)?);
    asks.connect(answers.local_addr()?)?;
    answers.connect(asks.local_addr()?)?;
    round_trips(&asks, &answers)
}

/// Whichever of both ends first, by an error or a signal, ends the other: that would wait for it.
fn round_trips(asks: &UdpSocket, answers: &UdpSocket) -> io::Result<Vec<u64>> {
    let end = |socket: &UdpSocket| {
        let _ = rustix::net::shutdown(socket, Shutdown::Both);
    };
    std::thread::scope(|scope| {
        let echo = scope.spawn(|| {
            let mut message = [0; MESSAGE];
            let mut answer = || answers.recv(&mut message).and_then(|_| answers.send(&message));
            let answered = (0..WARM_UP + ROUND_TRIPS).try_for_each(|_| answer().map(drop));
            answered.inspect_err(|_| end(asks))
        });
        let mut message = [0; MESSAGE];
        let mut ask = || {
            let start = Instant::now();
            asks.send(&message)?;
            asks.recv(&mut message)?;
            Ok(start.elapsed().as_nanos() as u64)
        };
        let times: io::Result<Vec<u64>> = (0..WARM_UP + ROUND_TRIPS).map(|_| ask()).collect();
        let times = times.inspect_err(|_| end(answers))?;
        let ended = echo.join().map_err(|_| io::Error::other("the echo panicked"))?;
        ended.map(|()| times[WARM_UP..].to_vec())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_of_one_side_ends_the_other() {
        let socket = |patience: Option<Duration>| {
            let socket = UdpSocket::bind("127.0.0.1:0").expect("bind");
            socket.set_read_timeout(patience).expect("a time limit");
            socket
        };
        let soon = Some(Duration::from_millis(1));
        for patience in [[soon, None], [None, soon]] {
            let [asks, answers] = patience.map(socket);
            let silent = socket(None);
            for socket in [&asks, &answers] {
                socket.connect(silent.local_addr().expect("an address")).expect("connect");
            }
            round_trips(&asks, &answers).expect_err("nobody answers");
        }
    }
}
