//! The noise ledger's files, held open, and what they hold at one moment. They are read right before and
//! right after the timed region, and while a launch is timed the next one waits: what was read is made
//! sense of later.

use std::fs::File;
use std::path::Path;

use rustix::buffer::spare_capacity;
use rustix::io::pread;

use super::noise::Counters;

/// Bytes that an entry begins with for each file: a small machine's /proc/interrupts, and no reason for
/// the heap to grow.
const ROOM: usize = 16 * 1024;

/// /proc/stat, /proc/interrupts and /proc/softirqs below a root, open; those that can be.
pub struct Ledger([Option<File>; 3]);

/// What the files held at one moment. What taking one costs grows with every CPU and interrupt line of
/// the machine.
pub struct Entry([Option<Vec<u8>>; 3]);

impl Ledger {
    /// Opens the files. Never fails: what isn't there is not counted.
    pub fn open(root: &Path) -> Ledger {
        let names = ["proc/stat", "proc/interrupts", "proc/softirqs"];
        Ledger(names.map(|name| File::open(root.join(name)).ok()))
    }

    /// Takes down what the files hold now.
    pub fn take(&self) -> Entry {
        Entry(self.0.each_ref().map(|file| contents(file.as_ref()?).ok()))
    }
}

impl Entry {
    /// The counters of the machine and of `cpus`.
    pub fn counters(&self, cpus: &[u32]) -> Counters {
        let texts = self.0.each_ref().map(|text| text.as_deref().map(String::from_utf8_lossy));
        Counters::parse(texts.each_ref().map(|text| text.as_deref()), cpus)
    }
}

/// All that a file holds, from its beginning. The kernel writes it anew for every reader, and it
/// has no size to ask for: it is read to its end.
fn contents(file: &File) -> rustix::io::Result<Vec<u8>> {
    let mut text = Vec::with_capacity(ROOM);
    loop {
        let offset = text.len() as u64;
        if pread(file, spare_capacity(&mut text), offset)? == 0 {
            return Ok(text);
        }
        if text.len() == text.capacity() {
            text.reserve(ROOM);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored;

    #[test]
    fn entries_are_of_their_moments_and_as_long_as_the_files() {
        let stat = |forks: u64| {
            let lines: String = (0..3_000).map(|cpu| format!("cpu{cpu} 1 2 3\n")).collect();
            format!("{lines}processes {forks}\n")
        };
        let root = stored::unpack([("proc/stat", stat(5).as_str())]);
        let ledger = Ledger::open(root.path());
        let before = ledger.take();
        std::fs::write(root.path().join("proc/stat"), stat(7)).unwrap();
        let after = ledger.take();
        assert!(stat(5).len() > 2 * ROOM);
        assert_eq!(before.counters(&[]).forks, Some(5));
        assert_eq!(after.counters(&[]).forks, Some(7));
        assert_eq!(after.counters(&[0]).cpus[0].interrupts, None);
    }

    #[test]
    fn this_machine_counts_on() {
        let ledger = Ledger::open(Path::new("/"));
        let before = ledger.take().counters(&[0]);
        std::thread::sleep(std::time::Duration::from_millis(1));
        let noise = ledger.take().counters(&[0]).since(&before);
        assert!(noise.context_switches > Some(0), "{noise:?}");
    }
}
