/*
 * ZeroMQ: a PAIR socket at each end, over ipc://. Its I/O thread carries the messages.
 *
 * connect() returns before there is a connection: a message each way says that there is one.
 */
#include "plugin.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <zmq.h>

struct end {
    void *context, *socket;
    int ready;    /* an epoll of ZMQ_FD and of `waiting` */
    int waiting;  /* an eventfd, set while a message waits */
    int is_set;
};

static int failed(const char *call)
{
    return fail("%s: %s", call, zmq_strerror(zmq_errno()));
}

static int set(struct end *end, int option, int value)
{
    return zmq_setsockopt(end->socket, option, &value, sizeof value) ? failed("zmq_setsockopt") : IPCMARK_DONE;
}

/* ZMQ_FD tells of changes alone, and any call may take one. So it stands beside a descriptor that is kept readable as long as a
   message waits. */
static void watch(struct end *end)
{
    int events = 0;
    size_t size = sizeof events;
    uint64_t count = 1;
    zmq_getsockopt(end->socket, ZMQ_EVENTS, &events, &size);
    int waits = (events & ZMQ_POLLIN) != 0;
    if (waits != end->is_set) {
        ssize_t done = waits ? write(end->waiting, &count, sizeof count) : read(end->waiting, &count, sizeof count);
        end->is_set = done == sizeof count ? waits : end->is_set;
    }
}

static int watchers(struct end *end)
{
    int changes;
    size_t size = sizeof changes;
    struct epoll_event readable = {.events = EPOLLIN};
    end->ready = epoll_create1(EPOLL_CLOEXEC);
    end->waiting = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (zmq_getsockopt(end->socket, ZMQ_FD, &changes, &size))
        return failed("ZMQ_FD");
    if (epoll_ctl(end->ready, EPOLL_CTL_ADD, end->waiting, &readable) ||
        epoll_ctl(end->ready, EPOLL_CTL_ADD, changes, &readable))
        return fail("epoll_ctl: %s", strerror(errno));
    return IPCMARK_DONE;
}

static int send_all(void *self, const void *message, size_t bytes)
{
    const struct end *end = self;
    int sent;
    do
        sent = zmq_send(end->socket, message, bytes, 0);
    while (sent < 0 && zmq_errno() == EINTR);
    return sent < 0 ? failed("zmq_send") : IPCMARK_DONE;
}

static int recv_all(void *self, void *message, size_t bytes)
{
    const struct end *end = self;
    int got;
    do
        got = zmq_recv(end->socket, message, bytes, 0);
    while (got < 0 && zmq_errno() == EINTR);
    if (got < 0)
        return failed("zmq_recv");
    return (size_t)got == bytes ? IPCMARK_DONE : wrong_length(got, bytes);
}

static int open_end(const ipcmark_spec *spec, void **out)
{
    char address[300], byte = 1;
    struct end *end = calloc(1, sizeof *end);
    *out = end;
    end->context = zmq_ctx_new();
    end->socket = zmq_socket(end->context, ZMQ_PAIR);
    if (!end->socket)
        return failed("zmq_socket");
    int left = left_ms(spec);
    if (set(end, ZMQ_RECONNECT_IVL, 1) || set(end, ZMQ_RCVTIMEO, left) || set(end, ZMQ_SNDTIMEO, left))
        return IPCMARK_FAILED;
    inside(spec, "ipc://", "s", address);
    if (spec->role ? zmq_bind(end->socket, address) : zmq_connect(end->socket, address))
        return failed(spec->role ? "zmq_bind" : "zmq_connect");
    if (spec->role ? recv_all(end, &byte, 1) || send_all(end, &byte, 1) : send_all(end, &byte, 1) || recv_all(end, &byte, 1))
        return IPCMARK_FAILED;
    if (set(end, ZMQ_RCVTIMEO, -1) || set(end, ZMQ_SNDTIMEO, -1) || set(end, ZMQ_LINGER, 0))
        return IPCMARK_FAILED;
    return watchers(end);
}

static int try_send(void *self, const void *message, size_t bytes)
{
    struct end *end = self;
    int sent = zmq_send(end->socket, message, bytes, ZMQ_DONTWAIT), why = zmq_errno();
    watch(end);
    if (sent >= 0)
        return IPCMARK_DONE;
    return why == EAGAIN || why == EINTR ? IPCMARK_WOULD_BLOCK : fail("zmq_send: %s", zmq_strerror(why));
}

static int try_recv(void *self, void *message, size_t bytes)
{
    struct end *end = self;
    int got = zmq_recv(end->socket, message, bytes, ZMQ_DONTWAIT), why = zmq_errno();
    watch(end);
    if (got < 0)
        return why == EAGAIN || why == EINTR ? IPCMARK_WOULD_BLOCK : fail("zmq_recv: %s", zmq_strerror(why));
    return (size_t)got == bytes ? IPCMARK_DONE : wrong_length(got, bytes);
}

static int ready(void *self)
{
    struct end *end = self;
    watch(end);
    return end->ready;
}

static void close_end(void *self)
{
    struct end *end = self;
    close(end->ready), close(end->waiting);
    zmq_close(end->socket);
    zmq_ctx_term(end->context);
    free(end);
}

const ipcmark_plugin_table *ipcmark_plugin(void)
{
    static char version[40];
    static ipcmark_plugin_table table = {
        .magic = IPCMARK_PLUGIN_MAGIC, .abi = IPCMARK_PLUGIN_ABI, .size = sizeof table,
        .name = "zeromq", .summary = "ZeroMQ, a pair over a Unix socket", .version = version, .language = "C++",
        .carries = IPCMARK_BYTES, .framing = IPCMARK_MESSAGES,
        .open = open_end, .send = send_all, .recv = recv_all, .close = close_end, .error = last_error,
        .try_send = try_send, .try_recv = try_recv, .ready = ready,
    };
    int major, minor, patch;
    zmq_version(&major, &minor, &patch);
    snprintf(version, sizeof version, "%d.%d.%d", major, minor, patch);
    int is_mpl = major * 10000 + minor * 100 + patch >= 40305;
    table.licence = is_mpl ? "MPL-2.0" : "LGPL-3.0 with an exception for linking";
    return &table;
}
