/*
 * D-Bus: signals from one connection to the other, by way of a bus.
 *
 * Its dbus-daemon belongs to the connection: the responder starts and ends it, and it runs on the responder's CPU. Its limits are
 * those of a session bus. `bus=session` takes the one of this user that runs, whatever serves it and wherever.
 */
#include "plugin.h"

#include <ctype.h>
#include <dbus/dbus.h>

struct end {
    DBusConnection *bus;
    char partner[300];
    pid_t daemon;
};

static const char *const CONFIG =
    "<!DOCTYPE busconfig PUBLIC \"-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN\" "
    "\"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd\">\n"
    "<busconfig>\n<type>session</type>\n<listen>%s</listen>\n<auth>EXTERNAL</auth>\n"
    "<policy context=\"default\"><allow send_destination=\"*\" eavesdrop=\"true\"/><allow eavesdrop=\"true\"/>"
    "<allow own=\"*\"/></policy>\n"
    "<limit name=\"max_incoming_bytes\">1000000000</limit>\n<limit name=\"max_outgoing_bytes\">1000000000</limit>\n"
    "<limit name=\"max_message_size\">1000000000</limit>\n</busconfig>\n";

static int failed(const char *call, DBusError *error)
{
    fail("%s: %s", call, error->message);
    dbus_error_free(error);
    return IPCMARK_FAILED;
}

static int started(const ipcmark_spec *spec, const char *address, struct end *end)
{
    char path[300], option[320];
    FILE *file = fopen(inside(spec, "", "bus.conf", path), "w");
    if (!file)
        return fail("%s: %s", path, strerror(errno));
    fprintf(file, CONFIG, address);
    fclose(file);
    snprintf(option, sizeof option, "--config-file=%s", path);
    const char *const command[] = {"dbus-daemon", option, "--nofork", "--nopidfile", "--syslog-only", NULL};
    end->daemon = start_server(command);
    return end->daemon < 0 ? IPCMARK_UNAVAILABLE : IPCMARK_DONE;
}

static int is_session(const char *const *options)
{
    return !strcmp(option(options, "bus"), "session");
}

/* Where the bus is, which runs once this returns in the responder. */
static int address_of(const ipcmark_spec *spec, char address[1000], struct end *end)
{
    char path[300];
    if (is_session(spec->options)) {
        const char *runs = getenv("DBUS_SESSION_BUS_ADDRESS");
        snprintf(address, 1000, "%s", runs ? runs : "");
        return runs ? IPCMARK_DONE : (fail("no session bus: DBUS_SESSION_BUS_ADDRESS isn't set"), IPCMARK_UNAVAILABLE);
    }
    char *escaped = dbus_address_escape_value(inside(spec, "", "bus", path));
    snprintf(address, 1000, "unix:path=%s", escaped);
    dbus_free(escaped);
    return spec->role ? started(spec, address, end) : IPCMARK_DONE;
}

/* The name on the bus of an end of this connection. */
static const char *named(const ipcmark_spec *spec, int is_responder, char name[300])
{
    int length = snprintf(name, 255, "ipcmark.%s.c", is_responder ? "responder" : "initiator");
    for (const char *c = spec->name; *c && length < 254; c++)
        name[length++] = isalnum((unsigned char)*c) ? *c : '_';
    name[length] = 0;
    return name;
}

static int open_end(const ipcmark_spec *spec, void **out)
{
    char mine[300], address[1000];
    DBusError error = DBUS_ERROR_INIT;
    struct end *end = calloc(1, sizeof *end);
    *out = end;
    int code = address_of(spec, address, end);
    if (code)
        return code;
    dbus_connection_set_change_sigpipe(FALSE);
    dbus_threads_init_default();
    while (!(end->bus = dbus_connection_open_private(address, &error))) {
        if (!again(spec))
            return failed("dbus_connection_open_private", &error);
        dbus_error_free(&error);
    }
    dbus_connection_set_exit_on_disconnect(end->bus, FALSE);
    if (!dbus_bus_register(end->bus, &error))
        return failed("dbus_bus_register", &error);
    /* Strings of bytes may be as large as the format allows. */
    dbus_connection_set_max_message_size(end->bus, DBUS_MAXIMUM_MESSAGE_LENGTH);
    dbus_connection_set_max_received_size(end->bus, DBUS_MAXIMUM_MESSAGE_LENGTH);
    named(spec, !spec->role, end->partner);
    if (dbus_bus_request_name(end->bus, named(spec, (int)spec->role, mine), DBUS_NAME_FLAG_DO_NOT_QUEUE, &error) < 0)
        return failed("dbus_bus_request_name", &error);
    while (!dbus_bus_name_has_owner(end->bus, end->partner, &error)) {
        if (dbus_error_is_set(&error))
            return failed("dbus_bus_name_has_owner", &error);
        if (!again(spec))
            return too_late(spec);
    }
    return IPCMARK_DONE;
}

static int send_all(void *self, const void *bytes, size_t count)
{
    const struct end *end = self;
    DBusMessage *message = dbus_message_new_signal("/ipcmark", "ipcmark.Messages", "Message");
    int length = (int)count;
    int done = message && dbus_message_set_destination(message, end->partner) &&
               dbus_message_append_args(message, DBUS_TYPE_ARRAY, DBUS_TYPE_BYTE, &bytes, length, DBUS_TYPE_INVALID) &&
               dbus_connection_send(end->bus, message, NULL);
    if (message)
        dbus_message_unref(message);
    if (!done)
        return fail("dbus_connection_send: no memory");
    dbus_connection_flush(end->bus);
    return dbus_connection_get_is_connected(end->bus) ? IPCMARK_DONE : fail("the daemon is gone");
}

/* The bus has messages of its own: that a name was had. */
static DBusMessage *next(const struct end *end)
{
    for (;;) {
        DBusMessage *message = dbus_connection_pop_message(end->bus);
        if (message && dbus_message_is_signal(message, "ipcmark.Messages", "Message"))
            return message;
        if (message)
            dbus_message_unref(message);
        else if (!dbus_connection_read_write(end->bus, -1) &&
                 dbus_connection_get_dispatch_status(end->bus) == DBUS_DISPATCH_COMPLETE)
            return NULL;
    }
}

static int recv_all(void *self, void *into, size_t count)
{
    const char *bytes;
    int got;
    DBusMessage *message = next(self);
    if (!message)
        return fail("the daemon is gone");
    dbus_bool_t read =
        dbus_message_get_args(message, NULL, DBUS_TYPE_ARRAY, DBUS_TYPE_BYTE, &bytes, &got, DBUS_TYPE_INVALID);
    int fits = read && (size_t)got == count;
    if (fits)
        memcpy(into, bytes, count);
    dbus_message_unref(message);
    return fits ? IPCMARK_DONE : wrong_length(read ? got : -1, count);
}

static void close_end(void *self)
{
    struct end *end = self;
    dbus_connection_close(end->bus);
    dbus_connection_unref(end->bus);
    end_server(end->daemon);
    free(end);
}

static uint64_t largest(const char *const *options)
{
    (void)options;
    return DBUS_MAXIMUM_ARRAY_LENGTH;
}

const ipcmark_plugin_table *ipcmark_plugin(void)
{
    static char version[40];
    static const ipcmark_plugin_table table = {
        .magic = IPCMARK_PLUGIN_MAGIC, .abi = IPCMARK_PLUGIN_ABI, .size = sizeof table,
        .name = "dbus", .summary = "D-Bus, signals by way of a bus", .version = version, .language = "C",
        .licence = "AFL-2.1 or GPL-2.0-or-later", .options = "bus=own|session", .carries = IPCMARK_BYTES, .framing = IPCMARK_MESSAGES, .broker = 1,
        .largest = largest, .open = open_end, .send = send_all, .recv = recv_all, .close = close_end, .error = last_error,
    };
    int major, minor, micro;
    dbus_get_version(&major, &minor, &micro);
    snprintf(version, sizeof version, "%d.%d.%d", major, minor, micro);
    return &table;
}
