// GroupNormalization, channels_first, as NVIDIA's Hopper does it the faster: groups in registers with one barrier, and groups that would leave one
// block of registers alone on a multiprocessor, or be read twice, in the shared memory of blocks that stay.
#pragma once

#include "common/copy.hpp"
#include "group_norm/group_norm_kernels.hpp"

#if SBK_NVIDIA
namespace sbk::group_norm_detail {

constexpr int kResidentThreads = 512;
constexpr int kResidentVectors = 6400;                                // of a group at most
constexpr int kResidentShared = 2 * kResidentVectors * kVectorBytes;  // bytes

// group_norm_held with one pass over the registers and one barrier.
template <class T, int N, int R, bool Plain>
__global__ void __launch_bounds__(kMostThreads)
group_norm_joined(GroupNormParams p, FastDivisor spatial, int64_t count) {
  __shared__ Portion scratch[kMaxWavesPerBlock];
  const int64_t start = static_cast<int64_t>(blockIdx.x) * count;
  HeldRows<T, N, R> values;
  values.load(static_cast<const T*>(p.x) + start, static_cast<int>(count));
  const Moments moments = values.joined_moments(static_cast<int>(count), scratch);
  const float inverse = 1.0f / sqrtf(moments.m2 / static_cast<float>(count) + p.epsilon);
  values.template store<Plain>(p, static_cast<T*>(p.y) + start, static_cast<int>(count), 0, blockIdx.x % p.groups,
                             spatial, moments, inverse);
}

// A block keeps a group in shared memory, and takes every gridDim.x-th of all; the next is on its way meanwhile.
// N, Plain: see group_norm_held.
template <class T, int N, bool Plain>
__global__ void __launch_bounds__(kResidentThreads, 1)
group_norm_resident([[maybe_unused]] GroupNormParams p, [[maybe_unused]] FastDivisor spatial, [[maybe_unused]] int count) {
#if defined(__CUDA_ARCH__)
  __shared__ Portion scratch[2][kMaxWavesPerBlock];
  extern __shared__ __align__(16) char dynamic[];
  using V = Vec<T, N>;
  const int vectors = count / N, thread = static_cast<int>(threadIdx.x);
  const int all = static_cast<int>(p.batch * p.groups), per_group = static_cast<int>(p.channels / p.groups);
  V* const first = reinterpret_cast<V*>(dynamic);
  const auto load = [&](int group, V* to) {
    Copies<1> copies;
    if (group < all) {
      const V* x = reinterpret_cast<const V*>(p.x) + static_cast<int64_t>(group) * vectors;
      for (int i = thread; i < vectors; i += kResidentThreads) copies.begin(0, to + i, x + i, true);
    }
    copies.commit();
  };
  load(static_cast<int>(blockIdx.x), first);
  int half = 0;
  for (int at = static_cast<int>(blockIdx.x); at < all; at += static_cast<int>(gridDim.x), half ^= 1) {
    load(at + static_cast<int>(gridDim.x), first + (half ^ 1) * vectors);
    Copies<1>::template wait<1>();
    const V* values = first + half * vectors;
    PortionSums sums;
    sums.origin = thread < vectors ? to_float(values[thread].v[0]) : 0.0f;
    int number = 0;
#pragma unroll 4
    for (int i = thread; i < vectors; i += kResidentThreads, number += N) {
      const V value = values[i];
#pragma unroll
      for (int j = 0; j < N; ++j) sums.add(to_float(value.v[j]));
    }
    const Portion whole = block_join(sums.of(number), scratch[half]);
    const float inverse = 1.0f / sqrtf(whole.m2 / static_cast<float>(count) + p.epsilon);
    const int group = at % static_cast<int>(p.groups);
    V* y = reinterpret_cast<V*>(p.y) + static_cast<int64_t>(at) * vectors;
#pragma unroll 4
    for (int i = thread; i < vectors; i += kResidentThreads) {
      V value = values[i];
      uint32_t channel = spatial.divide(static_cast<uint32_t>(i * N)), within = static_cast<uint32_t>(i * N) - channel * spatial.divisor();
      float factor = 0.0f, bias = 0.0f;
      const auto reload = [&] {
        const int which = p.per_group ? group : group * per_group + static_cast<int>(channel);
        factor = load_any(p.scale, p.scale_dtype, which) * inverse;
        bias = load_any(p.bias, p.scale_dtype, which);
        bias -= whole.rest * factor;
      };
      reload();
#pragma unroll
      for (int j = 0; j < N; ++j) {
        if (!Plain && j > 0 && ++within == spatial.divisor()) {
          within = 0;
          ++channel;
          reload();
        }
        const float normal = (to_float(value.v[j]) - whole.mean) * factor + bias;
        value.v[j] = from_float<T>(Plain ? normal : activate(p.activation, normal));
      }
      y[i] = value;
    }
  }
#endif
}

}  // namespace sbk::group_norm_detail
#endif
