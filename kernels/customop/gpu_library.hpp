// The HIP library beside the custom-op library, loaded when an operator is first asked to run on a GPU.
#pragma once

#include <string>

#include "gpu_api/gpu_api.h"

namespace sbk::customop {

// The functions of gpu_api/gpu_api.h. `get` loads the library once per process and throws std::runtime_error with the
// loader's message where it cannot.
struct GpuLibrary {
  decltype(&sbk_gpu_leaky_relu) leaky_relu, batch_norm, group_norm, conv, attention;
  decltype(&sbk_gpu_conv_workspace) group_norm_workspace, conv_workspace, attention_workspace;
  decltype(&sbk_gpu_device_count) device_count;
  decltype(&sbk_gpu_malloc) malloc;
  decltype(&sbk_gpu_free) free;
  decltype(&sbk_gpu_copy) copy;
  decltype(&sbk_gpu_copy_rows) copy_rows;
  decltype(&sbk_gpu_stream_synchronize) synchronize;
  decltype(&sbk_gpu_device_use) device_use;
  decltype(&sbk_gpu_workspace_take) workspace_take;
  decltype(&sbk_gpu_workspace_give) workspace_give;

  static const GpuLibrary& get();
  // Throws std::runtime_error with HIP's words where it sees no GPU.
  void need_gpu() const;
};

// Path of a file in the folder this shared library was loaded from.
std::string beside_this_library(const char* name);

}  // namespace sbk::customop
