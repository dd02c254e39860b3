//! The words of an experiment, as types: no input or output, no system call.

pub mod duration;
pub mod size;
pub mod visible;
