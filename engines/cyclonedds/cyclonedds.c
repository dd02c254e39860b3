/*
 * Cyclone DDS: a topic each way, reliable, with everything kept; over the loopback interface.
 *
 * An end can be reached once its reader knows the partner's writer: each says so by a file, which the other waits for.
 */
#include "plugin.h"

#include "message.h"
#include <dds/dds.h>

struct end {
    dds_entity_t domain, participant, writer, reader, waitset;
};

/* Unicast over lo; large packets, as its README has it for that. The tag keeps other runs out. */
static const char *const CONFIG =
    "<Domain><General><Interfaces><NetworkInterface name=\"lo\"/></Interfaces><AllowMulticast>false</AllowMulticast>"
    "<MaxMessageSize>65500B</MaxMessageSize></General><Discovery><Tag>%s</Tag><ParticipantIndex>auto</ParticipantIndex>"
    "<MaxAutoParticipantIndex>100</MaxAutoParticipantIndex><Peers><Peer address=\"127.0.0.1\"/></Peers></Discovery>"
    "<Internal><Watermarks><WhcHigh>500kB</WhcHigh></Watermarks></Internal></Domain>";

static int failed(const char *call, dds_return_t why)
{
    return fail("%s: %s", call, dds_strretcode(-why));
}

/* A topic of this connection's, or why there is none. */
static dds_entity_t topic(const ipcmark_spec *spec, struct end *end, const char *way, dds_qos_t *qos)
{
    char name[100];
    snprintf(name, sizeof name, "ipcmark_%s_%s", spec->name, way);
    return dds_create_topic(end->participant, &ipcmark_Message_desc, name, qos, NULL);
}

static int open_end(const ipcmark_spec *spec, void **out)
{
    char config[1000];
    struct end *end = calloc(1, sizeof *end);
    *out = end;
    const dds_domainid_t id = 77;
    snprintf(config, sizeof config, CONFIG, spec->name);
    end->domain = dds_create_domain(id, config);
    /* Threads of one process share a domain. */
    if (end->domain < 0 && end->domain != DDS_RETCODE_PRECONDITION_NOT_MET)
        return failed("dds_create_domain", end->domain);
    end->participant = dds_create_participant(id, NULL, NULL);
    if (end->participant < 0)
        return failed("dds_create_participant", end->participant);
    dds_qos_t *qos = dds_create_qos();
    dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_INFINITY);
    dds_qset_history(qos, DDS_HISTORY_KEEP_ALL, 0);
    dds_entity_t to = topic(spec, end, spec->role ? "back" : "there", qos);
    dds_entity_t from = topic(spec, end, spec->role ? "there" : "back", qos);
    end->writer = dds_create_writer(end->participant, to, qos, NULL);
    end->reader = dds_create_reader(end->participant, from, qos, NULL);
    dds_delete_qos(qos);
    if (end->writer < 0 || end->reader < 0)
        return failed("a writer and a reader", end->writer < 0 ? end->writer : end->reader);
    end->waitset = dds_create_waitset(end->participant);
    dds_entity_t waits = dds_create_readcondition(end->reader, DDS_ANY_STATE);
    dds_return_t code = dds_waitset_attach(end->waitset, waits, 0);
    if (code < 0)
        return failed("dds_waitset_attach", code);
    for (;;) {
        dds_publication_matched_status_t writes;
        dds_subscription_matched_status_t reads;
        dds_get_publication_matched_status(end->writer, &writes);
        dds_get_subscription_matched_status(end->reader, &reads);
        if (writes.current_count && reads.current_count)
            return meet(spec);
        if (!again(spec))
            return too_late(spec);
    }
}

static int send_all(void *self, const void *bytes, size_t count)
{
    const struct end *end = self;
    ipcmark_Message message = {.bytes = {._length = (uint32_t)count, ._maximum = (uint32_t)count, ._buffer = (uint8_t *)bytes}};
    dds_return_t code = dds_write(end->writer, &message);
    return code < 0 ? failed("dds_write", code) : IPCMARK_DONE;
}

static int recv_all(void *self, void *into, size_t count)
{
    const struct end *end = self;
    for (;;) {
        void *sample = NULL;
        dds_sample_info_t info;
        dds_return_t got = dds_take(end->reader, &sample, &info, 1, 1);
        if (got < 0)
            return failed("dds_take", got);
        if (got == 0) {
            dds_return_t code = dds_waitset_wait(end->waitset, NULL, 0, DDS_INFINITY);
            if (code < 0)
                return failed("dds_waitset_wait", code);
            continue;
        }
        const ipcmark_Message *message = sample;
        int is_message = info.valid_data;
        uint32_t length = is_message ? message->bytes._length : 0;
        if (length == count)
            memcpy(into, message->bytes._buffer, count);
        dds_return_loan(end->reader, &sample, got);
        if (is_message)
            return length == count ? IPCMARK_DONE : wrong_length(length, count);
    }
}

static void close_end(void *self)
{
    struct end *end = self;
    dds_delete(end->participant);
    if (end->domain > 0)
        dds_delete(end->domain);
    free(end);
}

const ipcmark_plugin_table *ipcmark_plugin(void)
{
    static ipcmark_plugin_table table = {
        .magic = IPCMARK_PLUGIN_MAGIC, .abi = IPCMARK_PLUGIN_ABI, .size = sizeof table,
        .name = "cyclonedds", .summary = "Cyclone DDS, reliable topics over the loopback interface", .language = "C",
        .licence = "EPL-2.0 or BSD-3-Clause", .carries = IPCMARK_BYTES, .framing = IPCMARK_MESSAGES,
        .open = open_end, .send = send_all, .recv = recv_all, .close = close_end, .error = last_error,
    };
    table.version = file_of((void *)dds_take, "unknown");
    return &table;
}
