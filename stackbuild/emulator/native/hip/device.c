// Devices: as many as STACKBUILD_EMULATOR_DEVICES says (1), each with STACKBUILD_EMULATOR_MEMORY bytes (4 GiB); the target's
// numbers come from the process that translates (tables/gpu_limits.toml).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

static struct device limits;
static int count;
static _Thread_local int current;

static uint64_t number_in(const char *variable, uint64_t otherwise, uint64_t most) {
  const char *text = getenv(variable);
  char *end;
  if (!text || !*text) return otherwise;
  unsigned long long value = strtoull(text, &end, 10);
  if (*end || value > most) {
    fprintf(stderr, "emulated GPU: %s=%s is not a number up to %llu\n", variable, text, (unsigned long long)most);
    abort();
  }
  return value;
}

static void set(const char *key, const char *value) {
  struct { const char *key; int *place; } numbers[] = {
      {"wave", &limits.wave}, {"units", &limits.units}, {"major", &limits.major}, {"minor", &limits.minor},
      {"lds_bytes", &limits.lds_bytes}, {"l2_bytes", &limits.l2_bytes},
      {"threads_per_unit", &limits.threads_per_unit}, {"workgroups_per_unit", &limits.workgroups_per_unit}};
  if (strcmp(key, "target") == 0) snprintf(limits.target, sizeof limits.target, "%s", value);
  if (strcmp(key, "target_id") == 0) snprintf(limits.target_id, sizeof limits.target_id, "%s", value);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
    if (strcmp(key, numbers[i].key) == 0) *numbers[i].place = atoi(value);
}

static void describe(void) {
  char *answer = channel_request("device", NULL, 0), *rest = answer, *line;
  if (strncmp(answer, "ok\n", 3) != 0) {
    fprintf(stderr, "emulated GPU: %s\n", answer);
    free(answer);
    return;
  }
  while ((line = strsep(&rest, "\n"))) {
    char *value = strchr(line, ' ');
    if (value) *value++ = 0, set(line, value);
  }
  free(answer);
  snprintf(limits.name, sizeof limits.name, "emulated %.60s on a CPU", limits.target);
  limits.memory = number_in("STACKBUILD_EMULATOR_MEMORY", 4ULL << 30, 1ULL << 44);
  count = (int)number_in("STACKBUILD_EMULATOR_DEVICES", 1, DEVICES);
}

int device_count(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, describe);
  return count;
}
const struct device *device_of(int number) { return number >= 0 && number < device_count() ? &limits : NULL; }
int current_device(void) { return current; }

EXPORT hipError_t hipInit(unsigned flags) { (void)flags; return end_call(device_count() ? hipSuccess : hipErrorNoDevice); }
EXPORT hipError_t hipGetDeviceCount(int *number) {
  SEEDED_FAULT();
  *number = device_count();
  return end_call(*number ? hipSuccess : hipErrorNoDevice);
}
EXPORT hipError_t hipRuntimeGetVersion(int *version) { *version = HIP_MAJOR * 10000000; return hipSuccess; }
EXPORT hipError_t hipDriverGetVersion(int *version) { return hipRuntimeGetVersion(version); }

EXPORT hipError_t hipSetDevice(int number) {
  SEEDED_FAULT();
  CHECK(device_of(number), hipErrorInvalidDevice, "device %d of %d", number, device_count());
  current = number;
  return hipSuccess;
}
EXPORT hipError_t hipGetDevice(int *number) {
  SEEDED_FAULT();
  if (!device_count()) return end_call(hipErrorNoDevice);
  *number = current;
  return hipSuccess;
}
EXPORT hipError_t hipDeviceGet(hipDevice_t *device, int number) {
  CHECK(device_of(number), hipErrorInvalidDevice, "device %d of %d", number, device_count());
  *device = number;
  return hipSuccess;
}

static void put(char *properties, int at, int bytes, int64_t value) {
  int32_t small = (int32_t)value;
  if (at >= 0) memcpy(properties + at, bytes == 4 ? (void *)&small : (void *)&value, bytes);
}

static hipError_t fill_properties(const char *call, char *properties, int number, bool r0600) {
  const struct device *d = device_of(number);
  CHECK_IN(call, d && properties, hipErrorInvalidDevice, "device %d of %d", number, device_count());
  memset(properties, 0, r0600 ? PROPERTIES_R0600 : PROPERTIES_R0000);
  snprintf(properties, NAME_BYTES, "%s", d->name);
  snprintf(properties + (r0600 ? GCN_ARCH_R0600 : GCN_ARCH_R0000), NAME_BYTES, "%s", d->target_id);
#define PUT(FIELD, OLD, NEW, BYTES, VALUE) put(properties, r0600 ? NEW : OLD, BYTES, (int64_t)(VALUE));
  HIP_PROPERTIES(PUT)
  for (int i = 0; i < 3; ++i) {
    put(properties, (r0600 ? MAX_THREADS_DIM_R0600 : MAX_THREADS_DIM_R0000) + 4 * i, 4, 1024);
    put(properties, (r0600 ? MAX_GRID_R0600 : MAX_GRID_R0000) + 4 * i, 4, i ? 65536 : 2147483647);
  }
  return hipSuccess;
}
// Without a suffix it is the function of programs that HIP 5's headers compiled, in every version of the library.
EXPORT hipError_t hipGetDeviceProperties(void *properties, int number) { SEEDED_FAULT(); return fill_properties(__func__, properties, number, false); }
EXPORT hipError_t hipGetDevicePropertiesR0000(void *properties, int number) { return fill_properties(__func__, properties, number, false); }
EXPORT hipError_t hipGetDevicePropertiesR0600(void *properties, int number) { SEEDED_FAULT(); return fill_properties(__func__, properties, number, true); }

EXPORT hipError_t hipDeviceGetAttribute(int *value, int attribute, int number) {
  SEEDED_FAULT();
  const struct device *d = device_of(number);
  CHECK(d, hipErrorInvalidDevice, "device %d of %d", number, device_count());
#define ANSWER(NAME, NUMBER, VALUE) case NUMBER: *value = (int)(VALUE); return hipSuccess;
  switch (attribute) { HIP_ATTRIBUTES(ANSWER) }
  return fail_call(__func__, hipErrorInvalidValue, "attribute %d is none that the stand-in knows", attribute);
}

EXPORT hipError_t hipDeviceGetName(char *name, int bytes, hipDevice_t device) {
  CHECK(device_of(device), hipErrorInvalidDevice, "device %d of %d", device, device_count());
  snprintf(name, bytes, "%s", device_of(device)->name);
  return hipSuccess;
}
EXPORT hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t device) {
  CHECK(device_of(device), hipErrorInvalidDevice, "device %d of %d", device, device_count());
  *bytes = device_of(device)->memory;
  return hipSuccess;
}
EXPORT hipError_t hipDeviceComputeCapability(int *major, int *minor, hipDevice_t device) {
  CHECK(device_of(device), hipErrorInvalidDevice, "device %d of %d", device, device_count());
  *major = device_of(device)->major, *minor = device_of(device)->minor;
  return hipSuccess;
}
EXPORT hipError_t hipDeviceGetPCIBusId(char *text, int bytes, int device) {
  CHECK(device_of(device), hipErrorInvalidDevice, "device %d of %d", device, device_count());
  snprintf(text, bytes, "0000:%02x:00.0", device + 1);
  return hipSuccess;
}
EXPORT hipError_t hipDeviceGetByPCIBusId(int *device, const char *text) {
  unsigned domain, bus;
  CHECK(sscanf(text, "%x:%x:", &domain, &bus) == 2 && device_of((int)bus - 1), hipErrorInvalidValue, "no device is at %s", text);
  *device = (int)bus - 1;
  return hipSuccess;
}
EXPORT hipError_t hipDeviceCanAccessPeer(int *can, int device, int peer) { *can = device != peer; return hipSuccess; }
EXPORT hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) { (void)peer, (void)flags; return hipSuccess; }
EXPORT hipError_t hipDeviceDisablePeerAccess(int peer) { (void)peer; return hipSuccess; }
EXPORT hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest) { *least = *greatest = 0; return hipSuccess; }
EXPORT hipError_t hipSetDeviceFlags(unsigned flags) { (void)flags; return hipSuccess; }
EXPORT hipError_t hipGetDeviceFlags(unsigned *flags) { *flags = 0; return hipSuccess; }
EXPORT hipError_t hipDeviceSetCacheConfig(int config) { (void)config; return hipSuccess; }
EXPORT hipError_t hipDeviceGetCacheConfig(int *config) { *config = 0; return hipSuccess; }
EXPORT hipError_t hipDeviceSetSharedMemConfig(int config) { (void)config; return hipSuccess; }
EXPORT hipError_t hipDeviceSynchronize(void) { SEEDED_FAULT(); check_slack(__func__); return hipSuccess; }
