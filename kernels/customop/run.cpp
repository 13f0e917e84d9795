#include "customop/run.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>

namespace sbk::customop {
namespace {

void check_gpu(int32_t code, const char* what) {
  if (code != 0) throw std::runtime_error(what);
}

size_t workspace_bytes(const Launchers& launchers, const void* params) {
  return launchers.workspace == nullptr ? 0 : (GpuLibrary::get().*launchers.workspace)(params);
}

void launch_gpu(const Launchers& launchers, const void* params, const Launch& launch) {
  const char* what = "";
  check_gpu((GpuLibrary::get().*launchers.gpu)(params, &launch, &what), what);
}

// Device memory for the length of one call.
class DeviceMemory {
 public:
  explicit DeviceMemory(size_t bytes) {
    if (bytes == 0) return;
    const char* what = "";
    check_gpu(GpuLibrary::get().malloc(&data_, bytes, &what), what);
  }
  DeviceMemory(DeviceMemory&& other) noexcept : data_(other.data_) { other.data_ = nullptr; }
  ~DeviceMemory() {
    if (data_ != nullptr) GpuLibrary::get().free(data_, nullptr);
  }
  void* get() const { return data_; }

 private:
  void* data_ = nullptr;
};

void copy(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  const char* what = "";
  check_gpu(GpuLibrary::get().copy(to, from, bytes, nullptr, &what), what);
}

void run_with_copies(const Launchers& launchers, const void* params, const std::vector<Buffer>& buffers) {
  std::vector<DeviceMemory> memory;
  std::vector<const void*> host;
  for (const Buffer& b : buffers) {
    host.push_back(*b.slot);
    memory.emplace_back(b.bytes);
    if (*b.slot == nullptr) continue;
    if (!b.output) copy(memory.back().get(), *b.slot, b.bytes);
    *b.slot = memory.back().get();
  }
  const DeviceMemory workspace(workspace_bytes(launchers, params));
  launch_gpu(launchers, params, {nullptr, workspace.get(), workspace_bytes(launchers, params)});
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].output) copy(const_cast<void*>(host[i]), memory[i].get(), buffers[i].bytes);
  }
  const char* what = "";
  check_gpu(GpuLibrary::get().synchronize(nullptr, &what), what);
}

}  // namespace

Scratch::Scratch(const Call& call, size_t bytes) {
  if (bytes == 0) return;
  OrtMemoryInfo* info = nullptr;
  check(g_ort->CreateMemoryInfo("Hip", OrtDeviceAllocator, 0, OrtMemTypeDefault, &info));
  OrtStatus* status = g_ort->KernelContext_GetAllocator(call.raw(), info, &allocator_);
  g_ort->ReleaseMemoryInfo(info);
  check(status);
  check(g_ort->AllocatorAlloc(allocator_, bytes, &data_));
}

Scratch::~Scratch() {
  if (data_ != nullptr) g_ort->ReleaseStatus(g_ort->AllocatorFree(allocator_, data_));
  if (allocator_ != nullptr) g_ort->ReleaseAllocator(allocator_);
}

void copy_in_order(Where where, const Call& call, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  if (where != Where::gpu) return static_cast<void>(std::memcpy(to, from, bytes));
  const char* what = "";
  check_gpu(GpuLibrary::get().copy(to, from, bytes, call.stream(), &what), what);
}

bool gpu_asked_for() {
  const char* asked = std::getenv("STACKBUILD_KERNELS_DEVICE");
  if (asked == nullptr || std::strcmp(asked, "cpu") == 0 || *asked == '\0') return false;
  if (std::strcmp(asked, "gpu") == 0) return true;
  throw std::runtime_error("STACKBUILD_KERNELS_DEVICE must be cpu or gpu");
}

void run(Where where, const Launchers& launchers, const void* params, const std::vector<Buffer>& buffers,
         const Call& call) {
  if (where == Where::cpu) return check(launchers.cpu(params, {}));
  if (where == Where::gpu_with_copies) return run_with_copies(launchers, params, buffers);
  const size_t bytes = workspace_bytes(launchers, params);
  const Scratch scratch(call, bytes);
  launch_gpu(launchers, params, {call.stream(), scratch.get(), bytes});
}

}  // namespace sbk::customop
