// Stands in for libstackbuild_kernels_hip.so: two devices on the host's memory, whose streams do nothing until they are stepped.
// Of the operators Conv alone works: one step copies x to the workspace, a later one the workspace to y; so calls whose
// workspaces are one, while either is in flight, give wrong answers. The workspaces are the product's.
#include <cstring>
#include <deque>
#include <functional>
#include <map>

#include "attention/attention.hpp"
#include "batch_norm/batch_norm.hpp"
#include "common/workspaces.hpp"
#include "conv/conv.hpp"
#include "gpu_api/gpu_api.h"
#include "group_norm/group_norm.hpp"
#include "leaky_relu/leaky_relu.hpp"

using namespace sbk;

namespace {

thread_local int current = 0;
std::map<void*, int> device_of;  // of memory
std::map<void*, std::deque<std::function<void()>>> streams;
size_t most = SIZE_MAX;  // bytes an allocation may have

Status allocate(void** memory, size_t bytes) {
  if (bytes > most) return {Code::device_error, "out of memory"};
  *memory = std::calloc(bytes, 1);
  device_of[*memory] = current;
  return {};
}

struct Steps {
  using Stream = void*;
  using Event = bool*;  // reached

  Status device(int* device) const { return *device = current, Status{}; }
  Status allocate(void** memory, size_t bytes) const { return ::allocate(memory, bytes); }
  Status release(void* memory) const { return std::free(memory), Status{}; }
  Status create(bool** event) const { return *event = new bool(false), Status{}; }
  void destroy(bool*) const {}
  Status record(bool* event, void* stream) const {
    *event = false;
    streams[stream].push_back([event] { *event = true; });
    return {};
  }
  Status wait(void*, bool*) const { return {}; }  // streams here are never destroyed
  bool is_reached(const bool* event) const { return *event; }
  Status capturing(void*, bool* now) const { return *now = false, Status{}; }
};

int32_t answer(const Status& status, const char** what) {
  if (what != nullptr) *what = status.what;
  return static_cast<int32_t>(status.code);
}

Workspaces<Steps>& workspaces() {
  static auto* const all = new Workspaces<Steps>();
  return *all;
}

int32_t nothing(const char** what) { return answer(unsupported_status("not in this test"), what); }

}  // namespace

extern "C" {

void sbk_gpu_abi(sbk_abi* abi) {
  *abi = {sizeof(Launch),          sizeof(LeakyReluParams), sizeof(BatchNormParams),
          sizeof(GroupNormParams), sizeof(ConvParams),      sizeof(AttentionParams)};
}
int32_t sbk_gpu_leaky_relu(const void*, const void*, const char** what) { return nothing(what); }
int32_t sbk_gpu_batch_norm(const void*, const void*, const char** what) { return nothing(what); }
int32_t sbk_gpu_group_norm(const void*, const void*, const char** what) { return nothing(what); }
int32_t sbk_gpu_attention(const void*, const void*, const char** what) { return nothing(what); }
size_t sbk_gpu_group_norm_workspace(const void*) { return 0; }
size_t sbk_gpu_attention_workspace(const void*) { return 0; }
size_t sbk_gpu_conv_workspace(const void* params) {
  return static_cast<size_t>(static_cast<const ConvParams*>(params)->in[0]) * sizeof(float);
}
int32_t sbk_gpu_conv(const void* params, const void* launch, const char** what) {
  const auto p = *static_cast<const ConvParams*>(params);
  const auto l = *static_cast<const Launch*>(launch);
  const size_t bytes = sbk_gpu_conv_workspace(params);
  const auto on = device_of.find(l.workspace);
  if (l.workspace_bytes < bytes || on == device_of.end()) return answer(invalid("no workspace"), what);
  if (on->second != current) return answer(invalid("the workspace is on another device"), what);
  streams[l.stream].push_back([=] { std::memcpy(l.workspace, p.x, bytes); });
  streams[l.stream].push_back([=] { std::memcpy(p.y, l.workspace, bytes); });
  return 0;
}
int32_t sbk_gpu_device_count(int32_t* count, const char**) { return *count = 2, 0; }
int32_t sbk_gpu_malloc(void** pointer, size_t bytes, const char** what) { return answer(allocate(pointer, bytes), what); }
int32_t sbk_gpu_free(void*, const char**) { return 0; }
int32_t sbk_gpu_copy(void*, const void*, size_t, void*, const char** what) { return nothing(what); }
int32_t sbk_gpu_copy_rows(void*, size_t, const void*, size_t, size_t, size_t, void*, const char** what) { return nothing(what); }
int32_t sbk_gpu_stream_synchronize(void*, const char**) { return 0; }
int32_t sbk_gpu_device_use(int32_t device, int32_t* before, const char**) {
  if (before != nullptr) *before = current;
  current = device;
  return 0;
}
int32_t sbk_gpu_workspace_take(void* stream, size_t bytes, void** memory, const char** what) {
  return answer(workspaces().take(stream, bytes, memory), what);
}
int32_t sbk_gpu_workspace_give(void* memory, const char** what) { return answer(workspaces().give(memory), what); }

// For the test.
SBK_EXPORT bool test_step(void* stream) {  // does the stream's next piece of work, if it has one
  auto& work = streams[stream];
  if (work.empty()) return false;
  work.front()();
  work.pop_front();
  return true;
}
SBK_EXPORT void test_most(size_t bytes) { most = bytes; }
SBK_EXPORT void test_malloc(int device, void** memory, size_t bytes) {
  const int before = current;
  current = device;
  (void)allocate(memory, bytes);
  current = before;
}
SBK_EXPORT int test_device() { return current; }
}
