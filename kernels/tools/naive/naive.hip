// The baselines of the "against naive" columns: each operator as a first version would be written, float32 and float16,
// channels first. One thread per output value (GroupNormalization: one block per group, three passes). Not shipped.
#include <cstdint>

#include "attention/attention.hpp"
#include "batch_norm/batch_norm.hpp"
#include "common/device.hpp"
#include "conv/conv.hpp"
#include "gpu_api/gpu_api.h"
#include "group_norm/group_norm.hpp"
#include "leaky_relu/leaky_relu.hpp"

namespace sbk::naive {

constexpr int kThreads = 256;

__device__ inline int64_t global_index() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

template <class T>
__global__ void leaky_relu(LeakyReluParams p) {
  const int64_t i = global_index();
  if (i >= p.count) return;
  const float x = to_float(static_cast<const T*>(p.x)[i]);
  static_cast<T*>(p.y)[i] = from_float<T>(x < 0.0f ? p.alpha * x : x);
}

template <class T>
__global__ void batch_norm(BatchNormParams p) {
  const int64_t i = global_index();
  if (i >= p.batch * p.channels * p.spatial) return;
  const int64_t c = i / p.spatial % p.channels;
  const float x = to_float(static_cast<const T*>(p.x)[i]);
  const float y = (x - load_any(p.mean, p.stats_dtype, c)) / sqrtf(load_any(p.variance, p.stats_dtype, c) + p.epsilon);
  static_cast<T*>(p.y)[i] =
      from_float<T>(y * load_any(p.scale, p.scale_dtype, c) + load_any(p.bias, p.scale_dtype, c));
}

template <class T>
__global__ void group_norm(GroupNormParams p) {
  __shared__ float shared[kThreads];
  const int64_t per_group = p.channels / p.groups, count = per_group * p.spatial;
  const T* x = static_cast<const T*>(p.x) + blockIdx.x * count;
  T* y = static_cast<T*>(p.y) + blockIdx.x * count;
  const auto reduce = [&](float value) {
    __syncthreads();
    shared[threadIdx.x] = value;
    for (int half = kThreads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (static_cast<int>(threadIdx.x) < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    }
    __syncthreads();
    return shared[0] / static_cast<float>(count);
  };
  float sum = 0.0f;
  for (int64_t i = threadIdx.x; i < count; i += kThreads) sum += to_float(x[i]);
  const float mean = reduce(sum);
  sum = 0.0f;
  for (int64_t i = threadIdx.x; i < count; i += kThreads) sum += (to_float(x[i]) - mean) * (to_float(x[i]) - mean);
  const float deviation = sqrtf(reduce(sum) + p.epsilon);
  for (int64_t i = threadIdx.x; i < count; i += kThreads) {
    const int64_t c = blockIdx.x % p.groups * per_group + i / p.spatial;
    y[i] = from_float<T>((to_float(x[i]) - mean) / deviation * load_any(p.scale, p.scale_dtype, c) +
                         load_any(p.bias, p.scale_dtype, c));
  }
}

template <class T>
__global__ void conv(ConvParams p) {
  const int64_t i = global_index();
  const int64_t area = p.out[0] * p.out[1];
  if (i >= p.batch * p.out_channels * area) return;
  const int64_t ow = i % p.out[1], oh = i / p.out[1] % p.out[0];
  const int64_t k = i / area % p.out_channels, n = i / area / p.out_channels;
  float sum = 0.0f;
  for (int64_t c = 0; c < p.in_channels; ++c) {
    for (int64_t r = 0; r < p.kernel[0]; ++r) {
      for (int64_t s = 0; s < p.kernel[1]; ++s) {
        const int64_t h = oh * p.stride[0] - p.pad_begin[0] + r, w = ow * p.stride[1] - p.pad_begin[1] + s;
        if (h < 0 || h >= p.in[0] || w < 0 || w >= p.in[1]) continue;
        sum += to_float(static_cast<const T*>(p.x)[((n * p.in_channels + c) * p.in[0] + h) * p.in[1] + w]) *
               to_float(static_cast<const T*>(p.w)[((k * p.in_channels + c) * p.kernel[0] + r) * p.kernel[1] + s]);
      }
    }
  }
  static_cast<T*>(p.y)[i] = from_float<T>(sum);
}

// Three kernels with the whole score matrix in memory.
template <class T>
__global__ void scores(AttentionParams p, float* s) {
  const int64_t i = global_index();
  if (i >= p.batch * p.query_heads * p.query_length * p.key_length) return;
  const int64_t key = i % p.key_length, row = i / p.key_length, head = row / p.query_length;
  float dot = 0.0f;
  for (int64_t d = 0; d < p.head_size; ++d) {
    dot += to_float(static_cast<const T*>(p.q)[row * p.head_size + d]) *
           to_float(static_cast<const T*>(p.k)[(head * p.key_length + key) * p.head_size + d]);
  }
  s[i] = dot * p.scale;
}

__global__ void softmax(AttentionParams p, float* s) {
  const int64_t row = global_index();
  if (row >= p.batch * p.query_heads * p.query_length) return;
  float* r = s + row * p.key_length;
  float top = r[0], sum = 0.0f;
  for (int64_t j = 1; j < p.key_length; ++j) top = fmaxf(top, r[j]);
  for (int64_t j = 0; j < p.key_length; ++j) sum += r[j] = expf(r[j] - top);
  for (int64_t j = 0; j < p.key_length; ++j) r[j] /= sum;
}

template <class T>
__global__ void outputs(AttentionParams p, const float* s) {
  const int64_t i = global_index();
  if (i >= p.batch * p.query_heads * p.query_length * p.value_size) return;
  const int64_t d = i % p.value_size, row = i / p.value_size, head = row / p.query_length;
  float sum = 0.0f;
  for (int64_t j = 0; j < p.key_length; ++j) {
    sum += s[row * p.key_length + j] * to_float(static_cast<const T*>(p.v)[(head * p.key_length + j) * p.value_size + d]);
  }
  static_cast<T*>(p.y)[i] = from_float<T>(sum);
}

dim3 blocks(int64_t count) { return dim3(static_cast<uint32_t>(ceil_div(count, kThreads))); }

int32_t answer(const Status& status, const char** what) {
  if (what != nullptr) *what = status.what;
  return static_cast<int32_t>(status.code);
}

template <class P, class F>
int32_t go(const void* params, const void* launch, const char** what, F body) {
  const P& p = *static_cast<const P*>(params);
  const Launch& l = *static_cast<const Launch*>(launch);
  const auto stream = static_cast<hipStream_t>(l.stream);
  return answer(p.dtype == DataType::float32 ? body(p, l, stream, float{}) : body(p, l, stream, __half{}), what);
}

}  // namespace sbk::naive

using namespace sbk;

extern "C" {

SBK_EXPORT int32_t sbk_naive_leaky_relu(const void* params, const void* launch, const char** what) {
  return naive::go<LeakyReluParams>(params, launch, what, [](auto& p, auto&, auto stream, auto type) -> Status {
    naive::leaky_relu<decltype(type)><<<naive::blocks(p.count), naive::kThreads, 0, stream>>>(p);
    return check_launch();
  });
}
SBK_EXPORT int32_t sbk_naive_batch_norm(const void* params, const void* launch, const char** what) {
  return naive::go<BatchNormParams>(params, launch, what, [](auto& p, auto&, auto stream, auto type) -> Status {
    naive::batch_norm<decltype(type)>
        <<<naive::blocks(p.batch * p.channels * p.spatial), naive::kThreads, 0, stream>>>(p);
    return check_launch();
  });
}
SBK_EXPORT int32_t sbk_naive_group_norm(const void* params, const void* launch, const char** what) {
  return naive::go<GroupNormParams>(params, launch, what, [](auto& p, auto&, auto stream, auto type) -> Status {
    naive::group_norm<decltype(type)>
        <<<dim3(static_cast<uint32_t>(p.batch * p.groups)), naive::kThreads, 0, stream>>>(p);
    return check_launch();
  });
}
SBK_EXPORT int32_t sbk_naive_conv(const void* params, const void* launch, const char** what) {
  return naive::go<ConvParams>(params, launch, what, [](auto& p, auto&, auto stream, auto type) -> Status {
    naive::conv<decltype(type)>
        <<<naive::blocks(p.batch * p.out_channels * p.out[0] * p.out[1]), naive::kThreads, 0, stream>>>(p);
    return check_launch();
  });
}
SBK_EXPORT size_t sbk_naive_attention_workspace(const void* params) {
  const auto& p = *static_cast<const AttentionParams*>(params);
  return static_cast<size_t>(p.batch * p.query_heads * p.query_length * p.key_length) * sizeof(float);
}
SBK_EXPORT int32_t sbk_naive_attention(const void* params, const void* launch, const char** what) {
  return naive::go<AttentionParams>(params, launch, what, [](auto& p, auto& l, auto stream, auto type) -> Status {
    auto* s = static_cast<float*>(l.workspace);
    const int64_t rows = p.batch * p.query_heads * p.query_length;
    naive::scores<decltype(type)><<<naive::blocks(rows * p.key_length), naive::kThreads, 0, stream>>>(p, s);
    SBK_TRY(check_launch());
    naive::softmax<<<naive::blocks(rows), naive::kThreads, 0, stream>>>(p, s);
    SBK_TRY(check_launch());
    naive::outputs<decltype(type)><<<naive::blocks(rows * p.value_size), naive::kThreads, 0, stream>>>(p, s);
    return check_launch();
  });
}

}  // extern "C"
