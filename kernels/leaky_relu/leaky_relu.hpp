// LeakyRelu (ONNX opset 1, 6, 16): y = x < 0 ? alpha * x : x, elementwise.
#pragma once

#include "common/status.hpp"
#include "common/types.hpp"

namespace sbk {

struct LeakyReluParams {
  DataType dtype = DataType::float32;
  int64_t count = 0;  // elements; x and y are dense and may be the same memory
  float alpha = 0.01f;
  const void* x = nullptr;
  void* y = nullptr;
};

// Bytes of workspace wanted (always 0).
size_t leaky_relu_workspace_bytes(const LeakyReluParams& params);

namespace gpu {
Status leaky_relu(const LeakyReluParams& params, const Launch& launch);
}
namespace cpu {
Status leaky_relu(const LeakyReluParams& params, const Launch& launch);
}

}  // namespace sbk
