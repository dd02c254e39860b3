/* nng: a pair0 socket at each end, over ipc://. Threads of its own carry the messages. */
#include "plugin.h"

#include <nng/nng.h>
#include <nng/protocol/pair0/pair.h>

struct end {
    nng_socket socket;
};

static int failed(const char *call, int why)
{
    return fail("%s: %s", call, nng_strerror(why));
}

static int send_by(struct end *end, const void *message, size_t bytes, int flags)
{
    int why = nng_send(end->socket, (void *)message, bytes, flags);
    if (why == NNG_EAGAIN)
        return IPCMARK_WOULD_BLOCK;
    return why ? failed("nng_send", why) : IPCMARK_DONE;
}

static int recv_by(struct end *end, void *message, size_t bytes, int flags)
{
    size_t got = bytes;
    int why = nng_recv(end->socket, message, &got, flags);
    if (why == NNG_EAGAIN)
        return IPCMARK_WOULD_BLOCK;
    if (why)
        return failed("nng_recv", why);
    return got == bytes ? IPCMARK_DONE : wrong_length((long long)got, bytes);
}

static int send_all(void *end, const void *message, size_t bytes) { return send_by(end, message, bytes, 0); }
static int recv_all(void *end, void *message, size_t bytes) { return recv_by(end, message, bytes, 0); }
static int try_send(void *end, const void *message, size_t bytes) { return send_by(end, message, bytes, NNG_FLAG_NONBLOCK); }
static int try_recv(void *end, void *message, size_t bytes) { return recv_by(end, message, bytes, NNG_FLAG_NONBLOCK); }

static int connected(const ipcmark_spec *spec, struct end *end)
{
    char address[300];
    inside(spec, "ipc://", "s", address);
    if (spec->role) {
        int why = nng_listen(end->socket, address, NULL, 0);
        return why ? failed("nng_listen", why) : IPCMARK_DONE;
    }
    for (;;) {
        int why = nng_dial(end->socket, address, NULL, 0);
        if (!why)
            return IPCMARK_DONE;
        if (why != NNG_ECONNREFUSED && why != NNG_ENOENT)
            return failed("nng_dial", why);
        if (!again(spec))
            return too_late(spec);
    }
}

static int open_end(const ipcmark_spec *spec, void **out)
{
    char byte = 1;
    struct end *end = calloc(1, sizeof *end);
    *out = end;
    int why = nng_pair0_open(&end->socket);
    if (why)
        return failed("nng_pair0_open", why);
    nng_socket_set_size(end->socket, NNG_OPT_RECVMAXSZ, 0); /* no limit */
    if (connected(spec, end))
        return IPCMARK_FAILED;
    /* A listener isn't told of who dials: a message each way. */
    nng_socket_set_ms(end->socket, NNG_OPT_RECVTIMEO, left_ms(spec));
    nng_socket_set_ms(end->socket, NNG_OPT_SENDTIMEO, left_ms(spec));
    if (spec->role ? recv_all(end, &byte, 1) || send_all(end, &byte, 1) : send_all(end, &byte, 1) || recv_all(end, &byte, 1))
        return IPCMARK_FAILED;
    nng_socket_set_ms(end->socket, NNG_OPT_RECVTIMEO, NNG_DURATION_INFINITE);
    nng_socket_set_ms(end->socket, NNG_OPT_SENDTIMEO, NNG_DURATION_INFINITE);
    return IPCMARK_DONE;
}

static int ready(void *self)
{
    const struct end *end = self;
    int fd;
    return nng_socket_get_int(end->socket, NNG_OPT_RECVFD, &fd) ? -1 : fd;
}

static void close_end(void *self)
{
    struct end *end = self;
    nng_close(end->socket);
    free(end);
}

const ipcmark_plugin_table *ipcmark_plugin(void)
{
    static ipcmark_plugin_table table = {
        .magic = IPCMARK_PLUGIN_MAGIC, .abi = IPCMARK_PLUGIN_ABI, .size = sizeof table,
        .name = "nng", .summary = "nng, a pair over a Unix socket", .language = "C", .licence = "MIT",
        .carries = IPCMARK_BYTES, .framing = IPCMARK_MESSAGES,
        .open = open_end, .send = send_all, .recv = recv_all, .close = close_end, .error = last_error,
        .try_send = try_send, .try_recv = try_recv, .ready = ready,
    };
    table.version = nng_version();
    return &table;
}
