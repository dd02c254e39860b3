//! Connections of one host: one side listens at an address, the other connects to it. `tcp` and Unix sockets
//! with a name open their pair in this way, and the workload connect sets it up so in two workers, step by step.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::{Errno, read};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, acceptfrom_with, bind, connect,
    getsockname, listen, socket_with, sockopt,
};

use super::network::EffectiveSettings;
use super::residue::{PrivateName, PrivateNames, random_name};
use super::{Choice, OpenError, OpenSpec, OptionSpec, Options, Step};

/// How a mechanism with these options connects its ends.
#[derive(Clone, Copy)]
pub struct Connection {
    /// What kind of address one side listens at.
    pub at: At,
    /// Makes a socket, with the options that must be set before it is bound or connects.
    pub socket: fn(&OpenSpec) -> Result<OwnedFd, OpenError>,
    /// Applies the other options to a connected socket, and asks what the kernel granted.
    pub prepare: fn(BorrowedFd<'_>, &OpenSpec) -> Result<EffectiveSettings, OpenError>,
}

/// Where one side listens.
#[derive(Clone, Copy)]
pub enum At {
    /// At a path in a private folder.
    Path,
    /// At an abstract name, drawn by chance.
    AbstractName,
    /// At a free port of this loopback address.
    Loopback(IpAddr),
}

/// The option `bind=none|path|abstract` of connected Unix sockets.
pub const BIND: OptionSpec = OptionSpec {
    name: "bind",
    summary: "a nameless pair, or connected through a path or an abstract name",
    words: &["none", "path", "abstract"],
    takes_size: false,
};

impl At {
    /// What [`BIND`] asks for; None of a nameless pair.
    pub fn bound(options: &Options, specs: &'static [OptionSpec]) -> Option<At> {
        match options.get(specs, BIND.name) {
            Choice::Word("path") => Some(At::Path),
            Choice::Word("abstract") => Some(At::AbstractName),
            _ => None,
        }
    }

    /// For use with `map_err`: names the call, and what it was made for.
    fn failed<E: Into<io::Error>>(self, call: &'static str) -> impl Fn(E) -> OpenError {
        move |error| match (self, call) {
            (At::Path, "bind") => OpenError::call("bind to a path")(error),
            (At::Path | At::AbstractName, _) => OpenError::call(call)(error),
            (At::Loopback(address), _) => OpenError::call(format!("{call} to {address}"))(error),
        }
    }
}

/// A Unix socket; its buffers are set once it is connected.
///
/// # Errors
/// As socket(2).
pub fn unix_socket(kind: SocketType) -> Result<OwnedFd, OpenError> {
    let failed = OpenError::call("socket AF_UNIX");
    socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).map_err(failed)
}

/// The address of a listening socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A path, or an abstract name.
    Unix(SocketAddrUnix),
    /// A port of a loopback address.
    Inet(SocketAddr),
}

impl Address {
    /// Bytes of one that is told to the partner: a name's length, and the name (unix(7): 108 bytes at most),
    /// or a port.
    pub const BYTES: usize = 112;

    /// As bytes.
    pub fn to_bytes(&self) -> [u8; Address::BYTES] {
        let port;
        let name = match self {
            Address::Unix(it) => it.path_bytes().or(it.abstract_name()).unwrap_or_default(),
            Address::Inet(it) => {
                port = it.port().to_le_bytes();
                &port
            }
        };
        let mut bytes = [0; Address::BYTES];
        bytes[0] = name.len() as u8;
        bytes[1..=name.len()].copy_from_slice(name);
        bytes
    }

    /// From such bytes, of what listens `at`.
    ///
    /// # Errors
    /// They are no such address.
    pub fn parse(at: At, bytes: &[u8; Address::BYTES]) -> io::Result<Address> {
        let invalid = || io::Error::new(io::ErrorKind::InvalidData, "no address to connect to");
        let name = bytes.get(1..=usize::from(bytes[0])).ok_or_else(invalid)?;
        Ok(match at {
            At::Path => Address::Unix(SocketAddrUnix::new(name)?),
            At::AbstractName => Address::Unix(SocketAddrUnix::new_abstract_name(name)?),
            At::Loopback(address) => {
                let port = name.try_into().map_err(|_| invalid())?;
                Address::Inet(SocketAddr::new(address, u16::from_le_bytes(port)))
            }
        })
    }
}

/// A step of whoever listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listening {
    /// A socket was made.
    Made,
    /// It was bound.
    Bound,
    /// It listens.
    Listens,
}

/// A listening socket. Its name is gone once this is dropped.
pub struct Server {
    listener: OwnedFd,
    address: Address,
    _name: Option<(PrivateName, PrivateNames)>,
}

impl Server {
    /// Where it listens.
    pub fn address(&self) -> &Address {
        &self.address
    }
}

impl Connection {
    /// Makes a socket, binds it to an address that nothing has yet, and listens.
    ///
    /// # Errors
    /// As the calls.
    pub fn listen(
        &self,
        spec: &OpenSpec,
        mut passed: impl FnMut(Listening),
    ) -> Result<Server, OpenError> {
        let (at, mut private) = (self.at, None);
        let mut address = match at {
            At::Path => {
                let names = PrivateNames::new()?;
                let (name, _) = private.insert((names.name()?, names));
                let named = SocketAddrUnix::new(name.path());
                Address::Unix(named.map_err(at.failed("name the socket"))?)
            }
            At::AbstractName => {
                let name = random_name().map_err(at.failed("getrandom"))?;
                let named = SocketAddrUnix::new_abstract_name(name.as_bytes());
                Address::Unix(named.map_err(at.failed("name the socket"))?)
            }
            At::Loopback(loopback) => Address::Inet(SocketAddr::new(loopback, 0)),
        };
        let listener = (self.socket)(spec)?;
        passed(Listening::Made);
        match &address {
            Address::Unix(name) => bind(&listener, name),
            Address::Inet(port) => bind(&listener, port),
        }
        .map_err(at.failed("bind"))?;
        passed(Listening::Bound);
        listen(&listener, 128).map_err(at.failed("listen"))?;
        passed(Listening::Listens);
        if let Address::Inet(port) = &mut address {
            let bound = getsockname(&listener).map_err(at.failed("getsockname"))?;
            *port = bound.try_into().map_err(at.failed::<Errno>("getsockname"))?;
        }
        Ok(Server { listener, address, _name: private })
    }

    /// Makes a socket, connects it, applies its options, waits until the partner has accepted and closed its end,
    /// and closes this one.
    ///
    /// # Errors
    /// As the calls; whoever accepted sent something.
    pub fn connect_and_close(
        &self,
        spec: &OpenSpec,
        to: &Address,
        mut passed: impl FnMut(Step),
    ) -> Result<(), OpenError> {
        let near = (self.socket)(spec)?;
        connected_to(&near, to).map_err(self.or_wait("connect"))?;
        passed(Step::Connected);
        (self.prepare)(near.as_fd(), spec)?;
        let closed = loop {
            match read(&near, &mut [0; 1]) {
                Ok(0) => break Ok(()),
                Ok(_) => break Err(Errno::PROTO),
                Err(Errno::INTR) => {}
                Err(error) => break Err(error),
            }
        };
        closed.map_err(self.or_wait("read until the connection is closed"))?;
        passed(Step::Accepted);
        Ok(())
    }

    /// The failure of a call. A listener that is gone is none: its worker has failed, what that one says ends
    /// the launch, and until then this one waits.
    fn or_wait(&self, call: &'static str) -> impl Fn(Errno) -> OpenError {
        let failed = self.at.failed(call);
        move |error| {
            let is_gone = matches!(error, Errno::CONNRESET | Errno::CONNREFUSED | Errno::NOENT);
            if is_gone {
                loop {
                    std::thread::park();
                }
            }
            failed(error)
        }
    }

    /// Accepts a connection, applies the options of its far end, and closes it. A stranger's is closed like
    /// any other: nothing is read from it, and the launch whose set-up it took the place of fails.
    ///
    /// # Errors
    /// As the calls.
    pub fn accept_and_close(&self, server: &Server, spec: &OpenSpec) -> Result<(), OpenError> {
        let (far, _) = self.accept(server)?;
        (self.prepare)(far.as_fd(), spec).map(|_| ())
    }

    /// Both ends, connected in one process. The listener is closed on return; who isn't this process is
    /// turned away.
    ///
    /// # Errors
    /// As the calls.
    pub fn both(&self, spec: &OpenSpec) -> Result<(OwnedFd, OwnedFd), OpenError> {
        let server = self.listen(spec, |_| ())?;
        let near = (self.socket)(spec)?;
        connected_to(&near, &server.address).map_err(self.at.failed("connect"))?;
        let own = getsockname(&near).map_err(self.at.failed("getsockname"))?;
        loop {
            let (far, from) = self.accept(&server)?;
            let is_own = match server.address {
                Address::Inet(_) => from.as_ref() == Some(&own),
                Address::Unix(_) => {
                    let credentials = sockopt::socket_peercred(&far);
                    let partner = credentials.map_err(self.at.failed("SO_PEERCRED"))?.pid;
                    partner == rustix::process::getpid()
                }
            };
            if is_own {
                return Ok((near, far));
            }
        }
    }

    fn accept(
        &self,
        server: &Server,
    ) -> Result<(OwnedFd, Option<rustix::net::SocketAddrAny>), OpenError> {
        loop {
            match acceptfrom_with(&server.listener, SocketFlags::CLOEXEC) {
                Err(Errno::INTR) => {}
                accepted => return accepted.map_err(self.at.failed("accept")),
            }
        }
    }
}

fn connected_to(near: &OwnedFd, to: &Address) -> rustix::io::Result<()> {
    match to {
        Address::Unix(name) => connect(near, name),
        Address::Inet(port) => connect(near, port),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn an_address_is_told_in_bytes_and_nothing_else_is_one() {
        let path = SocketAddrUnix::new("/tmp/folder/0").unwrap();
        let name = SocketAddrUnix::new_abstract_name(b"drawn by chance").unwrap();
        let [four, six] = [Ipv4Addr::LOCALHOST.into(), IpAddr::from(Ipv6Addr::LOCALHOST)];
        for (at, address) in [
            (At::Path, Address::Unix(path)),
            (At::AbstractName, Address::Unix(name)),
            (At::Loopback(four), Address::Inet(SocketAddr::new(four, 40_000))),
            (At::Loopback(six), Address::Inet(SocketAddr::new(six, 7))),
        ] {
            assert_eq!(Address::parse(at, &address.to_bytes()).unwrap(), address);
        }
        assert!(Address::parse(At::Path, &[255; Address::BYTES]).is_err());
        assert!(Address::parse(At::Loopback(four), &[9; Address::BYTES]).is_err());
    }
}
