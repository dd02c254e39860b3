//! What the kernel grants: pipes, queues, sockets, locked memory. A limit disturbs no figure; it
//! decides what can be measured at all, and how much is under way at once.

use super::guest::hidden_by;
use super::{Check, Finding, Seen};

const PIPES: Check = Check {
    name: "pipes",
    wanted: "a fresh pipe holds 64 KiB, and may be widened to 1 MiB",
    effect: "A smaller pipe makes the writer wait more often: throughput falls, and `pipe` with \
             `capacity=` above the limit is refused.",
    advice: "widen the limit, or close what else this user holds (pipe(7)).",
};

const QUEUES: Check = Check {
    name: "queues",
    wanted: "10 messages of 8 KiB in a POSIX queue, 8 KiB in a System V message, or more",
    effect: "Larger messages aren't applicable to queues, and short queues stop the sender often.",
    advice: "widen the limits; the range that anyone may use is in mq_overview(7) and sysvipc(7).",
};

const SOCKETS: Check = Check {
    name: "sockets",
    wanted: "socket buffers of 208 KiB or more may be asked for, and nothing polls",
    effect: "Smaller buffers put less under way at once: throughput of sockets falls, large \
             datagrams are refused, and `buffer=` above the limit is too.",
    advice: "widen the limit.",
};

const LOCKED_MEMORY: Check = Check {
    name: "locked-memory",
    wanted: "8 MiB or more may be locked",
    effect: "Memory that can't be locked may be reclaimed and fault again in the middle of a \
             launch when memory is short; rings and registered buffers count against it too.",
    advice: "raise the limit of this user (limits.conf(5): memlock; systemd: LimitMEMLOCK=).",
};

/// What a kernel without any configuration grants (pipe(7), socket(7), mq_overview(7),
/// sysvipc(7), and since Linux 5.16 getrlimit(2)), in bytes.
const FRESH_PIPE: u64 = 64 << 10;
const WIDEST_PIPE: u64 = 1 << 20;
const SOCKET_BUFFER: u64 = 212_992;
const QUEUE_MESSAGES: u64 = 10;
const QUEUE_MESSAGE: u64 = 8 << 10;
const LOCKED: u64 = 8 << 20;

pub(super) fn pipes(seen: &Seen) -> Finding {
    let settings = &seen.host.sysctls;
    let widest = settings.number::<u64>("fs/pipe-max-size");
    let fresh = seen.host.default_buffers.pipe_bytes;
    let (Some(widest), Some(fresh)) = (widest, fresh) else {
        return PIPES.unknown(
            format!("fs.pipe-max-size or the capacity of a fresh pipe: {}", hidden_by(seen.host)),
            "see /proc/sys/fs/pipe-max-size and F_GETPIPE_SZ",
        );
    };
    let mut found = format!("a fresh pipe holds {}, at most {}", size(fresh), size(widest));
    if let Some(pages) =
        settings.number::<u64>("fs/pipe-user-pages-soft").filter(|number| *number > 0)
    {
        found += &format!("; all pipes of one user, unless root's, hold {pages} pages");
    }
    if fresh < FRESH_PIPE {
        return PIPES.warning(found).command("sudo sysctl fs.pipe-user-pages-soft=0");
    }
    if widest < WIDEST_PIPE {
        return PIPES.note(found).command(format!("sudo sysctl fs.pipe-max-size={WIDEST_PIPE}"));
    }
    PIPES.fine(found)
}

pub(super) fn queues(seen: &Seen) -> Finding {
    let number = |name: &str| seen.host.sysctls.number::<u64>(name);
    let posix = number("fs/mqueue/msg_max").zip(number("fs/mqueue/msgsize_max"));
    let system_v = number("kernel/msgmax").zip(number("kernel/msgmnb"));
    let bytes = seen.host.limits.resources.get("MSGQUEUE").map(|limit| limit.soft);
    let posix_words = match posix {
        Some((count, bytes)) => format!("POSIX: {count} messages of {}", size(bytes)),
        None => "POSIX queues aren't in this kernel, or hidden".into(),
    };
    let system_v_words = match system_v {
        Some((one, all)) => format!("System V: messages of {}, queues of {}", size(one), size(all)),
        None => "System V queues aren't in this kernel, or hidden".into(),
    };
    let all = match bytes {
        Some(Some(bytes)) => format!("; {} for all queues of this user", size(bytes)),
        _ => String::new(),
    };
    let found = format!("{posix_words}{all}; {system_v_words}");
    let (Some((count, one)), Some((message, _))) = (posix, system_v) else {
        return QUEUES.unknown(found, "see /proc/sys/fs/mqueue and /proc/sys/kernel/msgmax");
    };
    let short = count < QUEUE_MESSAGES || one < QUEUE_MESSAGE || message < QUEUE_MESSAGE;
    if !short {
        return QUEUES.fine(found);
    }
    QUEUES.note(found).command(format!(
        "sudo sysctl fs.mqueue.msg_max={QUEUE_MESSAGES} fs.mqueue.msgsize_max={QUEUE_MESSAGE} \
         kernel.msgmax={QUEUE_MESSAGE}"
    ))
}

pub(super) fn sockets(seen: &Seen) -> Finding {
    let settings = &seen.host.sysctls;
    let number = |name: &str| settings.number::<u64>(name);
    let fresh = match seen.host.default_buffers.unix_stream {
        Some(buffers) => format!("; a fresh Unix stream has {}", size(buffers.send_bytes)),
        None => String::new(),
    };
    let (Some(send), Some(receive)) = (number("net/core/wmem_max"), number("net/core/rmem_max"))
    else {
        return SOCKETS.unknown(
            format!("net.core.wmem_max and rmem_max aren't shown in this network namespace{fresh}"),
            "see them in the host's namespace",
        );
    };
    let mut found = format!("at most {} to send, {} to receive{fresh}", size(send), size(receive));
    if let Some(queue) = number("net/unix/max_dgram_qlen") {
        found += &format!("; {queue} datagrams queue on a Unix socket");
    }
    let polls = ["net/core/busy_poll", "net/core/busy_read"];
    if polls.iter().any(|name| number(name).is_some_and(|us| us > 0)) {
        return SOCKETS
            .note(format!("{found}; sockets poll before they sleep (busy_poll, busy_read)"))
            .effect("Network sockets spin before they sleep: faster, and a CPU is burnt for it.")
            .advice("switch it off, unless it is what is to be measured.")
            .command("sudo sysctl net.core.busy_poll=0 net.core.busy_read=0");
    }
    if send.min(receive) >= SOCKET_BUFFER {
        return SOCKETS.fine(found);
    }
    SOCKETS.note(found).command(format!(
        "sudo sysctl net.core.wmem_max={SOCKET_BUFFER} net.core.rmem_max={SOCKET_BUFFER}"
    ))
}

pub(super) fn locked_memory(seen: &Seen) -> Finding {
    let Some(limit) = seen.host.limits.resources.get("MEMLOCK") else {
        return LOCKED_MEMORY.unknown("the limit isn't recorded", "see `ulimit -l`");
    };
    match limit.soft {
        None => LOCKED_MEMORY.fine("no limit"),
        Some(bytes) if bytes >= LOCKED => LOCKED_MEMORY.fine(size(bytes)),
        Some(bytes) if limit.hard.is_none_or(|hard| hard >= LOCKED) => LOCKED_MEMORY
            .note(format!("{}, which this user may raise", size(bytes)))
            .advice("raise it in the shell that starts the run.")
            .command(format!("ulimit -l {}", LOCKED >> 10)),
        Some(bytes) => LOCKED_MEMORY.note(size(bytes)),
    }
}

/// Bytes in the largest binary unit that shows them whole, or with one decimal.
fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.iter().find(|(shift, _)| bytes >= 1 << shift) {
        Some((shift, unit)) if bytes.is_multiple_of(1 << shift) => {
            format!("{} {unit}", bytes >> shift)
        }
        Some((shift, unit)) => format!("{:.1} {unit}", bytes as f64 / f64::from(1 << shift)),
        None => format!("{bytes} B"),
    }
}
