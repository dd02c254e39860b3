//! POSIX message queues (mq_overview(7)), and process-shared semaphores and condition variables
//! in shared memory (sem_overview(7), pthread_cond_init(3)).

use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;

use super::shared::Mapping;

fn checked(code: i64) -> io::Result<usize> {
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(code as usize) }
}

/// For pthread functions, which return the error.
fn returned(code: i32) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

/// Makes a queue of `depth` messages of at most `bytes`, and unlinks its name at once
/// (mq_open(3)). On Linux a queue is a descriptor, so forked children inherit it.
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
        checked(i64::from(queue))?;
        libc::mq_unlink(name.as_ptr());
        Ok(OwnedFd::from_raw_fd(queue))
    }
}

/// Puts a message into a queue; sleeps while it is full (mq_send(3)).
#[inline(always)]
pub fn queue_send(queue: BorrowedFd<'_>, message: &[u8]) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of a slice.
    let code =
        unsafe { libc::mq_send(queue.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
    checked(i64::from(code)).map(drop)
}

/// Takes a message out of a queue; sleeps while there is none; gives its length
/// (mq_receive(3)). `message` must have room for the queue's largest.
#[inline(always)]
pub fn queue_recv(queue: BorrowedFd<'_>, message: &mut [u8]) -> io::Result<usize> {
    let (place, room) = (message.as_mut_ptr().cast(), message.len());
    // SAFETY: the pointer and the length are those of a slice.
    let length = unsafe { libc::mq_receive(queue.as_raw_fd(), place, room, std::ptr::null_mut()) };
    checked(length as i64)
}

/// Something of the C library's that lives in a mapping, which this keeps alive.
struct Placed<T> {
    mapping: Arc<Mapping>,
    offset: usize,
    kind: std::marker::PhantomData<UnsafeCell<T>>,
}

impl<T> Placed<T> {
    fn new(mapping: &Arc<Mapping>, offset: usize) -> Placed<T> {
        let fits = offset.checked_add(size_of::<T>()).is_some_and(|end| end <= mapping.bytes());
        assert!(fits, "an object outside its mapping");
        assert!(offset.is_multiple_of(align_of::<T>()), "an object out of line");
        Placed { mapping: mapping.clone(), offset, kind: std::marker::PhantomData }
    }

    #[inline(always)]
    fn place(&self) -> *mut T {
        self.mapping.place(self.offset).as_ptr().cast()
    }
}

impl<T> Clone for Placed<T> {
    fn clone(&self) -> Self {
        Placed { mapping: self.mapping.clone(), ..*self }
    }
}

// SAFETY: what lives at the place is a C library object made for use by many threads.
unsafe impl<T> Send for Placed<T> {}

/// A count in shared memory that one side raises and the other waits for.
pub trait Count: Clone + Send {
    /// Bytes it takes in a mapping.
    const BYTES: usize;
    /// The call that makes it, for errors.
    const MADE_BY: &'static str;

    /// A count of zero at byte `offset` of `mapping`; nothing else may live there.
    fn new(mapping: &Arc<Mapping>, offset: usize) -> io::Result<Self>;

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

    fn new(mapping: &Arc<Mapping>, offset: usize) -> io::Result<Semaphore> {
        let placed = Placed::<libc::sem_t>::new(mapping, offset);
        // SAFETY: the place is inside the mapping, aligned, and used for nothing else.
        checked(i64::from(unsafe { libc::sem_init(placed.place(), 1, 0) }))?;
        Ok(Semaphore(placed))
    }

    #[inline(always)]
    fn post(&self) -> io::Result<()> {
        // SAFETY: the semaphore was initialised in `new` and is never destroyed.
        checked(i64::from(unsafe { libc::sem_post(self.0.place()) })).map(drop)
    }

    #[inline(always)]
    fn wait(&self) -> io::Result<()> {
        loop {
            // SAFETY: as in `post`.
            match checked(i64::from(unsafe { libc::sem_wait(self.0.place()) })) {
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

    fn new(mapping: &Arc<Mapping>, offset: usize) -> io::Result<Condition> {
        let placed = Placed::<Shared>::new(mapping, offset);
        let shared = placed.place();
        // SAFETY: the place is inside the mapping, aligned, zeroed and used for nothing else;
        // the attributes live until they have been used, and are initialised before.
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

    #[inline(always)]
    fn post(&self) -> io::Result<()> {
        let shared = self.0.place();
        // SAFETY: initialised in `new` and never destroyed; the count is touched only while the
        // mutex is held.
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
