/* nanomsg: an NN_PAIR socket at each end, over ipc://. A thread of its own carries the messages. */
#include "plugin.h"

#include <nanomsg/nn.h>
#include <nanomsg/pair.h>

struct end {
    int socket;
};

static int failed(const char *call)
{
    return fail("%s: %s", call, nn_strerror(nn_errno()));
}

static int set(struct end *end, int option, int value)
{
    return nn_setsockopt(end->socket, NN_SOL_SOCKET, option, &value, sizeof value) < 0 ? failed("nn_setsockopt") : 0;
}

static int send_by(struct end *end, const void *message, size_t bytes, int flags)
{
    int sent;
    do
        sent = nn_send(end->socket, message, bytes, flags);
    while (sent < 0 && nn_errno() == EINTR);
    if (sent < 0)
        return flags && nn_errno() == EAGAIN ? IPCMARK_WOULD_BLOCK : failed("nn_send");
    return IPCMARK_DONE;
}

static int recv_by(struct end *end, void *message, size_t bytes, int flags)
{
    int got;
    do
        got = nn_recv(end->socket, message, bytes, flags);
    while (got < 0 && nn_errno() == EINTR);
    if (got < 0)
        return flags && nn_errno() == EAGAIN ? IPCMARK_WOULD_BLOCK : failed("nn_recv");
    return (size_t)got == bytes ? IPCMARK_DONE : wrong_length(got, bytes);
}

static int send_all(void *end, const void *message, size_t bytes) { return send_by(end, message, bytes, 0); }
static int recv_all(void *end, void *message, size_t bytes) { return recv_by(end, message, bytes, 0); }
static int try_send(void *end, const void *message, size_t bytes) { return send_by(end, message, bytes, NN_DONTWAIT); }
static int try_recv(void *end, void *message, size_t bytes) { return recv_by(end, message, bytes, NN_DONTWAIT); }

static int open_end(const ipcmark_spec *spec, void **out)
{
    char address[300], byte = 1;
    struct end *end = calloc(1, sizeof *end);
    *out = end;
    end->socket = nn_socket(AF_SP, NN_PAIR);
    if (end->socket < 0)
        return failed("nn_socket");
    int left = left_ms(spec);
    /* Its limit is 1 MiB, and it connects again after 100 ms, where nothing is said. */
    if (set(end, NN_RCVMAXSIZE, -1) || set(end, NN_RECONNECT_IVL, 1) || set(end, NN_RCVTIMEO, left) ||
        set(end, NN_SNDTIMEO, left))
        return IPCMARK_FAILED;
    inside(spec, "ipc://", "s", address);
    if ((spec->role ? nn_bind(end->socket, address) : nn_connect(end->socket, address)) < 0)
        return failed(spec->role ? "nn_bind" : "nn_connect");
    /* nn_connect() returns before there is a connection: a message each way. */
    if (spec->role ? recv_all(end, &byte, 1) || send_all(end, &byte, 1) : send_all(end, &byte, 1) || recv_all(end, &byte, 1))
        return IPCMARK_FAILED;
    return set(end, NN_RCVTIMEO, -1) || set(end, NN_SNDTIMEO, -1) ? IPCMARK_FAILED : IPCMARK_DONE;
}

static int ready(void *self)
{
    const struct end *end = self;
    int fd;
    size_t size = sizeof fd;
    return nn_getsockopt(end->socket, NN_SOL_SOCKET, NN_RCVFD, &fd, &size) < 0 ? -1 : fd;
}

static void close_end(void *self)
{
    struct end *end = self;
    nn_close(end->socket);
    free(end);
}

const ipcmark_plugin_table *ipcmark_plugin(void)
{
    static ipcmark_plugin_table table = {
        .magic = IPCMARK_PLUGIN_MAGIC, .abi = IPCMARK_PLUGIN_ABI, .size = sizeof table,
        .name = "nanomsg", .summary = "nanomsg, a pair over a Unix socket", .language = "C", .licence = "MIT",
        .carries = IPCMARK_BYTES, .framing = IPCMARK_MESSAGES,
        .open = open_end, .send = send_all, .recv = recv_all, .close = close_end, .error = last_error,
        .try_send = try_send, .try_recv = try_recv, .ready = ready,
    };
    table.version = file_of((void *)nn_socket, "unknown");
    return &table;
}
