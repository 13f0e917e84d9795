// GroupNormalization (ONNX opset 18: scale and bias per group; opset 21: per channel), statistics in float32.
#pragma once

#include "common/status.hpp"
#include "common/types.hpp"

namespace sbk {

struct GroupNormParams {
  DataType dtype = DataType::float32;        // of x and y
  DataType scale_dtype = DataType::float32;  // of scale and bias
  Layout layout = Layout::channels_first;
  int64_t batch = 0;
  int64_t channels = 0;
  int64_t groups = 1;       // divides channels
  int64_t spatial = 1;      // product of the spatial extents
  bool per_group = false;   // scale and bias have [groups] (opset 18) instead of [channels] (opset 21) values
  float epsilon = 1e-5f;
  ActivationParams activation;  // silu for the GroupNorm+SiLU of diffusion models
  const void* x = nullptr;      // dense, in `layout`
  const void* scale = nullptr;
  const void* bias = nullptr;
  void* y = nullptr;  // like x; may be the same memory
};

size_t group_norm_workspace_bytes(const GroupNormParams& params);

namespace gpu {
Status group_norm(const GroupNormParams& params, const Launch& launch);
}
namespace cpu {
Status group_norm(const GroupNormParams& params, const Launch& launch);
}

}  // namespace sbk
