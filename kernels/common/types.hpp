// Values every operator's parameters are made of. No HIP, CUDA or ONNX Runtime header is needed to read this file.
#pragma once

#include <cstddef>
#include <cstdint>

// Of functions that run on host and device.
#if defined(__CUDACC__) || defined(__HIP__)
#define SBK_HD __host__ __device__
#else
#define SBK_HD
#endif

namespace sbk {

// Numbers are ONNX TensorProto.DataType's (onnx.proto3), so a caller can cast its own enum.
enum class DataType : int32_t { float32 = 1, float16 = 10 };

constexpr size_t size_of(DataType type) { return type == DataType::float32 ? 4 : 2; }

// Order of the axes in memory: N, C, spatial… or N, spatial…, C.
enum class Layout : int32_t { channels_first = 0, channels_last = 1 };

// Applied to each output value in float32, before it is rounded to the output's type.
enum class Activation : int32_t { none = 0, relu = 1, leaky_relu = 2, silu = 3, clip = 4 };

// `alpha` is the slope of leaky_relu and the lower bound of clip; `beta` the upper bound of clip.
struct ActivationParams {
  Activation kind = Activation::none;
  float alpha = 0.0f;
  float beta = 0.0f;
};

// Where and with what scratch memory a launcher works. `stream` is a hipStream_t (cudaStream_t on HIP's NVIDIA
// platform) and is ignored by the CPU implementations. `workspace` is device memory of at least the operator's
// `…_workspace_bytes(params)`, aligned to 256 bytes, not shared with work that may run at the same time; it needs no
// initial content and may be reused as soon as the next work is enqueued on the same stream.
struct Launch {
  void* stream = nullptr;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
};

}  // namespace sbk
