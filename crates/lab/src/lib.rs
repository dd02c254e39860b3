//! A laboratory: hosts, switches and routers on one machine, as network namespaces.
//!
//! What is asked for ([`model::lab`]) becomes a plan ([`plan`]), the plan becomes command lines for the
//! programs that know the kernel's network ([`commands`], [`means`]): all of that is pure. [`build`]
//! does it and takes it down again, by what [`state`] has kept in a folder that is ours alone (`folder`); [`relay`] is the line in user space
//! where the kernel can't delay or lose packets, [`price`] what it costs, [`inside`] the way into a
//! host. Nothing is made in the network namespace of the caller.

pub mod build;
pub mod commands;
mod folder;
pub mod inside;
pub mod means;
pub mod own;
pub mod plan;
pub mod price;
pub mod relay;
mod run;
mod space;
pub mod state;
pub mod status;
#[cfg(test)]
mod tests;

use model::lab::LabRequest;

pub use build::{down, remove_left, up};
pub use plan::Plan;
pub use state::State;
pub use status::Status;

/// Why a laboratory can't be had, in one line with the remedy.
#[derive(Debug, PartialEq, Eq)]
pub enum LabError {
    Usage(String),
    /// This machine, or this user, can't have it.
    Unavailable(String),
    /// Something failed on the way.
    Failed(String),
    /// A signal came, by its number; what was made is gone again.
    Stopped(i32),
    /// Something failed, or a signal came, and not all that was made could be removed again.
    Left(String),
}

impl std::fmt::Display for LabError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LabError::Usage(line)
            | LabError::Unavailable(line)
            | LabError::Failed(line)
            | LabError::Left(line) => f.write_str(line),
            LabError::Stopped(signal) => write!(f, "stopped by signal {signal}"),
        }
    }
}

impl LabError {
    /// For use with `map_err`: names what failed.
    fn of<E: std::fmt::Display>(what: impl std::fmt::Display) -> impl FnOnce(E) -> LabError {
        move |error| LabError::Failed(format!("{what}: {error}"))
    }
}

/// What every result of a laboratory must say.
pub const CAVEAT: &str = "two network stacks, one machine: they prove the tool and the protocols, \
                          and give no verdict on physical distance";
