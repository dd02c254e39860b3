//! The words of an experiment, as types: no input or output, no system call.

pub mod bound;
pub mod case;
pub mod catalogue;
pub mod clock;
pub mod counts;
pub mod duration;
pub mod findings;
pub mod floors;
pub mod host;
pub mod lab;
pub mod launch;
pub mod mechanism;
pub mod nearest;
pub mod noise;
pub mod peer;
pub mod placement;
pub mod probe;
pub mod rate;
pub mod reach;
pub mod refusal;
pub mod request;
pub mod size;
pub mod total;
pub mod trace;
pub mod visible;
pub mod workload;
