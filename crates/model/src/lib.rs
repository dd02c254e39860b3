//! The words of an experiment, as types: no input or output, no system call.

pub mod bound;
pub mod clock;
pub mod counts;
pub mod duration;
pub mod findings;
pub mod host;
pub mod noise;
pub mod probe;
pub mod refusal;
pub mod size;
pub mod trace;
pub mod visible;
