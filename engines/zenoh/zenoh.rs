//! Zenoh: publish and subscribe each way, between two peers over a Unix socket. With the feature `shm` payloads lie in shared
//! memory, and are lent.

#[path = "../common/plugin.rs"]
mod plugin;

use plugin::{Done, End, Refusal, Spec, Table, wrong_length};
use std::io::Read;
use zenoh::handlers::FifoChannelHandler;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::CongestionControl;
use zenoh::sample::Sample;
use zenoh::{Config, Session, Wait};

struct Peer {
    #[cfg(feature = "shm")]
    memory: shm::Memory,
    publisher: Publisher<'static>,
    subscriber: Subscriber<FifoChannelHandler<Sample>>,
    session: Session,
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// A peer that finds nobody and is found by nobody: the responder listens in the folder of the connection.
fn session(spec: &Spec) -> Result<Session, String> {
    let mut config = Config::default();
    let socket = format!(r#"["unixsock-stream/{}/zenoh"]"#, spec.folder());
    let (own, none) =
        if spec.is_responder() { ("listen", "connect") } else { ("connect", "listen") };
    let settings = [
        (format!("{own}/endpoints"), socket.as_str()),
        (format!("{none}/endpoints"), "[]"),
        ("connect/exit_on_failure".into(), "true"),
        ("connect/timeout_ms".into(), "0"),
        ("scouting/multicast/enabled".into(), "false"),
        ("scouting/gossip/enabled".into(), "false"),
        (
            "transport/shared_memory/enabled".into(),
            if cfg!(feature = "shm") { "true" } else { "false" },
        ),
    ];
    for (key, value) in settings {
        config.insert_json5(&key, value).map_err(said)?;
    }
    zenoh::open(config).wait().map_err(said)
}

impl End for Peer {
    fn open(spec: &Spec) -> Result<Peer, Refusal> {
        #[cfg(feature = "shm")]
        let bytes = shm::Memory::bytes(spec)?;
        let mut why = String::new();
        // The initiator may come before there is a socket.
        let session = spec.until(|| session(spec).map_err(|error| why = error).ok());
        let session = session.map_err(|_| Refusal::Failed(why))?;
        let (to, from) = if spec.is_responder() { ("back", "there") } else { ("there", "back") };
        let subscriber = session.declare_subscriber(from).wait()?;
        let publisher = session.declare_publisher(to).congestion_control(CongestionControl::Block);
        let publisher = publisher.express(spec.option("express") == "yes").wait()?;
        spec.until(|| {
            publisher.matching_status().wait().is_ok_and(|status| status.matching()).then_some(())
        })?;
        spec.meet()?;
        Ok(Peer {
            #[cfg(feature = "shm")]
            memory: shm::Memory::of(bytes)?,
            publisher,
            subscriber,
            session,
        })
    }

    fn send(&mut self, message: &[u8]) -> Done {
        self.publisher.put(message).wait().map_err(said)
    }

    fn recv(&mut self, message: &mut [u8]) -> Done {
        copied(&self.subscriber.recv().map_err(said)?, message)
    }

    #[cfg(feature = "shm")]
    fn loan(&mut self, bytes: usize) -> Result<*mut u8, String> {
        self.memory.loan(bytes)
    }

    #[cfg(feature = "shm")]
    fn commit(&mut self) -> Done {
        let payload = self.memory.lent.take().ok_or("nothing is lent")?;
        self.publisher.put(payload).wait().map_err(said)
    }

    #[cfg(feature = "shm")]
    fn take(&mut self, bytes: usize) -> Result<*const u8, String> {
        self.memory.take(self.subscriber.recv().map_err(said)?, bytes)
    }

    #[cfg(feature = "shm")]
    fn release(&mut self) {
        self.memory.taken = None;
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The partner may have closed it before.
        let _ = self.session.close().wait();
        #[cfg(feature = "shm")]
        shm::remove_segments();
    }
}

fn copied(sample: &Sample, message: &mut [u8]) -> Done {
    let payload = sample.payload();
    if payload.len() != message.len() {
        return Err(wrong_length(payload.len(), message.len()));
    }
    payload.reader().read_exact(message).map_err(said)
}

#[cfg(feature = "shm")]
mod shm {
    use super::{Refusal, Sample, Spec, said, wrong_length};
    use zenoh::Wait;
    use zenoh::shm::{
        BlockOn, GarbageCollect, PosixShmProviderBackend, ShmProvider, ShmProviderBuilder, ZShmMut,
    };

    /// What this end lends from, and what is lent.
    pub struct Memory {
        pub lent: Option<ZShmMut>,
        pub taken: Option<Sample>,
        provider: ShmProvider<PosixShmProviderBackend>,
    }

    /// The library removes some of its memory when a process exits, which a worker doesn't wait for: what this one holds open is
    /// its own or its partner's.
    pub fn remove_segments() {
        for open in std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten() {
            let Ok(path) = std::fs::read_link(open.path()) else { continue };
            if path.starts_with("/dev/shm") && path.extension().is_some_and(|ends| ends == "zenoh") {
                // The partner may have been faster.
                let _ = std::fs::remove_file(path);
            }
        }
    }

    /// Bytes of memory that this process may lock (RLIMIT_MEMLOCK, CAP_IPC_LOCK).
    fn lockable() -> usize {
        let told = |file: &str, key: &str| {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix(key));
            line.and_then(|rest| rest.split_whitespace().next()).unwrap_or_default().to_string()
        };
        let capable =
            u64::from_str_radix(&told("/proc/self/status", "CapEff:"), 16).unwrap_or(0) >> 14 & 1
                == 1;
        let limit = told("/proc/self/limits", "Max locked memory");
        if capable || limit == "unlimited" { usize::MAX } else { limit.parse().unwrap_or(0) }
    }

    impl Memory {
        /// How many bytes are lent from. Asked before anything is opened, since what can't be locked stays behind.
        pub fn bytes(spec: &Spec) -> Result<usize, Refusal> {
            // As much as the subscriber's queue of 256 holds, where so much may be locked; four messages at least.
            let (may, least) = (lockable(), spec.largest() * 4);
            let bytes = (spec.largest() * 256).clamp(1 << 20, 64 << 20).min(may / 6).max(least);
            // Two ends map both their own and the other's, and what the library notes of each.
            let locked = bytes.saturating_mul(4).saturating_add(2 << 20);
            if locked > may {
                let why = format!(
                    "it locks its memory: {locked} bytes, and {may} may be locked: ulimit -l"
                );
                return Err(Refusal::Unavailable(why));
            }
            Ok(bytes)
        }

        pub fn of(bytes: usize) -> Result<Memory, Refusal> {
            let backend = PosixShmProviderBackend::builder(bytes).wait().map_err(said)?;
            let provider = ShmProviderBuilder::backend(backend).wait();
            Ok(Memory { lent: None, taken: None, provider })
        }

        pub fn loan(&mut self, bytes: usize) -> Result<*mut u8, String> {
            let lent = self
                .provider
                .alloc(bytes)
                .with_policy::<BlockOn<GarbageCollect>>()
                .wait()
                .map_err(said)?;
            Ok(self.lent.insert(lent).as_mut().as_mut_ptr())
        }

        pub fn take(&mut self, sample: Sample, bytes: usize) -> Result<*const u8, String> {
            let payload = self.taken.insert(sample).payload();
            if payload.len() != bytes {
                return Err(wrong_length(payload.len(), bytes));
            }
            let in_place =
                payload.as_shm().ok_or("it came through the socket, not in shared memory")?;
            Ok(in_place.as_ref().as_ptr())
        }
    }
}

const TEXTS: Table = Table {
    name: c"zenoh".as_ptr(),
    summary: c"Zenoh, publish and subscribe between two peers, over a Unix socket".as_ptr(),
    // It says none when it runs: that of Cargo.toml, which is pinned.
    version: c"1.10.2".as_ptr(),
    licence: c"EPL-2.0 or Apache-2.0".as_ptr(),
    // A message is sent at once, or may wait for others: its own ping does the first, its throughput test the second.
    options: c"express=yes|no".as_ptr(),
    ..Table::of::<Peer>()
};

#[unsafe(no_mangle)]
pub extern "C" fn ipcmark_plugin() -> *const Table {
    #[cfg(not(feature = "shm"))]
    static TABLE: Table = TEXTS;
    #[cfg(feature = "shm")]
    static TABLE: Table = Table {
        name: c"zenoh-shm".as_ptr(),
        summary: c"Zenoh, publish and subscribe between two peers, in place in shared memory"
            .as_ptr(),
        ..TEXTS.in_place::<Peer>()
    };
    &TABLE
}
