/* What the plug-ins in C and C++ share: errors, deadlines, options, and private servers. CC0. */
#ifndef ENGINES_PLUGIN_H
#define ENGINES_PLUGIN_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "ipcmark_plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
#define _Thread_local thread_local
#endif

static _Thread_local char reason[300];

static const char *last_error(void *end)
{
    (void)end;
    return reason;
}

__attribute__((format(printf, 1, 2))) static int fail(const char *format, ...)
{
    va_list words;
    va_start(words, format);
    vsnprintf(reason, sizeof reason, format, words);
    va_end(words);
    return IPCMARK_FAILED;
}

/* A message of another length: something was lost, or came twice. */
static inline int wrong_length(long long got, size_t due)
{
    return fail("a message of %lld bytes came, and %zu were due", got, due);
}

/* Milliseconds before the deadline. */
static inline int left_ms(const ipcmark_spec *spec)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t at = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return at >= spec->deadline_ns ? 0 : (int)((spec->deadline_ns - at) / 1000000u);
}

/* Sleeps 1 ms before another attempt; 0 where the deadline has passed. */
static inline int again(const ipcmark_spec *spec)
{
    usleep(1000);
    return left_ms(spec) > 0;
}

static inline int too_late(const ipcmark_spec *spec)
{
    return fail("no %s before the deadline", spec->role ? "initiator" : "responder");
}

/* What is chosen for the option `key`. */
static inline const char *option(const char *const *words, const char *key)
{
    for (; *words; words += 2)
        if (!strcmp(words[0], key))
            return words[1];
    return "";
}

/* A path in the folder that both ends share. */
static inline const char *inside(const ipcmark_spec *spec, const char *before, const char *name, char room[300])
{
    snprintf(room, 300, "%s%s/%s", before, spec->folder, name);
    return room;
}

/* Returns in both ends once both are here. */
static inline int meet(const ipcmark_spec *spec)
{
    char mine[300], theirs[300];
    inside(spec, "", spec->role ? "responder" : "initiator", mine);
    inside(spec, "", spec->role ? "initiator" : "responder", theirs);
    int made = open(mine, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (made < 0)
        return fail("%s: %s", mine, strerror(errno));
    close(made);
    while (access(theirs, F_OK))
        if (!again(spec))
            return too_late(spec);
    return IPCMARK_DONE;
}

/* The name of the file that holds a function, links followed: libraries that tell no version have one there. */
static inline const char *file_of(void *function, const char *otherwise)
{
    static char path[4096];
    Dl_info found;
    if (!dladdr(function, &found) || !realpath(found.dli_fname, path))
        return otherwise;
    return strrchr(path, '/') + 1;
}

/* Starts a server that belongs to this connection. It is killed when the thread that starts it ends, and by end_server(). */
static inline pid_t start_server(const char *const *argv)
{
    int told[2], why = 0;
    pid_t parent = getpid();
    if (pipe2(told, O_CLOEXEC))
        return fail("pipe2: %s", strerror(errno));
    pid_t child = fork();
    if (child == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int nothing = open("/dev/null", O_RDWR);
        dup2(nothing, 0), dup2(nothing, 1);
        if (getppid() == parent)
            execvp(argv[0], (char *const *)argv);
        why = errno;
        _exit(write(told[1], &why, sizeof why) == sizeof why ? 127 : 126);
    }
    close(told[1]);
    if (child < 0)
        fail("fork: %s", strerror(errno));
    else if (read(told[0], &why, sizeof why) == sizeof why) {
        waitpid(child, NULL, 0);
        fail("%s: %s", argv[0], strerror(why));
        child = -1;
    }
    close(told[0]);
    return child;
}

static inline void end_server(pid_t server)
{
    if (server > 0) {
        kill(server, SIGKILL);
        waitpid(server, NULL, 0);
    }
}

#endif
