// GroupNormalization on the device, channels_last, in two passes, for what group_norm_strip_kernels.hpp does not take: a
// thread keeps N channels and walks down pixels. Moments per channel and chunk of pixels go to the workspace, are merged
// per image and group, and the values are normalised in a second pass over them.
#pragma once

#include "common/device.hpp"
#include "group_norm/group_norm_kernels.hpp"

namespace sbk::group_norm_detail {

constexpr int kLastThreads = 256;
constexpr int kLastRows = 8;  // pixels a thread holds

struct LastPlan {
  int lanes;       // threads side by side over channel vectors
  int row_threads; // threads over pixels
  int rows;        // pixels a block takes: row_threads * kLastRows
  int64_t chunks;  // blocks over an image's pixels
  int64_t strips;  // blocks over the channels
};

// A plan for vectors of one value needs the most workspace (its chunks are the smallest).
inline LastPlan last_plan(const GroupNormParams& p, int n) {
  LastPlan plan{};
  const int64_t vectors = p.channels / n;
  plan.lanes = static_cast<int>(vectors < kLastThreads ? vectors : kLastThreads);
  plan.row_threads = kLastThreads / plan.lanes;
  plan.rows = plan.row_threads * kLastRows;
  plan.chunks = ceil_div(p.spatial, plan.rows);
  plan.strips = ceil_div(vectors, plan.lanes);
  return plan;
}

inline size_t last_workspace(const GroupNormParams& p, const LastPlan& plan) {
  return static_cast<size_t>(p.batch * (plan.chunks * p.channels + p.groups)) * sizeof(Moments);
}

// Pixels of chunk `chunk`, and of those the ones row thread `thread` holds: thread, thread + row_threads, …
__device__ inline int chunk_rows(const GroupNormParams& p, const LastPlan& plan, int64_t chunk) {
  const int64_t rows_left = p.spatial - chunk * plan.rows;
  return rows_left < plan.rows ? static_cast<int>(rows_left) : plan.rows;
}
__device__ inline int thread_rows(int rows, int thread, int threads) {
  return thread < rows ? (rows - thread + threads - 1) / threads : 0;
}

// One value for each thread and each of its N channels, summed over the threads that share a channel. The pitch keeps
// eight channels of eight lanes in different banks.
template <int N>
struct ChannelSums {
  static constexpr int kPitch = kLastThreads + 8;
  float values[N * kPitch];

  __device__ void put(int j, float value) { values[j * kPitch + static_cast<int>(threadIdx.x)] = value; }
  __device__ float sum(const LastPlan& plan, int channel) const {
    const float* at = values + channel % N * kPitch + channel / N;
    float total = 0.0f;
    for (int r = 0; r < plan.row_threads; ++r) total += at[r * plan.lanes];
    return total;
  }
};

template <class T, int N>
__global__ void __launch_bounds__(kLastThreads)
group_norm_last_partial(GroupNormParams p, LastPlan plan, Moments* partial) {
  __shared__ ChannelSums<N> sums;
  __shared__ float means[kLastThreads * N];
  const int lane = static_cast<int>(threadIdx.x) % plan.lanes, row = static_cast<int>(threadIdx.x) / plan.lanes;
  const int64_t vectors = p.channels / N, vector = static_cast<int64_t>(blockIdx.y) * plan.lanes + lane;
  const int rows = chunk_rows(p, plan, blockIdx.x);
  const bool active = vector < vectors && row < plan.row_threads;
  const int64_t row0 = blockIdx.z * p.spatial + static_cast<int64_t>(blockIdx.x) * plan.rows;
  const auto* x = reinterpret_cast<const Vec<T, N>*>(p.x);
  Vec<T, N> values[kLastRows];
  const int mine = active ? thread_rows(rows, row, plan.row_threads) : 0;
  const T* first = static_cast<const T*>(p.x) + row0 * p.channels + static_cast<int64_t>(blockIdx.y) * plan.lanes * N;
  float origin[N];
#pragma unroll
  for (int j = 0; j < N; ++j) origin[j] = active ? origin_of(first + lane * N + j) : 0.0f;
#pragma unroll
  for (int i = 0; i < kLastRows; ++i) {
    if (i < mine) values[i] = x[(row0 + row + i * plan.row_threads) * vectors + vector];
  }
#pragma unroll
  for (int j = 0; j < N; ++j) {
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < kLastRows; ++i) sum += i < mine ? to_float(values[i].v[j]) - origin[j] : 0.0f;
    sums.put(j, sum);
  }
  __syncthreads();
  const int strip = plan.lanes * N;  // channels of this block
  for (int c = static_cast<int>(threadIdx.x); c < strip; c += kLastThreads) {
    means[c] = sums.sum(plan, c) / static_cast<float>(rows);
  }
  __syncthreads();
  float m2[N];  // about the mean of all the block's rows, so nothing cancels
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const float mean = means[lane * N + j];
    float rest = 0.0f;
    m2[j] = 0.0f;
#pragma unroll
    for (int i = 0; i < kLastRows; ++i) {
      const float deviation = i < mine ? to_float(values[i].v[j]) - origin[j] - mean : 0.0f;
      rest += deviation;
      m2[j] += deviation * deviation;
    }
    sums.put(j, kSumsRest<T> ? rest : m2[j]);
  }
  __syncthreads();
  Moments* out = partial + (blockIdx.z * plan.chunks + blockIdx.x) * p.channels + static_cast<int64_t>(blockIdx.y) * strip;
  const int64_t channels = p.channels - static_cast<int64_t>(blockIdx.y) * strip;
  for (int c = static_cast<int>(threadIdx.x); c < strip && c < channels; c += kLastThreads) {
    if constexpr (kSumsRest<T>) {
      const float rest = sums.sum(plan, c) / static_cast<float>(rows);
      out[c] = renormalize(means[c], rest, 0.0f);
      means[c] = rest;  // no longer a mean: for this thread, below
    } else {
      out[c] = renormalize(origin_of(first + c), means[c], sums.sum(plan, c));
    }
  }
  if constexpr (!kSumsRest<T>) return;
  __syncthreads();
#pragma unroll
  for (int j = 0; j < N; ++j) sums.put(j, m2[j]);
  __syncthreads();
  for (int c = static_cast<int>(threadIdx.x); c < strip && c < channels; c += kLastThreads) {
    out[c].m2 = about_mean(sums.sum(plan, c), means[c], static_cast<float>(rows));
  }
}

#if defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA_ARCH__)
// One wave: the mean of an image's group, and 1 / standard deviation in `m2`'s place.
__device__ inline Moments merge_group(const GroupNormParams& p, const LastPlan& plan, const Moments* partial, int64_t which) {
  const int64_t image = which / p.groups, group = which % p.groups;
  const int per_group = static_cast<int>(p.channels / p.groups);
  const Moments* parts = partial + image * plan.chunks * p.channels + group * per_group;
  const int entries = static_cast<int>(plan.chunks) * per_group;
  const float total = static_cast<float>(per_group) * static_cast<float>(p.spatial);
  float sum = 0.0f;
  for (int i = lane_id(); i < entries; i += kWaveSize) {
    const int chunk = i / per_group;
    const Moments part = parts[chunk * p.channels + i % per_group];
    sum += ((part.mean - parts[0].mean) + part.rest) * (static_cast<float>(chunk_rows(p, plan, chunk)) / total);
  }
  const Moments whole = renormalize(parts[0].mean, wave_sum(sum), 0.0f);
  float m2 = 0.0f;
  for (int i = lane_id(); i < entries; i += kWaveSize) {
    const int chunk = i / per_group;
    const Moments part = parts[chunk * p.channels + i % per_group];
    const float deviation = (part.mean - whole.mean) + (part.rest - whole.rest);
    m2 += part.m2 + deviation * deviation * static_cast<float>(chunk_rows(p, plan, chunk));
  }
  return {whole.mean, whole.rest, 1.0f / sqrtf(wave_sum(m2) / total + p.epsilon)};
}
#endif

static __global__ void __launch_bounds__(kLastThreads)
group_norm_last_merge([[maybe_unused]] GroupNormParams p, [[maybe_unused]] LastPlan plan,
                      [[maybe_unused]] const Moments* partial, [[maybe_unused]] Moments* merged_moments) {
#if defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA_ARCH__)
  constexpr int kWaves = kLastThreads / kWaveSize;
  const int64_t step = static_cast<int64_t>(gridDim.x) * kWaves;
  for (int64_t which = static_cast<int64_t>(blockIdx.x) * kWaves + wave_id(); which < p.batch * p.groups; which += step) {
    const Moments stats = merge_group(p, plan, partial, which);
    if (lane_id() == 0) merged_moments[which] = stats;
  }
#endif
}

// Plain: there is no activation.
template <class T, int N, bool Plain>
__global__ void __launch_bounds__(kLastThreads)
group_norm_last_apply(GroupNormParams p, LastPlan plan, const Moments* merged_moments) {
  const int lane = static_cast<int>(threadIdx.x) % plan.lanes, row = static_cast<int>(threadIdx.x) / plan.lanes;
  const int64_t vectors = p.channels / N, vector = static_cast<int64_t>(blockIdx.y) * plan.lanes + lane;
  if (vector >= vectors || row >= plan.row_threads) return;
  // From the end: what the first pass read last is still in the cache.
  const int64_t chunk = gridDim.x - 1 - blockIdx.x, image = gridDim.z - 1 - blockIdx.z;
  const int rows = chunk_rows(p, plan, chunk);
  const int64_t row0 = image * p.spatial + chunk * plan.rows;
  const auto* x = reinterpret_cast<const Vec<T, N>*>(p.x);
  auto* y = reinterpret_cast<Vec<T, N>*>(p.y);
  Vec<T, N> values[kLastRows];
#pragma unroll
  for (int i = 0; i < kLastRows; ++i) {
    const int r = row + i * plan.row_threads;
    if (r < rows) values[i] = x[(row0 + r) * vectors + vector];
  }
  float mean[N], factor[N], bias[N];
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const int64_t channel = vector * N + j, group = channel / (p.channels / p.groups);
    const Moments stats = merged_moments[image * p.groups + group];
    const int64_t which = p.per_group ? group : channel;
    mean[j] = stats.mean;
    factor[j] = load_any(p.scale, p.scale_dtype, which) * stats.m2;
    bias[j] = load_any(p.bias, p.scale_dtype, which);
    bias[j] -= stats.rest * factor[j];
  }
#pragma unroll
  for (int i = 0; i < kLastRows; ++i) {
    const int r = row + i * plan.row_threads;
    if (r >= rows) continue;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const float value = (to_float(values[i].v[j]) - mean[j]) * factor[j] + bias[j];
      values[i].v[j] = from_float<T>(Plain ? value : activate(p.activation, value));
    }
    y[(row0 + r) * vectors + vector] = values[i];
  }
}

}  // namespace sbk::group_norm_detail
