// BatchNormalization in inference form (ONNX opset 9, 14, 15 with training_mode = 0):
// y = activation((x - mean[c]) / sqrt(variance[c] + epsilon) * scale[c] + bias[c]).
#pragma once

#include "common/status.hpp"
#include "common/types.hpp"

namespace sbk {

struct BatchNormParams {
  DataType dtype = DataType::float32;  // of x and y
  DataType scale_dtype = DataType::float32;  // of scale and bias (opset 15's T1)
  DataType stats_dtype = DataType::float32;  // of mean and variance (opset 15's T2)
  Layout layout = Layout::channels_first;
  int64_t batch = 0;
  int64_t channels = 0;
  int64_t spatial = 1;  // product of the spatial extents
  float epsilon = 1e-5f;
  ActivationParams activation;
  const void* x = nullptr;         // dense, in `layout`
  const void* scale = nullptr;     // [channels]
  const void* bias = nullptr;      // [channels]
  const void* mean = nullptr;      // [channels]
  const void* variance = nullptr;  // [channels]
  void* y = nullptr;               // like x; may be the same memory
};

size_t batch_norm_workspace_bytes(const BatchNormParams& params);

namespace gpu {
Status batch_norm(const BatchNormParams& params, const Launch& launch);
}
namespace cpu {
Status batch_norm(const BatchNormParams& params, const Launch& launch);
}

}  // namespace sbk
