/* The little of the kernel's interface that the programs use, so that they build without any
 * kernel header: types, map kinds, helpers by number (linux/bpf.h, which never renumbers them). */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define inline inline __attribute__((always_inline))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

enum { MAP_HASH = 1, MAP_ARRAY = 2 };
enum { NO_EXIST = 1 };
enum { MMAPABLE = 1 << 10 };

/* A map as the loader reads it from the section `maps`; `name` is the symbol. */
struct map {
	u32 kind, key_bytes, value_bytes, entries, flags;
};

/* The arguments of a raw tracepoint, as the kernel's own code passes them. */
struct arguments {
	u64 at[5];
};

static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static long (*const map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static u64 (*const monotonic_ns)(void) = (void *)5;
static u32 (*const this_cpu)(void) = (void *)8;
static u64 (*const current_task)(void) = (void *)35;
static long (*const read_kernel)(void *to, u32 bytes, const void *from) = (void *)113;
