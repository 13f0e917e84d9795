// Small device-side pieces the operators share: conversions, 16-byte vectors, reductions over a wave or a block.
#pragma once

#include "common/activate.hpp"
#include "common/platform.hpp"
#include "common/types.hpp"

namespace sbk {

// Bytes one lane moves at best with one instruction on every target here (global_load_dwordx4, LDG.128).
constexpr int kVectorBytes = 16;

template <class T, int N>
struct alignas(sizeof(T) * N) Vec {
  T v[N];
};

template <class T>
__host__ __device__ constexpr int lanes_of() {
  return kVectorBytes / static_cast<int>(sizeof(T));
}

__host__ __device__ inline float to_float(float value) { return value; }
__host__ __device__ inline float to_float(__half value) { return __half2float(value); }
template <class T>
__device__ T from_float(float value);
template <>
__device__ inline float from_float<float>(float value) { return value; }
template <>
__device__ inline __half from_float<__half>(float value) { return __float2half(value); }

// Reads element `i` of a small parameter tensor whose type is known only at run time.
__device__ inline float load_any(const void* data, DataType type, int64_t i) {
  return type == DataType::float32 ? static_cast<const float*>(data)[i]
                                   : __half2float(static_cast<const __half*>(data)[i]);
}

template <class T>
__device__ inline T shuffle_xor(T value, int mask) {
#if SBK_NVIDIA
  return __shfl_xor_sync(0xffffffffu, value, mask);
#else
  return __shfl_xor(value, mask);
#endif
}

__device__ inline bool wave_any(bool value) {
#if SBK_NVIDIA
  return __any_sync(0xffffffffu, value);
#else
  return __any(value);
#endif
}

template <class T>
__device__ inline T shuffle(T value, int lane) {
#if SBK_NVIDIA
  return __shfl_sync(0xffffffffu, value, lane);
#else
  return __shfl(value, lane);
#endif
}

#if defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA_ARCH__)
__device__ inline int lane_id() { return static_cast<int>(threadIdx.x) % kWaveSize; }
__device__ inline int wave_id() { return static_cast<int>(threadIdx.x) / kWaveSize; }

// What this wave wrote to shared memory before, all its lanes see after.
__device__ inline void wave_barrier() {
#if SBK_NVIDIA
  __syncwarp();
#else
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
#endif
}

// Every lane gets the sum, or the greatest, of the 16 neighbouring lanes that it is one of. On AMD a row's rotations are a
// part of the addition itself (DPP); a shuffle would go through LDS.
#if defined(__AMDGCN__)
template <int Rotation>
__device__ __forceinline__ float row_rotated(float x) {
  constexpr int kRotateRight = 0x120;  // DPP_ROW_RR
  const int bits = __builtin_bit_cast(int, x);
  return __builtin_bit_cast(float, __builtin_amdgcn_update_dpp(bits, bits, kRotateRight | Rotation, 0xf, 0xf, false));
}
__device__ __forceinline__ float row16_sum(float x) {
  x += row_rotated<8>(x);
  x += row_rotated<4>(x);
  x += row_rotated<2>(x);
  return x + row_rotated<1>(x);
}
__device__ __forceinline__ float row16_max(float x) {
  x = fmaxf(x, row_rotated<8>(x));
  x = fmaxf(x, row_rotated<4>(x));
  x = fmaxf(x, row_rotated<2>(x));
  return fmaxf(x, row_rotated<1>(x));
}
#else
__device__ __forceinline__ float row16_sum(float x) {
#pragma unroll
  for (int mask = 8; mask > 0; mask /= 2) x += shuffle_xor(x, mask);
  return x;
}
__device__ __forceinline__ float row16_max(float x) {
#pragma unroll
  for (int mask = 8; mask > 0; mask /= 2) x = fmaxf(x, shuffle_xor(x, mask));
  return x;
}
#endif

// Every lane gets the sum over its wave.
__device__ inline float wave_sum(float value) {
#pragma unroll
  for (int mask = kWaveSize / 2; mask > 0; mask /= 2) value += shuffle_xor(value, mask);
  return value;
}

__device__ inline float wave_max(float value) {
#pragma unroll
  for (int mask = kWaveSize / 2; mask > 0; mask /= 2) value = fmaxf(value, shuffle_xor(value, mask));
  return value;
}

// Every thread of a block (blockDim.x threads, one axis, a multiple of the wave) gets the sum over it. `scratch` is
// shared memory of at least one float per wave; it may be used again after the next barrier.
__device__ inline float block_sum(float value, float* scratch) {
  const int waves = static_cast<int>(blockDim.x) / kWaveSize;
  value = wave_sum(value);
  __syncthreads();
  if (lane_id() == 0) scratch[wave_id()] = value;
  __syncthreads();
  float sum = 0.0f;
  for (int i = 0; i < waves; ++i) sum += scratch[i];
  return sum;
}
#else  // the host pass parses kernels too; it never runs these
__device__ int lane_id();
__device__ int wave_id();
__device__ float wave_sum(float value);
__device__ float wave_max(float value);
__device__ float block_sum(float value, float* scratch);
#endif

// Waves of the largest block where they are narrowest.
constexpr int kMaxWavesPerBlock = kMostThreads / kNarrowestWave;

// Division by a number known at launch, without the division: Granlund & Montgomery, PLDI 1994. For n < 2^31.
class FastDivisor {
 public:
  FastDivisor() = default;
  explicit FastDivisor(uint32_t divisor) : divisor_(divisor) {
    while ((uint64_t{1} << shift_) < divisor) ++shift_;
    multiplier_ = static_cast<uint32_t>((((uint64_t{1} << shift_) - divisor) << 32) / divisor + 1);
  }
  __device__ uint32_t divide(uint32_t n) const { return (__umulhi(n, multiplier_) + n) >> shift_; }
  __host__ __device__ uint32_t divisor() const { return divisor_; }

 private:
  uint32_t divisor_ = 1;
  uint32_t multiplier_ = 1;
  uint32_t shift_ = 0;
};

inline bool aligned_to(const void* pointer, size_t bytes) {
  return reinterpret_cast<uintptr_t>(pointer) % bytes == 0;
}

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace sbk
