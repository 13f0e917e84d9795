// Launches: sizes are checked as the hardware would, arguments are copied at once, and what the emulator finds is passed on.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime.h"

static _Thread_local struct { dim3 grid, block; size_t lds; hipStream_t stream; } pushed[8];
static _Thread_local int depth;

EXPORT hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds, hipStream_t stream) {
  CHECK(depth < 8, hipErrorInvalidConfiguration, "launches within launches");
  pushed[depth].grid = grid, pushed[depth].block = block, pushed[depth].lds = lds, pushed[depth++].stream = stream;
  return hipSuccess;
}
EXPORT hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *lds, hipStream_t *stream) {
  CHECK(depth > 0, hipErrorInvalidConfiguration, "no configuration was pushed");
  *grid = pushed[--depth].grid, *block = pushed[depth].block, *lds = pushed[depth].lds, *stream = pushed[depth].stream;
  return hipSuccess;
}

// A fault that the emulator does not turn into a finding ends the process, as it does on a GPU; what ran is said before.
static struct sigaction before_segv, before_bus;
static const char *volatile running;

static void on_fault(int number, siginfo_t *info, void *context) {
  (void)context;
  char where[160], text[512];
  describe_address(info->si_addr, where, sizeof where);
  snprintf(text, sizeof text, "memory access fault at %p, %s", info->si_addr, where);
  const char *kernel = running ? running : "";
  char line[1024];
  int length = snprintf(line, sizeof line, "emulated GPU: %s: %s\n", kernel, text);
  if (write(2, line, length > 0 ? (size_t)length : 0) < 0) _exit(134);
  channel_report("finding", "kind", "fault", "kernel", kernel, "text", text, NULL);
  signal(number, SIG_DFL);
  raise(number);
}

static void on_finding(void *context, const struct emulator_finding *f) {
  (void)context;
  char pc[32], lane[16], wave[16], group[64], address[32];
  snprintf(pc, sizeof pc, "0x%llx", (unsigned long long)f->pc);
  snprintf(lane, sizeof lane, "%d", f->lane);
  snprintf(wave, sizeof wave, "%u", f->wave);
  snprintf(group, sizeof group, "%u,%u,%u", f->workgroup[0], f->workgroup[1], f->workgroup[2]);
  snprintf(address, sizeof address, "0x%llx", (unsigned long long)f->address);
  fprintf(stderr, "emulated GPU: %s at %s (%s): %s: %s\n", f->kernel, pc, f->instruction, f->kind_name, f->text);
  channel_report("finding", "kind", f->kind_name, "kernel", f->kernel, "pc", pc, "instruction", f->instruction, "text", f->text,
                 "workgroup", group, "wave", wave, "lane", lane, "address", address, NULL);
}

static void report_counters(const struct launch *l, const struct emulator_counters *c) {
  char numbers[1024], shape[128], resources[128], blocks[4096];
  const struct emulator_kernel *k = l->function->kernel;
  size_t length = 0;
  const uint64_t *values = (const uint64_t *)c;
  for (size_t i = 0; i < sizeof *c / sizeof *values && length < sizeof numbers - 24; ++i)
    length += snprintf(numbers + length, sizeof numbers - length, "%s%llu", i ? "," : "", (unsigned long long)values[i]);
  snprintf(shape, sizeof shape, "%u,%u,%u,%u,%u,%u,%u", l->grid.x, l->grid.y, l->grid.z, l->workgroup.x, l->workgroup.y, l->workgroup.z, l->dynamic_lds);
  snprintf(resources, sizeof resources, "%u,%u,%u,%u,%u", k->wavefront, k->vgprs, k->sgprs, k->group_bytes + l->dynamic_lds, k->private_bytes);
  char digits[4000];
  uint32_t block_count = emulator_coverage(k, digits, sizeof digits);
  snprintf(blocks, sizeof blocks, "%u,%s", block_count, digits);
  channel_report("dispatch", "kernel", k->name, "shape", shape, "resources", resources, "counters", numbers, "blocks", blocks, NULL);
}

static uint64_t number_in(const char *variable) {
  const char *text = getenv(variable);
  return text ? strtoull(text, NULL, 10) : 0;
}

hipError_t run_launch(const struct launch *l) {
  // One dispatch at a time: the handlers are the process's, and a dispatch uses every core.
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  const struct device *device = device_of(l->device);
  struct emulator_counters counters = {0};
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
  pthread_mutex_lock(&lock);
  running = l->function->kernel->name;
  sigaction(SIGSEGV, &action, &before_segv);
  sigaction(SIGBUS, &action, &before_bus);
  struct emulator_dispatch dispatch = {
      .size = sizeof dispatch, .kernel = l->function->kernel,
      .grid = {l->grid.x, l->grid.y, l->grid.z}, .workgroup = {l->workgroup.x, l->workgroup.y, l->workgroup.z},
      .items = {l->items.x, l->items.y, l->items.z},
      .kernarg = l->kernarg, .kernarg_bytes = l->kernarg_bytes, .dynamic_lds_bytes = l->dynamic_lds,
      .lds_limit = device->lds_bytes, .seed = number_in("STACKBUILD_EMULATOR_SEED"), .threads = number_in("STACKBUILD_EMULATOR_THREADS"),
      .budget = number_in("STACKBUILD_EMULATOR_BUDGET"), .range = memory_range, .report = on_finding, .counters = &counters};
  int ended_as = emulator_dispatch(&dispatch);
  sigaction(SIGSEGV, &before_segv, NULL);
  sigaction(SIGBUS, &before_bus, NULL);
  report_counters(l, &counters);
  check_slack(running);
  const char *name = running;
  running = NULL;
  pthread_mutex_unlock(&lock);
  if (ended_as == EMULATOR_OK) return hipSuccess;
  return fail_call(name, ended_as == EMULATOR_BAD_DISPATCH ? hipErrorInvalidConfiguration : ended_as == EMULATOR_FAULT ? hipErrorIllegalAddress
                      : ended_as == EMULATOR_NOT_TRANSLATED ? hipErrorNotSupported : hipErrorLaunchFailure,
                "the dispatch of %u×%u×%u workgroups of %u×%u×%u ended as kind %d", l->grid.x, l->grid.y, l->grid.z, l->workgroup.x,
                l->workgroup.y, l->workgroup.z, ended_as);
}

// Explicit arguments at their offsets of the kernarg segment, from an array of pointers to their values.
static void *copied_arguments(const struct emulator_kernel *kernel, void *const *pointers) {
  char *segment = calloc(1, kernel->kernarg_bytes + 8);
  for (uint32_t i = 0, next = 0; segment && pointers && i < kernel->argument_count; ++i) {
    const struct emulator_argument *one = &kernel->arguments[i];
    if (strncmp(one->kind, "hidden_", 7) != 0) memcpy(segment + one->offset, pointers[next++], one->bytes);
  }
  return segment;
}

static hipError_t launch(const char *call, struct function *function, dim3 grid, dim3 workgroup, dim3 items, void *const *pointers, const void *buffer,
                         size_t buffer_bytes, size_t lds, hipStream_t stream) {
  hipError_t code = prepare(call, function);
  if (code) return code;
  const struct emulator_kernel *kernel = function->kernel;
  const struct device *device = device_of(current_device());
  uint64_t threads = (uint64_t)workgroup.x * workgroup.y * workgroup.z;
  CHECK_IN(call, device, hipErrorNoDevice, "there is no device");
  CHECK_IN(call, threads && grid.x && grid.y && grid.z, hipErrorInvalidConfiguration, "%s: %u×%u×%u workgroups of %u×%u×%u", kernel->name,
           grid.x, grid.y, grid.z, workgroup.x, workgroup.y, workgroup.z);
  CHECK_IN(call, threads <= kernel->maximum_workgroup && threads <= 1024, hipErrorInvalidConfiguration,
           "%s: a workgroup of %llu work-items; it was compiled for %u at most", kernel->name, (unsigned long long)threads, kernel->maximum_workgroup);
  CHECK_IN(call, kernel->group_bytes + lds <= (size_t)device->lds_bytes, hipErrorInvalidConfiguration,
           "%s: %zu bytes of LDS, %u of them static; a workgroup of %s has %d", kernel->name, kernel->group_bytes + lds, kernel->group_bytes,
           device->target, device->lds_bytes);
  CHECK_IN(call, !buffer || buffer_bytes >= kernel->explicit_bytes, hipErrorInvalidValue, "%s: %zu bytes of arguments; it takes %u", kernel->name,
           buffer_bytes, kernel->explicit_bytes);
  struct operation operation = {.kind = OPERATION_LAUNCH};
  operation.launch = (struct launch){function, grid, workgroup, items, (uint32_t)lds, NULL, kernel->explicit_bytes, current_device()};
  operation.launch.kernarg = copied_arguments(kernel, pointers);
  CHECK_IN(call, operation.launch.kernarg, hipErrorOutOfMemory, "%u bytes of arguments", kernel->kernarg_bytes);
  if (buffer) memcpy(operation.launch.kernarg, buffer, kernel->explicit_bytes);
  return submit(call, stream, &operation);
}

EXPORT hipError_t hipLaunchKernel(const void *host, dim3 grid, dim3 block, void **arguments, size_t lds, hipStream_t stream) {
  SEEDED_FAULT();
  struct function *function;
  hipError_t code = function_of(__func__, host, &function);
  return code ? code : launch(__func__, function, grid, block, (dim3){0, 0, 0}, arguments, NULL, 0, lds, stream);
}
EXPORT hipError_t hipLaunchKernel_spt(const void *host, dim3 grid, dim3 block, void **arguments, size_t lds, hipStream_t stream) {
  return hipLaunchKernel(host, grid, block, arguments, lds, stream);
}

static hipError_t launch_in_module(const char *call, hipFunction_t function, dim3 grid, dim3 block, dim3 items, size_t lds, hipStream_t stream,
                                   void **arguments, void **extra) {
  const void *buffer = NULL;
  size_t bytes = 0;
  // {1: buffer pointer, 2: pointer to its size, 3: end}, as HIP_LAUNCH_PARAM_… have them.
  for (int i = 0; extra && extra[i] != (void *)3; i += 2) {
    if (extra[i] == (void *)1) buffer = extra[i + 1];
    else if (extra[i] == (void *)2) bytes = *(size_t *)extra[i + 1];
    else return fail_call(call, hipErrorInvalidValue, "extra parameter %p", extra[i]);
  }
  CHECK_IN(call, function, hipErrorInvalidHandle, "the function is null");
  return launch(call, function, grid, block, items, arguments, buffer, bytes, lds, stream);
}
EXPORT hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                        unsigned lds, hipStream_t stream, void **arguments, void **extra) {
  SEEDED_FAULT();
  return launch_in_module(__func__, function, (dim3){gx, gy, gz}, (dim3){bx, by, bz}, (dim3){0, 0, 0}, lds, stream, arguments, extra);
}
// Sizes are in work-items: the last workgroup of an axis may be partial, which HSA allows.
EXPORT hipError_t hipExtModuleLaunchKernel(hipFunction_t function, unsigned wx, unsigned wy, unsigned wz, unsigned bx, unsigned by, unsigned bz,
                                           size_t lds, hipStream_t stream, void **arguments, void **extra, hipEvent_t start, hipEvent_t stop,
                                           unsigned flags) {
  SEEDED_FAULT();
  (void)flags;
  CHECK(bx && by && bz, hipErrorInvalidConfiguration, "%u×%u×%u work-items in workgroups of %u×%u×%u", wx, wy, wz, bx, by, bz);
  dim3 grid = {wx / bx + (wx % bx != 0), wy / by + (wy % by != 0), wz / bz + (wz % bz != 0)};
  hipError_t code = start ? hipEventRecord(start, stream) : hipSuccess;
  if (!code) code = launch_in_module(__func__, function, grid, (dim3){bx, by, bz}, (dim3){wx, wy, wz}, lds, stream, arguments, extra);
  return code || !stop ? code : hipEventRecord(stop, stream);
}
// hip_ext.h declares it outside of extern "C": MIGraphX and rocBLAS ask for the C++ name.
EXPORT hipError_t _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j(
    hipFunction_t function, unsigned wx, unsigned wy, unsigned wz, unsigned bx, unsigned by, unsigned bz, size_t lds, hipStream_t stream,
    void **arguments, void **extra, hipEvent_t start, hipEvent_t stop, unsigned flags) {
  return hipExtModuleLaunchKernel(function, wx, wy, wz, bx, by, bz, lds, stream, arguments, extra, start, stop, flags);
}

EXPORT hipError_t hipFuncGetAttributes(hipFuncAttributes *attributes, const void *host) {
  struct function *function;
  hipError_t code = function_of(__func__, host, &function);
  if (code || (code = prepare(__func__, function))) return code;
  const struct emulator_kernel *k = function->kernel;
  *attributes = (hipFuncAttributes){.binary_version = 0, .local_bytes = k->private_bytes, .max_threads = (int)k->maximum_workgroup,
                                    .max_dynamic_shared_bytes = device_of(current_device())->lds_bytes - (int)k->group_bytes,
                                    .registers = (int)k->vgprs, .shared_bytes = k->group_bytes};
  return hipSuccess;
}
EXPORT hipError_t hipFuncSetAttribute(const void *host, int attribute, int value) { (void)host, (void)attribute, (void)value; SEEDED_FAULT(); return hipSuccess; }
EXPORT hipError_t hipFuncSetCacheConfig(const void *host, int config) { (void)host, (void)config; return hipSuccess; }
EXPORT hipError_t hipFuncSetSharedMemConfig(const void *host, int config) { (void)host, (void)config; return hipSuccess; }
