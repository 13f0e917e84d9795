#include "gpu_api/gpu_api.h"

#include <cstring>

#include "attention/attention.hpp"
#include "batch_norm/batch_norm.hpp"
#include "common/platform.hpp"
#include "common/workspaces.hpp"
#include "conv/conv.hpp"
#include "group_norm/group_norm.hpp"
#include "leaky_relu/leaky_relu.hpp"

using namespace sbk;

namespace {

int32_t answer(const Status& status, const char** what) {
  if (what != nullptr) *what = status.what;
  return static_cast<int32_t>(status.code);
}

int32_t answer(hipError_t error, const char** what) { return answer(check(error), what); }

template <class P>
int32_t call(Status (*launcher)(const P&, const Launch&), const void* params, const void* launch, const char** what) {
  if (params == nullptr || launch == nullptr) return answer(invalid("params or launch is null"), what);
  return answer(launcher(*static_cast<const P*>(params), *static_cast<const Launch*>(launch)), what);
}

hipStream_t stream_of(void* stream) { return static_cast<hipStream_t>(stream); }
hipEvent_t event_of(void* event) { return static_cast<hipEvent_t>(event); }

// What Workspaces asks of HIP, on the thread's current device.
struct Hip {
  using Stream = hipStream_t;
  using Event = hipEvent_t;

  Status device(int* device) const { return check(hipGetDevice(device)); }
  Status allocate(void** memory, size_t bytes) const { return check(hipMalloc(memory, bytes)); }
  Status release(void* memory) const { return check(hipFree(memory)); }
  Status create(hipEvent_t* event) const { return check(hipEventCreateWithFlags(event, hipEventDisableTiming)); }
  void destroy(hipEvent_t event) const { (void)check(hipEventDestroy(event)); }  // its memory is gone already
  Status record(hipEvent_t event, hipStream_t stream) const { return check(hipEventRecord(event, stream)); }
  Status wait(hipStream_t stream, hipEvent_t event) const { return check(hipStreamWaitEvent(stream, event, 0)); }
  bool is_reached(hipEvent_t event) const { return check(hipEventQuery(event)).ok(); }
  Status capturing(hipStream_t stream, bool* capturing) const {
    hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
    SBK_HIP(hipStreamIsCapturing(stream, &status));
    *capturing = status != hipStreamCaptureStatusNone;
    return {};
  }
};

// Of the process, and never destroyed: this library stays loaded when the custom-op library is not, and HIP's runtime may end
// before a destructor here would run.
Workspaces<Hip>& workspaces() {
  static auto* const all = new Workspaces<Hip>();
  return *all;
}

}  // namespace

extern "C" {

void sbk_gpu_abi(sbk_abi* abi) {
  *abi = {sizeof(Launch),          sizeof(LeakyReluParams), sizeof(BatchNormParams),
          sizeof(GroupNormParams), sizeof(ConvParams),      sizeof(AttentionParams)};
}

const char* sbk_gpu_platform(void) { return SBK_AMD ? "amd" : "nvidia"; }

int32_t sbk_gpu_leaky_relu(const void* p, const void* l, const char** what) { return call(gpu::leaky_relu, p, l, what); }
int32_t sbk_gpu_batch_norm(const void* p, const void* l, const char** what) { return call(gpu::batch_norm, p, l, what); }
int32_t sbk_gpu_group_norm(const void* p, const void* l, const char** what) { return call(gpu::group_norm, p, l, what); }
int32_t sbk_gpu_conv(const void* p, const void* l, const char** what) { return call(gpu::conv, p, l, what); }
int32_t sbk_gpu_attention(const void* p, const void* l, const char** what) { return call(gpu::attention, p, l, what); }

size_t sbk_gpu_group_norm_workspace(const void* p) {
  return group_norm_workspace_bytes(*static_cast<const GroupNormParams*>(p));
}
int64_t sbk_gpu_conv_filter_form(const void* p, size_t* bytes) {
  const ConvFilterForm form = conv_filter_form(*static_cast<const ConvParams*>(p));
  *bytes = form.bytes;
  return form.form;
}
int32_t sbk_gpu_pack_conv_filter(const void* p, void* to, const void* l, const char** what) {
  return answer(gpu::pack_conv_filter(*static_cast<const ConvParams*>(p), to, *static_cast<const Launch*>(l)), what);
}
size_t sbk_gpu_conv_workspace(const void* p) { return conv_workspace_bytes(*static_cast<const ConvParams*>(p)); }
size_t sbk_gpu_attention_workspace(const void* p) {
  return attention_workspace_bytes(*static_cast<const AttentionParams*>(p));
}

int32_t sbk_gpu_conv_choices(const void* p, int32_t (*choices)[2]) {
  ConvChoice ways[kConvMaxChoices];
  const int count = conv_choices(*static_cast<const ConvParams*>(p), ways);
  for (int i = 0; i < count; ++i) {
    choices[i][0] = static_cast<int32_t>(ways[i].algorithm);
    choices[i][1] = ways[i].variant;
  }
  return count;
}

int32_t sbk_gpu_device_count(int32_t* count, const char** what) {
  int devices = 0;
  const hipError_t error = hipGetDeviceCount(&devices);
  *count = devices;
  return answer(error, what);
}

int32_t sbk_gpu_device_name(int32_t device, char* name, size_t bytes, const char** what) {
  if (bytes == 0) return answer(invalid("no room for the name"), what);
  hipDeviceProp_t properties;
  const hipError_t error = hipGetDeviceProperties(&properties, device);
  if (error != hipSuccess) return answer(error, what);
#if SBK_AMD
  const char* text = properties.gcnArchName;
#else
  const char* text = properties.name;
#endif
  std::strncpy(name, text, bytes - 1);
  name[bytes - 1] = '\0';
  return 0;
}

int32_t sbk_gpu_malloc(void** pointer, size_t bytes, const char** what) {
  return answer(hipMalloc(pointer, bytes), what);
}
int32_t sbk_gpu_free(void* pointer, const char** what) { return answer(hipFree(pointer), what); }
int32_t sbk_gpu_copy(void* to, const void* from, size_t bytes, void* stream, const char** what) {
  return answer(hipMemcpyAsync(to, from, bytes, hipMemcpyDefault, stream_of(stream)), what);
}
int32_t sbk_gpu_copy_rows(void* to, size_t to_step, const void* from, size_t from_step, size_t bytes, size_t rows, void* stream,
                          const char** what) {
  return answer(hipMemcpy2DAsync(to, to_step, from, from_step, bytes, rows, hipMemcpyDefault, stream_of(stream)), what);
}
int32_t sbk_gpu_fill(void* to, int32_t byte, size_t bytes, void* stream, const char** what) {
  return answer(hipMemsetAsync(to, byte, bytes, stream_of(stream)), what);
}
int32_t sbk_gpu_stream_create(void** stream, const char** what) {
  hipStream_t handle = nullptr;
  const hipError_t error = hipStreamCreateWithFlags(&handle, hipStreamNonBlocking);
  *stream = handle;
  return answer(error, what);
}
int32_t sbk_gpu_stream_destroy(void* stream, const char** what) {
  return answer(hipStreamDestroy(stream_of(stream)), what);
}
int32_t sbk_gpu_stream_synchronize(void* stream, const char** what) {
  return answer(hipStreamSynchronize(stream_of(stream)), what);
}
int32_t sbk_gpu_device_use(int32_t device, int32_t* before, const char** what) {
  int current = 0;
  const Status status = check(hipGetDevice(&current));
  if (before != nullptr) *before = current;
  if (!status.ok() || current == device) return answer(status, what);
  return answer(hipSetDevice(device), what);
}
int32_t sbk_gpu_workspace_take(void* stream, size_t bytes, void** memory, const char** what) {
  return answer(workspaces().take(stream_of(stream), bytes, memory), what);
}
int32_t sbk_gpu_workspace_give(void* memory, const char** what) { return answer(workspaces().give(memory), what); }
int32_t sbk_gpu_event_create(void** event, const char** what) {
  hipEvent_t handle = nullptr;
  const hipError_t error = hipEventCreate(&handle);
  *event = handle;
  return answer(error, what);
}
int32_t sbk_gpu_event_destroy(void* event, const char** what) { return answer(hipEventDestroy(event_of(event)), what); }
int32_t sbk_gpu_event_record(void* event, void* stream, const char** what) {
  return answer(hipEventRecord(event_of(event), stream_of(stream)), what);
}
int32_t sbk_gpu_event_elapsed(void* start, void* stop, float* milliseconds, const char** what) {
  const hipError_t error = hipEventSynchronize(event_of(stop));
  if (error != hipSuccess) return answer(error, what);
  return answer(hipEventElapsedTime(milliseconds, event_of(start), event_of(stop)), what);
}

}  // extern "C"
