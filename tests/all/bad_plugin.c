/* c-pipe with one thing wrong with it, by BAD; 21 has all that a table can have, and nothing wrong with it. */
#define _GNU_SOURCE
#define ipcmark_plugin good_plugin
#include "../../engines/c-pipe/c-pipe.c"
#undef ipcmark_plugin

static ipcmark_plugin_table bad;

static int blocks(const ipcmark_spec *spec, void **end)
{
    (void)spec, (void)end;
    for (;;)
        pause();
}

static int unavailable(const ipcmark_spec *spec, void **end)
{
    (void)spec, (void)end;
    snprintf(reason, sizeof reason, "no daemon at /run/mine: start mined");
    return IPCMARK_UNAVAILABLE;
}

/* Keeps the last byte for itself. */
static int sends_less(void *end, const void *message, size_t bytes)
{
    static const char zero = 0;
    int code = send_all(end, message, bytes - 1);
    return code ? code : send_all(end, &zero, 1);
}

/* Gives the last message again, and never what came. */
static int receives_again(void *end, void *message, size_t bytes)
{
    static char last[1 << 20];
    int code = recv_all(end, message, bytes);
    if (bytes > 1)
        memcpy(message, last, bytes);
    return code;
}

static int exits(void *end, void *message, size_t bytes)
{
    (void)end, (void)message, (void)bytes;
    _exit(0);
}

static int crashes(void *end, void *message, size_t bytes)
{
    (void)end, (void)bytes;
    memset(message, 1, 1);
    *(volatile int *)0 = 1;
    return 0;
}

static int litters(const ipcmark_spec *spec, void **end)
{
    char path[300];
    snprintf(path, sizeof path, "%s/left-%u", spec->folder, spec->role);
    FILE *file = fopen(path, "w");
    if (file)
        fputs("left", file), fclose(file);
    return open_end(spec, end);
}

static void litter(const ipcmark_spec *spec, const char *folder)
{
    char path[300];
    snprintf(path, sizeof path, "%s/ipcmark-test-%s-%u", folder, spec->name, spec->role);
    FILE *file = fopen(path, "w");
    if (file)
        fputs("left", file), fclose(file);
}

static int litters_elsewhere(const ipcmark_spec *spec, void **end)
{
    litter(spec, "/dev/shm");
    litter(spec, "/tmp");
    return open_end(spec, end);
}

static void close_crashes(void *end)
{
    (void)end;
    *(volatile int *)0 = 1;
}

static void close_hangs(void *end)
{
    (void)end;
    for (;;)
        pause();
}

/* Answers itself: nothing ever reaches the partner. */
static char kept[1 << 20];

static int keeps(void *end, const void *message, size_t bytes)
{
    (void)end;
    memcpy(kept, message, bytes);
    return IPCMARK_DONE;
}

static int gives_back(void *end, void *message, size_t bytes)
{
    (void)end;
    memcpy(message, kept, bytes);
    return IPCMARK_DONE;
}

static int prints(const ipcmark_spec *spec, void **end)
{
    puts("opening"), fflush(stdout);
    return open_end(spec, end);
}

/* All that a table can have. */
static char lent[1 << 20], came[1 << 20];

static int may(int fd, short what)
{
    struct pollfd poller = {fd, what, 0};
    return poll(&poller, 1, 0) == 1;
}

static int tries_to_send(void *self, const void *message, size_t bytes)
{
    return may(((struct end *)self)->to, POLLOUT) ? send_all(self, message, bytes) : IPCMARK_WOULD_BLOCK;
}

static int tries_to_receive(void *self, void *message, size_t bytes)
{
    return may(((struct end *)self)->from, POLLIN) ? recv_all(self, message, bytes) : IPCMARK_WOULD_BLOCK;
}

static int readable(void *self) { return ((struct end *)self)->from; }

static void *lend(void *self, size_t bytes) { return (void)self, (void)bytes, lent; }

static int commit(void *self, void *message, size_t bytes) { return send_all(self, message, bytes); }

static const void *take(void *self, size_t bytes) { return recv_all(self, came, bytes) ? 0 : came; }

static int release(void *self, const void *message) { return (void)self, (void)message, IPCMARK_DONE; }

#if BAD == 7
__attribute__((constructor)) static void print(void) { puts("hello"), fflush(stdout); }
#endif
#if BAD == 8
__attribute__((constructor)) static void leave(void) { _exit(3); }
#endif

const ipcmark_plugin_table *ipcmark_plugin(void)
{
    bad = *good_plugin();
    bad.name = "bad";
    switch (BAD) {
    case 1: bad.magic = 7; break;
    case 2: bad.abi = 2; break;
    case 3: bad.size = 24; break;
    case 4: bad.send = 0; break;
    case 5: bad.name = "pipe"; break;
    case 6: bad.options = "wait"; break;
    case 9: return 0;
    case 10: bad.open = blocks; break;
    case 11: bad.open = unavailable; break;
    case 12: bad.send = sends_less; break;
    case 13: bad.recv = receives_again; break;
    case 14: bad.recv = exits; break;
    case 15: bad.recv = crashes; break;
    case 16: bad.open = litters; break;
    case 17: bad.loan = (void *(*)(void *, size_t))malloc; break;
    case 19: bad.send = keeps, bad.recv = gives_back; break;
    case 20: bad.open = prints; break;
    case 21:
        bad.name = "whole", bad.options = "wait=sleep|spin slots=64|SIZE";
        bad.in_place = 1, bad.loan = lend, bad.commit = commit, bad.take = take, bad.release = release;
        bad.try_send = tries_to_send, bad.try_recv = tries_to_receive, bad.ready = readable;
        break;
    case 22: bad.in_place = 1; break;
    case 26: bad.name = "bus", bad.broker = 1; break;
    case 23: bad.close = close_crashes; break;
    case 24: bad.close = close_hangs; break;
    case 25: bad.open = litters_elsewhere; break;
    case 18: bad.name = "Bad Name"; break;
    }
    return &bad;
}
