// rk::device on HIP, and on HIP's NVIDIA platform.
#include <algorithm>
#include <cstdio>
#include <fstream>

#include "core/device/device.hpp"
#include "core/device/platform.hpp"
#include "core/ort/ort.hpp"
#include "core/ort/parse_number.hpp"

namespace rk::device {
namespace {

void ok(hipError_t error, const char* what) {
  if (error == hipSuccess) return;
  (void)hipGetLastError();
  fail(std::string(what) + ": " + hipGetErrorString(error), ORT_EP_FAIL);
}

hipStream_t native(void* stream) { return static_cast<hipStream_t>(stream); }

// Present in every code object of this library; asking for its attributes tells whether one was made for the device.
__global__ void probe(int* out) {
  if (out != nullptr) *out = 1;
}

std::string target_of(const hipDeviceProp_t& properties) {
#if SBK_NVIDIA
  return "sm_" + std::to_string(properties.major) + std::to_string(properties.minor);
#else
  return properties.gcnArchName;  // the target ID, features included: "gfx90a:sramecc+:xnack-"
#endif
}

// The PCI device id, from sysfs; 0 where the system does not show it (some containers).
uint32_t pci_device_id(const std::string& bus) {
  std::string lower;
  for (char c : bus) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  std::ifstream file("/sys/bus/pci/devices/" + lower + "/device");
  std::string text;
  file >> text;
  return text.compare(0, 2, "0x") == 0 ? leading_number<uint32_t>(std::string_view(text).substr(2), 16) : 0;
}

Properties describe(int ordinal) {
  hipDeviceProp_t facts{};
  ok(hipGetDeviceProperties(&facts, ordinal), "hipGetDeviceProperties");
  char bus[32] = {};
  if (hipDeviceGetPCIBusId(bus, sizeof bus, ordinal) != hipSuccess) {  // some virtual machines have none; it serves for matching alone
    (void)hipGetLastError();
    bus[0] = '\0';
  }
  ok(hipSetDevice(ordinal), "hipSetDevice");
  hipFuncAttributes attributes{};
  const bool has_code = hipFuncGetAttributes(&attributes, reinterpret_cast<const void*>(&probe)) == hipSuccess;
  (void)hipGetLastError();
  Properties result;
  result.ordinal = ordinal;
  result.vendor = SBK_NVIDIA ? 0x10DEu : 0x1002u;
  result.vendor_name = SBK_NVIDIA ? "NVIDIA" : "AMD";
  result.pci_bus = bus;
  result.pci_device = pci_device_id(result.pci_bus);
  result.name = facts.name;
  result.target = target_of(facts);
  result.has_code = has_code;
  return result;
}

// One that fails does not hide the others.
Properties properties_of(int ordinal) {
  try {
    return describe(ordinal);
  } catch (const Failure& error) {
    Properties result;
    result.ordinal = ordinal;
    result.trouble = error.what();
    return result;
  }
}

}  // namespace

std::vector<Properties> list() {
  int count = 0;
  const hipError_t error = hipGetDeviceCount(&count);
  if (error == hipErrorNoDevice) count = 0;
  else ok(error, "hipGetDeviceCount");
  int before = 0;
  if (count > 0) ok(hipGetDevice(&before), "hipGetDevice");
  std::vector<Properties> all;
  for (int i = 0; i < count; ++i) all.push_back(properties_of(i));
  if (count > 0) ok(hipSetDevice(before), "hipSetDevice");
  return all;
}

const char* compiled_for() { return RK_TARGETS; }

void use(int ordinal) { ok(hipSetDevice(ordinal), "hipSetDevice"); }

void* allocate(size_t bytes) {
  void* pointer = nullptr;
  if (hipMalloc(&pointer, std::max<size_t>(bytes, 1)) == hipSuccess) return pointer;  // of 0 bytes it is null, as of none left
  (void)hipGetLastError();
  return nullptr;
}

void release(void* pointer) { (void)hipFree(pointer); }

void memory(size_t* free, size_t* total) { ok(hipMemGetInfo(free, total), "hipMemGetInfo"); }

void copy(void* to, const void* from, size_t bytes, Copy kind, void* stream) {
  if (bytes == 0) return;
  const hipMemcpyKind direction = kind == Copy::to_device ? hipMemcpyHostToDevice
                                  : kind == Copy::to_host ? hipMemcpyDeviceToHost
                                                          : hipMemcpyDeviceToDevice;
  if (stream != nullptr) return ok(hipMemcpyAsync(to, from, bytes, direction, native(stream)), "hipMemcpyAsync");
  ok(hipMemcpy(to, from, bytes, direction), "hipMemcpy");
  // From pageable host memory the call may return before the device has the bytes, and our streams do not wait for this one.
  ok(hipStreamSynchronize(nullptr), "hipStreamSynchronize");
}

void* stream_create() {
  hipStream_t stream = nullptr;
  ok(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), "hipStreamCreateWithFlags");
  return stream;
}

void stream_destroy(void* stream) { (void)hipStreamDestroy(native(stream)); }
void stream_wait(void* stream) { ok(hipStreamSynchronize(native(stream)), "hipStreamSynchronize"); }

bool stream_capturing(void* stream) {
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  ok(hipStreamIsCapturing(native(stream), &status), "hipStreamIsCapturing");
  return status != hipStreamCaptureStatusNone;
}

void* event_create() {
  hipEvent_t event = nullptr;
  ok(hipEventCreateWithFlags(&event, hipEventDisableTiming), "hipEventCreateWithFlags");
  return event;
}

void event_destroy(void* event) { (void)hipEventDestroy(static_cast<hipEvent_t>(event)); }

void event_record(void* event, void* stream) {
  ok(hipEventRecord(static_cast<hipEvent_t>(event), native(stream)), "hipEventRecord");
}

void event_wait(void* event, void* stream) {
  if (stream == nullptr) return ok(hipEventSynchronize(static_cast<hipEvent_t>(event)), "hipEventSynchronize");
  ok(hipStreamWaitEvent(native(stream), static_cast<hipEvent_t>(event), 0), "hipStreamWaitEvent");
}

void capture_begin(void* stream) {
  ok(hipStreamBeginCapture(native(stream), hipStreamCaptureModeThreadLocal), "hipStreamBeginCapture");
}

void* capture_end(void* stream) {
  hipGraph_t graph = nullptr;
  ok(hipStreamEndCapture(native(stream), &graph), "hipStreamEndCapture");
  hipGraphExec_t executable = nullptr;
#if SBK_NVIDIA
  const hipError_t error = hipGraphInstantiate(&executable, graph, 0);
#else
  const hipError_t error = hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0);
#endif
  (void)hipGraphDestroy(graph);
  ok(error, "hipGraphInstantiate");
  return executable;
}

void graph_launch(void* graph, void* stream) {
  ok(hipGraphLaunch(static_cast<hipGraphExec_t>(graph), native(stream)), "hipGraphLaunch");
}

void graph_destroy(void* graph) { (void)hipGraphExecDestroy(static_cast<hipGraphExec_t>(graph)); }

}  // namespace rk::device
