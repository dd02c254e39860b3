//! iceoryx2: publish and subscribe each way, in shared memory. `wait=spin` asks again and again, `wait=event` sleeps until the
//! publisher's notifier calls.

#[path = "../common/plugin.rs"]
mod plugin;

use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;
use iceoryx2::sample::Sample;
use iceoryx2::sample_mut_uninit::SampleMutUninit;
use plugin::{Done, End, Refusal, SLEEPS, SPINS, Spec, Table, option, wrong_length};
use std::ffi::c_char;
use std::mem::MaybeUninit;

type Ipc = ipc::Service;

struct Ports {
    // Dropped in this order: what is lent before whom it belongs to.
    lent: Option<SampleMutUninit<Ipc, [MaybeUninit<u8>], ()>>,
    taken: Option<Sample<Ipc, [u8], ()>>,
    publisher: Publisher<Ipc, [u8], ()>,
    subscriber: Subscriber<Ipc, [u8], ()>,
    /// Where it sleeps.
    event: Option<(Notifier<Ipc>, Listener<Ipc>)>,
    _node: Node<Ipc>,
    _rest: Rest,
}

/// What the library leaves in memory for the next node of the same prefix: a file with the name of the connection.
struct Rest(String);

impl Drop for Rest {
    fn drop(&mut self) {
        for file in std::fs::read_dir("/dev/shm").into_iter().flatten().flatten() {
            let name = file.file_name().to_string_lossy().into_owned();
            if name.starts_with(&self.0) && name.ends_with(".global_mgmt") {
                // The partner may have been faster.
                let _ = std::fs::remove_file(file.path());
            }
        }
    }
}

fn said<E: std::fmt::Debug>(error: E) -> String {
    format!("{error:?}")
}

/// A node whose files lie in the folder of the connection, and whose memory has its name.
fn node(spec: &Spec) -> Result<Node<Ipc>, String> {
    let mut config = Config::default();
    config.global.set_root_path(&Path::new(spec.folder().as_bytes()).map_err(said)?);
    config.global.prefix = FileName::new(spec.name().as_bytes()).map_err(said)?;
    let builder = NodeBuilder::new().config(&config);
    builder.signal_handling_mode(SignalHandlingMode::Disabled).create().map_err(said)
}

impl Ports {
    fn ports(spec: &Spec, node: Node<Ipc>) -> Result<Ports, String> {
        let largest = spec.largest();
        let fitting = ((8 << 20) / largest).clamp(2, 64);
        let depth = if spec.depth == 0 { fitting } else { spec.depth as usize };
        let service = |way: &str| {
            let name = ServiceName::new(way).map_err(said)?;
            let builder = node.service_builder(&name).publish_subscribe::<[u8]>();
            // The publisher waits for room, and overwrites nothing.
            let builder = builder.enable_safe_overflow(false).subscriber_max_buffer_size(depth);
            builder.history_size(0).open_or_create().map_err(said)
        };
        let event = |way: &str| {
            let name = ServiceName::new(way).map_err(said)?;
            node.service_builder(&name).event().open_or_create().map_err(said)
        };
        let (to, from) = match spec.is_responder() {
            true => ("back", "there"),
            false => ("there", "back"),
        };
        let strategy = BackpressureStrategy::RetryUntilDelivered;
        let service_to = service(to)?;
        let publisher = service_to.publisher_builder().backpressure_strategy(strategy);
        let publisher = publisher.initial_max_slice_len(largest).create().map_err(said)?;
        let subscriber = service(from)?.subscriber_builder().create().map_err(said)?;
        let event = match spec.option("wait") {
            "event" => {
                let notifier = event(to)?.notifier_builder().create().map_err(said)?;
                Some((notifier, event(from)?.listener_builder().create().map_err(said)?))
            }
            _ => None,
        };
        let rest = Rest(spec.name().into());
        let (lent, taken) = (None, None);
        Ok(Ports { lent, taken, publisher, subscriber, event, _node: node, _rest: rest })
    }

    fn next(&self) -> Result<Sample<Ipc, [u8], ()>, String> {
        loop {
            if let Some(sample) = self.subscriber.receive().map_err(said)? {
                return Ok(sample);
            }
            match &self.event {
                Some((_, listener)) => {
                    listener.blocking_wait(|_| {}).map_err(said)?;
                }
                None => std::hint::spin_loop(),
            }
        }
    }

    fn notify(&self) -> Done {
        match &self.event {
            Some((notifier, _)) => notifier.notify().map(|_| ()).map_err(said),
            None => Ok(()),
        }
    }
}

impl End for Ports {
    fn open(spec: &Spec) -> Result<Ports, Refusal> {
        set_log_level(LogLevel::Error);
        let mut why = String::new();
        // Both ends make what isn't there: one of them may find what the other is still making.
        let made = spec.until(|| {
            node(spec).and_then(|node| Ports::ports(spec, node)).map_err(|error| why = error).ok()
        });
        let ports = made.map_err(|_| Refusal::Failed(why))?;
        spec.meet()?;
        Ok(ports)
    }

    fn send(&mut self, message: &[u8]) -> Done {
        let sample = self.publisher.loan_slice_uninit(message.len()).map_err(said)?;
        sample.write_from_slice(message).send().map_err(said)?;
        self.notify()
    }

    fn recv(&mut self, message: &mut [u8]) -> Done {
        let sample = self.next()?;
        if sample.payload().len() != message.len() {
            return Err(wrong_length(sample.payload().len(), message.len()));
        }
        message.copy_from_slice(sample.payload());
        Ok(())
    }

    fn loan(&mut self, bytes: usize) -> Result<*mut u8, String> {
        let sample = self.publisher.loan_slice_uninit(bytes).map_err(said)?;
        Ok(self.lent.insert(sample).payload_mut().as_mut_ptr().cast())
    }

    fn commit(&mut self) -> Done {
        let sample = self.lent.take().ok_or("nothing is lent")?;
        // SAFETY: bytes, which have no wrong values; whoever was lent them writes what he wants to have sent.
        unsafe { sample.assume_init() }.send().map_err(said)?;
        self.notify()
    }

    fn take(&mut self, bytes: usize) -> Result<*const u8, String> {
        let sample = self.next()?;
        if sample.payload().len() != bytes {
            return Err(wrong_length(sample.payload().len(), bytes));
        }
        Ok(self.taken.insert(sample).payload().as_ptr())
    }

    fn release(&mut self) {
        self.taken = None;
    }
}

unsafe extern "C" fn waits(options: *const *const c_char) -> u32 {
    if option(options, "wait") == "event" { SLEEPS } else { SPINS }
}

const TEXTS: Table = Table {
    name: c"iceoryx2".as_ptr(),
    summary: c"iceoryx2, publish and subscribe in shared memory, in place".as_ptr(),
    // It says none when it runs: that of Cargo.toml, which is pinned.
    version: c"0.10.0".as_ptr(),
    options: c"wait=spin|event".as_ptr(),
    waits: Some(waits),
    ..Table::of::<Ports>()
};

#[unsafe(no_mangle)]
pub extern "C" fn ipcmark_plugin() -> *const Table {
    #[cfg(not(feature = "copied"))]
    static TABLE: Table = TEXTS.in_place::<Ports>();
    #[cfg(feature = "copied")]
    static TABLE: Table = Table {
        name: c"iceoryx2-copied".as_ptr(),
        summary: c"iceoryx2, publish and subscribe in shared memory, copied".as_ptr(),
        ..TEXTS
    };
    &TABLE
}
