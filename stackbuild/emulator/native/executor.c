/* Runs translated kernels: opens folders, prepares waves as the hardware does, spreads workgroups over threads. */
#define _GNU_SOURCE
#include "emulator.h"
#include "wave.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int (*body)(struct wave *);

struct kernel {
    struct emulator_kernel facts; /* first: a kernel's handle is its address */
    struct emulator_object *object;
    struct emulator_argument *arguments;
    char *library, *function, *listing;
    uint32_t rsrc1, rsrc2, properties, rows, blocks;
    void *handle;
    body run;
    _Atomic uint64_t *counts;
    pthread_mutex_t lock;
};
struct variable { char *name; uint64_t offset, bytes; };
struct emulator_object {
    char *folder, target[32], family[16];
    uint8_t *image;
    uint64_t image_bytes;
    struct kernel **kernels;
    uint32_t kernel_count;
    struct variable *variables;
    uint32_t variable_count;
};

static const char *const kind_names[] = {
    [0] = "ok", [1] = "not translated", [2] = "bad dispatch", [3] = "memory fault", [4] = "trap", [5] = "time limit", [6] = "end of code",
    [16] = "out of bounds (global)", [17] = "out of bounds (LDS)", [18] = "out of bounds (scratch)", [19] = "misaligned",
    [20] = "uninitialised", [21] = "race", [22] = "missing wait", [23] = "divergent barrier", [24] = "inactive lane", [25] = "denormal mode",
};

static int explain(char *error, size_t bytes, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    if (error && bytes) vsnprintf(error, bytes, format, values);
    va_end(values);
    return -1;
}

/* --- folders --- */

static char *path_of(const struct emulator_object *object, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", object->folder, name) < 0 ? NULL : path;
}
static char *whole_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    size_t room = 1 << 16, have = 0;
    char *data = malloc(room + 1);
    for (size_t part; data && (part = fread(data + have, 1, room - have, file)) > 0;) {
        have += part;
        if (have == room) data = realloc(data, (room *= 2) + 1);
    }
    fclose(file);
    if (data) data[have] = 0;
    *bytes = have;
    return data;
}
static int split(char *line, char **fields, int most)
{
    int count = 0;
    for (char *at = line; at && count < most;) fields[count++] = strsep(&at, "\t");
    return count;
}
static struct kernel *kernel_named(const struct emulator_object *object, const char *name)
{
    for (uint32_t i = 0; i < object->kernel_count; i++)
        if (!strcmp(object->kernels[i]->facts.name, name)) return object->kernels[i];
    return NULL;
}
static uint32_t number(const char *text) { return (uint32_t)strtoul(text, NULL, 10); }

static struct kernel *read_kernel(struct emulator_object *object, char **f, int count)
{
    if (count < 19) return NULL;
    struct kernel *k = kernel_named(object, f[1]);
    int fresh = !k;
    if (fresh) {
        k = calloc(1, sizeof *k);
        pthread_mutex_init(&k->lock, NULL);
        k->object = object;
        k->facts.name = strdup(f[1]);
        k->facts.symbol = strdup(f[2]);
        k->facts.target = object->target;
        object->kernels = realloc(object->kernels, (object->kernel_count + 1) * sizeof *object->kernels);
        object->kernels[object->kernel_count++] = k;
    }
    if (!k->run) {
        free(k->library);
        free(k->function);
        k->library = strdup(f[3]);
        k->function = strdup(f[4]);
        k->facts.wavefront = number(f[5]);
        k->facts.kernarg_bytes = number(f[6]);
        k->facts.explicit_bytes = number(f[7]);
        k->facts.group_bytes = number(f[8]);
        k->facts.private_bytes = number(f[9]);
        k->facts.vgprs = number(f[10]);
        k->facts.sgprs = number(f[11]);
        k->facts.agprs = number(f[12]);
        k->facts.maximum_workgroup = number(f[13]);
        k->rsrc1 = number(f[14]);
        k->rsrc2 = number(f[15]);
        k->properties = number(f[16]);
        k->rows = number(f[17]);
        k->blocks = number(f[18]);
        k->facts.is_translated = k->library[0] != 0;
        k->facts.problem = count > 19 && f[19][0] ? strdup(f[19]) : NULL;
    }
    return fresh ? k : NULL;
}

int emulator_refresh(struct emulator_object *object, char *error, size_t error_bytes)
{
    char *path = path_of(object, "kernels.txt");
    size_t bytes;
    char *text = path ? whole_file(path, &bytes) : NULL;
    if (!text) {
        explain(error, error_bytes, "%s cannot be read", path ? path : "kernels.txt");
        free(path);
        return -1;
    }
    free(path);
    struct kernel *last = NULL;
    int first = object->image == NULL;
    for (char *at = text, *line; (line = strsep(&at, "\n"));) {
        char *f[24] = {0};
        int count = split(line, f, 24);
        if (!strcmp(f[0], "emulator") && count >= 5) {
            if (number(f[1]) != EMULATOR_VERSION) return explain(error, error_bytes, "%s is of another version of the emulator", object->folder);
            snprintf(object->target, sizeof object->target, "%s", f[2]);
            snprintf(object->family, sizeof object->family, "%s", f[3]);
            object->image_bytes = strtoull(f[4], NULL, 10);
        } else if (!strcmp(f[0], "variable") && count >= 4 && first) {
            object->variables = realloc(object->variables, (object->variable_count + 1) * sizeof *object->variables);
            object->variables[object->variable_count++] = (struct variable){strdup(f[1]), strtoull(f[2], NULL, 10), strtoull(f[3], NULL, 10)};
        } else if (!strcmp(f[0], "kernel")) {
            last = read_kernel(object, f, count);
        } else if (!strcmp(f[0], "argument") && last && count >= 4) {
            uint32_t i = last->facts.argument_count++;
            last->arguments = realloc(last->arguments, (i + 1) * sizeof *last->arguments);
            last->arguments[i] = (struct emulator_argument){strdup(count > 4 ? f[4] : ""), strdup(f[3]), number(f[1]), number(f[2])};
            last->facts.arguments = last->arguments;
        }
    }
    free(text);
    if (!object->image) {
        char *name = path_of(object, "image.bin");
        size_t have = 0;
        char *data = name ? whole_file(name, &have) : NULL;
        free(name);
        if (!data || have != object->image_bytes) return explain(error, error_bytes, "image.bin of %s is not whole", object->folder);
        object->image = aligned_alloc(4096, (have + 4095) & ~(size_t)4095);
        memcpy(object->image, data, have);
        free(data);
        name = path_of(object, "kernels.txt");
        text = whole_file(name, &bytes);
        free(name);
        for (char *at = text, *line; (line = strsep(&at, "\n"));) {
            char *f[4] = {0};
            if (split(line, f, 4) >= 3 && !strcmp(f[0], "relocation")) {
                uint64_t offset = strtoull(f[1], NULL, 10), value = (uint64_t)(uintptr_t)object->image + strtoull(f[2], NULL, 10);
                if (offset + 8 <= have) memcpy(object->image + offset, &value, 8);
            }
        }
        free(text);
    }
    return 0;
}

struct emulator_object *emulator_open(const char *folder, char *error, size_t error_bytes)
{
    struct emulator_object *object = calloc(1, sizeof *object);
    object->folder = strdup(folder);
    if (emulator_refresh(object, error, error_bytes)) {
        emulator_close(object);
        return NULL;
    }
    return object;
}

void emulator_close(struct emulator_object *object)
{
    if (!object) return;
    for (uint32_t i = 0; i < object->kernel_count; i++) {
        struct kernel *k = object->kernels[i];
        for (uint32_t j = 0; j < k->facts.argument_count; j++) {
            free((char *)k->arguments[j].name);
            free((char *)k->arguments[j].kind);
        }
        if (k->handle) dlclose(k->handle);
        free((char *)k->facts.name);
        free((char *)k->facts.symbol);
        free((char *)k->facts.problem);
        free(k->arguments);
        free(k->library);
        free(k->function);
        free(k->listing);
        free(k->counts);
        free(k);
    }
    for (uint32_t i = 0; i < object->variable_count; i++) free(object->variables[i].name);
    free(object->variables);
    free(object->kernels);
    free(object->image);
    free(object->folder);
    free(object);
}

uint32_t emulator_kernel_count(const struct emulator_object *object) { return object->kernel_count; }
const struct emulator_kernel *emulator_kernel_at(const struct emulator_object *object, uint32_t index)
{
    return index < object->kernel_count ? &object->kernels[index]->facts : NULL;
}
const struct emulator_kernel *emulator_find(const struct emulator_object *object, const char *name)
{
    struct kernel *k = kernel_named(object, name);
    return k ? &k->facts : NULL;
}
void *emulator_variable(struct emulator_object *object, const char *name, size_t *bytes)
{
    for (uint32_t i = 0; i < object->variable_count; i++)
        if (!strcmp(object->variables[i].name, name)) {
            if (bytes) *bytes = object->variables[i].bytes;
            return object->image + object->variables[i].offset;
        }
    return NULL;
}

/* --- one dispatch --- */

#include "global_races.h"

struct run {
    const struct emulator_dispatch *dispatch;
    struct kernel *kernel;
    uint8_t *kernarg;
    uint32_t kernarg_bytes, lds_bytes, waves;
    uint8_t packet[64];
    uint64_t groups;
    _Atomic uint64_t next, waves_begun;
    _Atomic int result;
    pthread_mutex_t lock;
    struct { uint64_t pc; int kind; } reports[256];
    uint32_t report_count;
    struct emulator_counters counters;
    struct races *races; /* NULL: not watched */
};
struct worker {
    struct run *run;
    uint32_t group[3], number;
    sigjmp_buf fault;
    struct wave *current;
    volatile sig_atomic_t may_fault;
    uint64_t fault_address;
};
static __thread struct worker *this_worker;

/* The disassembly of an instruction, from the kernel's listing; "" where there is none. */
static void instruction_at(struct kernel *k, uint64_t pc, char *text, size_t bytes)
{
    text[0] = 0;
    if (!k->listing) {
        char *name = NULL, *path;
        if (asprintf(&name, "%s.txt", k->function) < 0) return;
        path = path_of(k->object, name);
        size_t have;
        k->listing = path ? whole_file(path, &have) : NULL;
        free(name);
        free(path);
    }
    for (const char *line = k->listing; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        char *end;
        if (strtoull(line, &end, 10) != pc || *end != '\t') continue;
        size_t length = strcspn(end + 1, "\n");
        snprintf(text, bytes, "%.*s", (int)length, end + 1);
        return;
    }
}

static void report(struct wave *w, int kind, int lane, uint64_t address, const char *text)
{
    struct worker *worker = w->context;
    struct run *run = worker->run;
    int unset = 0;
    if (kind < EMULATOR_FIRST_FINDING) atomic_compare_exchange_strong(&run->result, &unset, kind);
    pthread_mutex_lock(&run->lock);
    bool is_known = false;
    for (uint32_t i = 0; i < run->report_count; i++) is_known |= run->reports[i].pc == w->pc && run->reports[i].kind == kind;
    if (!is_known && run->report_count < 256 && run->dispatch->report) {
        char instruction[256], sentence[512];
        run->reports[run->report_count].pc = w->pc;
        run->reports[run->report_count++].kind = kind;
        instruction_at(run->kernel, w->pc, instruction, sizeof instruction);
        snprintf(sentence, sizeof sentence, "%s%s%s in workgroup %u,%u,%u, wave %u", kind_names[kind], text[0] ? ": " : "", text,
                 worker->group[0], worker->group[1], worker->group[2], w->index);
        struct emulator_finding finding = {
            kind, kind_names[kind], run->kernel->facts.name, w->pc, instruction, sentence,
            {worker->group[0], worker->group[1], worker->group[2]}, w->index, lane, address};
        run->dispatch->report(run->dispatch->context, &finding);
    }
    pthread_mutex_unlock(&run->lock);
}

static __thread struct { uint64_t start, end; int write; } last_range;
static int in_range(struct wave *w, uint64_t address, uint32_t bytes, int write)
{
    struct worker *worker = w->context;
    struct run *run = worker->run;
    uint64_t kernarg = (uint64_t)(uintptr_t)run->kernarg, image = (uint64_t)(uintptr_t)run->kernel->object->image;
    if (!run->dispatch->range) return 1;
    if (address >= last_range.start && address + bytes <= last_range.end && last_range.write >= write) {
        if (run->races) races_note(run->races, w, worker->group, worker->number, address, bytes, write);
        return 1;
    }
    if (!write && address >= kernarg && address + bytes <= kernarg + run->kernarg_bytes) return 1;
    if (address >= (uint64_t)(uintptr_t)run->packet && address + bytes <= (uint64_t)(uintptr_t)run->packet + 64 && !write) return 1;
    if (address >= image && address + bytes <= image + run->kernel->object->image_bytes) return 1;
    uint64_t start = 0, end = 0;
    if (run->dispatch->range(run->dispatch->context, address, write, &start, &end) && address + bytes <= end) {
        last_range.start = start;
        last_range.end = end;
        last_range.write = write;
        if (run->races) races_note(run->races, w, worker->group, worker->number, address, bytes, write);
        return 1;
    }
    char text[128];
    snprintf(text, sizeof text, "%s of %u bytes at 0x%llx", write ? "write" : "read", bytes, (unsigned long long)address);
    report(w, EMULATOR_GLOBAL_BOUNDS, -1, address, text);
    return 0;
}
#include "sanitizer.h"
static const struct wave_callbacks callbacks = {report, in_range, note_access};

static struct sigaction former[2];
static void on_fault(int signal, siginfo_t *info, void *context)
{
    struct worker *worker = this_worker;
    if (worker && worker->may_fault) {
        worker->fault_address = (uint64_t)(uintptr_t)info->si_addr;
        siglongjmp(worker->fault, 1);
    }
    const struct sigaction *old = &former[signal == SIGBUS];
    if (old->sa_flags & SA_SIGINFO && old->sa_sigaction) old->sa_sigaction(signal, info, context);
    else {
        sigaction(signal, old, NULL); /* the instruction runs again and meets what was there before */
    }
}
static void install_handlers(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigaction(SIGSEGV, &action, &former[0]);
    sigaction(SIGBUS, &action, &former[1]);
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static uint32_t items_of(const struct emulator_dispatch *d, int axis) { return d->items[axis] ? d->items[axis] : d->grid[axis] * d->workgroup[axis]; }

/* The work-items of a workgroup along each axis: fewer in the last one of an axis where it is partial; their product. */
static uint32_t size_of(const struct emulator_dispatch *d, const uint32_t *group, uint32_t *size)
{
    for (int i = 0; i < 3; i++) {
        uint32_t rest = d->items[i] ? d->items[i] - group[i] * d->workgroup[i] : d->workgroup[i];
        size[i] = rest < d->workgroup[i] ? rest : d->workgroup[i];
    }
    return size[0] * size[1] * size[2];
}

/* Registers as the hardware sets them at a wave's start. `extent` is the workgroup's size along each axis. */
static void start_wave(struct wave *w, const struct run *run, const uint32_t *group, const uint32_t *extent, uint32_t index)
{
    const struct emulator_dispatch *d = run->dispatch;
    const struct kernel *k = run->kernel;
    uint32_t lanes = k->facts.wavefront, at = 0, size = extent[0] * extent[1] * extent[2];
    uint64_t kernarg = (uint64_t)(uintptr_t)run->kernarg, packet = (uint64_t)(uintptr_t)run->packet;
    uint32_t user = k->rsrc2 >> 1 & 31;
    int rdna4 = !strcmp(k->object->family, "rdna4"), architected = rdna4 || !strcmp(k->object->family, "rdna3") || !strncmp(k->object->target, "gfx94", 5) || !strncmp(k->object->target, "gfx95", 5);
    if (k->properties & 1) { /* the descriptor of scratch: swizzled, the lane added to the index */
        uint32_t words[4] = {(uint32_t)SCRATCH_BUFFER, (uint32_t)(SCRATCH_BUFFER >> 32) | 0x80000000u, 0xffffffffu, 0x00800000u};
        memcpy(w->s + at, words, 16);
        at += 4;
    }
    const struct { int bit; uint64_t value; } pairs[] = {{1, packet}, {2, 0}, {3, kernarg}, {4, 0}, {5, PRIVATE_APERTURE}};
    for (int i = 0; i < 5; i++)
        if (k->properties >> pairs[i].bit & 1) {
            memcpy(w->s + at, &pairs[i].value, 8);
            at += 2;
        }
    if (k->properties >> 6 & 1) w->s[at++] = k->facts.private_bytes;
    /* Words of arguments that gfx90a and gfx94x put behind the others. A kernel may load them itself as well: from one place. */
    uint32_t words = k->properties >> 16 & 127, first = k->properties >> 23 & 511;
    for (uint32_t i = 0; i < words && at < user && (first + i + 1) * 4 <= run->kernarg_bytes; i++) memcpy(w->s + at++, run->kernarg + 4 * (first + i), 4);
    at = user;
    if (rdna4) { /* ttmp9 and ttmp7 */
        w->s[108 + 9] = group[0];
        w->s[108 + 7] = (group[1] & 0xffff) | group[2] << 16;
    } else {
        for (int i = 0; i < 3; i++)
            if (k->rsrc2 >> (7 + i) & 1) w->s[at++] = group[i];
        if (k->rsrc2 >> 10 & 1) w->s[at++] = size;
        if ((k->rsrc2 & 1) && !architected) w->s[at++] = 0; /* scratch offset of the wave: lanes have memory of their own */
    }
    w->scalar_count = at;
    w->mode = (k->rsrc1 >> 12 & 0xff) | (k->rsrc1 >> 21 & 1) << 8 | (k->rsrc1 >> 23 & 1) << 9;
    uint64_t exec = 0;
    uint32_t start = index * lanes, ids = k->rsrc2 >> 11 & 3; /* ENABLE_VGPR_WORKITEM_ID: x, then y, then z */
    for (uint32_t l = 0; l < lanes && start + l < size; l++) {
        uint32_t item = start + l, x = item % extent[0], rest = item / extent[0];
        w->v[l] = x | (ids > 0 ? rest % extent[1] << 10 : 0) | (ids > 1 ? rest / extent[1] << 20 : 0);
        exec |= 1ull << l;
    }
    w->s[126] = (uint32_t)exec;
    w->s[127] = (uint32_t)(exec >> 32);
    w->lanes = exec;
}

/* One workgroup: all waves up to a barrier or their end, in the order of the seed, again and again. */
static void run_group(struct worker *worker, struct wave **waves, uint8_t *lds, uint64_t number)
{
    struct run *run = worker->run;
    const struct emulator_dispatch *d = run->dispatch;
    struct kernel *k = run->kernel;
    uint32_t lanes = k->facts.wavefront;
    uint64_t random = d->seed ? d->seed ^ number * 0x2545f4914f6cdd1dull : 0;
    uint8_t state[64];
    uint32_t barrier[64];
    worker->number = (uint32_t)number;
    worker->group[0] = (uint32_t)(number % d->grid[0]);
    worker->group[1] = (uint32_t)(number / d->grid[0] % d->grid[1]);
    worker->group[2] = (uint32_t)(number / d->grid[0] / d->grid[1]);
    uint32_t extent[3], size = size_of(d, worker->group, extent), count = (size + lanes - 1) / lanes;
    atomic_fetch_add(&run->waves_begun, count);
    memset(lds, 0xff, run->lds_bytes); /* a NaN in every type: LDS has no values at the start */
    for (uint32_t i = 0; i < count; i++) {
        struct wave *w = waves[i];
        memset(w->s, 0, sizeof w->s);
        memset(w->v, 0, (size_t)w->rows * lanes * 4);
        w->scc = w->resume = w->pc = 0;
        w->fuel = d->budget ? (int64_t)d->budget : 1ll << 40;
        w->index = i;
        start_wave(w, run, worker->group, extent, i);
        sanitizer_start(w, run->lds_bytes);
        state[i] = WAVE_BARRIER;
    }
    for (;;) {
        uint32_t order[64], alive = 0, waits = 0;
        for (uint32_t i = 0; i < count; i++)
            if (state[i] == WAVE_BARRIER) order[alive++] = i;
        if (!alive || atomic_load(&run->result)) break;
        if (d->seed)
            for (uint32_t i = alive; i > 1; i--) {
                uint32_t j = (uint32_t)(next_random(&random) % i), t = order[i - 1];
                order[i - 1] = order[j];
                order[j] = t;
            }
        for (uint32_t i = 0; i < alive; i++) {
            struct wave *w = waves[order[i]];
            worker->current = w;
            state[order[i]] = (uint8_t)k->run(w);
            barrier[order[i]] = w->pc;
            if (state[order[i]] == WAVE_ERROR) return;
        }
        uint32_t first = ~0u;
        for (uint32_t i = 0; i < alive; i++) {
            if (state[order[i]] != WAVE_BARRIER) continue;
            waits++;
            if (first == ~0u) first = order[i];
            else if (barrier[first] != barrier[order[i]] && waves[0]->shadow) {
                char text[96];
                snprintf(text, sizeof text, "wave %u waits at 0x%x", first, barrier[first]);
                report(waves[order[i]], EMULATOR_DIVERGENT_BARRIER, -1, 0, text);
            }
        }
        sanitizer_interval(waves, count);
        if (!waits) break;
    }
}

static void *work(void *argument)
{
    struct run *run = argument;
    struct kernel *k = run->kernel;
    uint32_t lanes = k->facts.wavefront;
    struct worker worker = {.run = run};
    long page = 4096;
    /* LDS and registers end where a page does that is not there. */
    size_t lds_room = ((size_t)run->lds_bytes + (size_t)page - 1) & ~(size_t)(page - 1);
    uint8_t *block = mmap(NULL, lds_room + 2 * (size_t)page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED || mprotect(block + page, lds_room, PROT_READ | PROT_WRITE)) {
        int unset = 0;
        atomic_compare_exchange_strong(&run->result, &unset, EMULATOR_BAD_DISPATCH);
        return NULL;
    }
    uint8_t *lds = block + (size_t)page + lds_room - run->lds_bytes;
    struct wave **waves = calloc(run->waves, sizeof *waves);
    uint64_t *blocks = calloc(k->blocks + 1, sizeof *blocks);
    /* All that the kernel has: an index in M0 reaches registers that no instruction names. */
    uint32_t rows = k->rows < 8 ? 8 : k->rows, has = k->facts.vgprs < 512 ? k->facts.vgprs : 512;
    if (rows < has) rows = has;
    for (uint32_t i = 0; i < run->waves; i++) {
        struct wave *w = waves[i] = aligned_alloc(64, (sizeof *w + 63) & ~(size_t)63);
        memset(w, 0, sizeof *w);
        w->v = aligned_alloc(64, (size_t)rows * lanes * 4);
        w->rows = rows;
        w->lds = lds;
        w->lds_bytes = run->lds_bytes;
        w->scratch_bytes = k->facts.private_bytes;
        w->scratch = w->scratch_bytes ? malloc((size_t)w->scratch_bytes * lanes) : NULL;
        w->image = (uint64_t)(uintptr_t)k->object->image;
        w->calls = &callbacks;
        w->result = (const volatile int *)&run->result;
        w->blocks = blocks;
        w->context = &worker;
    }
    sanitizer_open(k, waves, run->waves, run->lds_bytes);
    this_worker = &worker;
    last_range.start = last_range.end = 0;
    uint64_t number;
    while (!atomic_load(&run->result) && (number = atomic_fetch_add(&run->next, 1)) < run->groups) {
        if (sigsetjmp(worker.fault, 1)) {
            char text[96];
            worker.may_fault = 0;
            snprintf(text, sizeof text, "no memory at 0x%llx", (unsigned long long)worker.fault_address);
            report(worker.current, EMULATOR_FAULT, -1, worker.fault_address, text);
            break;
        }
        worker.may_fault = 1;
        run_group(&worker, waves, lds, number);
        worker.may_fault = 0;
    }
    this_worker = NULL;
    for (uint32_t b = 0; k->counts && b < k->blocks; b++) atomic_fetch_add(&k->counts[b], blocks[b]);
    pthread_mutex_lock(&run->lock);
    for (uint32_t i = 0; i < run->waves; i++) {
        const struct wave_counts *c = &waves[i]->counts;
        run->counters.lane_operations += c->lane_operations;
        run->counters.global_bytes += c->global_bytes;
        run->counters.global_segments += c->global_segments;
        run->counters.flat_to_lds += c->flat_to_lds;
        run->counters.flat_to_global += c->flat_to_global;
        run->counters.lds_cycles += c->lds_cycles;
        run->counters.lds_conflicts += c->lds_conflicts;
    }
    pthread_mutex_unlock(&run->lock);
    sanitizer_close(waves, run->waves);
    for (uint32_t i = 0; i < run->waves; i++) {
        free(waves[i]->v);
        free(waves[i]->scratch);
        free(waves[i]);
    }
    free(waves);
    free(blocks);
    munmap(block, lds_room + 2 * (size_t)page);
    return NULL;
}

static int refuse(const struct emulator_dispatch *d, const struct kernel *k, int kind, const char *text)
{
    struct emulator_finding finding = {kind, kind_names[kind], k ? k->facts.name : "", 0, "", text, {0}, 0, -1, 0};
    if (d->report) d->report(d->context, &finding);
    return kind;
}

/* Reports the conflicts of workgroups that changed what is there, and frees what was kept of them. */
static void report_races(struct run *run)
{
    const struct emulator_dispatch *d = run->dispatch;
    uint32_t race_count = 0;
    for (uint32_t i = 0; run->races && !atomic_load(&run->races->has_order) && i < run->races->count && d->report; i++) {
        const struct race_conflict *c = &run->races->conflicts[i];
        bool is_known = false;
        for (uint32_t j = 0; j < run->report_count; j++) is_known |= run->reports[j].pc == c->pc && run->reports[j].kind == EMULATOR_RACE;
        if (is_known || race_count == 64 || run->report_count == 256) continue;
        if (c->value >= 0 && *(const uint8_t *)(uintptr_t)c->address == c->value) continue;
        char instruction[256], sentence[512];
        run->reports[run->report_count].pc = c->pc;
        run->reports[run->report_count++].kind = EMULATOR_RACE;
        race_count++;
        instruction_at(run->kernel, c->pc, instruction, sizeof instruction);
        snprintf(sentence, sizeof sentence, "%s: the byte at 0x%llx %s in workgroup %u,%u,%u, wave %u", kind_names[EMULATOR_RACE],
                 (unsigned long long)c->address, c->text, c->group[0], c->group[1], c->group[2], c->wave);
        struct emulator_finding finding = {
            EMULATOR_RACE, kind_names[EMULATOR_RACE], run->kernel->facts.name, c->pc, instruction, sentence,
            {c->group[0], c->group[1], c->group[2]}, c->wave, -1, c->address};
        d->report(d->context, &finding);
    }
    races_close(run->races);
}

static int load_kernel(struct kernel *k, char *text, size_t bytes)
{
    int result = 0;
    pthread_mutex_lock(&k->lock);
    if (!k->run) {
        char *path = path_of(k->object, k->library);
        k->handle = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
        k->run = k->handle ? (body)dlsym(k->handle, k->function) : NULL;
        if (!k->run) {
            snprintf(text, bytes, "%s", dlerror());
            result = -1;
        } else {
            k->counts = calloc(k->blocks + 1, sizeof *k->counts);
        }
        free(path);
    }
    pthread_mutex_unlock(&k->lock);
    return result;
}

/* Explicit arguments from pointers or bytes, then the hidden ones that code objects V4 and V5 name. */
static void fill_arguments(const struct emulator_dispatch *d, const struct kernel *k, uint8_t *kernarg, uint32_t bytes)
{
    uint32_t at = 0;
    if (d->kernarg) memcpy(kernarg, d->kernarg, d->kernarg_bytes < bytes ? d->kernarg_bytes : bytes);
    for (uint32_t i = 0; i < k->facts.argument_count; i++) {
        const struct emulator_argument *a = &k->arguments[i];
        if ((uint64_t)a->offset + a->bytes > bytes) continue;
        if (strncmp(a->kind, "hidden_", 7)) {
            if (d->pointers) memcpy(kernarg + a->offset, d->pointers[at], a->bytes);
            at++;
            continue;
        }
        const char *kind = a->kind + 7;
        uint64_t value = 0;
        size_t length = strlen(kind);
        int axis = length && kind[length - 1] >= 'x' && kind[length - 1] <= 'z' ? kind[length - 1] - 'x' : 0;
        if (!strncmp(kind, "block_count_", 12)) value = items_of(d, axis) / d->workgroup[axis];
        else if (!strncmp(kind, "group_size_", 11)) value = d->workgroup[axis];
        else if (!strncmp(kind, "remainder_", 10)) value = items_of(d, axis) % d->workgroup[axis];
        else if (!strcmp(kind, "grid_dims")) value = items_of(d, 2) > 1 ? 3 : items_of(d, 1) > 1 ? 2 : 1;
        else if (!strcmp(kind, "dynamic_lds_size")) value = d->dynamic_lds_bytes;
        else if (!strcmp(kind, "shared_base")) value = SHARED_APERTURE >> 32;
        else if (!strcmp(kind, "private_base")) value = PRIVATE_APERTURE >> 32;
        memcpy(kernarg + a->offset, &value, a->bytes < 8 ? a->bytes : 8);
    }
}
/* The fields of hsa_kernel_dispatch_packet_t that kernels read: sizes. */
static void fill_packet(uint8_t *packet, const struct emulator_dispatch *d, const struct run *run)
{
    uint32_t items[3];
    uint64_t kernarg = (uint64_t)(uintptr_t)run->kernarg;
    for (int i = 0; i < 3; i++) {
        uint16_t size = (uint16_t)d->workgroup[i];
        items[i] = items_of(d, i);
        memcpy(packet + 4 + 2 * i, &size, 2);
    }
    memcpy(packet + 12, items, 12);
    memcpy(packet + 24, &run->kernel->facts.private_bytes, 4);
    memcpy(packet + 28, &run->lds_bytes, 4);
    memcpy(packet + 40, &kernarg, 8);
}

static void count_blocks(struct kernel *k, const uint64_t *before, struct emulator_counters *to);

uint32_t emulator_coverage(const struct emulator_kernel *kernel, char *digits, size_t room)
{
    struct kernel *k = (struct kernel *)(uintptr_t)kernel;
    size_t length = 0;
    for (uint32_t b = 0; k->counts && b < k->blocks && length + 1 < room; b += 4) {
        int digit = 0;
        for (uint32_t i = 0; i < 4; i++) digit = digit << 1 | (b + i < k->blocks && atomic_load(&k->counts[b + i]) != 0);
        digits[length++] = "0123456789abcdef"[digit];
    }
    if (room) digits[length] = 0;
    return k->blocks;
}

int emulator_dispatch(const struct emulator_dispatch *d)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!d || d->size != sizeof *d || !d->kernel) return EMULATOR_BAD_DISPATCH;
    struct kernel *k = (struct kernel *)(uintptr_t)d->kernel;
    char text[512];
    if (k->facts.problem) return refuse(d, k, EMULATOR_NOT_TRANSLATED, k->facts.problem);
    if (!k->facts.is_translated) return refuse(d, k, EMULATOR_NOT_TRANSLATED, "the kernel is not translated yet");
    uint64_t size = (uint64_t)d->workgroup[0] * d->workgroup[1] * d->workgroup[2];
    uint32_t limit = d->lds_limit ? d->lds_limit : 65536;
    if (!size || size > 1024 || (k->facts.maximum_workgroup && size > k->facts.maximum_workgroup)) {
        snprintf(text, sizeof text, "a workgroup of %llu work-items: the kernel takes 1 to %u", (unsigned long long)size, k->facts.maximum_workgroup);
        return refuse(d, k, EMULATOR_BAD_DISPATCH, text);
    }
    for (int i = 0; i < 3; i++)
        if (d->items[i] && ((uint64_t)d->items[i] + d->workgroup[i] - 1) / d->workgroup[i] != d->grid[i])
            return refuse(d, k, EMULATOR_BAD_DISPATCH, "a grid whose work-items are not those of its workgroups");
    if (!d->grid[0] || !d->grid[1] || !d->grid[2]) return refuse(d, k, EMULATOR_BAD_DISPATCH, "a grid of no workgroups");
    if ((uint64_t)k->facts.group_bytes + d->dynamic_lds_bytes > limit) {
        snprintf(text, sizeof text, "%u + %u bytes of LDS: a workgroup has %u", k->facts.group_bytes, d->dynamic_lds_bytes, limit);
        return refuse(d, k, EMULATOR_BAD_DISPATCH, text);
    }
    if (is_sanitized(k) && (k->rsrc1 >> 16 & 3) != 3) refuse(d, k, EMULATOR_DENORMAL_MODE, "the kernel's descriptor flushes float32 denormals");
    if (load_kernel(k, text, sizeof text)) return refuse(d, k, EMULATOR_NOT_TRANSLATED, text);
    pthread_once(&once, install_handlers);
    struct run run = {.dispatch = d, .kernel = k};
    run.lds_bytes = k->facts.group_bytes + d->dynamic_lds_bytes;
    run.waves = (uint32_t)((size + k->facts.wavefront - 1) / k->facts.wavefront);
    run.groups = (uint64_t)d->grid[0] * d->grid[1] * d->grid[2];
    run.kernarg_bytes = (k->facts.kernarg_bytes + 63) & ~63u;
    run.kernarg = aligned_alloc(64, run.kernarg_bytes + 64);
    memset(run.kernarg, 0, run.kernarg_bytes + 64);
    pthread_mutex_init(&run.lock, NULL);
    fill_arguments(d, k, run.kernarg, k->facts.kernarg_bytes);
    fill_packet(run.packet, d, &run);
    if (is_sanitized(k) && d->range && run.groups > 1) run.races = races_open();
    uint64_t *before = calloc(k->blocks + 1, sizeof *before);
    for (uint32_t i = 0; i < k->blocks; i++) before[i] = atomic_load(&k->counts[i]);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t threads = d->threads ? d->threads : cores > 0 ? (uint64_t)cores : 1;
    if (threads > run.groups) threads = run.groups;
    if (threads > 256) threads = 256;
    pthread_t others[256];
    uint64_t thread_count = 0;
    for (uint64_t i = 1; i < threads; i++)
        if (!pthread_create(&others[thread_count], NULL, work, &run)) thread_count++;
    work(&run);
    for (uint64_t i = 0; i < thread_count; i++) pthread_join(others[i], NULL);
    report_races(&run);
    if (d->counters) {
        struct emulator_counters *to = d->counters;
        to->waves += atomic_load(&run.waves_begun);
        to->lane_operations += run.counters.lane_operations;
        to->global_bytes += run.counters.global_bytes;
        to->global_segments += run.counters.global_segments;
        to->flat_to_lds += run.counters.flat_to_lds;
        to->flat_to_global += run.counters.flat_to_global;
        to->lds_cycles += run.counters.lds_cycles;
        to->lds_conflicts += run.counters.lds_conflicts;
        count_blocks(k, before, to);
    }
    free(before);
    free(run.kernarg);
    pthread_mutex_destroy(&run.lock);
    return atomic_load(&run.result);
}

/* Instructions by class, from how often each block ran: a line of KERNEL.counts is a block's numbers in the order of the struct. */
static void count_blocks(struct kernel *k, const uint64_t *before, struct emulator_counters *to)
{
    char *name = NULL;
    if (asprintf(&name, "%s.counts", k->function) < 0) return;
    char *path = path_of(k->object, name);
    FILE *file = path ? fopen(path, "r") : NULL;
    free(name);
    free(path);
    if (!file) return;
    uint64_t *classes = &to->valu;
    for (uint32_t b = 0; b < k->blocks; b++) {
        uint64_t times = atomic_load(&k->counts[b]) - before[b];
        for (int i = 0; i < 14; i++) {
            unsigned long long each;
            if (fscanf(file, "%llu", &each) != 1) break;
            classes[i] += times * each;
            to->instructions += times * each;
        }
    }
    fclose(file);
}
