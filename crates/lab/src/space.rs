//! Network namespaces as values that keep them open, and threads that work inside them.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::{Deserialize, Serialize};

use sys::network;
use sys::process::in_a_thread;

/// Which namespace it is, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// That of the namespace at `path`; none where there is none.
    pub fn at(path: impl AsRef<Path>) -> Option<Identity> {
        let found = path.as_ref().metadata().ok()?;
        Some(Identity { device: found.dev(), inode: found.ino() })
    }
}

/// A network namespace, which lives at least as long as this.
#[derive(Debug)]
pub struct Space(File);

impl Space {
    /// A fresh one without a name.
    pub fn fresh() -> io::Result<Space> {
        in_a_thread(|| {
            network::fresh_network()?;
            Ok(Space(File::open("/proc/thread-self/ns/net")?))
        })
    }

    /// The one at `path`.
    pub fn open(path: &Path) -> io::Result<Space> {
        Ok(Space(File::open(path)?))
    }

    /// Where this process, and others while it lives, find it.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd()))
    }

    /// What holds it.
    pub fn into_file(self) -> File {
        self.0
    }

    pub fn identity(&self) -> io::Result<Identity> {
        let found = self.0.metadata()?;
        Ok(Identity { device: found.dev(), inode: found.ino() })
    }

    /// Moves the calling thread into it.
    pub fn enter(&self) -> io::Result<()> {
        let kind = Some(LinkNameSpaceType::Network);
        Ok(move_into_link_name_space(self.0.as_fd(), kind)?)
    }

    /// Does something in a thread inside it. Processes started there are inside it too.
    pub fn inside<T: Send>(&self, action: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        in_a_thread(|| {
            self.enter()?;
            action()
        })
    }
}
