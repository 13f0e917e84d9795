// Memory of the emulated devices: each allocation ends at a page that cannot be accessed, and another lies before it. Fresh
// memory holds the bytes of NaNs. Up to 255 bytes between an allocation's end and the page hold a pattern that is compared later.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime.h"

enum { PAGE = 4096, ALIGNMENT = 256, SLACK = 0xA5, FRESH = 0xFF };
static const size_t most_filled = (size_t)256 << 20;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct allocation *all;  // by address
static size_t count, room;
static uint64_t bytes_taken[DEVICES];

static size_t place_of(const void *address) {  // of the first allocation that begins behind the address
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (all[middle].start <= (const char *)address) low = middle + 1;
    else high = middle;
  }
  return low;
}

static struct allocation *around(const void *address) {
  size_t place = place_of(address);
  struct allocation *candidate = place ? &all[place - 1] : NULL;
  return candidate && (const char *)address < candidate->start + (candidate->bytes ? candidate->bytes : 1) ? candidate : NULL;
}

bool find_allocation(const void *address, struct allocation *copy) {
  pthread_mutex_lock(&lock);
  struct allocation *inside = around(address);
  if (inside) *copy = *inside;
  pthread_mutex_unlock(&lock);
  return inside;
}

// No lock: called in a signal handler too, when the thread that holds it may be the one that faulted.
void describe_address(const void *address, char *text, size_t bytes) {
  size_t place = place_of(address);
  const char *at = address;
  if (place && at < all[place - 1].start + all[place - 1].bytes)
    snprintf(text, bytes, "byte %td of an allocation of %zu bytes", at - all[place - 1].start, all[place - 1].bytes);
  else if (place && at < all[place - 1].mapping + all[place - 1].mapping_bytes)
    snprintf(text, bytes, "%td bytes past the end of an allocation of %zu bytes", at - all[place - 1].start - (ptrdiff_t)all[place - 1].bytes,
             all[place - 1].bytes);
  else if (place < count && at >= all[place].mapping)
    snprintf(text, bytes, "%td bytes before an allocation of %zu bytes", all[place].start - at, all[place].bytes);
  else
    snprintf(text, bytes, "in no allocation");
}

static hipError_t allocate(const char *call, void **pointer, size_t bytes, int kind) {
  CHECK_IN(call, pointer, hipErrorInvalidValue, "the place for the pointer is null");
  *pointer = NULL;
  const struct device *device = device_of(current_device());
  CHECK_IN(call, device, hipErrorNoDevice, "there is no device");
  if (!bytes) return hipSuccess;
  bool counts = kind == MEMORY_DEVICE;
  CHECK_IN(call, bytes < (1ULL << 46), hipErrorOutOfMemory, "%zu bytes", bytes);
  size_t padded_bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, inner = (padded_bytes + PAGE - 1) / PAGE * PAGE;
  pthread_mutex_lock(&lock);
  hipError_t code = hipSuccess;
  if (counts && bytes_taken[current_device()] + bytes > device->memory) code = hipErrorOutOfMemory;
  if (!code && count == room) {
    struct allocation *larger = realloc(all, (room ? room * 2 : 64) * sizeof *all);
    if (larger) all = larger, room = room ? room * 2 : 64;
    else code = hipErrorOutOfMemory;
  }
  char *mapping = code ? MAP_FAILED : mmap(NULL, inner + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (!code && (mapping == MAP_FAILED || mprotect(mapping + PAGE, inner, PROT_READ | PROT_WRITE) != 0)) code = hipErrorOutOfMemory;
  if (!code) {
    struct allocation fresh = {mapping + PAGE + inner - padded_bytes, bytes, current_device(), kind, mapping, inner + 2 * PAGE};
    if (bytes <= most_filled) memset(fresh.start, FRESH, bytes);
    memset(fresh.start + bytes, SLACK, padded_bytes - bytes);
    size_t place = place_of(fresh.start);
    memmove(all + place + 1, all + place, (count - place) * sizeof *all);
    all[place] = fresh, count++;
    if (counts) bytes_taken[current_device()] += bytes;
    *pointer = fresh.start;
  }
  pthread_mutex_unlock(&lock);
  CHECK_IN(call, !code, code, "%zu bytes of %llu, %llu of them taken", bytes, (unsigned long long)device->memory,
        (unsigned long long)bytes_taken[current_device()]);
  return hipSuccess;
}

static ptrdiff_t first_change(const struct allocation *one) {  // offset from the end of the first byte that changed, or -1
  const char *end = one->mapping + one->mapping_bytes - PAGE;
  for (const char *at = one->start + one->bytes; at < end; ++at)
    if (*(const unsigned char *)at != SLACK) return at - one->start - one->bytes;
  return -1;
}

void check_slack(const char *call) {
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < count; ++i) {
    ptrdiff_t at = first_change(&all[i]);
    if (at < 0) continue;
    memset(all[i].start + all[i].bytes, SLACK, all[i].mapping + all[i].mapping_bytes - PAGE - all[i].start - all[i].bytes);
    fail_call(call, hipErrorIllegalAddress, "written %td bytes past the end of an allocation of %zu bytes", at, all[i].bytes);
  }
  pthread_mutex_unlock(&lock);
}

static hipError_t release(const char *call, void *pointer, bool is_host) {
  if (!pointer) return hipSuccess;
  check_slack(call);
  pthread_mutex_lock(&lock);
  struct allocation *one = around(pointer), old = {0};
  if (one && one->start == pointer && (one->kind == MEMORY_HOST) == is_host) {
    old = *one;
    memmove(one, one + 1, (all + count - one - 1) * sizeof *one);
    count--;
    if (old.kind == MEMORY_DEVICE) bytes_taken[old.device] -= old.bytes;
  }
  pthread_mutex_unlock(&lock);
  if (!old.mapping) return fail_call(call, hipErrorInvalidValue, "%p is not the start of such an allocation, or freed already", pointer);
  // The addresses stay reserved: whoever uses them after this faults.
  mmap(old.mapping, old.mapping_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return hipSuccess;
}

hipError_t check_range(const char *call, const void *start, size_t bytes, bool is_read, int expected_kind) {
  struct allocation inside;
  if (!bytes) return hipSuccess;
  bool found = find_allocation(start, &inside);
  if (!found && expected_kind == MEMORY_DEVICE) {
    char where[128];
    describe_address(start, where, sizeof where);
    return fail_call(call, hipErrorInvalidValue, "%s %zu bytes at %p, which is no device memory (%s)", is_read ? "reads" : "writes", bytes, start, where);
  }
  if (found && (const char *)start + bytes > inside.start + inside.bytes)
    return fail_call(call, hipErrorInvalidValue, "%s %zu bytes at byte %td of an allocation of %zu bytes", is_read ? "reads" : "writes", bytes,
                  (const char *)start - inside.start, inside.bytes);
  return hipSuccess;
}

int memory_range(void *context, uint64_t address, int write, uint64_t *start, uint64_t *end) {
  (void)context, (void)write;
  pthread_mutex_lock(&lock);
  struct allocation *inside = around((void *)address);
  size_t place = place_of((void *)address);
  if (inside) *start = (uint64_t)inside->start, *end = (uint64_t)inside->start + inside->bytes;
  else {
    *start = place ? (uint64_t)all[place - 1].start + all[place - 1].bytes : 0;
    *end = place < count ? (uint64_t)all[place].start : 1ULL << 48;
  }
  pthread_mutex_unlock(&lock);
  return inside != NULL;
}

EXPORT hipError_t hipMalloc(void **pointer, size_t bytes) { SEEDED_FAULT(); return allocate(__func__, pointer, bytes, MEMORY_DEVICE); }
EXPORT hipError_t hipMallocAsync(void **pointer, size_t bytes, hipStream_t stream) { (void)stream; SEEDED_FAULT(); return allocate(__func__, pointer, bytes, MEMORY_DEVICE); }
EXPORT hipError_t hipExtMallocWithFlags(void **pointer, size_t bytes, unsigned flags) { (void)flags; SEEDED_FAULT(); return allocate(__func__, pointer, bytes, MEMORY_DEVICE); }
EXPORT hipError_t hipMallocManaged(void **pointer, size_t bytes, unsigned flags) { (void)flags; SEEDED_FAULT(); return allocate(__func__, pointer, bytes, MEMORY_MANAGED); }
EXPORT hipError_t hipMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height) {
  SEEDED_FAULT();
  *pitch = (width + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  return allocate(__func__, pointer, *pitch * height, MEMORY_DEVICE);
}
EXPORT hipError_t hipHostMalloc(void **pointer, size_t bytes, unsigned flags) { (void)flags; SEEDED_FAULT(); return allocate(__func__, pointer, bytes, MEMORY_HOST); }
EXPORT hipError_t hipHostAlloc(void **pointer, size_t bytes, unsigned flags) { (void)flags; SEEDED_FAULT(); return allocate(__func__, pointer, bytes, MEMORY_HOST); }
EXPORT hipError_t hipMallocHost(void **pointer, size_t bytes) { SEEDED_FAULT(); return allocate(__func__, pointer, bytes, MEMORY_HOST); }
EXPORT hipError_t hipFree(void *pointer) { SEEDED_FAULT(); return release(__func__, pointer, false); }
EXPORT hipError_t hipFreeAsync(void *pointer, hipStream_t stream) { (void)stream; return release(__func__, pointer, false); }
EXPORT hipError_t hipHostFree(void *pointer) { return release(__func__, pointer, true); }
EXPORT hipError_t hipFreeHost(void *pointer) { return release(__func__, pointer, true); }

EXPORT hipError_t hipMemGetInfo(size_t *free_bytes, size_t *total) {
  const struct device *device = device_of(current_device());
  CHECK(device, hipErrorNoDevice, "there is no device");
  *total = device->memory, *free_bytes = device->memory - bytes_taken[current_device()];
  return hipSuccess;
}
EXPORT hipError_t hipMemGetAddressRange(void **base, size_t *bytes, void *pointer) {
  struct allocation inside;
  CHECK(find_allocation(pointer, &inside), hipErrorNotFound, "%p is in no allocation", pointer);
  if (base) *base = inside.start;
  if (bytes) *bytes = inside.bytes;
  return hipSuccess;
}
EXPORT hipError_t hipMemPtrGetInfo(void *pointer, size_t *bytes) {
  struct allocation inside;
  CHECK(find_allocation(pointer, &inside) && inside.start == pointer, hipErrorInvalidValue, "%p is not the start of an allocation", pointer);
  *bytes = inside.bytes;
  return hipSuccess;
}
// Advice and prefetches move nothing here; the range has to be one allocation's.
EXPORT hipError_t hipMemAdvise(const void *pointer, size_t bytes, int advice, int device) {
  (void)advice, (void)device;
  return check_range(__func__, pointer, bytes, true, MEMORY_DEVICE);
}
EXPORT hipError_t hipMemPrefetchAsync(const void *pointer, size_t bytes, int device, hipStream_t stream) {
  (void)device;
  hipError_t code = check_stream(__func__, stream);
  return code ? code : check_range(__func__, pointer, bytes, true, MEMORY_DEVICE);
}
EXPORT hipError_t hipPointerGetAttributes(hipPointerAttribute_t *attributes, const void *pointer) {
  struct allocation inside;
  memset(attributes, 0, sizeof *attributes);
  if (!find_allocation(pointer, &inside)) {
#if HIP_MAJOR >= 6
    attributes->type = MEMORY_UNREGISTERED;
    return hipSuccess;
#else
    return end_call(hipErrorInvalidValue);
#endif
  }
  attributes->type = inside.kind, attributes->device = inside.device, attributes->device_pointer = (void *)pointer;
  attributes->host_pointer = inside.kind == MEMORY_DEVICE ? NULL : (void *)pointer;
  attributes->is_managed = inside.kind == MEMORY_MANAGED;
  return hipSuccess;
}
EXPORT hipError_t hipHostGetDevicePointer(void **device, void *host, unsigned flags) { (void)flags; *device = host; return hipSuccess; }
