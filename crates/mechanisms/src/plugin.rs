//! Plug-ins: mechanisms of shared libraries and of engines, beside those of the table. A library is loaded in a worker of a launch alone,
//! after the fork, in `start`: before that a plug-in is what it has said of itself.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::{OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::engine::{Engine, Opens};
use super::{
    Deadline, Endpoint, Entry, Nonblocking, NonblockingCode, OpenError, OpenSpec, Opened, Received,
    Residue, Sent, Visitor,
};
use model::mechanism::{Cause, Unavailable};
use model::plugin::Plugin;
use sys::library::{self, End, EndSpec, PluginError};

/// How long opening an end may take.
const OPENS_WITHIN: Duration = Duration::from_secs(9);

/// Loads a library; None in a program that can't.
type Load = fn(&Path) -> Result<library::Plugin, String>;
static LOAD: OnceLock<Load> = OnceLock::new();
static REGISTERED: RwLock<Vec<&'static Entry>> = RwLock::new(Vec::new());

/// Says how this program loads libraries: one that is linked without a loader has no way.
pub fn load_by(load: Load) {
    let _ = LOAD.set(load);
}

/// The plug-ins of this process, in the order in which they were registered.
pub fn registered() -> Vec<&'static Entry> {
    REGISTERED.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Adds a mechanism; one of its name stays as it is, where it is the same.
///
/// # Errors
/// Another one has its name.
pub fn register(plugin: &Plugin) -> Result<(), String> {
    let name = &plugin.name;
    let taken = |entry: &&Entry| entry.name == name || entry.aliases.contains(&name.as_str());
    if super::MECHANISMS.iter().any(|entry| taken(&entry)) {
        return Err(format!("{name}: a mechanism of that name is built in: add :name=my-{name}"));
    }
    let mut all = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.iter().find(|entry| taken(entry)) {
        return match known.plugin == Some(plugin) {
            true => Ok(()),
            false => Err(format!("{name}: two plug-ins of that name: add :name=my-{name} to one")),
        };
    }
    // As long as the process: a run has few.
    let plugin: &'static Plugin = Box::leak(Box::new(plugin.clone()));
    all.push(Box::leak(Box::new(Entry::of_plugin(plugin))));
    Ok(())
}

/// The plug-in called `name`.
pub(super) fn of(name: &str) -> Option<(&'static Entry, &'static Plugin)> {
    registered()
        .into_iter()
        .find(|entry| entry.name == name)
        .and_then(|entry| Some((entry, entry.plugin?)))
}

/// Opens nothing: gives two ends that their workers open in `start`.
pub(super) fn open<V: Visitor>(
    plugin: &'static Plugin,
    spec: &OpenSpec,
    visitor: V,
) -> Result<V::Output, OpenError> {
    if plugin.is_absent() {
        return Err(OpenError::Unavailable(Unavailable {
            cause: Cause::Other,
            reason: format!("no plug-in {} was given, and none is kept", plugin.name),
            remedy: plugin.summary.clone(),
        }));
    }
    let folder = Residue::of_folder()?;
    let place = folder.folder().ok_or_else(|| OpenError::NotApplicable("no folder".into()))?;
    let name = super::residue::random_name()
        .map_err(OpenError::call("getrandom"))?
        .replace(|letter: char| !letter.is_ascii_alphanumeric(), "");
    let name = name[name.len().saturating_sub(16)..].to_string();
    let closed = |is_responder| Closed {
        plugin,
        options: plugin.all_options(spec.options.chosen()),
        is_responder,
        same_process: spec.same_process,
        message_bytes: spec.message_bytes as u64,
        folder: place.to_path_buf(),
        name: name.clone(),
    };
    let (near, far) = (closed(false), closed(true));
    if plugin.in_place {
        let end = |closed| InPlace(Copying { closed, end: End::closed(), engine: None });
        return Ok(visitor.visit(Opened::new(end(near), end(far)).residue(folder)));
    }
    let end = |closed| Copying { closed, end: End::closed(), engine: None };
    Ok(visitor.visit(Opened::new(end(near), end(far)).residue(folder)))
}

/// What an end is to be opened for.
struct Closed {
    plugin: &'static Plugin,
    options: Vec<(String, String)>,
    is_responder: bool,
    same_process: bool,
    message_bytes: u64,
    folder: PathBuf,
    name: String,
}

impl Closed {
    /// The process that is this end of an engine.
    fn engine(&self, deadline: &Deadline) -> io::Result<Engine> {
        let opens = Opens {
            is_responder: self.is_responder,
            message_bytes: self.message_bytes,
            folder: &self.folder,
            name: &self.name,
            options: &self.options,
        };
        Engine::open(self.plugin, &opens, deadline)
    }

    fn open(&self, deadline: &Deadline) -> io::Result<End> {
        let failed = |why: String| io::Error::other(format!("{}: {why}", self.plugin.name));
        let load = LOAD.get().ok_or_else(|| failed("this program loads no library".into()))?;
        let library = load(Path::new(&self.plugin.path)).map_err(failed)?;
        let now = clock_gettime(ClockId::Monotonic);
        let left = deadline.get().map_or(OPENS_WITHIN, |ends| {
            ends.saturating_duration_since(Instant::now()).min(OPENS_WITHIN)
        });
        let now = Duration::new(now.tv_sec as u64, now.tv_nsec as u32);
        let opened = library.open(&EndSpec {
            is_responder: self.is_responder,
            same_process: self.same_process,
            request_bytes: self.message_bytes,
            answer_bytes: self.message_bytes,
            deadline_ns: (now + left).as_nanos() as u64,
            folder: &self.folder,
            name: &self.name,
            options: &self.options,
        });
        opened.map_err(|why| match why {
            PluginError::Unavailable(reason) => {
                io::Error::other(OpenError::Unavailable(Unavailable {
                    cause: Cause::Other,
                    reason: format!("{}: {reason}", self.plugin.name),
                    remedy: "see to that, then run again".into(),
                }))
            }
            PluginError::Failed(why) => failed(why),
        })
    }
}

/// An end whose messages are copied in and out; or one of an engine, which does that by itself.
pub struct Copying {
    closed: Closed,
    end: End,
    engine: Option<Engine>,
}

#[cold]
fn failed(error: PluginError) -> io::Error {
    io::Error::other(match error {
        PluginError::Unavailable(why) | PluginError::Failed(why) => why,
    })
}

impl Endpoint for Copying {
    fn start(&mut self, deadline: &Deadline) -> io::Result<()> {
        match self.closed.plugin.is_engine() {
            true => self.engine = Some(self.closed.engine(deadline)?),
            false => self.end = self.closed.open(deadline)?,
        }
        Ok(())
    }

    fn engine(&mut self) -> Option<&mut Engine> {
        self.engine.as_mut()
    }

    #[inline(always)]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.end.send(message).map_err(failed)
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        self.end.recv(message).map_err(failed)
    }

    fn nonblocking<'a, C: NonblockingCode<'a>>(&'a mut self, code: C) -> Option<C::Output> {
        self.closed.plugin.without_waiting.then(|| code.run(self))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.end.finish().map_err(failed)
    }
}

impl Nonblocking for Copying {
    #[inline(always)]
    fn try_send(&mut self, message: &[u8]) -> io::Result<Sent> {
        let sent = self.end.try_send(message).map_err(failed)?;
        Ok(if sent { Sent::Whole } else { Sent::WouldBlock })
    }

    #[inline(always)]
    fn try_recv(&mut self, message: &mut [u8]) -> io::Result<Received> {
        let received = self.end.try_recv(message).map_err(failed)?;
        Ok(if received { Received::Whole } else { Received::WouldBlock })
    }

    fn ready(&self) -> Option<BorrowedFd<'_>> {
        self.end.ready()
    }
}

/// An end whose messages are written and read where both processes share them.
pub struct InPlace(Copying);

impl Endpoint for InPlace {
    fn start(&mut self, deadline: &Deadline) -> io::Result<()> {
        self.0.start(deadline)
    }

    #[inline(always)]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.0.send(message)
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        self.0.recv(message)
    }

    #[inline(always)]
    fn send_with(&mut self, message: &mut [u8], fill: impl FnOnce(&mut [u8])) -> io::Result<()> {
        self.0.end.send_in_place(message.len(), fill).map_err(failed)
    }

    #[inline(always)]
    fn recv_with(
        &mut self,
        message: &mut [u8],
        look: impl FnOnce(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        self.0.end.recv_in_place(message.len(), look).map_err(failed)?
    }

    fn nonblocking<'a, C: NonblockingCode<'a>>(&'a mut self, code: C) -> Option<C::Output> {
        self.0.nonblocking(code)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.finish()
    }
}
