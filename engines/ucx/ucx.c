/*
 * UCX: tagged messages between two workers (ucp), by the transport that it chooses: shared memory on one host. `wait=spin` makes
 * progress again and again, `wait=event` sleeps at the worker's event.
 *
 * The library itself prints a backtrace where a signal of a crash comes.
 */
#include "plugin.h"

#include <ucp/api/ucp.h>

struct end {
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_ep_h partner;
    int sleeps;
};

static int failed(const char *call, ucs_status_t why)
{
    return fail("%s: %s", call, ucs_status_string(why));
}

/* What has to happen before a request is done. */
static void go_on(const struct end *end)
{
    if (!ucp_worker_progress(end->worker) && end->sleeps)
        ucp_worker_wait(end->worker);
}

static int done(const struct end *end, ucs_status_ptr_t request, const char *call)
{
    if (!request)
        return IPCMARK_DONE;
    ucs_status_t status = UCS_PTR_STATUS(request);
    if (!UCS_PTR_IS_ERR(request)) {
        while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS)
            go_on(end);
        ucp_request_free(request);
    }
    return status == UCS_OK ? IPCMARK_DONE : failed(call, status);
}

static int send_all(void *self, const void *message, size_t bytes)
{
    const struct end *end = self;
    const ucp_request_param_t param = {0};
    return done(end, ucp_tag_send_nbx(end->partner, message, bytes, 1, &param), "ucp_tag_send_nbx");
}

static int recv_all(void *self, void *message, size_t bytes)
{
    const struct end *end = self;
    ucp_tag_recv_info_t info;
    const ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL};
    ucs_status_ptr_t request = ucp_tag_recv_nbx(end->worker, message, bytes, 1, ~(ucp_tag_t)0, &param);
    if (UCS_PTR_IS_ERR(request))
        return failed("ucp_tag_recv_nbx", UCS_PTR_STATUS(request));
    ucs_status_t status;
    while ((status = ucp_tag_recv_request_test(request, &info)) == UCS_INPROGRESS)
        go_on(end);
    ucp_request_free(request);
    if (status != UCS_OK)
        return failed("ucp_tag_recv_nbx", status);
    return info.length == bytes ? IPCMARK_DONE : wrong_length((long long)info.length, bytes);
}

/* The last messages: a send is done once its memory may be used again. */
static int finish(void *self)
{
    const struct end *end = self;
    const ucp_request_param_t param = {0};
    return done(end, ucp_ep_flush_nbx(end->partner, &param), "ucp_ep_flush_nbx");
}

/* Leaves the own worker's address in the folder, and takes the partner's. */
static int connected(const ipcmark_spec *spec, struct end *end)
{
    ucp_address_t *address;
    size_t length;
    char path[300], theirs[4096];
    ucs_status_t status = ucp_worker_get_address(end->worker, &address, &length);
    if (status != UCS_OK)
        return failed("ucp_worker_get_address", status);
    FILE *file = fopen(inside(spec, "", spec->role ? "address-1" : "address-0", path), "w");
    int is_written = file && fwrite(address, length, 1, file) == 1;
    is_written = file && !fclose(file) && is_written;
    ucp_worker_release_address(end->worker, address);
    if (!is_written)
        return fail("%s: %s", path, strerror(errno));
    /* Whole, once both are here. */
    if (meet(spec))
        return IPCMARK_FAILED;
    file = fopen(inside(spec, "", spec->role ? "address-0" : "address-1", path), "r");
    if (!file || fread(theirs, 1, sizeof theirs, file) == 0)
        return fail("%s: %s", path, strerror(errno));
    fclose(file);
    const ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = (ucp_address_t *)theirs};
    status = ucp_ep_create(end->worker, &params, &end->partner);
    return status == UCS_OK ? IPCMARK_DONE : failed("ucp_ep_create", status);
}

static int open_end(const ipcmark_spec *spec, void **out)
{
    struct end *end = calloc(1, sizeof *end);
    *out = end;
    end->sleeps = !strcmp(option(spec->options, "wait"), "event");
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG};
    params.features |= end->sleeps ? UCP_FEATURE_WAKEUP : 0;
    ucs_status_t status = ucp_init(&params, NULL, &end->context);
    if (status != UCS_OK)
        return failed("ucp_init", status);
    const ucp_worker_params_t serialized = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                            .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    status = ucp_worker_create(end->context, &serialized, &end->worker);
    if (status != UCS_OK)
        return failed("ucp_worker_create", status);
    if (connected(spec, end))
        return IPCMARK_FAILED;
    char byte = 1;
    return spec->role ? recv_all(end, &byte, 1) || send_all(end, &byte, 1) : send_all(end, &byte, 1) || recv_all(end, &byte, 1);
}

static void close_end(void *self)
{
    struct end *end = self;
    const ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    /* Nothing of the partner's that could wake it. */
    end->sleeps = 0;
    done(end, ucp_ep_close_nbx(end->partner, &param), "ucp_ep_close_nbx");
    ucp_worker_destroy(end->worker);
    ucp_cleanup(end->context);
    free(end);
}

static uint32_t waits(const char *const *options)
{
    return strcmp(option(options, "wait"), "event") ? IPCMARK_SPINS : IPCMARK_SLEEPS;
}

const ipcmark_plugin_table *ipcmark_plugin(void)
{
    static ipcmark_plugin_table table = {
        .magic = IPCMARK_PLUGIN_MAGIC, .abi = IPCMARK_PLUGIN_ABI, .size = sizeof table,
        .name = "ucx", .summary = "UCX, tagged messages", .language = "C", .licence = "BSD-3-Clause",
        .options = "wait=spin|event", .carries = IPCMARK_BYTES, .framing = IPCMARK_MESSAGES, .waits = waits,
        .open = open_end, .send = send_all, .recv = recv_all, .close = close_end, .error = last_error, .finish = finish,
    };
    table.version = ucp_get_version_string();
    return &table;
}
