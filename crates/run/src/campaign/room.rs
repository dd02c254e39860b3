//! How many launches may stand ready at a time: as many as descriptors, processes and memory allow.

use rustix::process::{Resource, getrlimit};
use rustix::system::sysinfo;

/// What a launch takes of the coordinator: its standard streams, and some to start it.
const DESCRIPTORS: u64 = 4;
/// What a launch is: a supervisor and two workers.
const PROCESSES: u64 = 3;
/// What they take beside their messages; and how many messages they hold, with what the kernel
/// buffers of them.
const LAUNCH_BYTES: u64 = 8 << 20;
const MESSAGES: u64 = 8;
/// So many stand ready whatever there is, and more than so many never: starting them takes time, too.
const LEAST: u64 = 4;
const MOST: u64 = 64;

/// What this machine and the limits of this process leave for launches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    descriptors: u64,
    processes: u64,
    bytes: u64,
}

impl Room {
    /// A part of what is there now: the rest is for others, and for what a launch opens.
    pub(super) fn of_this_machine() -> Room {
        let soft = |of| getrlimit(of).current.unwrap_or(u64::MAX);
        let memory = sysinfo();
        Room {
            descriptors: soft(Resource::Nofile) / 2,
            processes: soft(Resource::Nproc) / 2,
            bytes: (memory.freeram as u64).saturating_mul(u64::from(memory.mem_unit)) / 4,
        }
    }

    /// How many launches that send messages of such a size at most.
    pub(super) fn launches(&self, message_bytes: u64) -> usize {
        let each = LAUNCH_BYTES.saturating_add(message_bytes.saturating_mul(MESSAGES));
        let fit = (self.descriptors / DESCRIPTORS)
            .min(self.processes / PROCESSES)
            .min(self.bytes / each)
            .clamp(LEAST, MOST);
        fit as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scarcest_decides_and_some_always_stand() {
        let ample = Room { descriptors: 512, processes: 30_000, bytes: 4 << 30 };
        assert_eq!(ample.launches(64), 64);
        assert_eq!(Room { descriptors: 64, ..ample }.launches(64), 16);
        assert_eq!(Room { processes: 30, ..ample }.launches(64), 10);
        assert_eq!(ample.launches(64 << 20), 7);
        assert_eq!(ample.launches(u64::MAX), 4);
        assert!(Room::of_this_machine().launches(64) >= 4);
    }
}
