// Round trips as a plain C program makes them, for `cargo bench --bench fidelity`: two processes, each on a CPU of its
// own or both on one, pass a message of 64 bytes (or a wake-up) to and fro.
//
// cc -O2 -o ping_pong ping_pong.c -lrt && ./ping_pong pipe 0 1 10000
//
// It says `ready`, waits for a line, warms up with a thousand round trips or 5 ms of them, times those that were asked
// for, says how many nanoseconds they took together, and ends when its input does.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 64, WARMUP = 1000, WARMUP_NS = 5000000 };

// A counter to sleep on while it is zero, and a mark that somebody does.
struct bell {
    _Alignas(64) atomic_uint tokens;
    _Alignas(64) atomic_uint parked;
};

// What one process sends and receives by.
struct end {
    int to, from;
    struct bell *rings, *hears;
};

typedef void pass(struct end *, char *);

static int checked(const char *call, long result) {
    if (result < 0) {
        perror(call);
        exit(1);
    }
    return result;
}

static void whole(const char *call, long result, long wanted) {
    if (checked(call, result) != wanted) {
        fprintf(stderr, "%s: %ld bytes instead of %ld\n", call, result, wanted);
        exit(1);
    }
}

static void send_bytes(struct end *end, char *message) {
    whole("write", write(end->to, message, BYTES), BYTES);
}

static void receive_bytes(struct end *end, char *message) {
    whole("read", read(end->from, message, BYTES), BYTES);
}

static void send_event(struct end *end, char *message) {
    uint64_t one = 1;
    (void)message;
    whole("write", write(end->to, &one, sizeof one), sizeof one);
}

static void receive_event(struct end *end, char *message) {
    uint64_t count;
    (void)message;
    whole("read", read(end->from, &count, sizeof count), sizeof count);
}

static void send_wake_up(struct end *end, char *message) {
    struct bell *bell = end->rings;
    (void)message;
    atomic_fetch_add(&bell->tokens, 1);
    if (atomic_load(&bell->parked) && atomic_exchange(&bell->parked, 0))
        syscall(SYS_futex, &bell->parked, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void receive_wake_up(struct end *end, char *message) {
    struct bell *bell = end->hears;
    (void)message;
    while (atomic_load(&bell->tokens) == 0) {
        atomic_store(&bell->parked, 1);
        if (atomic_load(&bell->tokens) == 0)
            syscall(SYS_futex, &bell->parked, FUTEX_WAIT, 1, NULL, NULL, 0);
        atomic_store(&bell->parked, 0);
    }
    atomic_fetch_sub(&bell->tokens, 1);
}

// What System V queues carry: a type right before the bytes.
static struct {
    long type;
    char text[BYTES];
} envelope = {.type = 1};

static void send_sysv(struct end *end, char *message) {
    memcpy(envelope.text, message, BYTES);
    checked("msgsnd", msgsnd(end->to, &envelope, BYTES, 0));
}

static void receive_sysv(struct end *end, char *message) {
    whole("msgrcv", msgrcv(end->from, &envelope, BYTES, 0, 0), BYTES);
    memcpy(message, envelope.text, BYTES);
}

static void send_posix(struct end *end, char *message) {
    checked("mq_send", mq_send(end->to, message, BYTES, 0));
}

static void receive_posix(struct end *end, char *message) {
    whole("mq_receive", mq_receive(end->from, message, BYTES, NULL), BYTES);
}

static int queues[2] = {-1, -1};

static void remove_queues(void) {
    for (int i = 0; i < 2; i++)
        if (queues[i] >= 0) msgctl(queues[i], IPC_RMID, NULL);
}

static int posix_queue(void) {
    struct mq_attr attributes = {.mq_maxmsg = 10, .mq_msgsize = BYTES};
    char name[32];
    snprintf(name, sizeof name, "/ping-pong-%d", getpid());
    int queue = checked("mq_open", mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes));
    checked("mq_unlink", mq_unlink(name));
    return queue;
}

static void tcp_pair(int fds[2]) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int on = 1, listener = checked("socket", socket(AF_INET, SOCK_STREAM, 0));
    checked("listen", bind(listener, (struct sockaddr *)&address, size) ?: listen(listener, 1));
    checked("getsockname", getsockname(listener, (struct sockaddr *)&address, &size));
    fds[0] = checked("socket", socket(AF_INET, SOCK_STREAM, 0));
    checked("connect", connect(fds[0], (struct sockaddr *)&address, size));
    fds[1] = checked("accept", accept(listener, NULL, NULL));
    close(listener);
    for (int i = 0; i < 2; i++)
        checked("TCP_NODELAY", setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
}

// Ends that send to one of two queues or counters, and receive from the other.
static void one_each_way(struct end ends[2], int there, int back) {
    ends[0] = (struct end){.to = there, .from = back};
    ends[1] = (struct end){.to = back, .from = there};
}

// Opens both ends; says how messages go and come.
static void open_ends(const char *mechanism, struct end ends[2], pass **send, pass **receive) {
    int there[2], back[2];
    *send = send_bytes, *receive = receive_bytes;
    if (!strcmp(mechanism, "pipe")) {
        checked("pipe", pipe(there) ?: pipe(back));
        ends[0] = (struct end){.to = there[1], .from = back[0]};
        ends[1] = (struct end){.to = back[1], .from = there[0]};
    } else if (!strcmp(mechanism, "unix-stream") || !strcmp(mechanism, "tcp")) {
        if (mechanism[0] == 't') tcp_pair(there);
        else checked("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, there));
        for (int i = 0; i < 2; i++) ends[i] = (struct end){.to = there[i], .from = there[i]};
    } else if (!strcmp(mechanism, "eventfd")) {
        for (int i = 0; i < 2; i++) there[i] = checked("eventfd", eventfd(0, EFD_SEMAPHORE));
        one_each_way(ends, there[0], there[1]);
        *send = send_event, *receive = receive_event;
    } else if (!strcmp(mechanism, "futex")) {
        struct bell *bells = mmap(NULL, 2 * sizeof *bells, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        checked("mmap", bells == MAP_FAILED ? -1 : 0);
        ends[0] = (struct end){.rings = &bells[0], .hears = &bells[1]};
        ends[1] = (struct end){.rings = &bells[1], .hears = &bells[0]};
        *send = send_wake_up, *receive = receive_wake_up;
    } else if (!strcmp(mechanism, "sysv-queue")) {
        atexit(remove_queues);
        for (int i = 0; i < 2; i++) queues[i] = checked("msgget", msgget(IPC_PRIVATE, 0600));
        one_each_way(ends, queues[0], queues[1]);
        *send = send_sysv, *receive = receive_sysv;
    } else if (!strcmp(mechanism, "posix-queue")) {
        for (int i = 0; i < 2; i++) there[i] = posix_queue();
        one_each_way(ends, there[0], there[1]);
        *send = send_posix, *receive = receive_posix;
    } else {
        fprintf(stderr, "no mechanism is called %s\n", mechanism);
        exit(2);
    }
}

static void pin(const char *cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(atoi(cpu), &set);
    checked("sched_setaffinity", sched_setaffinity(0, sizeof set, &set));
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return time.tv_sec * 1000000000ull + time.tv_nsec;
}

// The child failed, and said why.
static void on_childs_end(int signal) {
    (void)signal;
    remove_queues();
    _exit(1);
}

int main(int argc, char **argv) {
    if (argc != 5) return fprintf(stderr, "ping_pong MECHANISM FIRST_CPU SECOND_CPU COUNT\n"), 2;
    struct end ends[2];
    pass *send, *receive;
    open_ends(argv[1], ends, &send, &receive);
    char *message = malloc(BYTES), *answer = malloc(BYTES), line[8];
    memset(message, 0xA5, BYTES);
    signal(SIGCHLD, on_childs_end);
    int parent = getpid(), child = checked("fork", fork());
    if (child == 0) {
        queues[0] = queues[1] = -1; // the parent's to remove
        checked("prctl", prctl(PR_SET_PDEATHSIG, SIGKILL));
        if (getppid() != parent) _exit(1);
        pin(argv[3]);
        for (;;) {
            receive(&ends[1], answer);
            send(&ends[1], message);
        }
    }
    pin(argv[2]);
    printf("ready\n");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin)) return 0;
    uint64_t start = now();
    for (int done = 0; done < WARMUP && now() - start < WARMUP_NS; done++) {
        send(&ends[0], message);
        receive(&ends[0], answer);
    }
    long count = atol(argv[4]);
    start = now();
    for (long done = 0; done < count; done++) {
        send(&ends[0], message);
        receive(&ends[0], answer);
    }
    printf("%llu\n", (unsigned long long)(now() - start));
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {}
    signal(SIGCHLD, SIG_IGN);
    kill(child, SIGKILL);
    return 0;
}
