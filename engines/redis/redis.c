/*
 * Valkey or Redis: PUBLISH to the partner's channel, SUBSCRIBE to the own one, over a Unix socket.
 *
 * The server belongs to the connection: the responder starts and ends it, and it runs on the responder's CPU. PUBLISH waits for its
 * reply, as the client's library has it; that is a part of send().
 */
#include "plugin.h"

#include <hiredis/hiredis.h>

struct end {
    redisContext *publishes, *subscribes;
    const char *mine, *partner;
    pid_t server;
};

static int failed(const char *call, redisContext *context, redisReply *reply)
{
    const char *why = reply && reply->type == REDIS_REPLY_ERROR ? reply->str : context ? context->errstr : "no memory";
    fail("%s: %s", call, why);
    if (reply)
        freeReplyObject(reply);
    return IPCMARK_FAILED;
}

static int started(const ipcmark_spec *spec, const char *path, struct end *end)
{
    const char *names[] = {"valkey-server", "redis-server"};
    for (int nth = 0; nth < 2; nth++) {
        /* Without files, and without the limit at which a subscriber that is behind is cut off. */
        const char *const command[] = {names[nth], "--port", "0", "--unixsocket", path, "--dir", spec->folder, "--save", "",
                                       "--appendonly", "no", "--client-output-buffer-limit", "pubsub 0 0 0", NULL};
        end->server = start_server(command);
        if (end->server > 0)
            return IPCMARK_DONE;
    }
    return IPCMARK_UNAVAILABLE;
}

static redisContext *connected(const ipcmark_spec *spec, const char *path)
{
    for (;;) {
        redisContext *context = redisConnectUnix(path);
        if (context && !context->err)
            return context;
        int more = again(spec);
        if (!more)
            failed("redisConnectUnix", context, NULL);
        if (context)
            redisFree(context);
        if (!more)
            return NULL;
    }
}

static int open_end(const ipcmark_spec *spec, void **out)
{
    char path[300];
    struct end *end = calloc(1, sizeof *end);
    *out = end;
    inside(spec, "", "s", path);
    int code = spec->role ? started(spec, path, end) : IPCMARK_DONE;
    if (code)
        return code;
    end->mine = spec->role ? "responder" : "initiator";
    end->partner = spec->role ? "initiator" : "responder";
    if (!(end->publishes = connected(spec, path)) || !(end->subscribes = connected(spec, path)))
        return IPCMARK_FAILED;
    redisReply *reply = redisCommand(end->subscribes, "SUBSCRIBE %s", end->mine);
    if (!reply || reply->type != REDIS_REPLY_ARRAY)
        return failed("SUBSCRIBE", end->subscribes, reply);
    freeReplyObject(reply);
    for (;;) {
        reply = redisCommand(end->publishes, "PUBSUB NUMSUB %s", end->partner);
        if (!reply || reply->type != REDIS_REPLY_ARRAY || reply->elements != 2)
            return failed("PUBSUB NUMSUB", end->publishes, reply);
        long long subscribers = reply->element[1]->integer;
        freeReplyObject(reply);
        if (subscribers)
            return IPCMARK_DONE;
        if (!again(spec))
            return too_late(spec);
    }
}

static int send_all(void *self, const void *message, size_t bytes)
{
    const struct end *end = self;
    redisReply *reply = redisCommand(end->publishes, "PUBLISH %s %b", end->partner, message, bytes);
    if (!reply || reply->type != REDIS_REPLY_INTEGER)
        return failed("PUBLISH", end->publishes, reply);
    long long receivers = reply->integer;
    freeReplyObject(reply);
    return receivers == 1 ? IPCMARK_DONE : fail("PUBLISH reached %lld subscribers", receivers);
}

static int recv_all(void *self, void *message, size_t bytes)
{
    const struct end *end = self;
    void *got;
    if (redisGetReply(end->subscribes, &got) != REDIS_OK)
        return failed("a message", end->subscribes, NULL);
    redisReply *reply = got;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 3)
        return failed("a message", end->subscribes, reply);
    const redisReply *payload = reply->element[2];
    size_t length = payload->len;
    if (length == bytes)
        memcpy(message, payload->str, bytes);
    freeReplyObject(reply);
    return length == bytes ? IPCMARK_DONE : wrong_length((long long)length, bytes);
}

static void close_end(void *self)
{
    struct end *end = self;
    redisFree(end->publishes);
    redisFree(end->subscribes);
    end_server(end->server);
    free(end);
}

/* proto-max-bulk-len. */
static uint64_t largest(const char *const *options)
{
    (void)options;
    return 512 << 20;
}

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

const ipcmark_plugin_table *ipcmark_plugin(void)
{
    /* Neither the server nor the client's library can be asked before there is a connection. */
    static const ipcmark_plugin_table table = {
        .magic = IPCMARK_PLUGIN_MAGIC, .abi = IPCMARK_PLUGIN_ABI, .size = sizeof table,
        .name = "redis", .summary = "Valkey or Redis, publish and subscribe over a Unix socket",
        .version = "hiredis " TEXT(HIREDIS_MAJOR) "." TEXT(HIREDIS_MINOR) "." TEXT(HIREDIS_PATCH),
        .language = "C", .licence = "BSD-3-Clause", .carries = IPCMARK_BYTES, .framing = IPCMARK_MESSAGES, .broker = 1,
        .largest = largest, .open = open_end, .send = send_all, .recv = recv_all, .close = close_end, .error = last_error,
    };
    return &table;
}
