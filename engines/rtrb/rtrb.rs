//! rtrb between threads: a ring of bytes each way, of one producer and one consumer. It never waits: whoever uses it spins or
//! yields.

#[path = "../common/plugin.rs"]
mod plugin;

use plugin::between_threads::Meeting;
use plugin::{Done, End, Refusal, SPINS, STREAM, Spec, Table, YIELDS, option};
use rtrb::{Consumer, Producer, RingBuffer};
use std::ffi::c_char;

/// Bytes of a ring, or as many as the largest message has.
const ROOM: usize = 64 << 10;

struct Rings {
    to: Producer<u8>,
    from: Consumer<u8>,
    yields: bool,
}

static MEETING: Meeting<Rings> = Meeting::new();

impl Rings {
    fn wait(&self) {
        if self.yields {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}

impl End for Rings {
    fn open(spec: &Spec) -> Result<Rings, Refusal> {
        MEETING.end(spec, || {
            let depth = spec.depth.max(1) as usize;
            let room = ROOM.max(depth.saturating_mul(spec.largest()));
            let yields = spec.option("wait") == "yield";
            let ((to, theirs), (others, from)) = (RingBuffer::new(room), RingBuffer::new(room));
            (Rings { to, from, yields }, Rings { to: others, from: theirs, yields })
        })
    }

    fn send(&mut self, mut message: &[u8]) -> Done {
        while !message.is_empty() {
            let (written, rest) = self.to.push_partial_slice(message);
            message = rest;
            if written.is_empty() {
                self.wait();
            }
        }
        Ok(())
    }

    fn recv(&mut self, mut message: &mut [u8]) -> Done {
        while !message.is_empty() {
            let (read, rest) = self.from.pop_partial_slice(message);
            message = rest;
            if read.is_empty() {
                self.wait();
            }
        }
        Ok(())
    }

    fn try_send(&mut self, message: &[u8]) -> Result<bool, String> {
        Ok(self.to.push_entire_slice(message).is_ok())
    }

    fn try_recv(&mut self, message: &mut [u8]) -> Result<bool, String> {
        Ok(self.from.pop_entire_slice(message).is_ok())
    }
}

unsafe extern "C" fn waits(options: *const *const c_char) -> u32 {
    if option(options, "wait") == "yield" { YIELDS } else { SPINS }
}

#[unsafe(no_mangle)]
pub extern "C" fn ipcmark_plugin() -> *const Table {
    static TABLE: Table = Table {
        name: c"rtrb".as_ptr(),
        summary: c"rtrb, a ring of bytes between threads".as_ptr(),
        // It says none when it runs: that of Cargo.toml, which is pinned.
        version: c"0.4.1".as_ptr(),
        options: c"wait=spin|yield".as_ptr(),
        framing: STREAM,
        waits: Some(waits),
        ..Table::of::<Rings>().polled::<Rings>()
    };
    &TABLE
}
