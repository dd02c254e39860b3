//! Work that is planted into every message, to see whether what explains a round trip finds it.
//!
//! Only builds with debug assertions or the feature `plant` hold it: no command can ask for it.

use std::hint::black_box;
use std::io;

use rustix::process::getppid;
use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Serialize};

use workload::Payload;

/// Whether this build can plant anything.
pub const PLANTS: bool = cfg!(any(debug_assertions, feature = "plant"));

/// Bytes that a planted call draws: as many as the kernel gives without being interrupted.
const DRAWN: usize = 256;
/// Bytes of a planted copy.
const COPIED: usize = 64 << 10;

/// What each worker does before it sends a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Plant {
    /// One more system call, which does about as much as those that move a small message: 256
    /// random bytes.
    Call,
    /// The least system call, which does next to nothing.
    LeastCall,
    /// A copy of 64 KiB, in the program.
    Copy,
    /// Goes to the other one of two CPUs, and stays there for this message.
    Migration([u32; 2]),
}

/// A payload that leaves messages as they are, and does the planted work.
pub struct Planted {
    plant: Plant,
    from: Vec<u8>,
    to: Vec<u8>,
    sent: usize,
}

impl Planted {
    /// The work that `plant` stands for, its memory touched.
    pub fn new(plant: Plant) -> Planted {
        let bytes = match plant {
            Plant::Call => DRAWN,
            Plant::Copy => COPIED,
            Plant::LeastCall | Plant::Migration(_) => 0,
        };
        Planted { plant, from: vec![0x5a; bytes], to: vec![0; bytes], sent: 0 }
    }
}

impl Payload for Planted {
    fn fill(&mut self, _message: &mut [u8]) {
        self.sent += 1;
        match self.plant {
            Plant::Call => drop(black_box(getrandom(&mut self.to, GetRandomFlags::empty()))),
            Plant::LeastCall => drop(black_box(getppid())),
            Plant::Copy => black_box(&mut self.to).copy_from_slice(black_box(&self.from)),
            Plant::Migration(cpus) => {
                let _ = black_box(sys::affinity::pin(cpus[self.sent % 2]));
            }
        }
    }

    fn look(&mut self, _message: &[u8]) -> io::Result<()> {
        Ok(())
    }
}
