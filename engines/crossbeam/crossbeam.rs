//! crossbeam-channel between threads: a bounded channel each way, of messages in memory of their own (`Box<[u8]>`).

#[path = "../common/plugin.rs"]
mod plugin;

use crossbeam_channel::{Receiver, Sender, TryRecvError, TrySendError, bounded};
use plugin::between_threads::Meeting;
use plugin::{Done, End, Refusal, Spec, Table, wrong_length};

/// Messages that a channel has room for, where nothing is asked.
const DEPTH: usize = 64;

struct Channels {
    to: Sender<Box<[u8]>>,
    from: Receiver<Box<[u8]>>,
}

static MEETING: Meeting<Channels> = Meeting::new();

fn copied(from: &[u8], into: &mut [u8]) -> Done {
    if from.len() != into.len() {
        return Err(wrong_length(from.len(), into.len()));
    }
    into.copy_from_slice(from);
    Ok(())
}

impl End for Channels {
    fn open(spec: &Spec) -> Result<Channels, Refusal> {
        MEETING.end(spec, || {
            let depth = if spec.depth == 0 { DEPTH } else { spec.depth as usize };
            let ((to, theirs), (others, from)) = (bounded(depth), bounded(depth));
            (Channels { to, from }, Channels { to: others, from: theirs })
        })
    }

    fn send(&mut self, message: &[u8]) -> Done {
        self.to.send(message.into()).map_err(|error| error.to_string())
    }

    fn recv(&mut self, message: &mut [u8]) -> Done {
        copied(&self.from.recv().map_err(|error| error.to_string())?, message)
    }

    fn try_send(&mut self, message: &[u8]) -> Result<bool, String> {
        match self.to.try_send(message.into()) {
            Ok(()) => Ok(true),
            Err(TrySendError::Full(_)) => Ok(false),
            Err(error) => Err(error.to_string()),
        }
    }

    fn try_recv(&mut self, message: &mut [u8]) -> Result<bool, String> {
        match self.from.try_recv() {
            Ok(came) => copied(&came, message).map(|()| true),
            Err(TryRecvError::Empty) => Ok(false),
            Err(error) => Err(error.to_string()),
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn ipcmark_plugin() -> *const Table {
    static TABLE: Table = Table {
        name: c"crossbeam".as_ptr(),
        summary: c"crossbeam-channel, bounded, between threads".as_ptr(),
        // It says none when it runs: that of Cargo.toml, which is pinned.
        version: c"0.5.17".as_ptr(),
        ..Table::of::<Channels>().polled::<Channels>()
    };
    &TABLE
}
