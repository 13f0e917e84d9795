// What the parts of the stand-in share. `docs/emulator.md` says how it is used.
#ifndef STACKBUILD_RUNTIME_H
#define STACKBUILD_RUNTIME_H

#include <pthread.h>
#include <stdbool.h>

#include "../emulator.h"
#include "hip_abi.h"

#define EXPORT __attribute__((visibility("default")))
enum { DEVICES = 16 };

// channel.c: the way to the process that translates, through an inherited socket.
bool channel_is_open(void);
// Sends a request with `bytes` of payload (none: NULL) and returns the answer, to be freed; never NULL.
char *channel_request(const char *text, const void *payload, size_t bytes);
// Sends one line of a report: its kind, and fields "name", "value", …, NULL. Safe in a signal handler where all strings are short.
void channel_report(const char *kind, ...);

// errors.c
hipError_t fail_call(const char *call, hipError_t code, const char *format, ...) __attribute__((format(printf, 3, 4)));
hipError_t end_call(hipError_t code);  // remembers the code for hipGetLastError
bool fault_is_due(const char *call, hipError_t *code);
hipError_t refuse_call(const char *name);
#define SEEDED_FAULT() \
  do { \
    hipError_t fault_code_; \
    if (fault_is_due(__func__, &fault_code_)) return fail_call(__func__, fault_code_, "a fault that STACKBUILD_EMULATOR_FAULTS asks for"); \
  } while (0)
#define CHECK_IN(CALL, CONDITION, CODE, ...) \
  do { if (!(CONDITION)) return fail_call(CALL, CODE, __VA_ARGS__); } while (0)
#define CHECK(CONDITION, CODE, ...) CHECK_IN(__func__, CONDITION, CODE, __VA_ARGS__)

// device.c
struct device {
  char target[64], target_id[64], name[NAME_BYTES];  // target_id: with features, as gcnArchName has them
  int wave, units, major, minor, lds_bytes, l2_bytes, threads_per_unit, workgroups_per_unit;
  uint64_t memory;
};
const struct device *device_of(int number);  // NULL: no such device
int device_count(void);
int current_device(void);

// memory.c: every allocation lies between two pages that cannot be accessed.
struct allocation {
  char *start;
  size_t bytes;       // asked for
  int device, kind;   // MEMORY_…
  char *mapping;
  size_t mapping_bytes;
};
bool find_allocation(const void *address, struct allocation *copy);
// What lies nearest to an address, as half a sentence.
void describe_address(const void *address, char *text, size_t bytes);
// 0, or the code after a report: whether a copy may touch these bytes. `device`: it must be device memory.
hipError_t check_range(const char *call, const void *start, size_t bytes, bool is_read, int expected_kind);
void check_slack(const char *call);
int memory_range(void *context, uint64_t address, int write, uint64_t *start, uint64_t *end);

// module.c
struct function { struct module *module; const char *name; const struct emulator_kernel *kernel; };
struct module { const void *image; size_t bytes; struct emulator_object *object; char *folder; char *problem; bool is_registered; };
hipError_t function_of(const char *call, const void *host, struct function **function);
hipError_t prepare(const char *call, struct function *function);  // its kernel is translated
hipError_t symbol_of(const char *call, const void *host, void **address, size_t *bytes);

// launch.c
struct launch {
  struct function *function;
  dim3 grid, workgroup, items;  // items: work-items of the grid where its last workgroups are partial; else 0
  uint32_t dynamic_lds;
  void *kernarg;
  size_t kernarg_bytes;
  int device;
};
hipError_t run_launch(const struct launch *launch);

// stream.c: an operation of a stream is done at once, or kept where the stream is being captured into a graph.
struct operation {
  enum { OPERATION_LAUNCH, OPERATION_COPY, OPERATION_FILL, OPERATION_CALL } kind;
  struct launch launch;
  struct { char *to; const char *from; size_t to_pitch, from_pitch, width, rows; hipMemcpyKind kind; } copy;
  struct { char *to; size_t pitch, width, rows; uint32_t value; int value_bytes; } fill;
  struct { void (*function)(void *); void *argument; } call;
};
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream);
hipError_t submit(const char *name, hipStream_t stream, const struct operation *operation);
hipError_t check_stream(const char *call, hipStream_t stream);

#endif
