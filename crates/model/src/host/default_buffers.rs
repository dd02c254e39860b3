//! What the kernel grants a fresh object of each kind: settings say what may be asked for, this says what
//! comes without asking.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sizes in bytes that fresh objects have. `None` where one can't be made (no descriptors left,
/// a filter forbids it), and in what was stored before this was recorded.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct DefaultBuffers {
    /// Capacity of a pipe (F_GETPIPE_SZ): 64 KiB, or less for a user who holds many (pipe(7)).
    pub pipe_bytes: Option<u64>,
    /// Buffers of one end of a Unix stream pair.
    pub unix_stream: Option<Buffers>,
    /// Buffers of a TCP socket before it is connected; the kernel grows them later.
    pub tcp: Option<Buffers>,
    /// Buffers of a UDP socket.
    pub udp: Option<Buffers>,
}

/// The buffers of a socket as getsockopt tells them: twice what may be filled (socket(7)).
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
pub struct Buffers {
    /// SO_SNDBUF.
    pub send_bytes: u64,
    /// SO_RCVBUF.
    pub receive_bytes: u64,
}
