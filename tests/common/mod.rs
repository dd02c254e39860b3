//! What the tests of mechanisms and launches share: the variants under test, known contents,
//! guards against hanging, launches driven to their end, and /proc as a witness.
#![allow(dead_code)] // each test binary takes a part of it

mod aloud;
pub mod binomial;
pub mod ends;
pub mod inventory;
pub mod launching;
pub mod netns;
pub mod proc;
pub mod rooms;

use std::net::{Ipv6Addr, UdpSocket};
use std::sync::OnceLock;

pub use aloud::say;
use machine::{counts, trace};
use mechanisms::Variant;
use model::counts::Family;
pub use rooms::enter;

/// Tried as the largest message of a mechanism without a limit.
pub const MIB: usize = 1 << 20;

/// Options beyond the shown variants whose code differs enough to be covered.
const ALSO: [&str; 37] = [
    "sysv-queue:namespace=host",
    "pipe:capacity=4K",
    "pipe:mode=packet",
    "unix-stream:bind=path",
    "unix-stream:bind=abstract",
    "unix-stream:wiring=self",
    "unix-seqpacket:bind=path",
    "unix-dgram:buffer=message",
    "vmsplice:gift=on",
    "vmsplice:capacity=4K",
    "vmsplice:pages=huge",
    "posix-queue:depth=1",
    "unix-stream:buffer=message",
    "unix-seqpacket:buffer=message",
    "tcp:nodelay=off",
    "tcp:family=6",
    "udp:family=6",
    "udp:buffer=64K",
    "udp:datagram=1400",
    "udp:datagram=1400,gro=on",
    "udp:datagram=1400,gso=on",
    "udp:datagram=1400,gro=on,gso=on",
    "udp:buffer=4K,datagram=16K",
    "tcp:mptcp=on",
    "tcp:mtu=1500",
    "udp:mtu=1500",
    "udp:datagram=largest,mtu=1500",
    "udp:checksum=off",
    "udp:checksum=off,family=6",
    "udp:reliability=none",
    "udp:reliability=stop-and-wait",
    "udp:reliability=selective-repeat",
    "udp:reliability=selective-repeat,window=none",
    "udp:datagram=1400,reliability=golay-24-12",
    "udp:reliability=reed-solomon-4-3+arq",
    "udp:reliability=raptorq",
    "tcp:busy-poll=50",
];

/// Whether launches can be traced; None where not, said aloud.
pub fn can_trace() -> Option<()> {
    trace::available().map_err(|refusal| say(&format!("skipped: {refusal}"))).ok()
}

/// Whether what launches do can be counted; None where not, said aloud.
pub fn can_count(family: Family) -> Option<()> {
    counts::available(family).map_err(|refusal| say(&format!("skipped: {refusal}"))).ok()
}

/// What the suite covers: every shown variant, and a few options that change the code.
pub fn variants() -> Vec<Variant> {
    enter();
    let mut variants = Variant::shown();
    for text in ALSO {
        if text.contains("family=6") && !has_ipv6_loopback() {
            say(&format!("skipped {text}: this machine has no IPv6 loopback"));
            continue;
        }
        variants.push(Variant::parse(text).expect("the option is declared"));
    }
    variants
}

fn has_ipv6_loopback() -> bool {
    UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok()
}

/// The largest message that `variant` is asked to carry here.
pub fn largest(variant: &Variant) -> usize {
    variant.entry.largest(&variant.options).unwrap_or(MIB)
}

/// Message sizes around every boundary that a mechanism is likely to have.
pub fn sizes(variant: &Variant) -> Vec<usize> {
    let largest = largest(variant);
    // 1,900 and 8,000: where the kernel's bookkeeping of a datagram outgrows its payload most.
    let around = [1, 2, 55, 56, 57, 63, 64, 65, 1_900, 4_095, 4_096, 4_097, 8_000, 65_536];
    let mut sizes: Vec<usize> = around.into_iter().filter(|size| *size < largest).collect();
    sizes.push(largest);
    sizes
}

/// A small seeded generator (splitmix64): the same moments and sizes in every run.
pub struct Rng(pub u64);

impl Rng {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// The contents of message `number` in `direction`: different for each, known to both sides,
/// and a slice, so that all of it is compared at the speed of memcmp also in a debug build.
pub fn contents(direction: u64, number: u64, bytes: usize) -> &'static [u8] {
    const PERIOD: u64 = 65_521;
    static NOISE: OnceLock<Vec<u8>> = OnceLock::new();
    let noise = NOISE.get_or_init(|| {
        let longest = Variant::shown().iter().map(largest).max().unwrap_or(0).max(MIB) + 1;
        let mut rng = Rng(1);
        let words = (PERIOD as usize + longest).div_ceil(8);
        (0..words).flat_map(|_| rng.next().to_le_bytes()).collect()
    });
    let start = ((number * 7_919 + direction * 32_771) % PERIOD) as usize;
    &noise[start..start + bytes]
}
