// Two shapes of parallel work, written once for GPUs and for the CPU platform:
//   for_each(stream, n, f)          calls f(i) for i = 0 … n-1, in any order, possibly at once
//   for_rows(stream, rows, width, f) calls f(row, team) with all threads of a team; team.sum/max reduce over it
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "core/device/platform.hpp"
#include "core/memory/stream.hpp"
#include "core/tensor/tensor.hpp"

#if !RK_CPU
#include "common/device.hpp"
#include "common/limits.hpp"
#include "common/overlap.hpp"
#endif

namespace rk {

// Floating-point types compute in `float` (double in double), integers in themselves.
template <class T> struct Accumulator { using type = T; };
template <> struct Accumulator<half_t> { using type = float; };
template <class T> using acc_t = typename Accumulator<T>::type;

template <class T> RK_HD inline acc_t<T> load(T value) { return static_cast<acc_t<T>>(value); }

// -x of an integer, and the least integer for itself.
template <class A>
RK_HD inline A negative(A x) {
  return static_cast<A>(std::make_unsigned_t<A>(0) - static_cast<std::make_unsigned_t<A>>(x));
}

constexpr int kMostThreads = 1024;  // of a team
constexpr int kRowShare = 4;        // elements of a row that for_rows gives a thread at most, while it may have more threads

// 16 bytes or fewer moved as one.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T v[N];
};

inline bool aligned16(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

// i / divisor for 0 <= i < 2^31.
class Divisor {
 public:
  Divisor() = default;
#if RK_CPU
  explicit Divisor(int64_t divisor) : divisor_(static_cast<uint32_t>(divisor)) {}
  uint32_t divide(uint32_t i) const { return i / divisor_; }
#else
  explicit Divisor(int64_t divisor) : divisor_(static_cast<uint32_t>(divisor)), fast_(static_cast<uint32_t>(divisor)) {}
  RK_D uint32_t divide(uint32_t i) const { return fast_.divide(i); }
#endif
  RK_HD uint32_t value() const { return divisor_; }

 private:
  uint32_t divisor_ = 1;
#if !RK_CPU
  sbk::FastDivisor fast_;
#endif
};

#if RK_CPU

struct Team {
  int rank = 0;
  int size = 1;
  float sum(float value) const { return value; }
  float max(float value) const { return value; }
  void wait() const {}
};

template <class F>
void for_each(Stream&, int64_t count, F f) {
  for (int64_t i = 0; i < count; ++i) f(i);
}

template <class F>
void for_rows(Stream&, int64_t rows, int64_t, F f) {
  for (int64_t row = 0; row < rows; ++row) f(row, Team{});
}

#else

constexpr int kThreads = 256;
static_assert(kMostThreads == sbk::kMostThreads);

// Blocks of a grid-stride loop: enough for any device, and no more than one launch takes.
inline uint32_t blocks_for(int64_t blocks, int threads) {
  constexpr int64_t kEnough = int64_t{1} << 20;
  return static_cast<uint32_t>(std::min({blocks, kEnough, sbk::most_blocks(threads)}));
}

// The threads of one block.
struct Team {
  int rank;
  int size;
  float* scratch;

  RK_D float sum(float value) const { return sbk::block_sum(value, scratch); }
  RK_D float max(float value) const {
#if defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA_ARCH__)
    value = sbk::wave_max(value);
    __syncthreads();
    if (sbk::lane_id() == 0) scratch[sbk::wave_id()] = value;
    __syncthreads();
    for (int i = 0; i < size / sbk::kWaveSize; ++i) value = fmaxf(value, scratch[i]);
#endif
    return value;
  }
  RK_D void wait() const {
#if defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA_ARCH__)
    __syncthreads();
#endif
  }
};

template <class F>
__global__ void __launch_bounds__(kThreads) each_kernel(int64_t count, F f) {
  sbk::wait_for_previous();
  sbk::let_next_start();
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) f(i);
}

template <class F>
__global__ void __launch_bounds__(kMostThreads) rows_kernel(int64_t rows, F f) {
  __shared__ float scratch[sbk::kMaxWavesPerBlock];
  const Team team{static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x), scratch};
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) f(row, team);
}

inline void check_launched() { check(sbk::check_launch()); }

template <class F>
void for_each(Stream& stream, int64_t count, F f) {
  if (count <= 0) return;
  const dim3 grid(blocks_for((count + kThreads - 1) / kThreads, kThreads));
  check(sbk::launch_overlapped(each_kernel<F>, grid, dim3(kThreads), 0, static_cast<hipStream_t>(stream.native()), count, f));
}

// One team for each row, of as many threads as the row's `width` can use: whole waves of the device, from the fewest that
// were measured to kMostThreads.
template <class F>
void for_rows(Stream& stream, int64_t rows, int64_t width, F f) {
  if (rows <= 0) return;
  constexpr int64_t kFewest = 64;
  sbk::DeviceFacts device;
  check(sbk::device_facts(&device));
  auto threads = static_cast<int>(device.whole_waves(kFewest));
  while (threads < kMostThreads && int64_t{threads} * kRowShare < width) threads *= 2;
  rows_kernel<<<dim3(blocks_for(rows, threads)), dim3(threads), 0, static_cast<hipStream_t>(stream.native())>>>(rows, f);
  check_launched();
}

#endif

// Calls f(T{}) with the element type that `type` names.
template <class F>
void with_float(Type type, F f) {
  switch (type) {
    case kFloat: return f(float{});
    case kHalf: return f(half_t{});
    default: fail("the element type is neither float nor float16");
  }
}

template <class F>
void with_number(Type type, F f) {
  switch (type) {
    case kFloat: return f(float{});
    case kHalf: return f(half_t{});
    case kDouble: return f(double{});
    case kInt32: return f(int32_t{});
    case kInt64: return f(int64_t{});
    default: fail("the element type is not one of float, float16, double, int32, int64");
  }
}

template <class F>
void with_any(Type type, F f) {
  switch (type) {
    case kBool: return f(bool{});
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8: return f(int8_t{});
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8: return f(uint8_t{});
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16: return f(int16_t{});
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16: return f(uint16_t{});
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32: return f(uint32_t{});
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64: return f(uint64_t{});
    default: return with_number(type, f);
  }
}

// For operators that only move data: an unsigned integer of the element's size.
template <class F>
void with_bytes(int64_t bytes, F f) {
  switch (bytes) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    case 8: return f(uint64_t{});
    case 16: return f(Pack<uint64_t, 2>{});
    default: fail("no element has this size");
  }
}

}  // namespace rk
