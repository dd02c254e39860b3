//! `tcp`: a TCP connection over the loopback interface, used with write and read. The
//! listener lives only while the pair is opened, and takes no stranger's connection.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};

use super::fd::OneFd;
use super::{
    Carries, Choice, Framing, Mechanism, OpenError, OpenSpec, Opened, OptionSpec, Options, Reach,
    Step, Traits, Visitor, socket,
};

/// The mechanism's row.
pub struct Tcp;

/// The option `family=4|6` of the network mechanisms.
pub const FAMILY: OptionSpec = OptionSpec {
    name: "family",
    summary: "IPv4 or IPv6 loopback",
    words: &["4", "6"],
    takes_size: false,
};

/// The loopback address that `family` asks for.
pub fn loopback(options: &Options, specs: &'static [OptionSpec]) -> IpAddr {
    match options.get(specs, "family") {
        Choice::Word("6") => Ipv6Addr::LOCALHOST.into(),
        _ => Ipv4Addr::LOCALHOST.into(),
    }
}

impl Mechanism for Tcp {
    const NAME: &'static str = "tcp";
    const SUMMARY: &'static str = "a TCP connection over loopback";
    const TRAITS: Traits =
        Traits { reach: Reach::Network, ..Traits::host(Carries::Bytes, Framing::Stream) };
    const OPTIONS: &'static [OptionSpec] = &[
        OptionSpec {
            name: "nodelay",
            summary: "TCP_NODELAY: send at once instead of gathering (Nagle)",
            words: &["on", "off"],
            takes_size: false,
        },
        FAMILY,
        socket::BUFFER,
    ];

    fn open<V: Visitor>(spec: &OpenSpec, mut visitor: V) -> Result<V::Output, OpenError> {
        let address = loopback(&spec.options, Self::OPTIONS);
        let (near, far) = connected(address, spec, &mut visitor)?;
        let nodelay = spec.options.get(Self::OPTIONS, "nodelay") == Choice::Word("on");
        for stream in [&near, &far] {
            stream
                .set_nodelay(nodelay)
                .map_err(OpenError::call("setsockopt TCP_NODELAY", "none known"))?;
        }
        let granted = socket::granted(&near);
        Ok(visitor.visit(Opened::new(OneFd(near.into()), OneFd(far.into())).granted(granted)))
    }
}

/// Connects two sockets over `address`. Buffers are set on the listener and before connecting:
/// the window scale is fixed by the handshake (tcp(7)).
fn connected(
    address: IpAddr,
    spec: &OpenSpec,
    visitor: &mut impl Visitor,
) -> Result<(TcpStream, TcpStream), OpenError> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
    let failed = |call| OpenError::call::<io::Error>(call, "bring the loopback interface up");
    let listener = TcpListener::bind((address, 0)).map_err(failed("bind to loopback"))?;
    socket::set_buffers(&listener, spec, Tcp::OPTIONS)?;
    visitor.passed(Step::Bound);
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let near = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)
        .map_err(OpenError::call("socket", "raise the limit on open files (ulimit -n)"))?;
    socket::set_buffers(&near, spec, Tcp::OPTIONS)?;
    let at = listener.local_addr().map_err(failed("getsockname"))?;
    connect(&near, &at).map_err(|error| failed("connect to loopback")(error.into()))?;
    visitor.passed(Step::Connected);
    let near = TcpStream::from(near);
    let ours = near.local_addr().map_err(failed("getsockname"))?;
    loop {
        let (far, from) = listener.accept().map_err(failed("accept"))?;
        if from == ours {
            visitor.passed(Step::Accepted);
            return Ok((near, far));
        }
    }
}
