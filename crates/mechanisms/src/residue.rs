//! What outlives its users: names in the file system and System V objects.
//!
//! Names are made in a private folder and are gone before `open` returns. System V objects can't
//! be: they live in an IPC namespace of the launch where that is allowed, and vanish with it. In the
//! machine's own they are removed when [`Residue`] is dropped, and until then they, and the folder,
//! stand in a [record](record::Record) by which [`clean`] finds what a killed owner left.

mod clean;
mod folder;
mod record;
mod wire;

use std::ffi::CString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use self::record::Record;
use self::wire::{DRAWS, WireEntry, draw};
use super::{Choice, OpenError, OptionSpec, Options, Unavailable, cause_of};
use model::mechanism::Cause;
use sys::signal;
use sys::system_v::{self, Object, ObjectKind};

pub use self::clean::{
    Cleaned, clean, clean_up_after_launches, clean_up_after_process, note_launch,
};
pub use self::record::{KeptRecord, keep_record};
pub use self::wire::random_name;

/// The option `namespace=private|host` of what is made in an IPC namespace.
pub const NAMESPACE: OptionSpec = OptionSpec {
    name: "namespace",
    summary: "an IPC namespace of the launch where allowed, or the machine's with its limits",
    words: &["private", "host"],
    takes_size: false,
};

/// Whether a namespace of the launch is asked for.
pub fn private(options: &Options, specs: &'static [OptionSpec]) -> bool {
    options.get(specs, "namespace") == Choice::Word("private")
}

/// Objects that only their removal ends.
#[derive(Debug, Default)]
pub struct Residue {
    /// None in an IPC namespace of the launch, where nothing is noted.
    record: Option<Arc<Record>>,
    /// Each with its slot in the record.
    objects: Vec<(Object, usize)>,
    /// A folder for what others make, removed with all that is in it.
    folder: Option<PathBuf>,
    owner: u32,
}

impl Residue {
    /// Nothing to remove.
    pub fn none() -> Residue {
        Residue::default()
    }

    /// For objects that [`Residue::make`] makes; removed when dropped by the process that calls this.
    ///
    /// # Errors
    /// If no record can be kept of them.
    pub fn of_objects() -> Result<Residue, OpenError> {
        let record = if system_v::is_private() { None } else { Some(current_record()?) };
        let (objects, folder, owner) = (Vec::new(), None, std::process::id());
        Ok(Residue { record, objects, folder, owner })
    }

    /// A folder for what others make, which this user alone may enter; removed with all that is in it when dropped by the
    /// process that calls this.
    ///
    /// # Errors
    /// If there is none to be had.
    pub fn of_folder() -> Result<Residue, OpenError> {
        let record = current_record()?;
        let made = record.folder().and_then(|folder| {
            let inner = folder.join(format!("{:x}", draw()?));
            std::fs::DirBuilder::new().mode(0o700).create(&inner).map(|()| inner)
        });
        let folder = Some(made.map_err(no_folder)?);
        Ok(Residue { record: Some(record), objects: Vec::new(), folder, owner: std::process::id() })
    }

    /// That folder.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Makes an object of `kind` under a random key that was free, and gives its id.
    ///
    /// # Errors
    /// If the kernel makes none, or it can't be noted.
    pub fn make(
        &mut self,
        kind: ObjectKind,
        object: impl Fn(i32) -> io::Result<i32>,
    ) -> io::Result<i32> {
        for _ in 0..DRAWS {
            let key = draw()? as i32;
            // It would be IPC_PRIVATE, under which any number are made.
            if key == 0 {
                continue;
            }
            let planned = WireEntry::Planned { kind, key };
            // A signal that ends this process in between would leave an object of which the record doesn't say
            // whether it is ours: nobody could remove it.
            let _deferred = self.record.is_some().then(signal::Deferred::begin).transpose()?;
            let slot = self.record.as_ref().map_or(Ok(0), |record| record.note(&planned))?;
            match object(key) {
                Ok(id) => {
                    let object = Object { kind, id };
                    self.objects.push((object, slot));
                    if let Some(record) = &self.record {
                        let status = system_v::status(object)?;
                        record.write(slot, &WireEntry::Made { object, status })?;
                    }
                    return Ok(id);
                }
                Err(error) => {
                    if let Some(record) = &self.record {
                        record.clear(slot);
                    }
                    if error.kind() != io::ErrorKind::AlreadyExists {
                        return Err(error);
                    }
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

impl Drop for Residue {
    fn drop(&mut self) {
        // A forked worker holds a copy, which is none of its business.
        if self.owner != std::process::id() {
            return;
        }
        if let Some(folder) = &self.folder {
            // What can't be removed is told with the folder above it, which stays then.
            let _ = std::fs::remove_dir_all(folder);
        }
        for (object, slot) in &self.objects {
            let removed = system_v::remove(*object);
            if let (Ok(()), Some(record)) = (removed, &self.record) {
                record.clear(*slot);
            }
        }
    }
}

/// Why there is no private folder.
fn no_folder(error: io::Error) -> OpenError {
    if error.get_ref().is_some_and(|inner| inner.is::<record::OwnRights>()) {
        return OpenError::Unavailable(Unavailable {
            cause: Cause::Denied,
            reason: format!("mkdir in the folder for temporary files: {error}"),
            remedy: "choose another: umask 077".into(),
        });
    }
    OpenError::call("mkdir in the folder for temporary files")(error)
}

/// Takes the name of a POSIX queue away. One that stays is noted, so that [`clean`] removes it.
///
/// # Errors
/// The name stays: mq_unlink(2) is denied.
pub fn unlink_queue(name: &str, queue: impl AsFd) -> Result<(), OpenError> {
    let unlinked = CString::new(format!("/{name}"))
        .map_err(io::Error::from)
        .and_then(|path| sys::posix::unlink_queue(&path));
    let Err(error) = unlinked else { return Ok(()) };
    // It vanishes with an IPC namespace of the launch.
    if !system_v::is_private() {
        let stat = rustix::fs::fstat(queue).map_err(OpenError::call("fstat"))?;
        let (device, inode) = (stat.st_dev, stat.st_ino);
        let entry = WireEntry::Name { name: name.into(), device, inode };
        current_record()?
            .note(&entry)
            .map_err(OpenError::call("write a record in the folder for temporary files"))?;
    }
    let why = format!("mq_unlink /{name}: {error}: that queue stays in /dev/mqueue");
    Err(OpenError::Unavailable(Unavailable {
        cause: cause_of(&error),
        reason: why,
        remedy: "allow the call; then `ipcmark clean` removes the queue".into(),
    }))
}

/// The folder for temporary files: `$TMPDIR`, else /tmp. An empty name says nothing.
fn temporary_folder() -> PathBuf {
    let named = std::env::var_os("TMPDIR").filter(|path| !path.is_empty());
    named.map_or_else(|| "/tmp".into(), PathBuf::from)
}

fn current_record() -> Result<Arc<Record>, OpenError> {
    let failed = OpenError::call("write a record in the folder for temporary files");
    Record::current().map_err(failed)
}

/// A private folder, for names that must exist for a moment.
pub struct PrivateNames(Arc<Record>);

impl PrivateNames {
    /// The folder of this process, which is gone with its last holder.
    ///
    /// # Errors
    /// If the folder for temporary files takes none.
    pub fn new() -> Result<PrivateNames, OpenError> {
        let record = current_record()?;
        record.folder().map_err(no_folder)?;
        Ok(PrivateNames(record))
    }

    /// A path that nothing has yet.
    pub fn name(&self) -> Result<PrivateName, OpenError> {
        static NTH: AtomicU32 = AtomicU32::new(0);
        let nth = NTH.fetch_add(1, Ordering::Relaxed);
        let folder = self.0.folder().map_err(no_folder)?;
        Ok(PrivateName(folder.join(nth.to_string())))
    }
}

/// A path whose file is removed when this is dropped.
pub struct PrivateName(PathBuf);

impl PrivateName {
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateName {
    fn drop(&mut self) {
        // There is none where making it failed.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests;
