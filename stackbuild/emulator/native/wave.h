/* One wave's state, and what translated code calls. LANES (32 or 64), SANITIZE and COUNTERS (0 or 1) are defined by the compiler's command line.
 *
 * A vector register is a row of LANES words; registers of 64 bits are two rows. Accumulation registers follow from row 256.
 * Scalar registers, VCC (106), M0 (124 or 125) and EXEC (126) lie in s.
 */
#ifndef STACKBUILD_WAVE_H
#define STACKBUILD_WAVE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define SHARED_APERTURE 0x0001000000000000ull
#define PRIVATE_APERTURE 0x0002000000000000ull
#define SCRATCH_BUFFER 0x0000800000000000ull /* the base of the descriptor through which CDNA2 reaches scratch */
#define APERTURE_MASK 0xffff000000000000ull

enum wave_stop { WAVE_END, WAVE_BARRIER, WAVE_ERROR };
enum wave_space { SPACE_GLOBAL, SPACE_LDS, SPACE_SCRATCH, SPACE_FLAT };
enum wave_use { USE_READ, USE_WRITE, USE_ATOMIC, USE_ARRIVE }; /* arrive: a load into LDS writes */

struct wave;
struct wave_counts {
    uint64_t lane_operations, global_bytes, global_segments, flat_to_lds, flat_to_global, lds_cycles, lds_conflicts;
};
struct wave_callbacks {
    /* `kind` is one of emulator.h's; `lane` −1 for none. */
    void (*report)(struct wave *w, int kind, int lane, uint64_t address, const char *text);
    int (*in_range)(struct wave *w, uint64_t address, uint32_t bytes, int write);
    /* An access of one lane to memory of a space. */
    void (*access)(struct wave *w, uint32_t lane, int space, uint64_t address, uint32_t bytes, int use);
};

/* What the sanitizer knows of a wave's registers. A register is under way while its number is above the counter's end. */
struct shadow {
    uint32_t starts[3], ends[3]; /* vector memory, LDS, scalar memory */
    uint32_t vector[3][512], scalar[128];
    uint8_t is_written[512], is_scalar_written[128];
    uint8_t coherent; /* whether the access that runs is one by which workgroups wait for each other */
    uint32_t said_pc;
    /* Of the workgroup. `load` is the number of the load into LDS that wrote the byte last, by the wave `loader` - 1. `last` are the
     * LDS instructions that wrote and read it last: their waves plus 1, their numbers, and their intervals. */
    struct lds_byte {
        uint32_t interval; uint16_t writer, loader; uint64_t readers; uint32_t load; uint8_t atomic, set;
        struct { uint16_t wave; uint32_t number, interval; } last[2];
    } *lds;
    struct shadow **group; /* of the workgroup's waves */
    uint32_t interval;
    uint32_t at_barrier; /* ends[COUNTER_LDS] at the last barrier */
};
enum wave_counter { COUNTER_VECTOR, COUNTER_LDS, COUNTER_SCALAR };

struct wave {
    uint32_t *v;
    uint32_t s[128];
    uint32_t scc;
    uint32_t pc;       /* of the last instruction that can fail */
    uint32_t resume;   /* where to go on, 0: at the start */
    uint32_t rows;     /* of v */
    int64_t fuel;      /* jumps left */
    const volatile int *result; /* of the dispatch: not 0 once a wave has failed, and the others end then */
    uint8_t *lds;
    uint8_t *scratch;  /* of lane 0; a lane has scratch_bytes */
    uint64_t image;    /* address of the code object's first byte */
    uint32_t lds_bytes, scratch_bytes;
    uint32_t index;    /* in the workgroup */
    uint32_t mode;     /* of hwreg 1 */
    uint32_t scalar_count; /* scalar registers that hold values at the start */
    uint64_t lanes;    /* active at the start */
    const struct wave_callbacks *calls;
    struct shadow *shadow;
    uint64_t *blocks;  /* how often each basic block ran */
    struct wave_counts counts;
    void *context;
    uint32_t temp[8 * 64]; /* operands before a swizzle of lanes */
    uint8_t sink[64];
};

/* Whether a wave ends before its next jump: another one has failed, or it has no jump left, which is reported. */
static inline int ends_early(struct wave *w)
{
    if (*w->result) return 1;
    if (--w->fuel >= 0) return 0;
    w->calls->report(w, 5, -1, 0, "");
    return 1;
}

#ifdef LANES
#include "arithmetic.h"

#define FULL (LANES == 64 ? ~0ull : 0xffffffffull)
#define V(n) (w->v + (n) * LANES)
#define S(n) (w->s[n])
#define API static inline __attribute__((always_inline, unused))
#define CHECK static __attribute__((noinline, unused)) /* called before and behind each instruction: inlined, a kernel compiles for a minute */
#if defined(__clang__)
#define EACH_LANE _Pragma("clang loop vectorize(assume_safety)") for (uint32_t l = 0; l < LANES; l++)
#else
#define EACH_LANE _Pragma("GCC ivdep") for (uint32_t l = 0; l < LANES; l++)
#endif

API uint64_t get64(const uint32_t *p) { uint64_t r; memcpy(&r, p, 8); return r; }
API void set64(uint32_t *p, uint64_t x) { memcpy(p, &x, 8); }
API uint64_t lane_mask(const uint32_t *p) { return LANES == 64 ? get64(p) : *p; }
API void set_lane_mask(uint32_t *p, uint64_t x) { if (LANES == 64) set64(p, x); else *p = (uint32_t)x; }
#define EXECUTE lane_mask(w->s + 126)

/* The mask of lanes whose word is not zero. */
API uint64_t pack_lanes(const uint32_t *bits)
{
    uint64_t r = 0;
    for (int i = 0; i < LANES; i++) r |= (uint64_t)(bits[i] & 1) << i;
    return r;
}

/* --- memory --- */

API uint8_t *lds_place(struct wave *w, uint32_t lane, uint32_t address, uint32_t bytes)
{
    if (__builtin_expect((uint64_t)address + bytes > w->lds_bytes, 0)) {
        if (SANITIZE) w->calls->report(w, 17, (int)lane, address, "");
        memset(w->sink, 0, sizeof w->sink);
        return w->sink;
    }
    return w->lds + address;
}
API uint8_t *scratch_place(struct wave *w, uint32_t lane, uint32_t address, uint32_t bytes)
{
    if (__builtin_expect((uint64_t)address + bytes > w->scratch_bytes, 0)) {
        if (SANITIZE) w->calls->report(w, 18, (int)lane, address, "");
        memset(w->sink, 0, sizeof w->sink);
        return w->sink;
    }
    return w->scratch + (size_t)lane * w->scratch_bytes + address;
}

#if SANITIZE
#define ISSUE(counter) (++w->shadow->starts[counter])
/* Registers whose load is under way are not read and not written. */
CHECK void check_vectors(struct wave *w, uint32_t pc, uint32_t first, uint32_t count)
{
    const struct shadow *h = w->shadow;
    for (uint32_t r = first; r < first + count; r++)
        if (h->vector[0][r] > h->ends[0] || h->vector[1][r] > h->ends[1]) {
            w->pc = pc;
            w->calls->report(w, 22, -1, 0, "a vector register whose load is under way");
        }
}
CHECK void check_scalars(struct wave *w, uint32_t pc, uint32_t first, uint32_t count)
{
    for (uint32_t r = first; r < first + count; r++)
        if (w->shadow->scalar[r] > w->shadow->ends[2]) {
            w->pc = pc;
            w->calls->report(w, 22, -1, 0, "a scalar register whose load is under way");
        }
}
CHECK void check_written(struct wave *w, uint32_t pc, uint32_t first, uint32_t count, const char *what)
{
    for (uint32_t r = first; r < first + count; r++)
        if (!w->shadow->is_written[r]) {
            w->pc = pc;
            w->calls->report(w, 20, -1, 0, what);
        }
}
CHECK int are_scalars_written(const struct wave *w, uint32_t first, uint32_t count)
{
    int all = 1;
    for (uint32_t r = first; r < first + count; r++) all &= w->shadow->is_scalar_written[r];
    return all;
}
CHECK void check_scalar_address(struct wave *w, uint32_t pc, uint32_t first, uint32_t count)
{
    if (are_scalars_written(w, first, count)) return;
    w->pc = pc;
    w->calls->report(w, 20, -1, 0, "the address is in a scalar register that was never written");
}
CHECK void note_scalars(struct wave *w, uint32_t first, uint32_t count, bool is_written) { memset(w->shadow->is_scalar_written + first, is_written, count); }
CHECK void note_written(struct wave *w, uint32_t first, uint32_t count) { memset(w->shadow->is_written + first, 1, count); }
CHECK void note_load(struct wave *w, uint32_t first, uint32_t count, int counter)
{
    for (uint32_t r = first; r < first + count; r++) w->shadow->vector[counter][r] = w->shadow->starts[counter];
}
/* A counter waits until at most `rest` accesses are under way. Scalar loads end in any order: only 0 says something of them. */
CHECK void wait_for(struct wave *w, int counter, uint32_t rest)
{
    struct shadow *h = w->shadow;
    if (counter == COUNTER_SCALAR && rest) return;
    if (h->starts[counter] > rest && h->ends[counter] < h->starts[counter] - rest) h->ends[counter] = h->starts[counter] - rest;
}
#endif

API uint8_t *place(struct wave *w, int space, uint32_t lane, uint64_t address, uint32_t bytes, int use)
{
    if (space == SPACE_FLAT) {
        uint64_t aperture = address & APERTURE_MASK;
        space = aperture == SHARED_APERTURE ? SPACE_LDS : aperture == PRIVATE_APERTURE ? SPACE_SCRATCH : SPACE_GLOBAL;
        if (space != SPACE_GLOBAL) address &= 0xffffffffull;
    }
#if SANITIZE
    w->calls->access(w, lane, space, address, bytes, use);
    if (space == SPACE_GLOBAL && !w->calls->in_range(w, address, bytes, use != USE_READ)) {
        memset(w->sink, 0, sizeof w->sink);
        return w->sink;
    }
#else
    (void)use;
#endif
    if (space == SPACE_LDS) return lds_place(w, lane, (uint32_t)address, bytes);
    if (space == SPACE_SCRATCH) return scratch_place(w, lane, (uint32_t)address, bytes);
    return (uint8_t *)(uintptr_t)address;
}
API uint32_t load32(const uint8_t *p) { uint32_t r; memcpy(&r, p, 4); return r; }
API uint32_t load16(const uint8_t *p) { uint16_t r; memcpy(&r, p, 2); return r; }
API void store32(uint8_t *p, uint32_t x) { memcpy(p, &x, 4); }
API void store16(uint8_t *p, uint32_t x) { uint16_t r = (uint16_t)x; memcpy(p, &r, 2); }

/* Bits of MODE on which results depend: rounding, denormals, clamped NaNs, IEEE, overflow of float16, index mode, skipped vectors. */
#define MODE_OF_RESULTS 0x188003ffu
/* Sets bits of MODE. 0 and a trap where results would change: they are rounded to even, with denormals, always. */
API int set_mode(struct wave *w, uint32_t offset, uint32_t size, uint32_t value)
{
    uint32_t bits = (size == 32 ? ~0u : (1u << size) - 1) << offset, mode = (w->mode & ~bits) | (value << offset & bits);
    if ((mode ^ w->mode) & MODE_OF_RESULTS) {
        w->calls->report(w, 4, -1, 0, "a mode of rounding, of denormals or the like that is not emulated");
        return 0;
    }
    w->mode = mode;
    return 1;
}

/* --- buffers --- */

/* A buffer descriptor (V#): base address, bytes of a record, records or bytes, and what counts as outside. */
struct buffer { uint64_t base, stride; uint32_t records; int space; enum { OUTSIDE_RECORD, OUTSIDE_RECORDS, OUTSIDE_EMPTY, OUTSIDE_RAW, OUTSIDE_NEVER } mode; };

/* Whether a descriptor is that of scratch. */
API int is_scratch(const uint32_t *r)
{
    uint64_t base = (uint64_t)(r[1] & 0xffff) << 32 | r[0];
    return r[1] >> 31 && r[3] >> 23 & 1 && base >= SCRATCH_BUFFER && base - SCRATCH_BUFFER <= 0xffffffffu;
}
/* Reads a descriptor. 0 where it has what is not emulated: swizzled records, or lane numbers added to the index.
 * RDNA's OOB_SELECT chooses the rule; CDNA without swizzle has that of raw buffers. CDNA2's descriptor of scratch, which has
 * both, becomes the aperture of scratch: a lane's bytes lie together there, so that scalar offsets count for each lane. */
API int buffer_of(struct wave *w, struct buffer *b, const uint32_t *r, int rdna, uint32_t *soffset)
{
    b->space = SPACE_GLOBAL;
    b->base = (uint64_t)(r[1] & 0xffff) << 32 | r[0];
    b->stride = r[1] >> 16 & 0x3fff;
    b->records = r[2];
    b->mode = rdna ? r[3] >> 28 & 3 : OUTSIDE_RAW;
    if (!rdna && is_scratch(r)) {
        b->base = PRIVATE_APERTURE + (b->base - SCRATCH_BUFFER) / LANES;
        b->space = SPACE_FLAT;
        b->mode = OUTSIDE_NEVER;
        *soffset /= LANES;
        return 1;
    }
    if (rdna ? r[1] >> 30 : r[1] >> 31) {
        w->calls->report(w, 4, -1, b->base, "a buffer descriptor with swizzled records is not known");
        return 0;
    }
    if (r[3] >> 23 & 1) {
        w->calls->report(w, 4, -1, b->base, "a buffer descriptor that adds the lane to the index is not known");
        return 0;
    }
    return 1;
}
/* Whether `bytes` at an offset lie in the buffer. `inner` is the offset in the record, `whole` that with stride · index. */
API int buffer_inside(const struct buffer *b, uint64_t index, uint64_t inner, uint64_t whole, uint32_t soffset, uint32_t bytes)
{
    uint64_t rest = b->records > soffset ? b->records - soffset : 0;
    switch (b->mode) {
    case OUTSIDE_RECORD: return index < b->records && inner + bytes <= b->stride;
    case OUTSIDE_RECORDS: return index < b->records;
    case OUTSIDE_EMPTY: return b->records != 0;
    case OUTSIDE_NEVER: return 1;
    default: return whole + bytes <= rest;
    }
}

#if COUNTERS
static void count_access(struct wave *w, uint64_t m, const uint64_t *addresses, uint32_t bytes, int space);
#endif
/* The words of a load that goes to LDS. Lane l's lie behind those of the l lanes before it, active or not. */
API void words_into_lds(struct wave *w, uint64_t m, const uint32_t *x, uint32_t offset, uint32_t words)
{
#if COUNTERS
    uint64_t addresses[LANES];
    for (uint32_t l = 0; l < LANES; l++) addresses[l] = offset + 4 * words * l;
    count_access(w, m, addresses, 4 * words, SPACE_LDS);
#endif
    for (uint32_t l = 0; l < LANES; l++) {
        if (!(m >> l & 1)) continue;
        uint8_t *at = place(w, SPACE_LDS, l, offset + 4 * words * l, 4 * words, USE_ARRIVE);
        for (uint32_t i = 0; i < words; i++) store32(at + 4 * i, x[i * LANES + l]);
    }
}

/* One or two bytes, extended. */
API void scalar_load_part(struct wave *w, uint32_t to, uint64_t address, uint32_t bytes, int is_signed)
{
#if SANITIZE
    if (address % bytes) w->calls->report(w, 19, -1, address, "a scalar load off its boundary");
    if (!w->calls->in_range(w, address, bytes, 0)) { w->s[to] = 0; return; }
#endif
    const uint8_t *at = (const uint8_t *)(uintptr_t)address;
    uint32_t value = bytes == 1 ? *at : load16(at);
    if (is_signed) value = bytes == 1 ? (uint32_t)(int8_t)value : (uint32_t)(int16_t)value;
    w->s[to] = value;
}
API void scalar_load(struct wave *w, uint32_t to, uint64_t address, uint32_t words)
{
#if SANITIZE
    if (address & 3) w->calls->report(w, 19, -1, address, "a scalar load off a multiple of 4");
    if (!w->calls->in_range(w, address, 4 * words, 0)) { memset(w->s + to, 0, 4 * words); return; }
#endif
    memcpy(w->s + to, (const void *)(uintptr_t)(address & ~3ull), 4 * words);
}
/* s_buffer_load: `descriptor` is base, bytes of a record, records (bytes, where a record has none). A word beyond the end is 0. */
API void scalar_buffer_load(struct wave *w, uint32_t to, const uint32_t *descriptor, uint64_t offset, uint32_t words)
{
    uint64_t base = descriptor[0] | (uint64_t)(descriptor[1] & 0xffff) << 32, stride = descriptor[1] >> 16 & 0x3fff;
    uint64_t bytes = descriptor[2] * (stride ? stride : 1), start = (base + offset & ~3ull) - base;
    uint32_t values[16] = {0}, inside = 0;
#if SANITIZE
    if (offset & 3) w->calls->report(w, 19, -1, base + offset, "a scalar load off a multiple of 4");
#endif
    while (inside < words && start + 4 * (inside + 1) <= bytes) inside++;
#if SANITIZE
    if (inside && !w->calls->in_range(w, base + start, 4 * inside, 0)) inside = 0;
#endif
    if (inside) memcpy(values, (const void *)(uintptr_t)(base + start), 4 * inside);
    memcpy(w->s + to, values, 4 * words);
}

#if COUNTERS
/* What one access of a wave costs: distinct segments of 64 bytes of memory, or the most dwords in one of 32 banks of LDS. */
static __attribute__((unused, noinline)) void count_access(struct wave *w, uint64_t m, const uint64_t *addresses, uint32_t bytes, int space)
{
    uint64_t segments[LANES * 3];
    uint32_t count = 0, lds = 0, active = 0, load[32] = {0}, most = 0, least;
    uint64_t dwords[LANES * 4];
    uint32_t dword_count = 0;
    for (uint32_t l = 0; l < LANES; l++) {
        if (!(m >> l & 1)) continue;
        uint64_t address = addresses[l], aperture = address & APERTURE_MASK;
        active++;
        if (space == SPACE_LDS || (space == SPACE_FLAT && aperture == SHARED_APERTURE)) {
            lds++;
            for (uint64_t at = (address & 0xffffffffull) / 4; at <= ((address & 0xffffffffull) + bytes - 1) / 4 && dword_count < LANES * 4; at++) {
                uint32_t i = 0;
                while (i < dword_count && dwords[i] != at) i++;
                if (i == dword_count) {
                    dwords[dword_count++] = at;
                    if (++load[at % 32] > most) most = load[at % 32];
                }
            }
        } else if (space != SPACE_SCRATCH) {
            w->counts.global_bytes += bytes;
            for (uint64_t at = address / 64; at <= (address + bytes - 1) / 64; at++) {
                uint32_t i = count;
                while (i > 0 && segments[i - 1] != at) i--;
                if (!i) segments[count++] = at;
            }
        }
    }
    w->counts.global_segments += count;
    least = (dword_count + 31) / 32;
    w->counts.lds_cycles += most;
    w->counts.lds_conflicts += most > least ? most - least : 0;
    if (space == SPACE_FLAT && active) {
        w->counts.flat_to_lds += lds == active;
        w->counts.flat_to_global += lds == 0;
    }
}
#endif

/* --- lanes --- */

API uint32_t first_lane(uint64_t m) { return m ? (uint32_t)__builtin_ctzll(m) : 0; }

/* The lane that a lane reads by DPP16's control word; −1 where there is none. */
API int dpp_source(uint32_t lane, uint32_t control)
{
    uint32_t row = lane & ~15u, in = lane & 15u;
    if (control < 0x100) return (int)((lane & ~3u) | (control >> (lane & 3) * 2 & 3));
    if (control > 0x100 && control <= 0x10f) return in + (control & 15) < 16 ? (int)(row + in + (control & 15)) : -1; /* row_shl */
    if (control > 0x110 && control <= 0x11f) return in >= (control & 15) ? (int)(row + in - (control & 15)) : -1;     /* row_shr */
    if (control > 0x120 && control <= 0x12f) return (int)(row + ((in - (control & 15)) & 15));                        /* row_ror */
    if (control == 0x130) return lane + 1 < LANES ? (int)lane + 1 : -1;                                               /* wave_shl */
    if (control == 0x134) return (int)((lane + 1) % LANES);                                                           /* wave_rol */
    if (control == 0x138) return lane >= 1 ? (int)lane - 1 : -1;                                                      /* wave_shr */
    if (control == 0x13c) return (int)((lane + LANES - 1) % LANES);                                                   /* wave_ror */
    if (control == 0x140) return (int)(row + 15 - in);                                                                /* row_mirror */
    if (control == 0x141) return (int)((lane & ~7u) + 7 - (lane & 7u));                                               /* row_half_mirror */
    if (control == 0x142) return lane >= 16 ? (int)(row - 1) : -1;                                                    /* row_bcast:15 */
    if (control == 0x143) return lane >= 32 ? 31 : -1;                                                                /* row_bcast:31 */
    if (control >= 0x150 && control <= 0x15f) return (int)(row + (control & 15));                                     /* row_share, row_newbcast */
    if (control >= 0x160 && control <= 0x16f) return (int)(row + (in ^ (control & 15)));                              /* row_xmask */
    return -2;
}
/* Moves a source's lanes into w->temp and returns the lanes that are written. `rows` words of 32 bits each. */
API uint64_t dpp16(struct wave *w, uint64_t m, uint32_t *to, const uint32_t *from, uint32_t rows, uint32_t control, uint32_t row_mask,
                   uint32_t bank_mask, int bound_zero, int inactive)
{
    uint64_t targets = 0;
    for (uint32_t l = 0; l < LANES; l++) {
        int at = dpp_source(l, control);
        int there = at >= 0 && (inactive || (m >> at & 1));
        for (uint32_t r = 0; r < rows; r++) to[r * LANES + l] = there ? from[r * LANES + (uint32_t)at] : 0;
        if (!(m >> l & 1) || !(row_mask >> (l >> 4 & 3) & 1) || !(bank_mask >> (l >> 2 & 3) & 1)) continue;
        if (there || bound_zero) targets |= 1ull << l;
    }
    (void)w;
    return targets;
}
API uint64_t dpp8(struct wave *w, uint64_t m, uint32_t *to, const uint32_t *from, uint32_t rows, uint32_t selects, int inactive)
{
    for (uint32_t l = 0; l < LANES; l++) {
        uint32_t at = (l & ~7u) | (selects >> (l & 7) * 3 & 7);
        int there = inactive || (m >> at & 1);
        for (uint32_t r = 0; r < rows; r++) to[r * LANES + l] = there ? from[r * LANES + at] : 0;
    }
    (void)w;
    return m;
}

/* `group` is how many lanes exchange values: 64 with CDNA, each half of 32 with RDNA (AMD's guides, pseudocode of DS_BPERMUTE_B32). */
API void bpermute(struct wave *w, uint64_t m, uint32_t *d, const uint32_t *a, const uint32_t *x, uint32_t offset, uint32_t group)
{
    uint32_t t[LANES];
    for (uint32_t l = 0; l < LANES; l++) {
        uint32_t at = l / group * group + (a[l] + offset) / 4 % group;
        t[l] = m >> at & 1 ? x[at] : 0;
        if (SANITIZE && (m >> l & 1) && !(m >> at & 1)) w->calls->report(w, 24, (int)l, at, "");
    }
    for (uint32_t l = 0; l < LANES; l++) if (m >> l & 1) d[l] = t[l];
}
API void permute(struct wave *w, uint64_t m, uint32_t *d, const uint32_t *a, const uint32_t *x, uint32_t offset, uint32_t group)
{
    uint32_t t[LANES] = {0};
    for (uint32_t l = 0; l < LANES; l++) if (m >> l & 1) t[l / group * group + (a[l] + offset) / 4 % group] = x[l];
    for (uint32_t l = 0; l < LANES; l++) if (m >> l & 1) d[l] = t[l];
    (void)w;
}
API void swizzle(struct wave *w, uint64_t m, uint32_t *d, const uint32_t *x, uint32_t pattern)
{
    uint32_t t[LANES];
    for (uint32_t l = 0; l < LANES; l++) {
        uint32_t at;
        if (pattern & 0x8000) at = (l & ~3u) | (pattern >> (l & 3) * 2 & 3);
        else at = (l & 32) | ((((l & 31) & (pattern & 31)) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31));
        t[l] = m >> at & 1 ? x[at] : 0;
        if (SANITIZE && (m >> l & 1) && !(m >> at & 1)) w->calls->report(w, 24, (int)l, at, "");
    }
    for (uint32_t l = 0; l < LANES; l++) if (m >> l & 1) d[l] = t[l];
    (void)w;
}
/* v_permlane16 and v_permlanex16: any lane of the same or of the other row of 16. */
API void permlane16(struct wave *w, uint64_t m, uint32_t *d, const uint32_t *x, uint32_t low, uint32_t high, int other, int inactive, int bound_zero)
{
    uint32_t t[LANES];
    uint64_t selects = (uint64_t)high << 32 | low, targets = 0;
    for (uint32_t l = 0; l < LANES; l++) {
        uint32_t at = ((l & ~15u) ^ (other ? 16u : 0u)) + (uint32_t)(selects >> (l & 15) * 4 & 15);
        int there = inactive || (m >> at & 1);
        t[l] = there ? x[at] : 0;
        if (there || bound_zero) targets |= 1ull << l;
    }
    for (uint32_t l = 0; l < LANES; l++) if (m & targets & 1ull << l) d[l] = t[l];
    (void)w;
}

#include "matrices.h"
#endif
#endif
