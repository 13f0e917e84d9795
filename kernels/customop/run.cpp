#include "customop/run.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>

namespace sbk::customop {
namespace {

// Calls a function of the library with its arguments and a place for what it has to say.
template <class F, class... A>
void call_gpu(F function, A... arguments) {
  const char* what = "";
  if (function(arguments..., &what) != 0) throw std::runtime_error(what);
}

size_t workspace_bytes(const Launchers& launchers, const void* params) {
  return launchers.workspace == nullptr ? 0 : (GpuLibrary::get().*launchers.workspace)(params);
}

void launch_gpu(const Launchers& launchers, const void* params, const Launch& launch) {
  call_gpu(GpuLibrary::get().*launchers.gpu, params, static_cast<const void*>(&launch));
}

// Device memory for the length of one call.
class DeviceMemory {
 public:
  explicit DeviceMemory(size_t bytes) {
    if (bytes == 0) return;
    call_gpu(GpuLibrary::get().malloc, &data_, bytes);
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
  call_gpu(GpuLibrary::get().copy, to, from, bytes, nullptr);
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
  call_gpu(GpuLibrary::get().synchronize, nullptr);
}

}  // namespace

Scratch::Scratch(const Call& call, size_t bytes) {
  call_gpu(GpuLibrary::get().workspace_take, call.stream(), bytes, &data_);
}

// Where that fails, the library keeps the memory from every other stream, and the stream's next call meets what failed.
Scratch::~Scratch() { GpuLibrary::get().workspace_give(data_, nullptr); }

OnDeviceOf::OnDeviceOf(const Call& call, Where where) {
  if (where != Where::gpu) return;
  call_gpu(GpuLibrary::get().device_use, call.device(), &before_);
  set_ = true;
}

OnDeviceOf::~OnDeviceOf() {
  if (set_) GpuLibrary::get().device_use(before_, nullptr, nullptr);  // it was the thread's, so it can be
}

void copy_in_order(Where where, const Call& call, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  if (where != Where::gpu) return static_cast<void>(std::memcpy(to, from, bytes));
  call_gpu(GpuLibrary::get().copy, to, from, bytes, call.stream());
}

void copy_in_order(Where where, const Call& call, const Rows& rows) {
  if (rows.bytes == 0 || rows.count == 0) return;
  if (where == Where::gpu) {
    call_gpu(GpuLibrary::get().copy_rows, rows.to, rows.to_step, rows.from, rows.from_step, rows.bytes, rows.count, call.stream());
    return;
  }
  for (size_t i = 0; i < rows.count; ++i) {
    std::memcpy(static_cast<char*>(rows.to) + i * rows.to_step, static_cast<const char*>(rows.from) + i * rows.from_step, rows.bytes);
  }
}

bool gpu_asked_for() {
  const char* device_name = std::getenv("STACKBUILD_KERNELS_DEVICE");
  if (device_name == nullptr || std::strcmp(device_name, "cpu") == 0 || *device_name == '\0') return false;
  if (std::strcmp(device_name, "gpu") == 0) return true;
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
