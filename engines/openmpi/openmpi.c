/*
 * Open MPI: tagged messages between the two ranks of a job.
 *
 * mpirun wants to start its ranks itself. The responder starts it with two stand-ins, which write down the environment of their
 * rank and wait; each end takes on the environment of its own rank, and is that rank. mpirun ends with the connection, and the
 * stand-ins with the responder, which holds their end of a FIFO.
 */
#include "plugin.h"

#include <mpi.h>
#include <sys/stat.h>

struct end {
    int partner;
    pid_t launcher;
};

/* Renamed when whole. What the partner of a stand-in needs is in its environment alone. */
static const char *const STAND_IN = "cd \"$0\" && env -0 >part.$OMPI_COMM_WORLD_RANK && "
                                    "mv part.$OMPI_COMM_WORLD_RANK rank.$OMPI_COMM_WORLD_RANK && read _ <hold";

static int started(const ipcmark_spec *spec, struct end *end)
{
    char hold[300];
    if (mkfifo(inside(spec, "", "hold", hold), 0600) || open(hold, O_RDWR | O_CLOEXEC) < 0)
        return fail("%s: %s", hold, strerror(errno));
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    const char *idle = strcmp(option(spec->options, "wait"), "yield") ? "0" : "1";
    const char *const command[] = {"mpirun", "-n", "2", "--oversubscribe", "--bind-to", "none",
                                   "--mca", "orte_tmpdir_base", spec->folder, "--mca", "mpi_yield_when_idle", idle,
                                   "sh", "-c", STAND_IN, spec->folder, NULL};
    end->launcher = start_server(command);
    return end->launcher < 0 ? IPCMARK_UNAVAILABLE : IPCMARK_DONE;
}

/* What the launcher told this rank, which MPI_Init looks for. */
static int took_on(const ipcmark_spec *spec, int rank)
{
    char name[10], path[300], *word = NULL;
    size_t room = 0;
    FILE *file;
    snprintf(name, sizeof name, "rank.%d", rank);
    inside(spec, "", name, path);
    while (!(file = fopen(path, "r")))
        if (!again(spec))
            return fail("mpirun started no rank before the deadline");
    while (getdelim(&word, &room, 0, file) > 0) {
        char *value = strchr(word, '=');
        if (!value || (strncmp(word, "OMPI_", 5) && strncmp(word, "PMIX_", 5) && strncmp(word, "ORTE_", 5)))
            continue;
        *value++ = 0;
        setenv(word, value, 1);
    }
    free(word);
    fclose(file);
    return IPCMARK_DONE;
}

static int failed(const char *call, int code)
{
    char why[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, why, &length);
    return fail("%s: %s", call, why);
}

static int open_end(const ipcmark_spec *spec, void **out)
{
    int is_here, granted;
    struct end *end = calloc(1, sizeof *end);
    *out = end;
    MPI_Initialized(&is_here);
    if (is_here || spec->same_process) {
        fail("a process is one rank: it has one connection, and --workers process");
        return IPCMARK_UNAVAILABLE;
    }
    int code = spec->role ? started(spec, end) : IPCMARK_DONE;
    if (code || (code = took_on(spec, (int)spec->role)))
        return code;
    end->partner = !spec->role;
    code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &granted);
    if (code)
        return failed("MPI_Init_thread", code);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Barrier(MPI_COMM_WORLD);
    return code ? failed("MPI_Barrier", code) : IPCMARK_DONE;
}

static int send_all(void *self, const void *message, size_t bytes)
{
    const struct end *end = self;
    int code = MPI_Send(message, (int)bytes, MPI_BYTE, end->partner, 0, MPI_COMM_WORLD);
    return code ? failed("MPI_Send", code) : IPCMARK_DONE;
}

static int recv_all(void *self, void *message, size_t bytes)
{
    const struct end *end = self;
    MPI_Status status;
    int code = MPI_Recv(message, (int)bytes, MPI_BYTE, end->partner, 0, MPI_COMM_WORLD, &status), got;
    if (code)
        return failed("MPI_Recv", code);
    MPI_Get_count(&status, MPI_BYTE, &got);
    return (size_t)got == bytes ? IPCMARK_DONE : wrong_length(got, bytes);
}

static void close_end(void *self)
{
    struct end *end = self;
    MPI_Finalize();
    end_server(end->launcher);
    free(end);
}

static uint64_t largest(const char *const *options)
{
    (void)options;
    return INT32_MAX;
}

static uint32_t waits(const char *const *options)
{
    return strcmp(option(options, "wait"), "yield") ? IPCMARK_SPINS : IPCMARK_YIELDS;
}

const ipcmark_plugin_table *ipcmark_plugin(void)
{
    static char version[MPI_MAX_LIBRARY_VERSION_STRING];
    static const ipcmark_plugin_table table = {
        .magic = IPCMARK_PLUGIN_MAGIC, .abi = IPCMARK_PLUGIN_ABI, .size = sizeof table,
        .name = "openmpi", .summary = "Open MPI, messages between two ranks", .version = version, .language = "C",
        .licence = "BSD-3-Clause", .options = "wait=spin|yield", .carries = IPCMARK_BYTES, .framing = IPCMARK_MESSAGES,
        .largest = largest, .waits = waits,
        .open = open_end, .send = send_all, .recv = recv_all, .close = close_end, .error = last_error,
    };
    int length;
    MPI_Get_library_version(version, &length);
    /* "Open MPI v4.1.4, package: …" */
    version[strcspn(version, ",")] = 0;
    memmove(version, version + strcspn(version, "0123456789"), strlen(version) + 1 - strcspn(version, "0123456789"));
    return &table;
}
