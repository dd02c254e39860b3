//! Codes that bring lost datagrams back, and mend bits inside one: pure functions over bytes.
//!
//! - [`Scheme`]: which code, in the words of the command line
//! - [`Coder`]: a block laid over datagrams, and rebuilt from those that arrived
//! - [`Shield`]: the code inside one datagram, against flipped bits, with CRC-32C outside
//! - [`LossTrace`]: seeded losses, the same for every scheme
//! - [`FlipTrace`]: seeded flips of bits
//!
//! Nothing here sends, receives or tells the time.

mod binary;
mod block;
mod flips;
mod loss;
mod scheme;
mod shield;

pub use block::{Coder, LARGEST_DATAGRAM, NotEnough};
pub use flips::FlipTrace;
pub use loss::{LossModel, LossTrace};
pub use scheme::{LARGEST_BLOCK, Scheme};
pub use shield::{Detected, Outcome, Recovery, Shield};
