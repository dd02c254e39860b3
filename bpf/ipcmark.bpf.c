// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What the kernel does with two workers while they are timed: counted here, told in order where a
 * stream is asked for.
 *
 * Only raw tracepoints, and no layout of any kernel structure: a worker is known by its task's
 * address. It opens and closes its window itself, by taking a name that only this launch knows
 * (prctl(2), PR_SET_NAME): that tracepoint fires for nothing else, so that a trace of the scheduler
 * needs none on system calls. The one exception is the third argument of a system call, read from
 * the saved registers at an offset that the loader sets.
 *
 * Numbers here and in crates/machine/src/trace/ must agree: kinds of event, what is tallied, points.
 */
#include "bpf.h"

char terms[] SEC("license") = "Dual MIT/GPL";

/* Settings, written by the loader before the programs are verified: a branch that they rule out
 * costs nothing. */
const volatile u64 name_head[2] = {}; /* bytes 0..8 of the name, by role */
const volatile u64 name_tail[2] = {}; /* bytes 8..16: begin, end */
const volatile u32 empty = 0;	      /* every program returns at once */
const volatile u32 room = 0;	      /* events that the stream holds */
const volatile u32 third = 0;	      /* where the third argument is saved; ~0: nobody knows */

enum role { INITIATOR, RESPONDER };
enum point { ENTER, LEAVE, WAKING, WAKEUP, SWITCH, SEND, TAKE, SOCKET_SEND, SOCKET_RECEIVE, POINTS };
enum kind { BEGIN, END, ENTERED, LEFT, WOKEN, AWAKE, IN, OUT, INTERRUPTS, INTERRUPTED };
enum tallied { CALLS, WAKE_UPS, INTERRUPTS_SENT, SOCKETS };

#define BUCKETS 40

struct spread {
	u64 count, total, longest;
	u64 buckets[BUCKETS];
};

/* A worker. Written by whoever runs it or wakes it, one after the other. */
struct worker {
	u64 task; /* 0: its window is closed */
	u64 began_at, ended_at;
	u64 lost;
	u64 entered_at, asked; /* entered_at 0: in no call that it entered within its window */
	u64 out_at;	       /* 0: it runs */
	u64 waking_at;
	u32 number;
	u32 asleep;
	u32 waking_cpu, by_partner;
	u32 sent_to; /* 1 + the CPU that has yet to take an interrupt */
	u32 window;  /* how many it has opened: only the last one counts */
	struct spread delays, sleeps, waits;
} __attribute__((aligned(128)));

struct worker workers[2] = {};
struct {
	u64 next;
} __attribute__((aligned(128))) stream = {};

struct key {
	u16 window;
	u8 role, what;
	u32 detail;
	s64 value;
};

struct tally {
	u64 count, total, asked;
};

struct event {
	u64 at;
	u8 kind, role;
	u16 cpu;
	u32 value;
};

struct fired {
	u64 of[POINTS][2]; /* others, workers */
};

struct map tallies SEC("maps") = {MAP_HASH, sizeof(struct key), sizeof(struct tally), 2048, 0};
struct map firings SEC("maps") = {MAP_ARRAY, 4, sizeof(struct fired), 1, 0};
struct map events SEC("maps") = {MAP_ARRAY, 4, sizeof(struct event), 1, MMAPABLE};

static inline void tell(u32 role, enum kind kind, u64 at, u32 value)
{
	if (!room)
		return;
	u64 nth = __sync_fetch_and_add(&stream.next, 1);
	if (nth >= room)
		return;
	u32 slot = nth;
	struct event *event = map_lookup(&events, &slot);
	if (!event)
		return;
	event->at = at;
	event->kind = kind;
	event->role = role;
	event->cpu = this_cpu();
	event->value = value;
}

static inline void tally(u32 role, enum tallied what, u32 detail, s64 value, u64 total, u64 asked)
{
	struct worker *worker = &workers[role];
	struct key key = {worker->window, role, what, detail, value};
	struct tally *known = map_lookup(&tallies, &key);
	if (likely(known)) {
		known->count++;
		known->total += total;
		known->asked += asked;
		return;
	}
	struct tally first = {1, total, asked};
	if (map_update(&tallies, &key, &first, NO_EXIST))
		worker->lost++;
}

/* Counts a program's run, while the initiator is timed. */
static inline void fire(enum point point, u32 of_worker)
{
	if (!workers[INITIATOR].task)
		return;
	u32 cpu = this_cpu();
	struct fired *fired = map_lookup(&firings, &cpu);
	if (fired)
		fired->of[point][of_worker]++;
}

/* Without branches: the verifier would follow each of them. All bits below the highest one are set,
 * and counted. */
static inline u32 log2_of(u64 n)
{
	n |= n >> 1;
	n |= n >> 2;
	n |= n >> 4;
	n |= n >> 8;
	n |= n >> 16;
	n |= n >> 32;
	n >>= 1;
	n -= n >> 1 & 0x5555555555555555;
	n = (n & 0x3333333333333333) + (n >> 2 & 0x3333333333333333);
	n = (n + (n >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return n * 0x0101010101010101 >> 56;
}

static inline void spread_by(struct spread *spread, u64 ns)
{
	u32 bucket = log2_of(ns);
	spread->count++;
	spread->total += ns;
	if (ns > spread->longest)
		spread->longest = ns;
	if (bucket >= BUCKETS)
		bucket = BUCKETS - 1;
	spread->buckets[bucket]++;
}

static inline void forget(struct spread *spread)
{
	spread->count = spread->total = spread->longest = 0;
	for (u32 n = 0; n < BUCKETS; n++)
		*(volatile u64 *)&spread->buckets[n] = 0;
}

/* It runs again. Where no switch to it was told, since when is not known: a kernel keeps some to itself. */
static inline void come_in(u32 role, u64 at, u32 told)
{
	struct worker *worker = &workers[role];
	u64 out = worker->out_at, waking = worker->waking_at;
	worker->out_at = 0;
	tell(role, IN, at, 0);
	if (!out)
		return; /* it went out before its window */
	if (!worker->asleep) {
		if (told)
			spread_by(&worker->waits, at - out);
		return;
	}
	/* Whoever wakes it may be faster than its way to sleep. */
	if (waking < out)
		waking = out;
	spread_by(&worker->sleeps, waking - out);
	if (told)
		spread_by(&worker->delays, at - waking);
	s64 ways = (s64)worker->waking_cpu << 32 | this_cpu();
	tally(role, WAKE_UPS, worker->by_partner, ways, 0, 0);
}

/* It does something, and so it runs. */
static inline void runs(u32 role, u64 at)
{
	if (unlikely(workers[role].out_at))
		come_in(role, at, 0);
}

static inline void open_window(u32 role, u64 task)
{
	struct worker *worker = &workers[role];
	/* The responder's warm-up is not told: only it has several windows. */
	if (role == RESPONDER && !workers[INITIATOR].task)
		stream.next = 0;
	worker->window++;
	worker->lost = worker->entered_at = worker->out_at = worker->waking_at = worker->ended_at = 0;
	worker->sent_to = 0;
	forget(&worker->delays);
	forget(&worker->sleeps);
	forget(&worker->waits);
	worker->began_at = monotonic_ns();
	tell(role, BEGIN, worker->began_at, 0);
	worker->task = task;
}

static inline void close_window(u32 role, u64 at)
{
	struct worker *worker = &workers[role];
	runs(role, at);
	worker->task = 0;
	worker->ended_at = at;
	tell(role, END, at, 0);
}

static inline void marked(u32 role, const u64 *name, u64 task, u64 at)
{
	if (name[0] != name_head[role])
		return;
	if (name[1] == name_tail[0])
		open_window(role, task);
	else if (name[1] == name_tail[1] && workers[role].task == task)
		close_window(role, at);
}

/* task_rename: task, name */
SEC("task_rename") int on_rename(struct arguments *with)
{
	u64 at = monotonic_ns(), task = with->at[0], name[2] = {};
	if (empty || task != current_task())
		return 0;
	read_kernel(name, sizeof(name), (const void *)with->at[1]);
	marked(INITIATOR, name, task, at);
	marked(RESPONDER, name, task, at);
	return 0;
}

static inline void enter(u32 role, struct arguments *with)
{
	struct worker *worker = &workers[role];
	u64 asked = 0;
	if (unlikely(worker->out_at))
		come_in(role, monotonic_ns(), 0);
	if (third != ~0U)
		read_kernel(&asked, sizeof(asked), (const void *)(with->at[0] + third));
	worker->asked = asked;
	worker->number = with->at[1];
	fire(ENTER, 1);
	/* Last, so that as little as possible of this is inside what is timed. */
	u64 at = monotonic_ns();
	worker->entered_at = at;
	tell(role, ENTERED, at, worker->number);
}

/* sys_enter: registers, number */
SEC("sys_enter") int on_enter(struct arguments *with)
{
	if (empty)
		return 0;
	u64 task = current_task();
	if (task == workers[INITIATOR].task)
		enter(INITIATOR, with);
	else if (task == workers[RESPONDER].task)
		enter(RESPONDER, with);
	else
		fire(ENTER, 0);
	return 0;
}

static inline void leave(u32 role, s64 returned, u64 at)
{
	struct worker *worker = &workers[role];
	if (!worker->entered_at)
		return; /* the mark that opened the window */
	runs(role, at);
	s64 address = 1LL << 40, known = returned;
	if (known > address)
		known = address;
	s64 told = known > 0x7fffffff ? 0x7fffffff : known;
	tally(role, CALLS, worker->number, known, at - worker->entered_at, worker->asked);
	worker->entered_at = 0;
	fire(LEAVE, 1);
	tell(role, LEFT, at, told);
}

/* sys_exit: registers, returned */
SEC("sys_exit") int on_leave(struct arguments *with)
{
	if (empty)
		return 0;
	u64 at = monotonic_ns(), task = current_task();
	if (task == workers[INITIATOR].task)
		leave(INITIATOR, with->at[1], at);
	else if (task == workers[RESPONDER].task)
		leave(RESPONDER, with->at[1], at);
	else
		fire(LEAVE, 0);
	return 0;
}

static inline void waking(u32 role)
{
	struct worker *worker = &workers[role];
	u64 at = monotonic_ns();
	u32 by_partner = current_task() == workers[1 - role].task;
	worker->waking_at = at;
	worker->waking_cpu = this_cpu();
	worker->by_partner = by_partner;
	fire(WAKING, 1);
	tell(role, WOKEN, at, by_partner);
}

/* sched_waking: task */
SEC("sched_waking") int on_waking(struct arguments *with)
{
	if (empty)
		return 0;
	u64 task = with->at[0];
	if (task == workers[INITIATOR].task)
		waking(INITIATOR);
	else if (task == workers[RESPONDER].task)
		waking(RESPONDER);
	else
		fire(WAKING, 0);
	return 0;
}

static inline void awake(u32 role)
{
	fire(WAKEUP, 1);
	tell(role, AWAKE, monotonic_ns(), 0);
}

/* sched_wakeup: task */
SEC("sched_wakeup") int on_awake(struct arguments *with)
{
	if (empty)
		return 0;
	u64 task = with->at[0];
	if (task == workers[INITIATOR].task)
		awake(INITIATOR);
	else if (task == workers[RESPONDER].task)
		awake(RESPONDER);
	else
		fire(WAKEUP, 0);
	return 0;
}

static inline void go_out(u32 role, u32 asleep, u64 at)
{
	struct worker *worker = &workers[role];
	runs(role, at);
	worker->out_at = at;
	worker->asleep = asleep;
	tell(role, OUT, at, asleep);
}

/* sched_switch: preempted, previous, next, state of the previous (Linux 5.18) */
SEC("sched_switch") int on_switch(struct arguments *with)
{
	if (empty)
		return 0;
	u64 previous = with->at[1], next = with->at[2];
	u64 first = workers[INITIATOR].task, second = workers[RESPONDER].task;
	u32 mine = 0;
	if (!first && !second)
		return 0;
	u64 at = monotonic_ns();
	/* Who is preempted may have its state set already: it still wants to run. */
	u32 asleep = !with->at[0] && (u32)with->at[3];
	if (previous == first)
		go_out(INITIATOR, asleep, at), mine = 1;
	else if (previous == second)
		go_out(RESPONDER, asleep, at), mine = 1;
	if (next == first)
		come_in(INITIATOR, at, 1), mine = 1;
	else if (next == second)
		come_in(RESPONDER, at, 1), mine = 1;
	fire(SWITCH, mine);
	return 0;
}

static inline void interrupt(u32 role, u32 cpu)
{
	s64 ways = (s64)this_cpu() << 32 | cpu;
	tally(role, INTERRUPTS_SENT, 0, ways, 0, 0);
	fire(SEND, 1);
	workers[role].sent_to = cpu + 1;
	tell(role, INTERRUPTS, monotonic_ns(), cpu);
}

/* ipi_send_cpu: CPU, call site, callback */
SEC("ipi_send_cpu") int on_send(struct arguments *with)
{
	if (empty)
		return 0;
	u64 task = current_task();
	if (task == workers[INITIATOR].task)
		interrupt(INITIATOR, with->at[0]);
	else if (task == workers[RESPONDER].task)
		interrupt(RESPONDER, with->at[0]);
	else
		fire(SEND, 0);
	return 0;
}

static inline u32 interrupted(u32 role, u32 cpu)
{
	if (!workers[role].task || workers[role].sent_to != cpu + 1)
		return 0;
	workers[role].sent_to = 0;
	tell(role, INTERRUPTED, monotonic_ns(), 0);
	return 1;
}

/* Entry of the interrupts by which CPUs call each other; the arguments don't matter. */
SEC("interrupt_entry") int on_take(struct arguments *with)
{
	if (empty)
		return 0;
	u32 cpu = this_cpu();
	u32 mine = interrupted(INITIATOR, cpu);
	mine |= interrupted(RESPONDER, cpu);
	fire(TAKE, mine);
	return 0;
}

static inline void socket(enum point point, u32 sent, s64 bytes)
{
	u64 task = current_task();
	if (task == workers[INITIATOR].task) {
		fire(point, 1);
		tally(INITIATOR, SOCKETS, sent, bytes, 0, 0);
	} else if (task == workers[RESPONDER].task) {
		fire(point, 1);
		tally(RESPONDER, SOCKETS, sent, bytes, 0, 0);
	} else {
		fire(point, 0);
	}
}

/* sock_send_length, sock_recv_length: socket, bytes or error, flags */
SEC("sock_send_length") int on_socket_send(struct arguments *with)
{
	if (!empty)
		socket(SOCKET_SEND, 1, (int)with->at[1]);
	return 0;
}

SEC("sock_recv_length") int on_socket_receive(struct arguments *with)
{
	if (!empty)
		socket(SOCKET_RECEIVE, 0, (int)with->at[1]);
	return 0;
}
