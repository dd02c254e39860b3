/* A plugin of QEMU (TCG, API version 1) that counts what a machine with two levels of caches would have to do: loads, and those
 * that miss 32 KB and then 256 KB, both of 8 ways and lines of 64 bytes, least recently used out first; one such pair for all
 * CPUs. A line is printed whenever the kernel enters one of the functions whose addresses are its arguments.
 *
 * cc -O2 -shared -fPIC -o caches.so caches.c; qemu-system-x86_64 -plugin ./caches.so,at=ADDRESS,…  -d plugin */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As much of qemu-plugin.h as is used here. */
typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
typedef struct qemu_info qemu_info;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, void (*)(unsigned, void *), int, void *);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *,
    void (*)(unsigned, qemu_plugin_meminfo_t, uint64_t, void *), int flags, int rw, void *);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t, uint64_t);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *);
void qemu_plugin_outs(const char *);
__attribute__((visibility("default"))) int qemu_plugin_version = 1;

enum { WAYS = 8, LINE = 6 };

struct cache { unsigned sets; uint64_t *tags, *used; uint64_t misses; };
static struct cache first = {32 * 1024 / 64 / WAYS, 0, 0, 0}, second = {256 * 1024 / 64 / WAYS, 0, 0, 0};
static uint64_t now, loads, stores, at[8];
static int places;

static bool has(struct cache *cache, uint64_t line, bool counts)
{
    uint64_t *tags = cache->tags + line % cache->sets * WAYS, *used = cache->used + line % cache->sets * WAYS;
    int oldest = 0;
    for (int way = 0; way < WAYS; way++) {
        if (tags[way] == line) {
            used[way] = ++now;
            return true;
        }
        if (used[way] < used[oldest])
            oldest = way;
    }
    tags[oldest] = line, used[oldest] = ++now, cache->misses += counts;
    return false;
}

/* The guest has one CPU at a time (-accel tcg,thread=single): no two come here at once. */
static void access_memory(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
    (void)cpu, (void)data;
    struct qemu_plugin_hwaddr *place = qemu_plugin_get_hwaddr(info, address);
    uint64_t line = (place ? qemu_plugin_hwaddr_phys_addr(place) : address) >> LINE;
    bool is_load = !qemu_plugin_mem_is_store(info);
    loads += is_load, stores += !is_load;
    if (!has(&first, line, is_load))
        has(&second, line, is_load);
}

static void entered(unsigned cpu, void *which)
{
    char line[160];
    (void)cpu;
    snprintf(line, sizeof line, "at %d loads %" PRIu64 " stores %" PRIu64 " beyond-first %" PRIu64 " beyond-second %" PRIu64 "\n",
        (int)(intptr_t)which, loads, stores, first.misses, second.misses);
    qemu_plugin_outs(line);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    for (size_t nth = 0; nth < qemu_plugin_tb_n_insns(block); nth++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, nth);
        qemu_plugin_register_vcpu_mem_cb(insn, access_memory, 0, 3, NULL);
        for (int place = 0; place < places; place++)
            if (qemu_plugin_insn_vaddr(insn) == at[place])
                qemu_plugin_register_vcpu_insn_exec_cb(insn, entered, 0, (void *)(intptr_t)place);
    }
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info *info, int argc, char **argv)
{
    (void)info;
    for (int nth = 0; nth < argc && places < 8; nth++)
        if (!strncmp(argv[nth], "at=", 3))
            at[places++] = strtoull(argv[nth] + 3, NULL, 16);
    for (struct cache *cache = &first; cache; cache = cache == &first ? &second : NULL) {
        cache->tags = calloc(cache->sets * WAYS, sizeof *cache->tags);
        cache->used = calloc(cache->sets * WAYS, sizeof *cache->used);
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    return 0;
}
