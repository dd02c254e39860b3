//! The CPUs that a thread may run on, however many the machine has: sched_getaffinity(2) and
//! sched_setaffinity(2) with a mask that grows.
//!
//! The C library's set, and rustix's, hold 1,024 CPUs. A kernel with more refuses such a set to be filled, and a CPU
//! beyond has no place in it.

use std::io;

use rustix::io::Errno;
use rustix::process::Pid;

use super::failed::errno_of;

/// A word of a mask.
type Word = libc::c_ulong;
const BITS: usize = Word::BITS as usize;
/// Words of the first mask that is tried, and of the last: half a million CPUs, 64 times as many as any Linux has.
const FIRST: usize = 1024 / BITS;
const LAST: usize = (1 << 19) / BITS;

/// A set of CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affinity(Vec<Word>);

impl Affinity {
    /// One CPU alone.
    ///
    /// # Errors
    /// No Linux has a CPU of this number.
    pub fn only(cpu: u32) -> io::Result<Affinity> {
        let at = cpu as usize / BITS;
        if at >= LAST {
            let text = format!("pin to CPU {cpu}: no Linux has so many");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let mut words = vec![0; at + 1];
        words[at] = 1 << (cpu as usize % BITS);
        Ok(Affinity(words))
    }

    /// The CPUs that the calling thread may run on.
    ///
    /// # Errors
    /// As sched_getaffinity(2), where /proc doesn't tell either.
    pub fn here() -> io::Result<Affinity> {
        grown(|words| get(None, words)).or_else(|error| {
            let status = std::fs::read_to_string("/proc/thread-self/status");
            status.ok().and_then(|text| of_status(&text)).ok_or(error)
        })
    }

    /// Those of another process's main thread.
    ///
    /// # Errors
    /// As sched_getaffinity(2).
    pub fn of(process: Pid) -> io::Result<Affinity> {
        grown(|words| get(Some(process), words))
    }

    pub fn cpus(&self) -> Vec<u32> {
        let bits = |(at, word): (usize, &Word)| {
            let word = *word;
            (0..BITS)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| (at * BITS + bit) as u32)
        };
        self.0.iter().enumerate().flat_map(bits).collect()
    }

    /// The same without a CPU.
    pub fn without(mut self, cpu: u32) -> Affinity {
        if let Some(word) = self.0.get_mut(cpu as usize / BITS) {
            *word &= !(1 << (cpu as usize % BITS));
        }
        self
    }

    /// Keeps the calling thread to these CPUs.
    ///
    /// # Errors
    /// As sched_setaffinity(2): EINVAL where it may use none of them.
    pub fn apply(&self) -> io::Result<()> {
        let bytes = size_of_val(self.0.as_slice());
        // SAFETY: the kernel reads `bytes` bytes at the pointer, which the slice has, and keeps none of it.
        let code = unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, bytes, self.0.as_ptr()) };
        super::checked("sched_setaffinity", code).map(drop)
    }
}

/// Keeps the calling thread to one CPU.
///
/// # Errors
/// As [`Affinity::apply`], with the CPU named.
pub fn pin(cpu: u32) -> io::Result<()> {
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("pin to CPU {cpu}: {error}"));
    Affinity::only(cpu)?.apply().map_err(named)
}

/// Asks for the mask with more and more room: the kernel refuses (EINVAL) what is too small for its CPUs.
fn grown(mut ask: impl FnMut(&mut [Word]) -> io::Result<usize>) -> io::Result<Affinity> {
    let mut words = vec![0; FIRST];
    loop {
        match ask(&mut words) {
            Ok(bytes) => {
                words.truncate(bytes.div_ceil(size_of::<Word>()));
                return Ok(Affinity(words));
            }
            Err(error) if errno_of(&error) == Some(Errno::INVAL) && words.len() < LAST => {
                words.resize(2 * words.len(), 0);
            }
            Err(error) => return Err(error),
        }
    }
}

/// How many bytes the kernel filled.
fn get(process: Option<Pid>, words: &mut [Word]) -> io::Result<usize> {
    let process = process.map_or(0, |pid| pid.as_raw_nonzero().get());
    let bytes = size_of_val(words);
    // SAFETY: the kernel writes at most `bytes` bytes at the pointer, which the slice has; any bits are a word.
    let code =
        unsafe { libc::syscall(libc::SYS_sched_getaffinity, process, bytes, words.as_mut_ptr()) };
    super::checked("sched_getaffinity", code)
}

/// The mask in the status of a thread (proc_pid_status(5)): `Cpus_allowed: 3f,ffffffff`, 32 CPUs a number, those of the
/// largest numbers first.
fn of_status(status: &str) -> Option<Affinity> {
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed:"))?;
    let mut words = Vec::new();
    for (at, number) in line.trim().rsplit(',').enumerate() {
        let bits = Word::from(u32::from_str_radix(number, 16).ok()?);
        let shift = 32 * at % BITS;
        if shift == 0 {
            words.push(0);
        }
        *words.last_mut()? |= bits << shift;
    }
    Some(Affinity(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel with so many CPUs, of which these may be used.
    fn kernel(all: usize, may_use: &[u32]) -> impl FnMut(&mut [Word]) -> io::Result<usize> {
        let mut mask = vec![0; all.div_ceil(BITS)];
        may_use.iter().for_each(|cpu| mask[*cpu as usize / BITS] |= 1 << (*cpu as usize % BITS));
        move |words| {
            if words.len() < mask.len() {
                return Err(io::Error::from_raw_os_error(libc::EINVAL));
            }
            words[..mask.len()].copy_from_slice(&mask);
            Ok(size_of_val(mask.as_slice()))
        }
    }

    #[test]
    fn the_mask_grows_with_the_machine() {
        for (all, cpus) in
            [(2, &[1][..]), (1024, &[0, 1023]), (1025, &[1024]), (8192, &[3, 4095, 8191])]
        {
            assert_eq!(grown(kernel(all, cpus)).unwrap().cpus(), cpus, "{all} CPUs");
        }
        let refusals = |code| move |_: &mut [Word]| Err(io::Error::from_raw_os_error(code));
        for code in [libc::EINVAL, libc::EPERM, libc::ENOSYS] {
            assert_eq!(grown(refusals(code)).unwrap_err().raw_os_error(), Some(code));
        }
    }

    #[test]
    fn a_cpu_beyond_the_thousandth_has_its_bit() {
        for cpu in [0, 63, 1023, 1024, 5000] {
            let only = Affinity::only(cpu).unwrap();
            assert_eq!(only.cpus(), [cpu]);
            assert_eq!(only.without(cpu).cpus(), [] as [u32; 0]);
        }
        assert!(Affinity::only(u32::MAX).is_err());
        assert_eq!(Affinity::only(1).unwrap().without(5000).cpus(), [1]);
    }

    #[test]
    fn the_status_of_a_thread_names_the_same_cpus() {
        let of = |text: &str| of_status(&format!("Name:\tx\nCpus_allowed:\t{text}\nMems:\t1\n"));
        assert_eq!(of("3").unwrap().cpus(), [0, 1]);
        assert_eq!(of("1,00000000,80000002").unwrap().cpus(), [1, 31, 64]);
        assert_eq!(of("x"), None);
        assert_eq!(of_status("Name:\tx\n"), None);
    }

    #[test]
    fn a_thread_is_pinned_and_says_so() {
        let all = Affinity::here().unwrap().cpus();
        let last = *all.last().unwrap();
        std::thread::spawn(move || {
            pin(last).unwrap();
            assert_eq!(Affinity::here().unwrap().cpus(), [last]);
            let error = pin(500_000).unwrap_err().to_string();
            assert!(error.starts_with("pin to CPU 500000: "), "{error}");
        })
        .join()
        .unwrap();
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        assert_eq!(of_status(&status).unwrap().cpus(), all);
    }
}
