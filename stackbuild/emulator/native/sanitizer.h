/* What the sanitizer keeps beside a wave's registers and a workgroup's LDS. Included by executor.c.
 *
 * A byte of LDS knows its last writer and its readers between two barriers. A wave runs alone up to its next barrier, so
 * that two accesses of one interval by two waves, one of them a write, are a race whatever the order was. A load into LDS
 * arrives when its own wave has waited for it; until then nobody may use the byte, behind a barrier neither. Nor may a wave use
 * what another one stored, or overwrite what it read, behind a barrier before which that one did not wait for its LDS instruction:
 * those of one wave are done in order, those of two are not.
 */
#ifndef STACKBUILD_SANITIZER_H
#define STACKBUILD_SANITIZER_H

/* Whether a byte of the aligned word around `at` was written: a wide load takes along what fills up a structure. */
static int word_is_set(const struct shadow *h, uint64_t at)
{
    const struct lds_byte *word = &h->lds[at & ~3ull];
    return word[0].set || word[1].set || word[2].set || word[3].set;
}

enum { LAST_WRITE, LAST_READ };
/* Whether another wave's last LDS instruction of a kind on this byte, of an earlier interval, was not waited for before the barrier. */
static int is_under_way(const struct wave *w, const struct lds_byte *b, int kind)
{
    const struct shadow *h = w->shadow;
    uint32_t wave = b->last[kind].wave;
    return wave && wave != w->index + 1 && b->last[kind].interval != h->interval && b->last[kind].number > h->group[wave - 1]->at_barrier;
}

static void note_access(struct wave *w, uint32_t lane, int space, uint64_t address, uint32_t bytes, int use)
{
    struct shadow *h = w->shadow;
    if (use == USE_ATOMIC && address % bytes) report(w, EMULATOR_MISALIGNED, (int)lane, address, "an atomic access off its boundary");
    if (!h) return;
    if (space == SPACE_GLOBAL && (use == USE_ATOMIC || h->coherent)) {
        struct run *run = ((struct worker *)w->context)->run;
        if (run->races) atomic_store_explicit(&run->races->has_order, true, memory_order_relaxed);
    }
    if (space != SPACE_LDS || address + bytes > w->lds_bytes) return;
    for (uint64_t at = address; at < address + bytes; at++) {
        struct lds_byte *b = &h->lds[at];
        if (b->interval != h->interval) {
            b->interval = h->interval;
            b->writer = 0;
            b->readers = 0;
            b->atomic = 0;
        }
        char text[96];
        if (use != USE_ARRIVE && b->loader && b->load > h->group[b->loader - 1]->ends[COUNTER_VECTOR]) {
            snprintf(text, sizeof text, "LDS byte %llu: a load into it by wave %u is under way", (unsigned long long)at, b->loader - 1u);
            report(w, EMULATOR_MISSING_WAIT, (int)lane, at, text);
        }
        for (int kind = LAST_WRITE; kind <= (use == USE_READ ? LAST_WRITE : LAST_READ); kind++) {
            if (!is_under_way(w, b, kind)) continue;
            snprintf(text, sizeof text, "LDS byte %llu: a %s by wave %u from before the barrier is under way", (unsigned long long)at,
                     kind == LAST_WRITE ? "store" : "load", b->last[kind].wave - 1u);
            report(w, EMULATOR_MISSING_WAIT, (int)lane, at, text);
        }
        if (use != USE_ARRIVE) {
            int kind = use == USE_READ ? LAST_READ : LAST_WRITE;
            b->last[kind].wave = (uint16_t)(w->index + 1);
            b->last[kind].number = h->starts[COUNTER_LDS] + 1;
            b->last[kind].interval = h->interval;
        }
        if (use == USE_READ || use == USE_ATOMIC) {
            if (!b->set && !(bytes >= 4 && word_is_set(h, at))) {
                snprintf(text, sizeof text, "LDS byte %llu is read and was never written", (unsigned long long)at);
                report(w, EMULATOR_UNINITIALISED, (int)lane, at, text);
            }
            if (b->writer && b->writer != w->index + 1 && !(b->atomic && use == USE_ATOMIC)) {
                snprintf(text, sizeof text, "LDS byte %llu was written by wave %u", (unsigned long long)at, b->writer - 1u);
                report(w, EMULATOR_RACE, (int)lane, at, text);
            }
        }
        if (use != USE_READ) {
            uint64_t others = b->readers & ~(1ull << (w->index & 63));
            if (use != USE_ATOMIC && (others || (b->writer && b->writer != w->index + 1))) {
                snprintf(text, sizeof text, "LDS byte %llu was %s by another wave", (unsigned long long)at, others ? "read" : "written");
                report(w, EMULATOR_RACE, (int)lane, at, text);
            }
            b->writer = (uint16_t)(w->index + 1);
            b->atomic = use == USE_ATOMIC;
            b->set = 1;
            b->loader = use == USE_ARRIVE ? b->writer : 0;
            b->load = h->starts[COUNTER_VECTOR] + 1;
        }
        if (use == USE_READ) b->readers |= 1ull << (w->index & 63);
    }
}

/* The translation's folder says it in its own name, behind the digest. */
static int is_sanitized(const struct kernel *k)
{
    const char *name = strrchr(k->object->folder, '/');
    return strstr(name ? name : k->object->folder, "sanitized") != NULL;
}

static void sanitizer_open(const struct kernel *k, struct wave **waves, uint32_t count, uint32_t lds_bytes)
{
    if (!is_sanitized(k)) return;
    struct lds_byte *lds = calloc((size_t)lds_bytes + 4, sizeof *lds);
    struct shadow **group = calloc(count, sizeof *group);
    for (uint32_t i = 0; i < count; i++) {
        group[i] = waves[i]->shadow = calloc(1, sizeof *waves[i]->shadow);
        waves[i]->shadow->lds = lds;
        waves[i]->shadow->group = group;
    }
}
static void sanitizer_close(struct wave **waves, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!waves[i]->shadow) continue;
        if (i == 0) free(waves[i]->shadow->lds), free(waves[i]->shadow->group);
        free(waves[i]->shadow);
    }
}
/* A wave starts: only the work-item ids are in its vector registers, the descriptor's values in the scalar ones. */
static void sanitizer_start(struct wave *w, uint32_t lds_bytes)
{
    struct shadow *h = w->shadow;
    if (!h) return;
    struct lds_byte *lds = h->lds;
    struct shadow **group = h->group;
    memset(h, 0, sizeof *h);
    h->lds = lds;
    h->group = group;
    h->is_written[0] = 1;
    memset(h->is_scalar_written, 1, w->scalar_count);
    memset(h->is_scalar_written + 102, 1, 26); /* VCC, M0, EXEC and what the hardware keeps */
    if (w->index == 0) memset(lds, 0, sizeof *lds * lds_bytes);
}
static void sanitizer_interval(struct wave **waves, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (waves[i]->shadow) waves[i]->shadow->interval++, waves[i]->shadow->at_barrier = waves[i]->shadow->ends[COUNTER_LDS];
}
#endif
