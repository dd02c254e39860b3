//! What the kernel's programs wrote, read back: the layouts here are those of bpf/ipcmark.bpf.c.

use super::event::{Event, EventKind, Who};
use crate::counts::calls::CALLS;
use model::trace::{Calls, Deeds, Direction, Interrupts, SocketBytes, Spread, Woken};

pub const EVENT_BYTES: usize = 16;

/// `struct worker`, in bytes, and what lies where in it.
const WORKER: usize = 1152;
const BEGAN: usize = 8;
const ENDED: usize = 16;
const LOST: usize = 24;
const WINDOW: usize = 84;
const SPREADS: usize = 88;
const BUCKETS: usize = 40;
const SPREAD: usize = 8 * (3 + BUCKETS);

/// What is tallied (`enum tallied`).
const CALL: u8 = 0;
const WAKE_UP: u8 = 1;
const INTERRUPT: u8 = 2;
const SOCKET: u8 = 3;

/// Returned values from here on are addresses.
const ADDRESS: i64 = 1 << 40;

/// Calls whose third argument is the length of what they are to move.
const LENGTH_IS_THIRD: &[&str] = &[
    "read",
    "write",
    "pread64",
    "sendto",
    "recvfrom",
    "msgsnd",
    "msgrcv",
    "mq_timedsend",
    "mq_timedreceive",
];

/// Where the kernel saves the third argument of a system call (`struct pt_regs`: user ABI).
pub const THIRD_ARGUMENT: u32 = if cfg!(target_arch = "x86_64") {
    96 // dx
} else if cfg!(target_arch = "aarch64") {
    16 // regs[2]
} else {
    u32::MAX
};
/// Whether that is known here.
const TELLS_LENGTHS: bool = THIRD_ARGUMENT != u32::MAX;

/// What was summed up in the kernel.
pub struct Summed<'a> {
    pub variables: &'a [u8],
    /// Offset of `workers` in them.
    pub workers: usize,
    /// Keys and values of `tallies`.
    pub tallies: &'a [(Vec<u8>, Vec<u8>)],
}

/// One row of `tallies`.
struct TraceRow {
    what: u8,
    detail: u32,
    value: i64,
    count: u64,
    total: u64,
    asked: u64,
}

impl Summed<'_> {
    /// What `who` did, in so many operations.
    pub fn deeds(&self, who: Who, operations: u64) -> Deeds {
        let worker = self.worker(who);
        let window_ns = u64_at(worker, ENDED).saturating_sub(u64_at(worker, BEGAN));
        let spread = |nth: usize| spread(&worker[SPREADS + nth * SPREAD..][..SPREAD]);
        let mut deeds = Deeds {
            operations,
            window_ns,
            delays: spread(0),
            sleeps: spread(1),
            waits: spread(2),
            ..Deeds::default()
        };
        for row in self.rows(who) {
            let (from_cpu, to_cpu) = ((row.value >> 32) as u32, row.value as u32);
            let count = row.count;
            match row.what {
                CALL => deeds.calls.push(calls(&row)),
                WAKE_UP => {
                    let by_partner = row.detail == 1;
                    deeds.woken.push(Woken { by_partner, from_cpu, to_cpu, count });
                }
                INTERRUPT => deeds.interrupts.push(Interrupts { from_cpu, to_cpu, count }),
                SOCKET => {
                    let direction = [Direction::Received, Direction::Sent][row.detail as usize & 1];
                    deeds.socket.push(SocketBytes { direction, bytes: row.value, count });
                }
                other => panic!("nothing is tallied as {other}"),
            }
        }
        deeds.calls.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
        deeds.woken.sort_by_key(|woken| std::cmp::Reverse(woken.count));
        deeds.interrupts.sort_by_key(|interrupts| std::cmp::Reverse(interrupts.count));
        deeds.socket.sort_by_key(|socket| (socket.direction, socket.bytes));
        deeds
    }

    /// What found no room, of both.
    pub fn lost(&self) -> u64 {
        [Who::Initiator, Who::Responder].map(|who| u64_at(self.worker(who), LOST)).iter().sum()
    }

    /// Events seen, kept or not; `stream` is the offset of that variable.
    pub fn events_seen(&self, stream: usize) -> u64 {
        u64_at(self.variables, stream)
    }

    fn worker(&self, who: Who) -> &[u8] {
        &self.variables[self.workers + who as usize * WORKER..][..WORKER]
    }

    /// The rows of the last window of `who`.
    fn rows(&self, who: Who) -> impl Iterator<Item = TraceRow> {
        let window = u32_at(self.worker(who), WINDOW) as u16;
        let own = move |key: &[u8]| u16_at(key, 0) == window && key[2] == who as u8;
        self.tallies.iter().filter(move |(key, _)| own(key)).map(|(key, value)| TraceRow {
            what: key[3],
            detail: u32_at(key, 4),
            value: u64_at(key, 8) as i64,
            count: u64_at(value, 0),
            total: u64_at(value, 8),
            asked: u64_at(value, 16),
        })
    }
}

fn calls(tally: &TraceRow) -> Calls {
    let known = CALLS.iter().find(|(_, number)| *number == i64::from(tally.detail));
    let name = known.map_or_else(|| format!("call {}", tally.detail), |(name, _)| (*name).into());
    let asks = LENGTH_IS_THIRD.contains(&name.as_str()) && TELLS_LENGTHS;
    Calls {
        name,
        returned: (tally.value < ADDRESS).then_some(tally.value),
        count: tally.count,
        total_ns: tally.total,
        asked_bytes: asks.then_some(tally.asked),
    }
}

fn spread(bytes: &[u8]) -> Spread {
    let mut log2_ns: Vec<u64> = (3..3 + BUCKETS).map(|nth| u64_at(bytes, 8 * nth)).collect();
    let used = log2_ns.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
    log2_ns.truncate(used);
    let [count, total_ns, longest_ns] = [0, 8, 16].map(|at| u64_at(bytes, at));
    Spread { count, total_ns, longest_ns, log2_ns }
}

/// Events as they were written, in the order of their time.
pub fn events(bytes: &[u8]) -> Vec<Event> {
    let mut events: Vec<Event> = bytes.chunks_exact(EVENT_BYTES).filter_map(event).collect();
    // What is simultaneous stays in the order in which it was written.
    events.sort_by_key(|event| event.at_ns);
    within_windows(&mut events);
    without_last_mark(&mut events);
    events
}

/// Leaves out what a worker's window no longer has: another CPU may take its last interrupt after its end.
fn within_windows(events: &mut Vec<Event>) {
    let mut ended = [false; 2];
    events.retain(|event| {
        let ended = &mut ended[event.who as usize];
        let within = !*ended;
        // A responder has opened windows before: its last one begins anew.
        *ended = event.kind == EventKind::End || (*ended && event.kind != EventKind::Begin);
        within || event.kind == EventKind::Begin
    });
}

/// Leaves out that a worker entered the call by which it ends its window. It may have been interrupted
/// in there, or have had to wait for its CPU.
fn without_last_mark(events: &mut Vec<Event>) {
    for who in [Who::Initiator, Who::Responder] {
        let mut own = events.iter().enumerate().rev().filter(|(_, event)| event.who == who);
        let ended = own.next().is_some_and(|(_, event)| event.kind == EventKind::End);
        let mut calls =
            own.filter(|(_, event)| matches!(event.kind, EventKind::Enter(_) | EventKind::Exit(_)));
        if ended && let Some((at, Event { kind: EventKind::Enter(_), .. })) = calls.next() {
            events.remove(at);
        }
    }
}

fn event(bytes: &[u8]) -> Option<Event> {
    let value = u32_at(bytes, 12);
    let kind = match bytes[8] {
        0 => EventKind::Begin,
        1 => EventKind::End,
        2 => EventKind::Enter(value),
        3 => EventKind::Exit(i64::from(value as i32)),
        4 => EventKind::Waking { by_partner: value == 1 },
        5 => EventKind::Awake,
        6 => EventKind::In,
        7 => EventKind::Out { asleep: value == 1 },
        8 => EventKind::Interrupts(value as u16),
        9 => EventKind::Interrupted,
        _ => return None,
    };
    let who = if bytes[9] == 0 { Who::Initiator } else { Who::Responder };
    Some(Event { at_ns: u64_at(bytes, 0), cpu: u16_at(bytes, 10), who, kind })
}

/// Two bytes at `at`, little end first.
pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

/// Four bytes at `at`, little end first.
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Eight bytes at `at`, little end first.
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(at: u64, kind: u8, role: u8, cpu: u16, value: u32) -> Vec<u8> {
        let mut bytes = at.to_le_bytes().to_vec();
        bytes.extend([kind, role]);
        bytes.extend(cpu.to_le_bytes());
        bytes.extend(value.to_le_bytes());
        bytes
    }

    #[test]
    fn events_are_read_in_the_order_of_their_time_without_the_last_marks_call() {
        let bytes = [
            written(10, 0, 0, 1, 0),
            written(30, 3, 0, 1, -11i32 as u32),
            written(20, 2, 0, 1, 7),
            written(50, 2, 0, 1, 157),
            written(52, 4, 1, 0, 1),
            written(54, 9, 0, 1, 0),
            written(60, 1, 0, 1, 0),
            written(61, 9, 0, 0, 0),
        ];
        let events = events(&bytes.concat());
        let kinds: Vec<EventKind> = events.iter().map(|event| event.kind).collect();
        let waking = EventKind::Waking { by_partner: true };
        let left = [
            EventKind::Begin,
            EventKind::Enter(7),
            EventKind::Exit(-11),
            waking,
            EventKind::Interrupted,
            EventKind::End,
        ];
        assert_eq!(kinds, left);
        assert_eq!((events[3].who, events[3].cpu, events[3].at_ns), (Who::Responder, 0, 52));
    }
}
