//! POSIX message queues (mq_overview(7)), and process-shared semaphores and condition variables
//! in shared memory (sem_overview(7), pthread_cond_init(3)).

use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;

use super::checked;
use super::failed::try_futex;
use super::shared::{LINE, Mapping};

/// For pthread functions, which return the error.
fn returned(code: i32) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

/// Makes a queue of `depth` messages of at most `bytes` (mq_open(3)). On Linux a queue is a descriptor, so forked children
/// inherit it, and its name can go at once: see [`unlink_queue`].
pub fn make_queue(name: &CStr, depth: i64, bytes: i64) -> io::Result<OwnedFd> {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
    // SAFETY: all-zero bytes are a valid mq_attr; the name is terminated; mq_open reads both and
    // keeps neither. The descriptor it gives is owned by nobody else.
    unsafe {
        let mut attributes: libc::mq_attr = std::mem::zeroed();
        attributes.mq_maxmsg = depth;
        attributes.mq_msgsize = bytes;
        let mode: libc::mode_t = 0o600;
        let queue = libc::mq_open(name.as_ptr(), flags, mode, &mut attributes);
        checked("mq_open", i64::from(queue))?;
        Ok(OwnedFd::from_raw_fd(queue))
    }
}

/// Opens the queue that has a name, to look at it.
pub fn named_queue(name: &CStr) -> io::Result<OwnedFd> {
    let flags = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_CLOEXEC;
    // SAFETY: the name is terminated, and only read. The descriptor is owned by nobody else.
    unsafe {
        let queue = libc::mq_open(name.as_ptr(), flags);
        checked("mq_open", i64::from(queue))?;
        Ok(OwnedFd::from_raw_fd(queue))
    }
}

/// Takes the name of a queue away (mq_unlink(3)); who has it open keeps it.
pub fn unlink_queue(name: &CStr) -> io::Result<()> {
    // SAFETY: the name is terminated, and only read.
    checked("mq_unlink", i64::from(unsafe { libc::mq_unlink(name.as_ptr()) })).map(drop)
}

/// Puts a message into a queue; sleeps while it is full (mq_send(3)).
#[inline(always)]
pub fn queue_send(queue: BorrowedFd<'_>, message: &[u8]) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of a slice.
    let code =
        unsafe { libc::mq_send(queue.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
    checked("mq_timedsend", i64::from(code)).map(drop)
}

/// Takes a message out of a queue; sleeps while there is none; gives its length
/// (mq_receive(3)). `message` must have room for the queue's largest.
#[inline(always)]
pub fn queue_recv(queue: BorrowedFd<'_>, message: &mut [u8]) -> io::Result<usize> {
    let (place, room) = (message.as_mut_ptr().cast(), message.len());
    // SAFETY: the pointer and the length are those of a slice.
    let length = unsafe { libc::mq_receive(queue.as_raw_fd(), place, room, std::ptr::null_mut()) };
    checked("mq_timedreceive", length as i64)
}

/// Memory for two counts, one each way, on lines of their own: zeroed, and reached by nobody else.
pub struct Counts<C> {
    mapping: Mapping,
    kind: PhantomData<C>,
}

impl<C: Count> Counts<C> {
    /// Bytes from one count to the next. There is a line between the two: a CPU that fetches lines
    /// in pairs fetches nothing of the other.
    const STRIDE: usize = C::BYTES.next_multiple_of(LINE) + LINE;

    /// Maps it.
    ///
    /// # Errors
    /// What mmap(2) says.
    pub fn new() -> io::Result<Counts<C>> {
        Ok(Counts { mapping: Mapping::new(2 * Self::STRIDE)?, kind: PhantomData })
    }

    /// Makes the counts, both zero.
    ///
    /// # Errors
    /// What the C library says; futexes are denied here.
    pub fn pair(self) -> io::Result<(C, C)> {
        // Where futexes are denied, the C library ends the process, or looks again and again.
        try_futex()?;
        let mapping = Arc::new(self.mapping);
        let count =
            |offset| C::make(CountMemory { mapping: mapping.clone(), offset, bytes: Self::STRIDE });
        Ok((count(0)?, count(Self::STRIDE)?))
    }
}

/// The place of a count in its mapping: [`Counts`] alone makes one, each of another place.
pub struct CountMemory {
    mapping: Arc<Mapping>,
    offset: usize,
    bytes: usize,
}

/// Something of the C library's that lives in a mapping, which this keeps alive. It may go to
/// another thread if a `T` may, and isn't `Sync`: so says the `UnsafeCell`.
struct Placed<T> {
    mapping: Arc<Mapping>,
    offset: usize,
    kind: PhantomData<UnsafeCell<T>>,
}

impl<T> Placed<T> {
    fn new(CountMemory { mapping, offset, bytes }: CountMemory) -> Placed<T> {
        let fits = offset.checked_add(size_of::<T>()).is_some_and(|end| end <= mapping.bytes());
        assert!(fits && size_of::<T>() <= bytes, "an object outside its place");
        assert!(offset.is_multiple_of(align_of::<T>()), "an object out of line");
        Placed { mapping, offset, kind: PhantomData }
    }

    #[inline(always)]
    fn place(&self) -> *mut T {
        self.mapping.place(self.offset).as_ptr().cast()
    }

    fn populate(&self) -> io::Result<()> {
        self.mapping.populate(self.mapping.bytes())
    }
}

impl<T> Clone for Placed<T> {
    fn clone(&self) -> Self {
        Placed { mapping: self.mapping.clone(), ..*self }
    }
}

/// A count in shared memory that one side raises and the other waits for.
pub trait Count: Clone + Send {
    /// Bytes it takes in a mapping.
    const BYTES: usize;
    /// The call that makes it, for errors.
    const MADE_BY: &'static str;

    /// A count of zero at a place, whose bytes are zero.
    ///
    /// # Errors
    /// What the C library says.
    fn make(place: CountMemory) -> io::Result<Self>;

    /// Faults in the memory of both counts of a pair.
    ///
    /// # Errors
    /// What madvise(2) says.
    fn populate(&self) -> io::Result<()>;

    /// Adds one and wakes a sleeper.
    fn post(&self) -> io::Result<()>;

    /// Takes one; sleeps while there is none.
    fn wait(&self) -> io::Result<()>;
}

/// An unnamed semaphore in shared memory: sem_post(3), sem_wait(3).
#[derive(Clone)]
pub struct Semaphore(Placed<libc::sem_t>);

impl Count for Semaphore {
    const BYTES: usize = size_of::<libc::sem_t>();
    const MADE_BY: &'static str = "sem_init";

    fn make(place: CountMemory) -> io::Result<Semaphore> {
        let placed = Placed::<libc::sem_t>::new(place);
        // SAFETY: the place is inside the mapping and aligned. Only this object and its clones
        // reach it: `Counts` keeps the mapping to itself, and gives each place out once.
        checked("sem_init", i64::from(unsafe { libc::sem_init(placed.place(), 1, 0) }))?;
        Ok(Semaphore(placed))
    }

    fn populate(&self) -> io::Result<()> {
        self.0.populate()
    }

    #[inline(always)]
    fn post(&self) -> io::Result<()> {
        // SAFETY: the semaphore was initialised in `make`, for many threads and processes to call
        // at once, and is never destroyed; its memory lives as long as `self`.
        checked("sem_post", i64::from(unsafe { libc::sem_post(self.0.place()) })).map(drop)
    }

    #[inline(always)]
    fn wait(&self) -> io::Result<()> {
        loop {
            // SAFETY: as in `post`.
            match checked("sem_wait", i64::from(unsafe { libc::sem_wait(self.0.place()) })) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result.map(drop),
            }
        }
    }
}

/// What stands in shared memory: the lock, the condition, the count they guard.
#[repr(C)]
struct Shared {
    mutex: libc::pthread_mutex_t,
    condition: libc::pthread_cond_t,
    count: u64,
}

/// A count guarded by a process-shared mutex, and a condition to sleep on while it is zero.
#[derive(Clone)]
pub struct Condition(Placed<Shared>);

impl Count for Condition {
    const BYTES: usize = size_of::<Shared>();
    const MADE_BY: &'static str = "pthread_cond_init";

    fn make(place: CountMemory) -> io::Result<Condition> {
        let placed = Placed::<Shared>::new(place);
        let shared = placed.place();
        // SAFETY: the place is inside the mapping, aligned and zeroed, and reached as in
        // `Semaphore::make`; the attributes live until they have been used, and are initialised
        // before.
        unsafe {
            let mut attributes: libc::pthread_mutexattr_t = std::mem::zeroed();
            returned(libc::pthread_mutexattr_init(&mut attributes))?;
            returned(libc::pthread_mutexattr_setpshared(
                &mut attributes,
                libc::PTHREAD_PROCESS_SHARED,
            ))?;
            returned(libc::pthread_mutex_init(&raw mut (*shared).mutex, &attributes))?;
            let mut attributes: libc::pthread_condattr_t = std::mem::zeroed();
            returned(libc::pthread_condattr_init(&mut attributes))?;
            returned(libc::pthread_condattr_setpshared(
                &mut attributes,
                libc::PTHREAD_PROCESS_SHARED,
            ))?;
            returned(libc::pthread_cond_init(&raw mut (*shared).condition, &attributes))?;
        }
        Ok(Condition(placed))
    }

    fn populate(&self) -> io::Result<()> {
        self.0.populate()
    }

    #[inline(always)]
    fn post(&self) -> io::Result<()> {
        let shared = self.0.place();
        // SAFETY: initialised in `make` and never destroyed; the memory lives as long as `self`. The
        // count is touched only while the mutex is held, by whichever thread or process.
        unsafe {
            returned(libc::pthread_mutex_lock(&raw mut (*shared).mutex))?;
            (*shared).count += 1;
            returned(libc::pthread_cond_signal(&raw mut (*shared).condition))?;
            returned(libc::pthread_mutex_unlock(&raw mut (*shared).mutex))
        }
    }

    #[inline(always)]
    fn wait(&self) -> io::Result<()> {
        let shared = self.0.place();
        // SAFETY: as in `post`; the wait gives the mutex up and takes it again.
        unsafe {
            returned(libc::pthread_mutex_lock(&raw mut (*shared).mutex))?;
            while (*shared).count == 0 {
                returned(libc::pthread_cond_wait(
                    &raw mut (*shared).condition,
                    &raw mut (*shared).mutex,
                ))?;
            }
            (*shared).count -= 1;
            returned(libc::pthread_mutex_unlock(&raw mut (*shared).mutex))
        }
    }
}
