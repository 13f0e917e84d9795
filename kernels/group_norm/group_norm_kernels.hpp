// GroupNormalization on the device, channels_first: the values of a group are contiguous (group_norm_last_kernels.hpp
// has the other layout).
// A group that fits in a block's registers is read once. A larger one is cut in chunks: each chunk's mean and sum of
// squared deviations go to the workspace, and a second kernel merges them (Chan, Golub & LeVeque 1979) and normalises.
#pragma once

#include "common/device.hpp"
#include "group_norm/group_norm.hpp"

namespace sbk::group_norm_detail {

// Of some values: their mean, as a float32 and the rest that this leaves out, and the sum of their squared deviations.
// A mean of 100 rounds by up to 4e-6: beside a deviation of 1 that alone would be float32's largest error, and beside the
// deviation of float16 values that are nearly all alike much more than float16's. float32 values have the rest summed up, about
// the rounded mean. float16 values are taken relative to one of them, which is exact: the mean of the differences is small.
struct Moments {
  float mean, rest, m2;
};

template <class T>
constexpr bool kSumsRest = sizeof(T) == 4;

// What values are taken relative to: `first`, any of those whose moments are asked, or zero where the rest is summed up.
template <class T>
__device__ inline float origin_of(const T* first) {
  return kSumsRest<T> ? 0.0f : to_float(*first);
}

// mean + rest, with as much of it in `mean` as that holds.
__device__ inline Moments renormalize(float mean, float rest, float m2) {
  const float whole = mean + rest;
  return {whole, (mean - whole) + rest, m2};
}

// The sum of squared deviations from a mean, from that about a number which the mean lies `rest` off; `count` values. Not below
// zero, where values are all alike and only rounding is left; NaN stays.
__device__ inline float about_mean(float m2, float rest, float count) {
  const float corrected_m2 = m2 - count * rest * rest;
  return corrected_m2 < 0.0f ? 0.0f : corrected_m2;
}

#if SBK_NVIDIA
// The moments of `count` values.
struct Portion {
  float mean, rest, m2, count;
};

// Of both together (Chan, Golub & LeVeque 1979). What a mean's float32 leaves out stays in `rest`.
__device__ inline Portion join(const Portion& a, const Portion& b) {
  if (a.count == 0.0f) return b;
  if (b.count == 0.0f) return a;
  const float count = a.count + b.count, share = b.count / count;
  const float difference = (b.mean - a.mean) + (b.rest - a.rest);
  const Moments both = renormalize(a.mean, a.rest + difference * share, a.m2 + b.m2 + difference * difference * a.count * share);
  return {both.mean, both.rest, both.m2, count};
}

// Every lane gets what its wave's have together.
__device__ inline Portion wave_join(Portion mine) {
#pragma unroll
  for (int step = kWaveSize / 2; step > 0; step /= 2) {
    const Portion other = {shuffle_xor(mine.mean, step), shuffle_xor(mine.rest, step), shuffle_xor(mine.m2, step), shuffle_xor(mine.count, step)};
    mine = join(mine, other);
  }
  return mine;
}

// Every thread of a block gets what its block's have together, behind one barrier. `scratch`: shared memory of a Portion for each wave, which
// may be used again after the next barrier.
__device__ inline Portion block_join(const Portion& mine, Portion* scratch) {
  const Portion of_wave = wave_join(mine);
  if (lane_id() == 0) scratch[wave_id()] = of_wave;
  __syncthreads();
  Portion whole = {};
  if (lane_id() < static_cast<int>(blockDim.x) / kWaveSize) whole = scratch[lane_id()];
  whole = wave_join(whole);
  return {shuffle(whole.mean, 0), shuffle(whole.rest, 0), shuffle(whole.m2, 0), shuffle(whole.count, 0)};  // which differ by their order
}

// What a thread adds up of its own values, relative to one of them: it has few, so little cancels.
struct PortionSums {
  float origin = 0.0f, sum = 0.0f, squares = 0.0f;

  __device__ __forceinline__ void add(float value) {
    const float difference = value - origin;
    sum += difference;
    squares += difference * difference;
  }
  __device__ __forceinline__ Portion of(int values) const {
    const float count = static_cast<float>(values), off = values > 0 ? sum / count : 0.0f;
    const Moments moments = renormalize(origin, off, about_mean(squares, off, count));
    return {moments.mean, moments.rest, moments.m2, count};
  }
};
#endif

// R vectors of N values a thread, from `x[0 … count)`; entries past the end are not used. Places are 32 bits: the
// launcher takes groups below 2^31 values.
template <class T, int N, int R>
struct HeldRows {
  Vec<T, N> values[R];

  __device__ static int place(int i) { return (i * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * N; }

  __device__ void load(const T* x, int count) {
#pragma unroll
    for (int i = 0; i < R; ++i) {
      const int at = place(i);
      if (at < count) values[i] = *reinterpret_cast<const Vec<T, N>*>(x + at);
    }
  }

  // Two passes over registers, so nothing cancels. `first`: where the values begin, of which there is one at least.
  __device__ Moments moments(const T* first, int count, float* scratch) const {
    const float origin = origin_of(first);
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < R; ++i) {
      if (place(i) >= count) continue;
#pragma unroll
      for (int j = 0; j < N; ++j) sum += to_float(values[i].v[j]) - origin;
    }
    Moments moments = renormalize(origin, block_sum(sum, scratch) / static_cast<float>(count), 0.0f);
    float rest = 0.0f, m2 = 0.0f;
#pragma unroll
    for (int i = 0; i < R; ++i) {
      if (place(i) >= count) continue;
#pragma unroll
      for (int j = 0; j < N; ++j) {
        const float deviation = to_float(values[i].v[j]) - moments.mean;
        if constexpr (kSumsRest<T>) rest += deviation;
        m2 += deviation * deviation;
      }
    }
    m2 = block_sum(m2, scratch);
    if constexpr (kSumsRest<T>) moments.rest = block_sum(rest, scratch) / static_cast<float>(count);
    return renormalize(moments.mean, moments.rest, about_mean(m2, moments.rest, static_cast<float>(count)));
  }

#if SBK_NVIDIA
  // In one pass. `scratch`: see block_join.
  __device__ Moments joined_moments(int count, Portion* scratch) const {
    PortionSums sums;
    sums.origin = place(0) < count ? to_float(values[0].v[0]) : 0.0f;
    int number = 0;
#pragma unroll
    for (int i = 0; i < R; ++i) {
      if (place(i) >= count) continue;
      number += N;
#pragma unroll
      for (int j = 0; j < N; ++j) sums.add(to_float(values[i].v[j]));
    }
    const Portion whole = block_join(sums.of(number), scratch);
    return {whole.mean, whole.rest, whole.m2};
  }
#endif

  // Writes the normalised values; `offset` is the place of x[0] in its group, `group` the group within the image.
  // Plain: no vector straddles channels, and there is no activation.
  template <bool Plain>
  __device__ void store(const GroupNormParams& p, T* y, int count, int offset, int64_t group,
                        FastDivisor spatial, const Moments& moments, float inverse) const {
    const int64_t first_channel = p.per_group ? 0 : group * (p.channels / p.groups);
#pragma unroll
    for (int i = 0; i < R; ++i) {
      const int at = place(i);
      if (at >= count) continue;
      const auto place = static_cast<uint32_t>(offset + at);
      uint32_t channel = spatial.divide(place);
      uint32_t within = place - channel * spatial.divisor();
      float factor = 0.0f, bias = 0.0f;
      const auto reload = [&] {
        const int64_t which = p.per_group ? group : first_channel + channel;
        factor = load_any(p.scale, p.scale_dtype, which) * inverse;
        bias = load_any(p.bias, p.scale_dtype, which);
        bias -= moments.rest * factor;
      };
      reload();
      Vec<T, N> out;
#pragma unroll
      for (int j = 0; j < N; ++j) {
        if (!Plain && j > 0 && ++within == spatial.divisor()) {
          within = 0;
          ++channel;
          reload();
        }
        const float value = (to_float(values[i].v[j]) - moments.mean) * factor + bias;
        out.v[j] = from_float<T>(Plain ? value : activate(p.activation, value));
      }
      *reinterpret_cast<Vec<T, N>*>(y + at) = out;
    }
  }
};

// One block per group.
template <class T, int N, int R, bool Plain>
__global__ void __launch_bounds__(kMostThreads)
group_norm_held(GroupNormParams p, FastDivisor spatial, int64_t count) {
  __shared__ float scratch[kMaxWavesPerBlock];
  const int64_t start = static_cast<int64_t>(blockIdx.x) * count;
  HeldRows<T, N, R> values;
  values.load(static_cast<const T*>(p.x) + start, static_cast<int>(count));
  const Moments moments = values.moments(static_cast<const T*>(p.x) + start, static_cast<int>(count), scratch);
  const float inverse = 1.0f / sqrtf(moments.m2 / static_cast<float>(count) + p.epsilon);
  values.template store<Plain>(p, static_cast<T*>(p.y) + start, static_cast<int>(count), 0, blockIdx.x % p.groups,
                             spatial, moments, inverse);
}

constexpr int kChunkThreads = 512;

// Grid: chunks × (batch * groups), flattened. `partial` has one Moments per block.
template <class T, int N, int R>
__global__ void __launch_bounds__(kChunkThreads)
group_norm_partial(GroupNormParams p, int64_t count, int chunks, Moments* partial) {
  __shared__ float scratch[kMaxWavesPerBlock];
  constexpr int chunk = kChunkThreads * R * N;
  const int offset = static_cast<int>(blockIdx.x % chunks) * chunk;
  const int length = count - offset < chunk ? static_cast<int>(count) - offset : chunk;
  HeldRows<T, N, R> values;
  const T* x = static_cast<const T*>(p.x) + (blockIdx.x / chunks) * count + offset;
  values.load(x, length);
  const Moments moments = values.moments(x, length, scratch);
  if (threadIdx.x == 0) partial[blockIdx.x] = moments;
}

// Merges the moments of `parts` chunks of `chunk` values (the last one shorter) into the whole group's.
__device__ inline Moments merge(const Moments* parts, int chunks, int64_t chunk, int64_t count, float* scratch) {
  const auto length = [&](int i) {
    return static_cast<float>(i + 1 < chunks ? chunk : count - static_cast<int64_t>(chunks - 1) * chunk);
  };
  float sum = 0.0f;
  for (int i = static_cast<int>(threadIdx.x); i < chunks; i += static_cast<int>(blockDim.x)) {
    sum += ((parts[i].mean - parts[0].mean) + parts[i].rest) * (length(i) / static_cast<float>(count));
  }
  const Moments whole = renormalize(parts[0].mean, block_sum(sum, scratch), 0.0f);
  float m2 = 0.0f;
  for (int i = static_cast<int>(threadIdx.x); i < chunks; i += static_cast<int>(blockDim.x)) {
    const float deviation = (parts[i].mean - whole.mean) + (parts[i].rest - whole.rest);
    m2 += parts[i].m2 + deviation * deviation * length(i);
  }
  return {whole.mean, whole.rest, block_sum(m2, scratch)};
}

template <class T, int N, int R>
__global__ void __launch_bounds__(kChunkThreads)
group_norm_apply(GroupNormParams p, FastDivisor spatial, int64_t count, int chunks, const Moments* partial) {
  __shared__ float scratch[kMaxWavesPerBlock];
  constexpr int chunk = kChunkThreads * R * N;
  const int64_t group = blockIdx.x / chunks;
  const int offset = static_cast<int>(blockIdx.x % chunks) * chunk;
  const int length = count - offset < chunk ? static_cast<int>(count) - offset : chunk;
  const int64_t start = group * count + offset;
  HeldRows<T, N, R> values;
  values.load(static_cast<const T*>(p.x) + start, length);
  const Moments moments = merge(partial + group * chunks, chunks, chunk, count, scratch);
  const float inverse = 1.0f / sqrtf(moments.m2 / static_cast<float>(count) + p.epsilon);
  values.template store<false>(p, static_cast<T*>(p.y) + start, length, offset, group % p.groups, spatial, moments,
                             inverse);
}

}  // namespace sbk::group_norm_detail
