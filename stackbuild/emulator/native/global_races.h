/* Races between workgroups in global memory. Included by executor.c.
 *
 * Workgroups of a dispatch run in no order that HIP promises. A byte that one writes and another reads or writes depends on that
 * order, unless they wait for each other. They can wait by atomic or coherent accesses alone: a dispatch that makes one is not
 * judged. A second write, and a write behind a read, count only where the byte changes: what was there is compared with what is
 * there when the dispatch has ended.
 */
#ifndef STACKBUILD_GLOBAL_RACES_H
#define STACKBUILD_GLOBAL_RACES_H

#define RACE_SHARDS 64
#define RACE_LINES 4096 /* of a shard: with 64 bytes a line 16 MiB in all; what lies beyond is not watched */
#define RACE_CONFLICTS 1024
#define MANY_GROUPS 0xffffffffu

struct race_line { uint64_t line; uint32_t writer[64], reader[64]; }; /* workgroups + 1, 0: none */
struct race_shard { pthread_mutex_t lock; struct race_line *lines[RACE_LINES]; };
struct race_conflict { uint64_t address, pc; uint32_t group[3], wave; const char *text; int value; }; /* value −1: whatever is there */
struct races {
    struct race_shard shards[RACE_SHARDS];
    pthread_mutex_t lock;
    struct race_conflict conflicts[RACE_CONFLICTS];
    uint32_t count;
    _Atomic bool has_order; /* workgroups wait for each other */
};

static struct races *races_open(void)
{
    struct races *races = calloc(1, sizeof *races);
    if (!races) return NULL;
    pthread_mutex_init(&races->lock, NULL);
    for (int i = 0; i < RACE_SHARDS; i++) pthread_mutex_init(&races->shards[i].lock, NULL);
    return races;
}
static void races_close(struct races *races)
{
    if (!races) return;
    for (int i = 0; i < RACE_SHARDS; i++) {
        for (int j = 0; j < RACE_LINES; j++) free(races->shards[i].lines[j]);
        pthread_mutex_destroy(&races->shards[i].lock);
    }
    pthread_mutex_destroy(&races->lock);
    free(races);
}
/* The line of an address in a shard that is locked; NULL where there is no room. */
static struct race_line *race_line(struct race_shard *shard, uint64_t line)
{
    uint64_t hash = line * 0x9e3779b97f4a7c15ull >> 40;
    for (int probe = 0; probe < 64; probe++) {
        struct race_line **at = &shard->lines[(hash + (uint64_t)probe) % RACE_LINES];
        if (!*at && (*at = calloc(1, sizeof **at))) (*at)->line = line;
        if (!*at || (*at)->line == line) return *at;
    }
    return NULL;
}
static void race_conflict(struct races *races, const struct wave *w, const uint32_t *group, uint64_t address, const char *text, int value)
{
    pthread_mutex_lock(&races->lock);
    bool is_known = false;
    for (uint32_t i = 0; i < races->count; i++) is_known |= races->conflicts[i].pc == w->pc && races->conflicts[i].address == address;
    if (!is_known && races->count < RACE_CONFLICTS)
        races->conflicts[races->count++] = (struct race_conflict){address, w->pc, {group[0], group[1], group[2]}, w->index, text, value};
    pthread_mutex_unlock(&races->lock);
}
/* An access of a workgroup to memory that is there. */
static void races_note(struct races *races, const struct wave *w, const uint32_t *group, uint32_t number, uint64_t address, uint32_t bytes, int write)
{
    if (atomic_load_explicit(&races->has_order, memory_order_relaxed)) return;
    for (uint64_t at = address; at < address + bytes;) {
        uint64_t line = at / 64, end = (line + 1) * 64 < address + bytes ? (line + 1) * 64 : address + bytes;
        struct race_shard *shard = &races->shards[line % RACE_SHARDS];
        pthread_mutex_lock(&shard->lock);
        struct race_line *noted_line = race_line(shard, line);
        for (; at < end; at++) {
            if (!noted_line) continue;
            uint32_t *writer = &noted_line->writer[at % 64], *reader = &noted_line->reader[at % 64], self = number + 1;
            int value = *(const uint8_t *)(uintptr_t)at;
            if (*writer && *writer != self) race_conflict(races, w, group, at, write ? "was written by another workgroup" : "is written by another workgroup", write ? value : -1);
            if (write && *reader && *reader != self) race_conflict(races, w, group, at, "is read by another workgroup", value);
            if (write) *writer = self;
            else *reader = *reader && *reader != self ? MANY_GROUPS : self;
        }
        pthread_mutex_unlock(&shard->lock);
        at = end;
    }
}
#endif
