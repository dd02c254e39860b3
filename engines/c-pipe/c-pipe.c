/*
 * c-pipe: two pipes, one each way, as a plug-in. What a plug-in costs beside the built-in `pipe` is what calling one costs.
 *
 *     cc -O2 -shared -fPIC -I include -o libc-pipe.so engines/c-pipe/c-pipe.c
 *     ipcmark run pipe --plugin ./libc-pipe.so
 *
 * The responder makes both pipes, and hands two of their ends over a Unix socket in the folder of the launch.
 */
#define _GNU_SOURCE
#include "ipcmark_plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

struct end {
    int to, from;
};

static _Thread_local char reason[200];

static int fail(const char *call)
{
    snprintf(reason, sizeof reason, "%s: %s", call, strerror(errno));
    return IPCMARK_FAILED;
}

static int left_ms(const ipcmark_spec *spec)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t at = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return at >= spec->deadline_ns ? 0 : (int)((spec->deadline_ns - at) / 1000000u);
}

static int address(const ipcmark_spec *spec, struct sockaddr_un *un)
{
    memset(un, 0, sizeof *un);
    un->sun_family = AF_UNIX;
    int length = snprintf(un->sun_path, sizeof un->sun_path, "%s/s", spec->folder);
    errno = ENAMETOOLONG;
    return length < (int)sizeof un->sun_path ? 0 : -1;
}

/* Two descriptors in one message (unix(7), SCM_RIGHTS). */
static int pass(int socket, int fds[2], int give)
{
    char byte = 0;
    struct iovec one = {&byte, 1};
    union {
        char room[CMSG_SPACE(2 * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct msghdr message = {.msg_iov = &one, .msg_iovlen = 1, .msg_control = control.room,
                             .msg_controllen = sizeof control.room};
    if (give) {
        memset(&control, 0, sizeof control);
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(2 * sizeof(int));
        memcpy(CMSG_DATA(head), fds, 2 * sizeof(int));
        return sendmsg(socket, &message, 0) == 1 ? 0 : -1;
    }
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&message))
        return -1;
    memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&message)), 2 * sizeof(int));
    return 0;
}

/* Makes the pipes, keeps its own ends, and gives the others to whoever connects. */
static int respond(const ipcmark_spec *spec, struct end *end)
{
    struct sockaddr_un un;
    int there[2], back[2];
    if (address(spec, &un) || pipe2(there, O_CLOEXEC) || pipe2(back, O_CLOEXEC))
        return fail("pipe2");
    int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listening < 0 || bind(listening, (struct sockaddr *)&un, sizeof un) || listen(listening, 1))
        return fail("listen");
    struct pollfd poller = {listening, POLLIN, 0};
    if (poll(&poller, 1, left_ms(spec)) != 1)
        return errno = ETIMEDOUT, fail("wait for the initiator");
    int socket = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    close(listening);
    unlink(un.sun_path);
    int theirs[2] = {there[1], back[0]};
    if (socket < 0 || pass(socket, theirs, 1))
        return fail("hand over the pipes");
    close(socket), close(there[1]), close(back[0]);
    end->from = there[0], end->to = back[1];
    return IPCMARK_DONE;
}

static int initiate(const ipcmark_spec *spec, struct end *end)
{
    struct sockaddr_un un;
    if (address(spec, &un))
        return fail("the folder");
    for (;;) {
        int connected = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), mine[2];
        if (connected >= 0 && !connect(connected, (struct sockaddr *)&un, sizeof un)) {
            if (pass(connected, mine, 0))
                return fail("take the pipes");
            close(connected);
            end->to = mine[0], end->from = mine[1];
            return IPCMARK_DONE;
        }
        close(connected);
        if (!left_ms(spec))
            return errno = ETIMEDOUT, fail("wait for the responder");
        usleep(1000);
    }
}

static int open_end(const ipcmark_spec *spec, void **out)
{
    struct end *end = calloc(1, sizeof *end);
    if (!end)
        return fail("calloc");
    *out = end;
    return spec->role ? respond(spec, end) : initiate(spec, end);
}

static int send_all(void *self, const void *message, size_t bytes)
{
    const struct end *end = self;
    for (const char *at = message; bytes;) {
        ssize_t sent = write(end->to, at, bytes);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return fail("write");
        at += sent, bytes -= (size_t)sent;
    }
    return IPCMARK_DONE;
}

static int recv_all(void *self, void *message, size_t bytes)
{
    const struct end *end = self;
    for (char *at = message; bytes;) {
        ssize_t got = read(end->from, at, bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got ? fail("read") : (errno = EPIPE, fail("the partner is gone"));
        at += got, bytes -= (size_t)got;
    }
    return IPCMARK_DONE;
}

static void close_end(void *self)
{
    struct end *end = self;
    if (!end)
        return;
    close(end->to), close(end->from);
    free(end);
}

static const char *last_error(void *self)
{
    (void)self;
    return reason;
}

const ipcmark_plugin_table *ipcmark_plugin(void)
{
    static const ipcmark_plugin_table table = {
        .magic = IPCMARK_PLUGIN_MAGIC, .abi = IPCMARK_PLUGIN_ABI, .size = sizeof table,
        .name = "c-pipe", .summary = "two pipes, one each way, by a plug-in in C",
        .version = "1", .language = "C", .licence = "CC0",
        .carries = IPCMARK_BYTES, .framing = IPCMARK_STREAM,
        .open = open_end, .send = send_all, .recv = recv_all, .close = close_end, .error = last_error,
    };
    return &table;
}
