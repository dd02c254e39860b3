//! What rustix calls is the C library, as programs call it (its feature `use-libc`), not the kernel by an instruction in
//! the loop: this test program has functions of the library's names, which the linker takes first, and counts the calls.

use std::cell::RefCell;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use libc::{c_int, c_void, nfds_t, pollfd, sigset_t, size_t, ssize_t, timespec};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvFlags, SendFlags};

thread_local! {
    /// The functions that this thread called, in order.
    static CALLED: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

fn called() -> Vec<&'static str> {
    CALLED.take()
}

/// Functions that note their name and make their system call, which has these arguments.
macro_rules! noted {
    ($($name:ident($($given:ident: $kind:ty),*) -> $result:ty = $number:ident($($passed:expr),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($given: $kind),*) -> $result {
            // A thread that ends has none any more.
            let _ = CALLED.try_with(|called| called.borrow_mut().push(stringify!($name)));
            // SAFETY: what the caller answers for is the same as of the library's function.
            unsafe { libc::syscall(libc::$number, $($passed),*) as $result }
        }
    )*};
}

noted! {
    read(fd: c_int, into: *mut c_void, bytes: size_t) -> ssize_t = SYS_read(fd, into, bytes);
    write(fd: c_int, from: *const c_void, bytes: size_t) -> ssize_t = SYS_write(fd, from, bytes);
    recv(fd: c_int, into: *mut c_void, bytes: size_t, flags: c_int) -> ssize_t =
        SYS_recvfrom(fd, into, bytes, flags, 0usize, 0usize);
    send(fd: c_int, from: *const c_void, bytes: size_t, flags: c_int) -> ssize_t =
        SYS_sendto(fd, from, bytes, flags, 0usize, 0usize);
    ppoll(fds: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t) -> c_int =
        SYS_ppoll(fds, count, timeout, mask, 8usize);
}

#[test]
fn what_loops_call_is_the_c_library() {
    let (near, far) = UnixStream::pair().unwrap();
    let mut bytes = [0; 8];
    called();
    assert_eq!(rustix::io::write(&near, b"message"), Ok(7));
    assert_eq!(rustix::io::read(&far, &mut bytes), Ok(7));
    assert_eq!(rustix::net::send(&near, b"message", SendFlags::empty()), Ok(7));
    assert_eq!(poll(&mut [PollFd::from_borrowed_fd(far.as_fd(), PollFlags::IN)], None), Ok(1));
    assert_eq!(rustix::net::recv(&far, &mut bytes, RecvFlags::empty()), Ok((7, 7)));
    assert_eq!(&bytes, b"message\0");
    assert_eq!(called(), ["write", "read", "send", "ppoll", "recv"]);
    drop(near);
    let broken = rustix::net::send(&far, b"message", SendFlags::NOSIGNAL);
    assert_eq!(broken, Err(rustix::io::Errno::PIPE), "the error that the library left in errno");
}
