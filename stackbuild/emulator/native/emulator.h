/* The emulator of AMD GPUs: translated code objects, and dispatches of their kernels on the CPU.
 *
 * A code object is translated by `python -m stackbuild.emulator translate`, which prints the folder that it wrote. This
 * interface opens such a folder and runs its kernels. Compile executor.c, beside this file, into the caller's library
 * (C11, -pthread -ldl). All functions may be called from several threads; a dispatch returns when its last workgroup ended.
 *
 * Pointers in kernel arguments are addresses of this process: "device memory" is ordinary memory. Addresses from 2^48 are the
 * apertures of LDS and scratch and never the caller's.
 */
#ifndef STACKBUILD_EMULATOR_H
#define STACKBUILD_EMULATOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EMULATOR_VERSION 1

/* What a dispatch returns, and the kind of a finding. From EMULATOR_FIRST_FINDING on, the sanitizer's. */
enum emulator_kind {
    EMULATOR_OK = 0,
    EMULATOR_NOT_TRANSLATED = 1,   /* the kernel is not in the folder, or has an instruction that is not known: text says which */
    EMULATOR_BAD_DISPATCH = 2,     /* sizes that the hardware refuses: text says which */
    EMULATOR_FAULT = 3,            /* an access to memory that is not there, at the finding's PC */
    EMULATOR_TRAP = 4,             /* s_trap, or an instruction that stops the wave */
    EMULATOR_TIMEOUT = 5,          /* more instructions than `budget` */
    EMULATOR_END_OF_CODE = 6,      /* the wave ran past the kernel's last instruction */
    EMULATOR_FIRST_FINDING = 16,
    EMULATOR_GLOBAL_BOUNDS = 16,   /* global access outside of all ranges */
    EMULATOR_LDS_BOUNDS = 17,      /* LDS access outside of the group segment */
    EMULATOR_SCRATCH_BOUNDS = 18,  /* scratch access outside of the private segment */
    EMULATOR_MISALIGNED = 19,      /* atomics and scalar loads off their natural boundary */
    EMULATOR_UNINITIALISED = 20,   /* an address, a branch, or what is stored depends on a register or LDS never written */
    EMULATOR_RACE = 21,            /* two waves access the same LDS bytes between two barriers, one of them writing */
    EMULATOR_MISSING_WAIT = 22,    /* a register is used while a load into it is under way */
    EMULATOR_DIVERGENT_BARRIER = 23, /* waves of one workgroup wait at different s_barrier instructions */
    EMULATOR_INACTIVE_LANE = 24,   /* a value comes from a lane that EXEC leaves out */
    EMULATOR_DENORMAL_MODE = 25    /* the descriptor flushes float32 denormals */
};

struct emulator_finding {
    enum emulator_kind kind;
    const char *kind_name;         /* "out of bounds (global)", … */
    const char *kernel;            /* mangled name */
    uint64_t pc;                   /* offset from the kernel's first instruction, in bytes */
    const char *instruction;       /* its disassembly, "" where there is none */
    const char *text;              /* one sentence: what, where */
    uint32_t workgroup[3];
    uint32_t wave;                 /* of the workgroup */
    int lane;                      /* -1: of no single lane */
    uint64_t address;              /* of the access, 0 where there is none */
};

/* Called from a worker thread, one at a time. A PC and kind is reported once a dispatch. The strings last as long as the call. */
typedef void (*emulator_report)(void *context, const struct emulator_finding *finding);

/* 1 and the range (start inclusive, end exclusive) that holds `address`; 0 and the free gap around it where none does.
 * `write`: whether it is to be written. Called from worker threads at once. */
typedef int (*emulator_range)(void *context, uint64_t address, int write, uint64_t *start, uint64_t *end);

struct emulator_object;            /* an open folder */

struct emulator_argument {
    const char *name;              /* "" where the metadata have none */
    const char *kind;              /* .value_kind: "by_value", "global_buffer", "hidden_block_count_x", … */
    uint32_t offset;               /* in the kernarg segment */
    uint32_t bytes;
};

struct emulator_kernel {
    const char *name;              /* mangled, as __hipRegisterFunction has it */
    const char *symbol;            /* NAME.kd */
    const char *target;            /* "gfx1100" */
    const char *problem;           /* NULL, or why it cannot run: "v_foo_f32 at 0x1c0 is not known" */
    int is_translated;             /* 0: known, but not yet compiled: translate with --kernel NAME, then emulator_refresh */
    uint32_t wavefront;            /* 32 or 64 */
    uint32_t kernarg_bytes;
    uint32_t explicit_bytes;       /* of the kernarg segment, before the hidden arguments */
    uint32_t group_bytes;          /* static LDS */
    uint32_t private_bytes;        /* scratch of one lane */
    uint32_t vgprs, sgprs, agprs;  /* of the metadata */
    uint32_t maximum_workgroup;    /* .max_flat_workgroup_size */
    uint32_t argument_count;
    const struct emulator_argument *arguments;
};

/* Counts of one dispatch. Waves' instructions unless said otherwise. Filled in folders that were translated with counters. */
struct emulator_counters {
    uint64_t waves;
    uint64_t instructions;
    uint64_t lane_operations;      /* vector instructions × active lanes */
    uint64_t valu, salu, smem, matrix, vmem_load, vmem_store, vmem_atomic, flat, scratch, lds, branch, barrier, wait, other;
    uint64_t global_bytes;         /* asked for by active lanes */
    uint64_t global_segments;      /* distinct aligned segments of 64 bytes, summed over instructions */
    uint64_t flat_to_lds;          /* FLAT accesses whose lanes all lie in LDS */
    uint64_t flat_to_global;       /* … all in global memory */
    uint64_t lds_cycles;           /* the most accesses to one bank (of 32, of different dwords), summed over instructions */
    uint64_t lds_conflicts;        /* of these, what exceeds a conflict-free access */
};

struct emulator_dispatch {
    uint32_t size;                 /* sizeof(struct emulator_dispatch) */
    const struct emulator_kernel *kernel;
    uint32_t grid[3];              /* workgroups */
    uint32_t workgroup[3];         /* work-items of one */
    /* One of the two. `pointers`: as hipLaunchKernel has them, one to each explicit argument's value. `kernarg`: explicit
     * arguments at their offsets, `kernarg_bytes` of them. Hidden arguments are filled in here. */
    void *const *pointers;
    const void *kernarg;
    size_t kernarg_bytes;
    uint32_t dynamic_lds_bytes;
    uint32_t lds_limit;            /* bytes a workgroup may have; 0: 65536 */
    uint64_t seed;                 /* the order of workgroups' waves between barriers; 0: in order */
    uint32_t threads;              /* 0: one a core */
    uint64_t budget;               /* jumps backwards a wave may take before EMULATOR_TIMEOUT; 0: 2^40 */
    void *context;                 /* of both callbacks */
    emulator_range range;          /* NULL: bounds are not checked, wrong addresses are EMULATOR_FAULT */
    emulator_report report;        /* NULL: none */
    struct emulator_counters *counters; /* NULL, or added to */
    uint32_t items[3];             /* work-items of the grid, where the last workgroup of an axis is partial; 0: all are whole */
};

/* Opens FOLDER, which translate wrote. NULL, and a sentence in `error`, where it cannot. */
struct emulator_object *emulator_open(const char *folder, char *error, size_t error_bytes);
/* Reads kernels.txt of FOLDER again: kernels translated since are there then. Pointers to kernels stay valid. 0, or -1 with a sentence. */
int emulator_refresh(struct emulator_object *object, char *error, size_t error_bytes);
void emulator_close(struct emulator_object *object);
uint32_t emulator_kernel_count(const struct emulator_object *object);
const struct emulator_kernel *emulator_kernel_at(const struct emulator_object *object, uint32_t index);
const struct emulator_kernel *emulator_find(const struct emulator_object *object, const char *name); /* NULL: no such kernel */

/* A variable of the code object (hipGetSymbolAddress): its address in the loaded image, NULL where there is none. */
void *emulator_variable(struct emulator_object *object, const char *name, size_t *bytes);

/* Which basic blocks of a kernel ran so far in this process, where it was translated with counters: four a hexadecimal digit, the
 * first block the highest bit of the first. As many as fit; how many blocks there are. */
uint32_t emulator_coverage(const struct emulator_kernel *kernel, char *digits, size_t room);

/* Runs a dispatch to its end. EMULATOR_OK, or the kind of the first error; findings go to `report` and do not end the run. */
int emulator_dispatch(const struct emulator_dispatch *dispatch);

#ifdef __cplusplus
}
#endif
#endif
