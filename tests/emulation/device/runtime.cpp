// HIP's runtime on the host's memory: one device, everything done when the call returns. EMULATION_TIGHT=1: memory ends where a
// page faults, so that a read past its end is one that kills. EMULATION_UNITS, EMULATION_LDS: how many compute units, and bytes of LDS
// for a block, the device says it has.
#include <sys/mman.h>

#include <chrono>
#include <map>
#include <mutex>

#include "hip/hip_runtime.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

namespace emulation {
hipError_t take_error(bool keep);
}

namespace {

using emulation::told;

constexpr size_t kPage = 4096;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

bool tight() { return getenv("EMULATION_TIGHT") != nullptr; }
int number(const char* name, int otherwise) { return getenv(name) ? atoi(getenv(name)) : otherwise; }

struct Area {
  char* first;
  size_t bytes;
};
std::map<void*, Area> areas;
std::mutex areas_lock;

}  // namespace

hipError_t hipGetDeviceCount(int* n) { return *n = number("EMULATION_DEVICES", 1), told(hipSuccess); }
hipError_t hipGetDevice(int* n) { return *n = 0, told(hipSuccess); }
hipError_t hipSetDevice(int) { return told(hipSuccess); }
hipError_t hipGetDeviceProperties(hipDeviceProp_t* p, int n) {
  if (n == number("EMULATION_SICK", -1)) return told(hipErrorInvalidValue);
  memset(p, 0, sizeof *p);
  strcpy(p->gcnArchName, "emulated " TEXT(EMULATED_TARGET));
  strcpy(p->name, p->gcnArchName);
  p->warpSize = EMULATED_WAVE;
  return told(hipSuccess);
}
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int) {
  switch (attribute) {
    case hipDeviceAttributeMultiprocessorCount: *value = getenv("EMULATION_UNITS") ? atoi(getenv("EMULATION_UNITS")) : 104; break;
    case hipDeviceAttributeWarpSize: *value = EMULATED_WAVE; break;
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
    case hipDeviceAttributeSharedMemPerBlockOptin: *value = static_cast<int>(emulation::lds_bytes()); break;
    case hipDeviceAttributeMaxThreadsPerBlock: *value = 1024; break;
    default: *value = 9;
  }
  return told(hipSuccess);
}
hipError_t hipDeviceGetPCIBusId(char* to, int n, int device) {
  if (getenv("EMULATION_NO_BUS") != nullptr) return told(hipErrorInvalidValue);
  return snprintf(to, static_cast<size_t>(n), "0000:%02x:00.0", 3 + device), told(hipSuccess);
}
hipError_t hipDeviceSynchronize() { return told(hipSuccess); }
hipError_t hipRuntimeGetVersion(int* v) { return *v = 60400000, told(hipSuccess); }
hipError_t hipDriverGetVersion(int* v) { return *v = 60400000, told(hipSuccess); }

hipError_t hipMalloc(void** p, size_t n) {
  *p = nullptr;
  if (n == 0) return told(hipSuccess);
  const size_t size = (n + 15) / 16 * 16, room = (size + kPage - 1) / kPage * kPage + 2 * kPage;
  char* first = static_cast<char*>(mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (first == MAP_FAILED) return told(hipErrorOutOfMemory);
  mprotect(first, kPage, PROT_NONE);
  mprotect(first + room - kPage, kPage, PROT_NONE);
  *p = tight() ? first + room - kPage - size : first + kPage;
  const std::lock_guard<std::mutex> hold(areas_lock);
  areas[*p] = {first, room};
  return told(hipSuccess);
}
hipError_t hipFree(void* p) {
  const std::lock_guard<std::mutex> hold(areas_lock);
  const auto found = areas.find(p);
  if (found == areas.end()) return told(p ? hipErrorInvalidValue : hipSuccess);
  munmap(found->second.first, found->second.bytes);
  areas.erase(found);
  return told(hipSuccess);
}
hipError_t hipMemGetInfo(size_t* free, size_t* total) { return *free = *total = size_t{1} << 34, told(hipSuccess); }
hipError_t hipHostMalloc(void** p, size_t n, unsigned) { return *p = malloc(n), told(hipSuccess); }
hipError_t hipHostFree(void* p) { return free(p), told(hipSuccess); }
hipError_t hipMemcpy(void* to, const void* from, size_t n, hipMemcpyKind) { return memcpy(to, from, n), told(hipSuccess); }
hipError_t hipMemcpyAsync(void* to, const void* from, size_t n, hipMemcpyKind, hipStream_t) { return memcpy(to, from, n), told(hipSuccess); }
hipError_t hipMemset(void* to, int value, size_t n) { return memset(to, value, n), told(hipSuccess); }
hipError_t hipMemsetAsync(void* to, int value, size_t n, hipStream_t) { return memset(to, value, n), told(hipSuccess); }

hipError_t hipStreamCreate(hipStream_t* s) { return *s = malloc(1), told(hipSuccess); }
hipError_t hipStreamCreateWithFlags(hipStream_t* s, unsigned) { return hipStreamCreate(s); }
hipError_t hipStreamDestroy(hipStream_t s) { return free(s), told(hipSuccess); }
hipError_t hipStreamSynchronize(hipStream_t) { return told(hipSuccess); }
hipError_t hipStreamQuery(hipStream_t) { return told(hipSuccess); }
hipError_t hipStreamIsCapturing(hipStream_t, hipStreamCaptureStatus* s) { return *s = hipStreamCaptureStatusNone, told(hipSuccess); }
hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t, unsigned) { return told(hipSuccess); }
hipError_t hipStreamBeginCapture(hipStream_t, hipStreamCaptureMode) { return told(hipErrorInvalidValue); }  // graphs are not emulated
hipError_t hipStreamEndCapture(hipStream_t, hipGraph_t*) { return told(hipErrorInvalidValue); }
hipError_t hipGraphInstantiate(hipGraphExec_t*, hipGraph_t, void*, char*, size_t) { return told(hipErrorInvalidValue); }
hipError_t hipGraphLaunch(hipGraphExec_t, hipStream_t) { return told(hipErrorInvalidValue); }
hipError_t hipGraphDestroy(hipGraph_t) { return told(hipSuccess); }
hipError_t hipGraphExecDestroy(hipGraphExec_t) { return told(hipSuccess); }

hipError_t hipEventCreate(hipEvent_t* e) { return *e = new EmulatedEvent{}, told(hipSuccess); }
hipError_t hipEventCreateWithFlags(hipEvent_t* e, unsigned) { return hipEventCreate(e); }
hipError_t hipEventDestroy(hipEvent_t e) {
  delete e;
  return told(hipSuccess);
}
hipError_t hipEventRecord(hipEvent_t e, hipStream_t) { return e->at = seconds(), told(hipSuccess); }
hipError_t hipEventSynchronize(hipEvent_t) { return told(hipSuccess); }
hipError_t hipEventQuery(hipEvent_t) { return told(hipSuccess); }
hipError_t hipEventElapsedTime(float* ms, hipEvent_t a, hipEvent_t b) { return *ms = static_cast<float>((b->at - a->at) * 1e3), told(hipSuccess); }

hipError_t hipGetLastError() { return emulation::take_error(false); }
hipError_t hipPeekAtLastError() { return emulation::take_error(true); }
const char* hipGetErrorString(hipError_t e) {
  switch (e) {
    case hipSuccess: return "no error";
    case hipErrorInvalidConfiguration: return "invalid configuration";
    case hipErrorLaunchFailure: return "the emulation has complained, see stderr";
    default: return "an error";
  }
}
hipError_t hipFuncSetAttribute(const void*, hipFuncAttribute, int bytes) { return told(bytes > static_cast<int>(emulation::lds_bytes()) ? hipErrorInvalidValue : hipSuccess); }
hipError_t hipFuncGetAttributes(hipFuncAttributes* a, const void*) { return a->numRegs = 1, told(hipSuccess); }

// What build.py puts in the place of launchers that it was told to leave out.
extern "C" __attribute__((used)) void emulation_left_out() {
  fprintf(stderr, "emulation: an operator that was not built\n");
  abort();
}
