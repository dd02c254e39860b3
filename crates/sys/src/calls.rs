//! System calls that the floors compare: through syscall(2) of the C library, so that what it may keep in user space
//! (older ones remembered the process id) can't stand in for the kernel; by its functions; and inline, without it.
//! All that is timed elsewhere calls the C library, as programs do.

use std::os::fd::{AsRawFd, BorrowedFd};

/// getpid(2), by syscall(2).
#[inline(always)]
pub fn getpid() -> i64 {
    // SAFETY: getpid takes no arguments, touches no memory and always succeeds.
    unsafe { libc::syscall(libc::SYS_getpid) }
}

/// getppid(2), by syscall(2).
#[inline(always)]
pub fn getppid() -> i64 {
    // SAFETY: as for getpid.
    unsafe { libc::syscall(libc::SYS_getppid) }
}

/// getuid(2), by syscall(2).
#[inline(always)]
pub fn getuid() -> i64 {
    // SAFETY: as for getpid.
    unsafe { libc::syscall(libc::SYS_getuid) }
}

/// read(2) of no bytes, by syscall(2): the descriptor is looked up, and nothing is moved.
/// Gives 0, or -1 where the descriptor can't be read.
#[inline(always)]
pub fn read_nothing(fd: BorrowedFd<'_>) -> i64 {
    let mut nothing = 0u8;
    // SAFETY: the descriptor is borrowed and open; the kernel writes at most the zero bytes
    // that it is asked for, at a valid place.
    unsafe { libc::syscall(libc::SYS_read, fd.as_raw_fd(), &raw mut nothing, 0usize) }
}

/// A system call by an instruction that stands where it is made: what it gives, or the negative error number.
///
/// # Safety
/// As of the system call.
#[inline(always)]
unsafe fn inline(number: libc::c_long, [first, second, third]: [usize; 3]) -> i64 {
    let result: i64;
    // SAFETY: the kernel changes the registers that are named here, and memory as the caller answers for.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!(
            "syscall", inlateout("rax") number => result, in("rdi") first, in("rsi") second, in("rdx") third,
            lateout("rcx") _, lateout("r11") _, options(nostack)
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!(
            "svc 0", in("x8") number, inlateout("x0") first => result, in("x1") second, in("x2") third,
            options(nostack)
        );
    }
    // SAFETY: as of the system call.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    unsafe {
        result = libc::syscall(number, first, second, third);
    }
    result
}

/// getpid(2), inline.
#[inline(always)]
pub fn inline_getpid() -> i64 {
    // SAFETY: as for getpid.
    unsafe { inline(libc::SYS_getpid, [0; 3]) }
}

/// write(2), inline: what it gives, or the negative error number.
#[inline(always)]
pub fn inline_write(fd: BorrowedFd<'_>, bytes: &[u8]) -> i64 {
    let fd = fd.as_raw_fd() as usize;
    // SAFETY: the descriptor is borrowed and open; the kernel reads at most as many bytes as there are.
    unsafe { inline(libc::SYS_write, [fd, bytes.as_ptr().expose_provenance(), bytes.len()]) }
}

/// read(2), inline: what it gives, or the negative error number.
#[inline(always)]
pub fn inline_read(fd: BorrowedFd<'_>, bytes: &mut [u8]) -> i64 {
    let fd = fd.as_raw_fd() as usize;
    // SAFETY: the descriptor is borrowed and open; the kernel writes at most as many bytes as there are.
    unsafe { inline(libc::SYS_read, [fd, bytes.as_mut_ptr().expose_provenance(), bytes.len()]) }
}

/// getpid(3) of the C library, which may or may not enter the kernel.
#[inline(always)]
pub fn library_getpid() -> i64 {
    // SAFETY: getpid takes no arguments and always succeeds.
    i64::from(unsafe { libc::getpid() })
}

/// write(2), by the C library's function: what it gives.
#[inline(always)]
pub fn library_write(fd: BorrowedFd<'_>, bytes: &[u8]) -> i64 {
    // SAFETY: the descriptor is borrowed and open; the kernel reads at most as many bytes as there are.
    unsafe { libc::write(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) as i64 }
}

/// read(2), by the C library's function: what it gives.
#[inline(always)]
pub fn library_read(fd: BorrowedFd<'_>, bytes: &mut [u8]) -> i64 {
    // SAFETY: the descriptor is borrowed and open; the kernel writes at most as many bytes as there are.
    unsafe { libc::read(fd.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len()) as i64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    #[cfg_attr(miri, ignore = "it makes system calls")]
    fn the_kernel_and_the_library_agree() {
        assert_eq!(getpid(), i64::from(std::process::id()));
        assert_eq!([library_getpid(), inline_getpid()], [getpid(); 2]);
        assert_eq!(getppid(), i64::from(std::os::unix::process::parent_id()));
        assert_eq!(getuid(), i64::from(rustix::process::getuid().as_raw()));
    }

    #[test]
    #[cfg_attr(miri, ignore = "it makes system calls")]
    fn what_the_library_writes_it_reads() {
        let (from, to) = std::io::pipe().unwrap();
        let mut bytes = [0; 8];
        assert_eq!(library_write(to.as_fd(), b"message"), 7);
        assert_eq!(library_read(from.as_fd(), &mut bytes), 7);
        assert_eq!(&bytes, b"message\0");
        assert_eq!(library_write(from.as_fd(), b"message"), -1);
    }

    #[test]
    #[cfg_attr(miri, ignore = "it makes system calls")]
    fn what_is_written_inline_is_read_inline() {
        let (from, to) = std::io::pipe().unwrap();
        let mut bytes = [0; 8];
        assert_eq!(inline_write(to.as_fd(), b"message"), 7);
        assert_eq!(inline_read(from.as_fd(), &mut bytes), 7);
        assert_eq!(&bytes, b"message\0");
        assert!(inline_write(from.as_fd(), b"message") < 0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "it makes system calls")]
    fn nothing_is_read_from_an_empty_pipe_without_waiting() {
        let (from, to) = std::io::pipe().unwrap();
        assert_eq!(read_nothing(from.as_fd()), 0);
        assert_eq!(read_nothing(to.as_fd()), -1);
    }
}
