// GroupNormalization on the device, channels_last: a thread keeps N channels and walks down pixels. Moments per channel
// and chunk of pixels go to the workspace, are merged per image and group, and the values are normalised in a second
// pass over them.
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
  const int64_t left = p.spatial - chunk * plan.rows;
  return left < plan.rows ? static_cast<int>(left) : plan.rows;
}
__device__ inline int thread_rows(int rows, int thread, int threads) {
  return thread < rows ? (rows - thread + threads - 1) / threads : 0;
}

// Merges (mean, m2) of `more` values into those of `count` values.
__device__ inline void merge_into(Moments& a, float& count, const Moments& b, float more) {
  if (more == 0.0f) return;
  const float total = count + more, delta = b.mean - a.mean;
  a.mean += delta * (more / total);
  a.m2 += b.m2 + delta * delta * (count * more / total);
  count = total;
}

template <class T, int N>
__global__ void __launch_bounds__(kLastThreads)
group_norm_last_partial(GroupNormParams p, LastPlan plan, Moments* partial) {
  __shared__ Moments shared[kLastThreads * N];
  const int lane = static_cast<int>(threadIdx.x) % plan.lanes, row = static_cast<int>(threadIdx.x) / plan.lanes;
  const int64_t vectors = p.channels / N, vector = static_cast<int64_t>(blockIdx.y) * plan.lanes + lane;
  const int rows = chunk_rows(p, plan, blockIdx.x);
  const bool active = vector < vectors && row < plan.row_threads;
  const int64_t row0 = blockIdx.z * p.spatial + static_cast<int64_t>(blockIdx.x) * plan.rows;
  const auto* x = reinterpret_cast<const Vec<T, N>*>(p.x);
  Vec<T, N> held[kLastRows];
  const int mine = active ? thread_rows(rows, row, plan.row_threads) : 0;
#pragma unroll
  for (int i = 0; i < kLastRows; ++i) {
    if (i < mine) held[i] = x[(row0 + row + i * plan.row_threads) * vectors + vector];
  }
  if (active) {
#pragma unroll
    for (int j = 0; j < N; ++j) {
      float sum = 0.0f, m2 = 0.0f;
#pragma unroll
      for (int i = 0; i < kLastRows; ++i) sum += i < mine ? to_float(held[i].v[j]) : 0.0f;
      const float mean = mine > 0 ? sum / static_cast<float>(mine) : 0.0f;
#pragma unroll
      for (int i = 0; i < kLastRows; ++i) {
        const float deviation = i < mine ? to_float(held[i].v[j]) - mean : 0.0f;
        m2 += deviation * deviation;
      }
      shared[(row * plan.lanes + lane) * N + j] = {mean, m2};
    }
  }
  __syncthreads();
  const int strip = plan.lanes * N;  // channels of this block
  for (int c = static_cast<int>(threadIdx.x); c < strip; c += kLastThreads) {
    const int64_t channel = static_cast<int64_t>(blockIdx.y) * strip + c;
    if (channel >= p.channels) continue;
    Moments all{0.0f, 0.0f};
    float count = 0.0f;
    for (int r = 0; r < plan.row_threads; ++r) {
      merge_into(all, count, shared[r * strip + c], static_cast<float>(thread_rows(rows, r, plan.row_threads)));
    }
    partial[(blockIdx.z * static_cast<int64_t>(plan.chunks) + blockIdx.x) * p.channels + channel] = all;
  }
}

// One block per image and group: the group's mean, and 1 / standard deviation in `m2`'s place.
static __global__ void __launch_bounds__(kLastThreads)
group_norm_last_merge(GroupNormParams p, LastPlan plan, const Moments* partial, Moments* merged) {
  __shared__ float scratch[kMaxWavesPerBlock];
  const int64_t image = blockIdx.x / p.groups, group = blockIdx.x % p.groups, per_group = p.channels / p.groups;
  const Moments* parts = partial + image * plan.chunks * p.channels + group * per_group;
  const int64_t entries = plan.chunks * per_group;
  const float total = static_cast<float>(per_group * p.spatial);
  float sum = 0.0f;
  for (int64_t i = threadIdx.x; i < entries; i += kLastThreads) {
    const int64_t chunk = i / per_group;
    sum += parts[chunk * p.channels + i % per_group].mean * (static_cast<float>(chunk_rows(p, plan, chunk)) / total);
  }
  const float mean = block_sum(sum, scratch);
  float m2 = 0.0f;
  for (int64_t i = threadIdx.x; i < entries; i += kLastThreads) {
    const int64_t chunk = i / per_group;
    const Moments part = parts[chunk * p.channels + i % per_group];
    const float deviation = part.mean - mean;
    m2 += part.m2 + deviation * deviation * static_cast<float>(chunk_rows(p, plan, chunk));
  }
  m2 = block_sum(m2, scratch);
  if (threadIdx.x == 0) merged[blockIdx.x] = {mean, 1.0f / sqrtf(m2 / total + p.epsilon)};
}

template <class T, int N>
__global__ void __launch_bounds__(kLastThreads)
group_norm_last_apply(GroupNormParams p, LastPlan plan, const Moments* merged) {
  const int lane = static_cast<int>(threadIdx.x) % plan.lanes, row = static_cast<int>(threadIdx.x) / plan.lanes;
  const int64_t vectors = p.channels / N, vector = static_cast<int64_t>(blockIdx.y) * plan.lanes + lane;
  if (vector >= vectors || row >= plan.row_threads) return;
  const int rows = chunk_rows(p, plan, blockIdx.x);
  const int64_t row0 = blockIdx.z * p.spatial + static_cast<int64_t>(blockIdx.x) * plan.rows;
  const auto* x = reinterpret_cast<const Vec<T, N>*>(p.x);
  auto* y = reinterpret_cast<Vec<T, N>*>(p.y);
  Vec<T, N> held[kLastRows];
#pragma unroll
  for (int i = 0; i < kLastRows; ++i) {
    const int r = row + i * plan.row_threads;
    if (r < rows) held[i] = x[(row0 + r) * vectors + vector];
  }
  float mean[N], factor[N], bias[N];
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const int64_t channel = vector * N + j, group = channel / (p.channels / p.groups);
    const Moments stats = merged[blockIdx.z * p.groups + group];
    const int64_t which = p.per_group ? group : channel;
    mean[j] = stats.mean;
    factor[j] = load_any(p.scale, p.scale_dtype, which) * stats.m2;
    bias[j] = load_any(p.bias, p.scale_dtype, which);
  }
#pragma unroll
  for (int i = 0; i < kLastRows; ++i) {
    const int r = row + i * plan.row_threads;
    if (r >= rows) continue;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const float value = (to_float(held[i].v[j]) - mean[j]) * factor[j] + bias[j];
      held[i].v[j] = from_float<T>(activate(p.activation, value));
    }
    y[(row0 + r) * vectors + vector] = held[i];
  }
}

}  // namespace sbk::group_norm_detail
