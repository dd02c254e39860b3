//! The sizes at which a mechanism is known to change its ways, from what was granted, the record
//! of the machine, and constants of the kernel that are read from its source or manual.

use super::Candidate;
use crate::CaseResult;
use model::host::Host;

/// The kernel's `struct skb_shared_info`, at the end of a socket buffer's linear part, in whole
/// cache lines (64-bit).
const SKB_SHARED_INFO: u64 = 320;
/// The kernel's `struct msg_msg`, at the head of a queued message (64-bit).
const MSG_MSG: u64 = 48;
/// TCP and IPv4 headers with time stamps.
const TCP_HEADERS: u64 = 20 + 20 + 12;
/// UDP and IPv4 headers.
const UDP_HEADERS: u64 = 8 + 20;
/// The largest IPv4 packet (ip(7)).
const LARGEST_PACKET: u64 = 65_535;
/// The MTU of Linux's loopback (drivers/net/loopback.c).
const LOOPBACK_MTU: u64 = 65_536;
/// A page, under the name that it has in a pipe.
const SLOT: &str = "one pipe slot, a page";

/// All candidates of a curve, by size; `curve` is in the order of size.
pub(super) fn candidates(curve: &[&CaseResult], host: &Host) -> Vec<Candidate> {
    let page = host.memory.page_bytes;
    let mut found = match curve[0].mechanism.as_str() {
        "pipe" | "fifo" | "splice" | "vmsplice" => pipe(curve, page),
        "unix-stream" => unix_stream(curve, page),
        "unix-dgram" | "unix-seqpacket" => unix_message(curve, page),
        "tcp" => tcp(curve),
        "udp" => udp(curve),
        "shm-ring" => ring(curve),
        "posix-queue" | "sysv-queue" => queue(curve, page),
        "pty" => vec![of("line buffer of a terminal", 4096, "N_TTY_BUF_SIZE, linux/tty.h")],
        "process-vm" => vec![of(
            "pages pinned without an allocation (16)",
            16 * page,
            "PVM_MAX_PP_ARRAY_COUNT, mm/process_vm_access.c",
        )],
        _ => Vec::new(),
    };
    if !found.iter().any(|it| it.name == SLOT) {
        found.push(of("page", page, "record of the machine"));
    }
    found.extend(caches(curve[0], host));
    found.retain(|it| it.bytes > 0);
    found.sort_by_key(|it| it.bytes);
    found
}

fn of(name: impl Into<String>, bytes: u64, source: impl Into<String>) -> Candidate {
    Candidate { name: name.into(), bytes, source: source.into() }
}

/// What was granted, if it was the same at all sizes: what follows the message coincides with
/// every one of them.
fn granted(curve: &[&CaseResult], name: &str) -> Option<u64> {
    let first = *curve[0].granted.get(name)?;
    curve.iter().all(|it| it.granted.get(name) == Some(&first)).then_some(first)
}

fn pipe(curve: &[&CaseResult], page: u64) -> Vec<Candidate> {
    let mut found = vec![of(SLOT, page, "pipe(7): a slot is a page")];
    if matches!(curve[0].mechanism.as_str(), "pipe" | "fifo") {
        found.push(of("PIPE_BUF", 4096, "pipe(7): no larger write is atomic"));
    }
    if let Some(capacity) = granted(curve, "pipe_capacity_bytes") {
        let slots = capacity / page.max(1);
        let name = format!("pipe capacity, {slots} slots");
        found.push(of(name, capacity, "granted: F_GETPIPE_SZ"));
    }
    found
}

/// The buffer on one side, by the kernel's accounting and by the half that was asked for.
fn buffer(curve: &[&CaseResult], side: &str, source: &str) -> Vec<Candidate> {
    let Some(bytes) = granted(curve, &format!("{side}_buffer_bytes")) else { return Vec::new() };
    vec![
        of(format!("{side} buffer, with its accounting"), bytes, source),
        of(format!("half the {side} buffer"), bytes / 2, "socket(7): the other half is overhead"),
    ]
}

fn unix_stream(curve: &[&CaseResult], page: u64) -> Vec<Candidate> {
    let mut found = buffer(curve, "send", "granted: SO_SNDBUF");
    let largest = page.saturating_sub(SKB_SHARED_INFO) + page.max(32 << 10);
    let half = granted(curve, "send_buffer_bytes").map(|it| (it / 2).saturating_sub(64));
    found.push(of(
        "chunk of a write",
        half.map_or(largest, |half| half.min(largest)),
        "unix_stream_sendmsg: min(SO_SNDBUF / 2 - 64, SKB_MAX_HEAD(0) + 32 KiB); kernels with \
         SKB_MAX_ALLOC in its place take 48,832",
    ));
    found
}

fn unix_message(curve: &[&CaseResult], page: u64) -> Vec<Candidate> {
    let mut found = buffer(curve, "send", "granted: SO_SNDBUF");
    let linear = 4 * page - SKB_SHARED_INFO;
    found.push(of("one piece of a datagram", linear, "unix_dgram_sendmsg: SKB_MAX_ALLOC"));
    found
}

fn tcp(curve: &[&CaseResult]) -> Vec<Candidate> {
    let mut found = buffer(curve, "send", "granted: SO_SNDBUF; tuned later, tcp(7)");
    found.extend(buffer(curve, "receive", "granted: SO_RCVBUF; tuned later, tcp(7)"));
    let mtu = granted(curve, "mtu_bytes").unwrap_or(LOOPBACK_MTU);
    let segment = mtu.min(LARGEST_PACKET) - TCP_HEADERS;
    found.push(of("TCP segment of the MTU", segment, "MTU less headers, ip(7) and tcp(7)"));
    let bounded = granted(curve, "receive_buffer_bytes").map(|it| it / 4);
    if let Some(bounded) = bounded.filter(|it| *it < segment) {
        let source = "tcp_bound_to_half_wnd: the first window is half the receive buffer";
        found.push(of("TCP segment, half the first window", bounded, source));
    }
    found
}

fn udp(curve: &[&CaseResult]) -> Vec<Candidate> {
    let mut found = buffer(curve, "send", "granted: SO_SNDBUF");
    found.extend(buffer(curve, "receive", "granted: SO_RCVBUF"));
    let path = granted(curve, "path_mtu_bytes").or_else(|| granted(curve, "mtu_bytes"));
    let mtu = path.unwrap_or(LOOPBACK_MTU);
    let datagram = mtu.min(LARGEST_PACKET) - UDP_HEADERS;
    found.push(of("UDP datagram of the MTU", datagram, "MTU less headers, ip(7) and udp(7)"));
    let sent = granted(curve, "datagram_bytes").filter(|it| *it != datagram);
    found.extend(sent.map(|it| of("datagram sent", it, "granted: datagram_bytes")));
    found
}

/// A ring of a fixed size has the fewer slots the larger its messages are.
fn ring(curve: &[&CaseResult]) -> Vec<Candidate> {
    let mut found = vec![of(
        "what shares a line with its header",
        56,
        "crates/mechanisms/src/shm_ring.rs: 64 - 8",
    )];
    let slots = |it: &&CaseResult| Some((*it.granted.get("ring_slots")?, it.message_bytes?));
    let slots: Vec<(u64, u64)> = curve.iter().filter_map(slots).collect();
    let fewer = |two: &&[(u64, u64)]| two[1].0 < two[0].0;
    let declines: Vec<_> = slots.windows(2).filter(fewer).collect();
    let source = "granted: ring_slots at each size";
    if let Some([(many, bytes), _]) = declines.first() {
        found.push(of(format!("the last size with {many} slots"), *bytes, source));
    }
    if let Some([_, (few, bytes)]) = declines.last() {
        found.push(of(format!("the first size with {few} slots"), *bytes, source));
    }
    found
}

fn queue(curve: &[&CaseResult], page: u64) -> Vec<Candidate> {
    let first = page.saturating_sub(MSG_MSG);
    let mut found = vec![of("first piece of a message", first, "DATALEN_MSG, ipc/msgutil.c")];
    let capacity = granted(curve, "queue_capacity_bytes");
    found.extend(capacity.map(|it| of("queue capacity", it, "granted: IPC_STAT")));
    found
}

/// The caches of the first worker's CPU, of any CPU where workers are free: the whole, and the
/// part that a message may take.
fn caches(case: &CaseResult, host: &Host) -> Vec<Candidate> {
    let near = |shared: &Vec<Vec<u32>>| {
        case.cpus.is_none_or(|[cpu, _]| shared.iter().any(|cpus| cpus.contains(&cpu)))
    };
    let known = host.caches.iter().filter(|it| it.kind != "Instruction" && near(&it.shared_by));
    let last = known.clone().map(|it| it.level).max();
    known
        .filter_map(|it| Some((it, it.size_bytes?)))
        .flat_map(|(cache, bytes)| {
            let name = match cache.kind.as_str() {
                "Data" => format!("L{} data cache", cache.level),
                _ if Some(cache.level) == last && cache.level > 2 => {
                    format!("last-level cache (L{})", cache.level)
                }
                _ => format!("L{} cache", cache.level),
            };
            let source = "record of the machine";
            let held = buffers(case, &cache.shared_by);
            let part = format!("{} the {name}", share(held));
            let shared = of(part, bytes / held, format!("{source}: it holds {held} of a message"));
            [Some(shared).filter(|_| held > 1), Some(of(name, bytes, source))]
        })
        .flatten()
        .collect()
}

/// How many buffers of a message's size one cache must hold: a worker has one of a transfer, and
/// two of a round trip.
fn buffers(case: &CaseResult, shared_by: &[Vec<u32>]) -> u64 {
    let of_worker = case.metric.operation.messages();
    let both =
        |[a, b]: [u32; 2]| shared_by.iter().any(|cpus| cpus.contains(&a) && cpus.contains(&b));
    let workers = if case.cpus.is_some_and(both) { 2 } else { 1 };
    of_worker * workers
}

fn share(of: u64) -> &'static str {
    if of == 4 { "a quarter of" } else { "half" }
}
