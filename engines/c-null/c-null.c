/*
 * c-null: carries nothing, as a plug-in. What it takes beside the built-in `noop` is what calling a plug-in costs.
 *
 *     cc -O2 -shared -fPIC -I include -o libc-null.so engines/c-null/c-null.c
 *     ipcmark run noop --plugin ./libc-null.so
 */
#include "ipcmark_plugin.h"

static int open_end(const ipcmark_spec *spec, void **end)
{
    (void)spec, *end = 0;
    return IPCMARK_DONE;
}

static int sent(void *end, const void *message, size_t bytes)
{
    (void)end, (void)message, (void)bytes;
    return IPCMARK_DONE;
}

static int received(void *end, void *message, size_t bytes)
{
    (void)end, (void)message, (void)bytes;
    return IPCMARK_DONE;
}

static void closed(void *end)
{
    (void)end;
}

const ipcmark_plugin_table *ipcmark_plugin(void)
{
    static const ipcmark_plugin_table table = {
        .magic = IPCMARK_PLUGIN_MAGIC, .abi = IPCMARK_PLUGIN_ABI, .size = sizeof table,
        .name = "c-null", .summary = "nothing at all: what calling a plug-in costs",
        .version = "1", .language = "C", .licence = "CC0",
        .carries = IPCMARK_NOTHING, .framing = IPCMARK_MESSAGES,
        .open = open_end, .send = sent, .recv = received, .close = closed,
    };
    return &table;
}
