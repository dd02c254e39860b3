//! The system calls that are counted by name: those of the mechanisms, and of setting them up. Newer architectures have
//! no poll and no epoll_wait: their libraries call ppoll, and epoll_pwait, which isn't counted by its name.

pub const CALLS: &[(&str, i64)] = &[
    ("read", libc::SYS_read),
    ("write", libc::SYS_write),
    ("readv", libc::SYS_readv),
    ("writev", libc::SYS_writev),
    ("pread64", libc::SYS_pread64),
    ("sendto", libc::SYS_sendto),
    ("recvfrom", libc::SYS_recvfrom),
    ("sendmsg", libc::SYS_sendmsg),
    ("recvmsg", libc::SYS_recvmsg),
    ("futex", libc::SYS_futex),
    #[cfg(target_arch = "x86_64")]
    ("poll", libc::SYS_poll),
    ("ppoll", libc::SYS_ppoll),
    #[cfg(target_arch = "x86_64")]
    ("epoll_wait", libc::SYS_epoll_wait),
    ("epoll_ctl", libc::SYS_epoll_ctl),
    ("splice", libc::SYS_splice),
    ("vmsplice", libc::SYS_vmsplice),
    ("tee", libc::SYS_tee),
    ("msgsnd", libc::SYS_msgsnd),
    ("msgrcv", libc::SYS_msgrcv),
    ("msgctl", libc::SYS_msgctl),
    ("semop", libc::SYS_semop),
    ("semtimedop", libc::SYS_semtimedop),
    ("semctl", libc::SYS_semctl),
    ("mq_timedsend", libc::SYS_mq_timedsend),
    ("mq_timedreceive", libc::SYS_mq_timedreceive),
    ("process_vm_readv", libc::SYS_process_vm_readv),
    ("process_vm_writev", libc::SYS_process_vm_writev),
    ("rt_sigtimedwait", libc::SYS_rt_sigtimedwait),
    ("rt_sigqueueinfo", libc::SYS_rt_sigqueueinfo),
    ("rt_tgsigqueueinfo", libc::SYS_rt_tgsigqueueinfo),
    ("kill", libc::SYS_kill),
    ("tgkill", libc::SYS_tgkill),
    ("pidfd_send_signal", libc::SYS_pidfd_send_signal),
    ("sched_yield", libc::SYS_sched_yield),
    ("io_uring_enter", libc::SYS_io_uring_enter),
    ("socket", libc::SYS_socket),
    ("socketpair", libc::SYS_socketpair),
    ("connect", libc::SYS_connect),
    ("accept4", libc::SYS_accept4),
    ("bind", libc::SYS_bind),
    ("listen", libc::SYS_listen),
    ("shutdown", libc::SYS_shutdown),
    ("close", libc::SYS_close),
    ("openat", libc::SYS_openat),
    ("pipe2", libc::SYS_pipe2),
    ("eventfd2", libc::SYS_eventfd2),
    ("mmap", libc::SYS_mmap),
    ("munmap", libc::SYS_munmap),
    ("clock_gettime", libc::SYS_clock_gettime),
    ("getrusage", libc::SYS_getrusage),
];

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::CALLS;

    /// What is counted here has a name there, in the same order.
    #[test]
    fn the_calls_are_those_that_have_names() {
        assert!(CALLS.iter().map(|(name, _)| name).eq(model::counts::CALLS));
    }
}
