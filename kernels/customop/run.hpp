// Runs one operator where it was asked to: on the CPU, on the GPU that ONNX Runtime's execution provider uses, or, with
// STACKBUILD_KERNELS_DEVICE=gpu and CPU tensors, on the GPU with copies around it (to prove the device code through an
// ordinary onnxruntime wheel; not a fast way).
#pragma once

#include <vector>

#include "customop/gpu_library.hpp"
#include "customop/ort.hpp"

namespace sbk::customop {

enum class Where { cpu, gpu, gpu_with_copies };

// One pointer of the parameters and the bytes behind it.
struct Buffer {
  const void** slot;
  size_t bytes;
  bool output = false;
};

// A launcher on each side. `workspace` may be null where an operator needs none.
struct Launchers {
  Status (*cpu)(const void* params, const Launch& launch);
  decltype(&sbk_gpu_conv) GpuLibrary::* gpu;
  decltype(&sbk_gpu_conv_workspace) GpuLibrary::* workspace;
};

// Device memory for what one call enqueues on its stream, of the HIP library's own (common/workspaces.hpp). It is not asked of
// ONNX Runtime: an allocator's block is anybody's once it is freed, the work that uses it on the stream not yet done, and the
// call that ties a block to a stream (KernelContext_GetScratchBuffer) is there from 1.18 on.
class Scratch {
 public:
  Scratch(const Call& call, size_t bytes);
  Scratch(const Scratch&) = delete;
  ~Scratch();  // behind everything enqueued
  void* get() const { return data_; }

 private:
  void* data_ = nullptr;
};

// Makes the device of a call's tensors the thread's for the length of the call: ONNX Runtime says of no thread but the one in
// Run() which it has. Does nothing where the tensors are on the host.
class OnDeviceOf {
 public:
  OnDeviceOf(const Call& call, Where where);
  OnDeviceOf(const OnDeviceOf&) = delete;
  ~OnDeviceOf();

 private:
  int32_t before_ = 0;
  bool set_ = false;
};

// Copies between tensors of one call (or from the host): on the call's stream where they are on a GPU.
void copy_in_order(Where where, const Call& call, void* to, const void* from, size_t bytes);

// Rows of `bytes`, whose beginnings are a step apart in bytes.
struct Rows {
  void* to;
  size_t to_step;
  const void* from;
  size_t from_step;
  size_t bytes, count;
};
void copy_in_order(Where where, const Call& call, const Rows& rows);

// Whether STACKBUILD_KERNELS_DEVICE asks for the GPU. Read when a kernel is made, not at each call.
bool gpu_asked_for();

void run(Where where, const Launchers& launchers, const void* params, const std::vector<Buffer>& buffers,
         const Call& call);

}  // namespace sbk::customop
