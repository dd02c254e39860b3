/*
 * ipcmark_plugin.h: a mechanism of your own for ipcmark. C99, no dependency. CC0: copy it into your project.
 *
 * A plug-in is a shared library with one symbol, `ipcmark_plugin`, that gives a table. ipcmark keeps the processes, the
 * loops, the clock, the contents and the statistics: every workload works with what the table has.
 *
 *     cc -O2 -shared -fPIC -I include -o libmine.so mine.c
 *     ipcmark run pipe --plugin ./libmine.so
 *
 * What holds:
 *
 *  - ipcmark_plugin() starts nothing: it fills in a table and returns it.
 *  - Nothing of the mechanism happens before open(). Both ends are opened beside each other, each in its worker, after the
 *    fork, on its CPU: threads may be started there. open() returns when the partner can be reached, and gives up before
 *    deadline_ns.
 *  - send() returns when all of the message is taken; recv() fills exactly so many bytes, or fails. Neither has a time-out of
 *    its own: a partner that is gone is ipcmark's business.
 *  - A message has any length from 1 byte up to the largest; every recv() asks for as many bytes as the send() that it answers
 *    gave. An acknowledgement has 1 byte.
 *  - Each connection is an open() of its own, with a folder and a name of its own: a worker may hold several ends, and so may a
 *    thread.
 *  - No two calls are made on one end at the same time. They may come from another thread than the one that opened it: a server
 *    of threads takes its ends there.
 *  - close() is called once, where a worker ends by itself, after the results are there; after an open() that failed it isn't
 *    called. What a killed one leaves lies in `folder`.
 *  - A plug-in changes no signal handler, and ends no process. What it prints goes to standard error.
 *
 * What may change is said in docs/ENGINES.md: fields are only ever appended; a field that is absent, since a plug-in was
 * compiled before there was one, is 0.
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
    IPCMARK_UNAVAILABLE = -2   /* of open() alone: it can't be had here; error() says why and what would enable it */
};

enum { IPCMARK_BYTES = 0, IPCMARK_WAKEUP = 1 };
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
    uint64_t request_bytes;        /* the largest message to the responder, or a larger one */
    uint64_t answer_bytes;         /* the largest message to the initiator, or a larger one */
    uint64_t depth;                /* room that is asked for, in messages; 0: as you think best */
    uint64_t deadline_ns;          /* CLOCK_MONOTONIC: some nine seconds from now */
    const char *folder;            /* an empty folder that both ends share, short enough for a Unix socket's path. It lies
                                      where TMPDIR is, on a disk perhaps: for memory pass a memfd over a socket in it */
    const char *name;              /* unique on this host, 16 letters and digits that both ends share */
    const char *const *options;    /* key, value, key, value, NULL: all of those in ipcmark_plugin.options */
} ipcmark_spec;

/* A mechanism. What is optional may be NULL, in the groups below. */
typedef struct ipcmark_plugin {
    uint64_t magic;                /* IPCMARK_PLUGIN_MAGIC */
    uint32_t abi;                  /* IPCMARK_PLUGIN_ABI */
    uint32_t size;                 /* sizeof(ipcmark_plugin_table) */
    const char *name;              /* its word on the command line: [a-z][a-z0-9-]* */
    const char *summary;           /* half a line */
    const char *version;           /* of the library below, as that says it at run time */
    const char *language;
    const char *licence;
    const char *options;           /* "wait=sleep|spin slots=64|SIZE": the first word of each is the default; NULL: none */
    uint32_t carries;              /* IPCMARK_BYTES, IPCMARK_WAKEUP */
    uint32_t framing;              /* IPCMARK_STREAM, IPCMARK_MESSAGES */
    uint32_t broker;               /* 1: a third process carries messages */
    uint32_t in_place;             /* 1, with loan() and its kin: they lend memory that both processes share */
    uint64_t (*largest)(const char *const *options);   /* bytes of the largest message, 0 without a limit; NULL: none */
    uint32_t (*waits)(const char *const *options);     /* IPCMARK_SLEEPS, …; NULL: sleeps */

    int (*open)(const ipcmark_spec *spec, void **end);
    int (*send)(void *end, const void *message, size_t bytes);
    int (*recv)(void *end, void *message, size_t bytes);
    void (*close)(void *end);
    const char *(*error)(void *end);   /* of the last call that failed; end is NULL where there is none. May be NULL */

    /* In place: all four or none. One loan and one message taken at a time; NULL is a failure. Round trips and transfers use
     * them; acknowledgements, and what is done without waiting, go by send() and recv() all the same. */
    void *(*loan)(void *end, size_t bytes);                    /* waits for room, and lends it; commit() hands it over */
    int (*commit)(void *end, void *message, size_t bytes);
    const void *(*take)(void *end, size_t bytes);              /* waits for a message, and lends it */
    int (*release)(void *end, const void *message);

    /* Without waiting: all three or none. They make capacity, duplex and many clients possible. A message goes or comes whole, or
     * not at all, of a stream too; after IPCMARK_WOULD_BLOCK the same call is made again, whenever the caller likes. */
    int (*try_send)(void *end, const void *message, size_t bytes);
    int (*try_recv)(void *end, void *message, size_t bytes);
    int (*ready)(void *end);           /* a descriptor that is readable AS LONG AS something may be taken (try_recv drains it),
                                          which stays the plug-in's, and the same as long as the end is open. -1: none, and
                                          a server of several clients must poll (--server scan) */

    int (*finish)(void *end);          /* after the last message: what of it still waits to be handed over. May be NULL */
} ipcmark_plugin_table;

const ipcmark_plugin_table *ipcmark_plugin(void);

#ifdef __cplusplus
}
#endif
#endif
