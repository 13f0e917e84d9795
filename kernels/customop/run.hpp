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

// Scratch memory from the execution provider's own arena: released in stream order.
class Scratch {
 public:
  Scratch(const Call& call, size_t bytes);
  Scratch(const Scratch&) = delete;
  ~Scratch();
  void* get() const { return data_; }

 private:
  OrtAllocator* allocator_ = nullptr;
  void* data_ = nullptr;
};

// Copies between tensors of one call (or from the host): on the call's stream where they are on a GPU.
void copy_in_order(Where where, const Call& call, void* to, const void* from, size_t bytes);

// Whether STACKBUILD_KERNELS_DEVICE asks for the GPU. Read when a kernel is made, not at each call.
bool gpu_asked_for();

void run(Where where, const Launchers& launchers, const void* params, const std::vector<Buffer>& buffers,
         const Call& call);

}  // namespace sbk::customop
