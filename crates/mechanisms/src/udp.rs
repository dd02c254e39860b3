//! `udp`: two connected UDP sockets over loopback; a message is one datagram, bare, or, if it is
//! larger than what the path takes in one packet (`path`), several fragments with a header
//! (`fragments`).
//!
//! UDP drops what the receiver's buffer can't hold, so a sender has at most a window of
//! datagrams on the way; the receiver returns a credit (an empty datagram) for every half
//! window it has read, unless its own message has said so already. A round trip therefore
//! carries nothing but the two messages. A wait is bounded: after [`PATIENCE`] a datagram
//! counts as lost, and the launch fails with the kernel's count of drops.
//!
//! Where both ends send at once a message says nothing of what its sender has read. An end that is
//! switched to calls that don't wait (`nonblocking`) therefore goes by credits alone from then on, and has its
//! partner do so when it first lacks one.

mod bare;
mod bends;
pub mod by_hand;
mod fragments;
mod lossy;
mod nonblocking;
mod path;
mod remote;
#[cfg(test)]
pub(crate) mod tests;

use self::bare::UdpEnd;
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::net::sockopt;

use super::network::{self, Call, ConnectVisitor, Cookie, ListenVisitor};
use super::tcp::{FAMILY, loopback};
use super::{
    Carries, Choice, Framing, Mechanism, OpenError, OpenSpec, Opened, OptionSpec, Options, Scope,
    Traits, Visitor, reliable, socket,
};
use model::bend::Bend;

pub struct Udp;

/// How long a datagram may be on its way over loopback before it counts as lost.
pub const PATIENCE: Duration = Duration::from_millis(500);

/// At most so many bytes does the kernel account for a datagram of `bytes`: memory comes in
/// powers of two, and a header of its own comes on top (skb truesize: 768 bytes seen for 64,
/// 8.4 KiB for 4,096).
fn accounted(bytes: usize) -> usize {
    2 * bytes + 1024
}

/// The smallest datagram that fragments may have: with its header away it cuts the largest
/// message (64 GiB) into fewer pieces than a header can count.
const SMALLEST_DATAGRAM: usize = 64;
/// The least the kernel gives a receive buffer, by its own accounting (SOCK_MIN_RCVBUF).
const SMALLEST_BUFFER: usize = 2304;

impl Mechanism for Udp {
    const NAME: &'static str = "udp";
    const SUMMARY: &'static str = "datagrams over loopback, fragments if large";
    const TRAITS: Traits =
        Traits { scope: Scope::Network, ..Traits::host(Carries::Bytes, Framing::Message) };
    const BENDS: &'static [Bend] = bends::BENDS;
    const OPTIONS: &'static [OptionSpec] = &[
        OptionSpec {
            name: "datagram",
            summary: "a larger message goes as fragments of this size: one packet of the path, \
                      or all that the protocol allows",
            words: &["path", "largest"],
            takes_size: true,
        },
        OptionSpec {
            name: "gso",
            summary: "UDP_SEGMENT: many fragments in one send, cut by the kernel",
            words: &["off", "on"],
            takes_size: false,
        },
        OptionSpec {
            name: "gro",
            summary: "UDP_GRO: many fragments in one receive; on loopback those of one gso send",
            words: &["off", "on"],
            takes_size: false,
        },
        OptionSpec {
            name: "checksum",
            summary: "off: SO_NO_CHECK, or UDP_NO_CHECK6_TX and _RX; loopback computes none anyway",
            words: &["on", "off"],
            takes_size: false,
        },
        FAMILY,
        socket::BUFFER,
        socket::BUSY_POLL,
        socket::MTU,
        reliable::RELIABILITY,
        reliable::LOSS,
        reliable::BURST,
        reliable::FLIPS,
        reliable::DEADLINE_OPTION,
        reliable::RESEND_AFTER,
        reliable::WINDOW_OPTION,
    ];

    fn largest(options: &Options) -> Option<usize> {
        if let Ok(Some(plan)) = lossy::plan(options) {
            return Some(plan.largest());
        }
        // Fragments carry any size, unless not even one of them fits the buffer.
        let room = room(options);
        datagram(options, None).is_some_and(|datagram| datagram > room).then_some(room)
    }

    fn open<V: Visitor>(spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        check(&spec.options)?;
        match lossy::plan(&spec.options)? {
            Some(plan) => plan.open(spec, connected(spec)?, visitor),
            None => open_local(spec, connected(spec)?, visitor),
        }
    }

    fn for_path(options: &Options, to: IpAddr) -> io::Result<Options> {
        match options.get(Udp::OPTIONS, "datagram") {
            Choice::Word("path") => {
                let bytes = path::whole(path::mtu_to(to)?, to.is_ipv6()).min(room(options));
                Ok(options.clone().with("datagram", bytes.to_string()))
            }
            _ => Ok(options.clone()),
        }
    }

    fn over_network(spec: &OpenSpec) -> Result<(), OpenError> {
        network::check::<Self>(spec)?;
        check(&spec.options)?;
        if lossy::plan(&spec.options)?.is_some() {
            return Ok(());
        }
        // What the path decides is known when there is one.
        match datagram(&spec.options, None) {
            Some(_) => fragmented(spec, None).map(drop),
            None => Ok(()),
        }
    }

    fn listen<V: ListenVisitor>(
        spec: &OpenSpec,
        address: IpAddr,
        cookie: Cookie,
        visitor: V,
    ) -> Result<V::Output, OpenError> {
        remote::listen(spec, address, cookie, visitor)
    }

    fn connect<V: ConnectVisitor>(
        spec: &OpenSpec,
        call: &Call,
        visitor: V,
    ) -> Result<V::Output, OpenError> {
        remote::connect(spec, call, visitor)
    }
}

/// The size of datagrams, and whether fragments are sent and received together.
type Fragmented = (usize, Option<(bool, bool)>);

fn is(options: &Options, name: &str, word: &str) -> bool {
    options.get(Udp::OPTIONS, name) == Choice::Word(word)
}

/// The datagrams that `spec` gets on a path of `mtu`, and the fragments that it needs: None where one
/// datagram carries a message. Without a path that was asked, the protocol alone limits them.
fn fragmented(spec: &OpenSpec, mtu: Option<u32>) -> Result<Fragmented, OpenError> {
    let bytes = datagram(&spec.options, mtu).unwrap_or_else(|| room(&spec.options));
    in_range(bytes, &spec.options)?;
    let (gso, gro) = (is(&spec.options, "gso", "on"), is(&spec.options, "gro", "on"));
    if spec.message_bytes > bytes {
        return Ok((bytes, Some((gso, gro))));
    }
    if gso || gro {
        return Err(OpenError::NotApplicable(format!(
            "udp: gso and gro change nothing for a message of {} bytes, which one datagram of up to \
             {bytes} bytes carries: choose a larger message or a smaller `datagram=`",
            spec.message_bytes
        )));
    }
    Ok((bytes, None))
}

/// What the protocol lets a datagram carry: 65,535 bytes less the IPv4 and UDP headers; IPv6
/// doesn't count its own header (udp(7)).
fn protocol_limit(options: &Options) -> usize {
    if is_ipv6(options) { 65_527 } else { 65_507 }
}

fn is_ipv6(options: &Options) -> bool {
    loopback(options, Udp::OPTIONS).is_ipv6()
}

/// The largest datagram that the buffers asked for are trusted with.
fn room(options: &Options) -> usize {
    match options.get(Udp::OPTIONS, "buffer") {
        Choice::Size(bytes) => (2 * bytes).max(SMALLEST_BUFFER).min(protocol_limit(options)),
        Choice::Word(_) => protocol_limit(options),
    }
}

/// Bytes of a datagram, by the option `datagram`; None where a path of `mtu` is to decide, and there
/// is none yet.
fn datagram(options: &Options, mtu: Option<u32>) -> Option<usize> {
    match options.get(Udp::OPTIONS, "datagram") {
        Choice::Size(bytes) => Some(bytes),
        Choice::Word("largest") => Some(room(options)),
        Choice::Word(_) => mtu.map(|mtu| path::whole(mtu, is_ipv6(options)).min(room(options))),
    }
}

/// The same where the path is this host's own loopback.
fn datagram_here(options: &Options) -> usize {
    const LOOPBACK: u32 = 65_536;
    let mtu = match options.get(Udp::OPTIONS, "mtu") {
        Choice::Size(bytes) => bytes as u32,
        Choice::Word(_) => LOOPBACK,
    };
    datagram(options, Some(mtu)).unwrap_or_else(|| room(options))
}

/// Refuses what no path makes right.
fn check(options: &Options) -> Result<(), OpenError> {
    // The kernel cuts only what it also writes the checksums of (udp_send_skb: EINVAL).
    if is(options, "checksum", "off") && is(options, "gso", "on") {
        return Err(OpenError::NotApplicable(
            "udp: the kernel cuts no send into datagrams without checksums: choose gso=off or \
             checksum=on"
                .into(),
        ));
    }
    datagram(options, None).map_or(Ok(()), |datagram| in_range(datagram, options))
}

fn in_range(asked: usize, options: &Options) -> Result<(), OpenError> {
    let most = protocol_limit(options);
    if (SMALLEST_DATAGRAM..=most).contains(&asked) {
        return Ok(());
    }
    Err(OpenError::NotApplicable(format!(
        "udp: datagram={asked}: choose from {SMALLEST_DATAGRAM} to {most} bytes"
    )))
}

/// Applies the options that any socket of it gets, bound or not; gives what was granted.
fn set_options(socket: &impl AsFd, spec: &OpenSpec) -> Result<EffectiveSettings, OpenError> {
    socket::set_buffers(socket, spec, Udp::OPTIONS)?;
    let mut effective_settings = socket::effective_settings(socket);
    effective_settings.extend(socket::set_busy_poll([socket], spec, Udp::OPTIONS)?);
    if is(&spec.options, "checksum", "off") {
        sys::socket::without_checksums(socket, is_ipv6(&spec.options))
            .map_err(OpenError::call("setsockopt SO_NO_CHECK"))?;
    }
    Ok(effective_settings)
}

/// What the kernel granted, by name.
type EffectiveSettings = Vec<(String, u64)>;

/// Two connected sockets with the options asked for, and what was granted.
type Connected = (UdpSocket, UdpSocket, EffectiveSettings);

fn connected(spec: &OpenSpec) -> Result<Connected, OpenError> {
    let mtu = socket::enter_mtu(spec, Udp::OPTIONS)?;
    let address = loopback(&spec.options, Udp::OPTIONS);
    let failed = |call: &'static str| {
        move |error: io::Error| OpenError::call(format!("{call} to {address}"))(error)
    };
    let bind = || UdpSocket::bind((address, 0)).map_err(failed("bind"));
    let (near, far) = (bind()?, bind()?);
    near.connect(far.local_addr().map_err(failed("getsockname"))?).map_err(failed("connect"))?;
    far.connect(near.local_addr().map_err(failed("getsockname"))?).map_err(failed("connect"))?;
    let mut effective_settings = set_options(&near, spec)?;
    set_options(&far, spec)?;
    effective_settings.extend(mtu);
    Ok((near, far, effective_settings))
}

/// Both ends of this host, where nothing recovers a lost datagram.
fn open_local<V: Visitor>(
    spec: &OpenSpec,
    connected: Connected,
    visitor: V,
) -> Result<V::Output, OpenError> {
    let mtu = path::mtu(&connected.0).map_err(OpenError::call("getsockopt IP_MTU"))?;
    let (bytes, fragmented) = fragmented(spec, Some(mtu))?;
    if let Some(together) = fragmented {
        return fragments::open(spec, connected, bytes, together, visitor);
    }
    let (near, far, mut effective_settings) = connected;
    let initiator = UdpEnd::new(near, spec.message_bytes).map_err(set_failed)?;
    let responder = UdpEnd::new(far, spec.message_bytes).map_err(set_failed)?;
    effective_settings.extend(initiator.effective_settings(bytes, spec.message_bytes));
    Ok(visitor.visit(Opened::new(initiator, responder).effective_settings(effective_settings)))
}

fn set_failed(error: io::Error) -> OpenError {
    OpenError::call("setsockopt")(error)
}

/// Has waits on `socket` end after [`PATIENCE`]; gives how many datagrams of `bytes` may be under
/// way to a buffer like its own.
fn window(socket: &UdpSocket, bytes: usize) -> io::Result<u32> {
    socket.set_read_timeout(Some(PATIENCE))?;
    let room = sockopt::socket_recv_buffer_size(socket)?;
    // Half of the buffer: the kernel gives back what was read a quarter at a time
    // (udp_rmem_release), so that much of it may be taken by datagrams long gone.
    Ok((room / 2 / accounted(bytes)).max(1) as u32)
}
