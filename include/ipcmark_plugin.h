/*
 * ipcmark_plugin.h: a mechanism of your own for ipcmark. C99, no dependency. CC0: copy it into your project.
 *
 * A plug-in is a shared library with one symbol, `ipcmark_plugin`, a function that returns a table. ipcmark does the
 * processes, the loops, the clock, the checks of contents and the statistics.
 *
 *     cc -O2 -shared -fPIC -I include -o libmine.so mine.c
 *     ipcmark run pipe --plugin ./libmine.so
 *
 * Rules:
 *
 *  - ipcmark_plugin() starts nothing: it fills in a table and returns it.
 *  - Nothing of the mechanism happens before open(). Both ends are opened at the same time, each in its worker, after the
 *    fork, on its CPU: threads may be started there. open() returns when the partner can be reached, and gives up before
 *    deadline_ns.
 *  - send() returns when the whole message is accepted; recv() fills exactly as many bytes as asked, or fails. Neither has a
 *    time-out: ipcmark notices a partner that is gone.
 *  - A message has any length from 1 byte up to the largest; every recv() asks for as many bytes as the matching
 *    send() gave. An acknowledgement has 1 byte.
 *  - Each connection is an open() of its own, with a folder and a name of its own: a worker may hold several ends, and so may a
 *    thread.
 *  - No two calls are made on one end at the same time. They may come from another thread than the one that opened it: a server
 *    of threads takes its ends there.
 *  - close() is called once, where a worker ends by itself, after the results are complete, and not after an open() that
 *    failed. Keep what a killed worker would leave in `folder`.
 *  - A plug-in changes no signal handler, and ends no process. What it prints goes to standard error.
 *
 * What may change: docs/ENGINES.md. Fields are only ever appended; a field that the plug-in was compiled without is 0.
 */
#ifndef IPCMARK_PLUGIN_H
#define IPCMARK_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define IPCMARK_PLUGIN_MAGIC 0x314b524d43504969ull
/* Changes only where a field changes its meaning. */
#define IPCMARK_PLUGIN_ABI 1u

/* What a call returns. */
enum {
    IPCMARK_DONE = 0,
    IPCMARK_WOULD_BLOCK = 1,   /* of try_send and try_recv alone */
    IPCMARK_FAILED = -1,       /* error() says why */
    IPCMARK_UNAVAILABLE = -2   /* of open() alone: not available here; error() says why and what would enable it */
};

enum { IPCMARK_BYTES = 0, IPCMARK_WAKEUP = 1, IPCMARK_NOTHING = 2 /* a control */ };
enum { IPCMARK_STREAM = 0, IPCMARK_MESSAGES = 1 };
enum { IPCMARK_SLEEPS = 0, IPCMARK_YIELDS = 1, IPCMARK_SPINS = 2 };

/* What is to be opened. */
typedef struct ipcmark_spec {
    uint32_t size;                 /* of this struct, in bytes, where ipcmark was compiled */
    uint32_t role;                 /* 0 the initiator, 1 the responder */
    uint32_t same_process;         /* 1: both ends are opened by threads of this process */
    uint32_t connection;           /* 0: each connection is an open() of its own */
    uint32_t connections;          /* 1 */
    uint32_t reserved;
    uint64_t request_bytes;        /* an upper bound of messages to the responder */
    uint64_t answer_bytes;         /* an upper bound of messages to the initiator */
    uint64_t depth;                /* the room asked for, in messages; 0: your choice */
    uint64_t deadline_ns;          /* CLOCK_MONOTONIC: some nine seconds from now */
    const char *folder;            /* an empty folder that both ends share, short enough for a Unix socket's path. It lies
                                      in TMPDIR, perhaps on a disk: for memory pass a memfd over a socket in it */
    const char *name;              /* unique on this host, 16 letters and digits that both ends share */
    const char *const *options;    /* key, value, key, value, NULL: all of those in ipcmark_plugin.options */
} ipcmark_spec;

/* A mechanism. Optional fields may be NULL, in the groups below. */
typedef struct ipcmark_plugin {
    uint64_t magic;                /* IPCMARK_PLUGIN_MAGIC */
    uint32_t abi;                  /* IPCMARK_PLUGIN_ABI */
    uint32_t size;                 /* sizeof(ipcmark_plugin_table) */
    const char *name;              /* its word on the command line: [a-z][a-z0-9-]* */
    const char *summary;           /* half a line */
    const char *version;           /* of the library below, as it reports it at run time */
    const char *language;
    const char *licence;
    const char *options;           /* "wait=sleep|spin slots=64|SIZE": the first value of each is the default; NULL: none */
    uint32_t carries;              /* IPCMARK_BYTES, … */
    uint32_t framing;              /* IPCMARK_STREAM, IPCMARK_MESSAGES */
    uint32_t broker;               /* 1: a third process carries messages */
    uint32_t in_place;             /* 1: loan() and take() lend memory that both processes share */
    uint64_t (*largest)(const char *const *options);   /* bytes of the largest message, 0 without a limit; NULL: none */
    uint32_t (*waits)(const char *const *options);     /* IPCMARK_SLEEPS, …; NULL: sleeps */

    int (*open)(const ipcmark_spec *spec, void **end);
    int (*send)(void *end, const void *message, size_t bytes);
    int (*recv)(void *end, void *message, size_t bytes);
    void (*close)(void *end);
    const char *(*error)(void *end);   /* of the last failed call; end is NULL after a failed open(). May be NULL */

    /* In place: all four or none. One loan and one message taken at a time; NULL is a failure. Round trips and transfers use
     * them; acknowledgements use send() and recv(), and calls without waiting those below. */
    void *(*loan)(void *end, size_t bytes);                    /* waits for room, and lends it; commit() sends it */
    int (*commit)(void *end, void *message, size_t bytes);
    const void *(*take)(void *end, size_t bytes);              /* waits for a message, and lends it */
    int (*release)(void *end, const void *message);

    /* Without waiting: all three or none. They make duplex and many clients possible. A message is sent or
     * received whole or not at all, even by a stream; after IPCMARK_WOULD_BLOCK the same call is made again at any time. */
    int (*try_send)(void *end, const void *message, size_t bytes);
    int (*try_recv)(void *end, void *message, size_t bytes);
    int (*ready)(void *end);           /* a descriptor that is readable AS LONG AS something can be received (try_recv drains
                                          it). The plug-in owns it; it is the same as long as the end is open. -1: none, and
                                          a server of several clients must poll (--server scan) */

    int (*finish)(void *end);          /* after the last message: flushes what is still pending. May be NULL */
} ipcmark_plugin_table;

const ipcmark_plugin_table *ipcmark_plugin(void);

#ifdef __cplusplus
}
#endif
#endif
