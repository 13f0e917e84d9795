// GroupNormalization on the device, channels_last, in one pass: a block keeps all pixels of a strip of channels, whole
// groups of them, in registers or in shared memory; or a cluster of blocks (NVIDIA, compute capability 9.0 and later) keeps
// them together, each its part of the pixels. For images that are small enough; the rest goes to group_norm_last_kernels.hpp.
#pragma once

#include "common/copy.hpp"
#include "common/device.hpp"
#include "group_norm/group_norm.hpp"
#include "group_norm/group_norm_kernels.hpp"

namespace sbk::group_norm_detail {

constexpr int kStripThreads = 512;
constexpr int kStripRows = 16;         // vectors a thread holds at most
constexpr int kStripBytes = 32;        // of a pixel that a block reads at least: a sector of NVIDIA's caches
constexpr int kStripWantedBytes = 128; // at most: a line, or one group
constexpr int kStripGroups = 64;       // groups of a strip at most

struct StripPlan {
  int lanes = 0;        // threads side by side over the strip's channel vectors; 0: there is no plan
  int row_threads = 0;  // threads over pixels
  int group_lanes = 0;  // vectors of one group; 0: a vector holds several groups
  int blocks = 1;       // that share a strip's pixels, a cluster
  int rows = 0;         // pixels of a block
};

// Where vectors hold whole groups, or groups whole vectors.
template <int N>
bool takes_strips(const GroupNormParams& p) {
  const int64_t per_group = p.channels / p.groups;
  return per_group > 1 && (per_group % N == 0 || N % per_group == 0);
}

template <int N>
StripPlan strip_plan(const GroupNormParams& p, int64_t units) {
  const int64_t per_group = p.channels / p.groups, vectors = p.channels / N;
  StripPlan plan;
  if (!takes_strips<N>(p)) return plan;
  const int64_t group_lanes = per_group / N;
  const int64_t line = kStripWantedBytes / kVectorBytes, least = kStripBytes / kVectorBytes;
  const int64_t most_lanes = group_lanes > line ? group_lanes : line;
  for (int64_t lanes = vectors < most_lanes ? vectors : most_lanes; lanes >= 1; --lanes) {
    if (vectors % lanes != 0 || (group_lanes > 0 && lanes % group_lanes != 0)) continue;
    if (lanes > kStripThreads || lanes * p.spatial > kStripThreads * kStripRows || (lanes < least && lanes < vectors)) continue;
    const bool fills = p.batch * (vectors / lanes) * 4 >= units;  // else chunks of an image use more of the device
    if (!fills && lanes * p.spatial > kStripThreads) continue;
    const int64_t rows = p.spatial < kStripThreads / lanes ? p.spatial : kStripThreads / lanes;
    plan = {static_cast<int>(lanes), static_cast<int>(rows), static_cast<int>(group_lanes), 1, static_cast<int>(p.spatial)};
    return plan;
  }
  return plan;
}

// Whole lines of every pixel for a cluster of two to eight blocks, in shared memory that leaves room for a second block on
// a multiprocessor. (Four blocks of half the size and 256 threads took 4 % longer at float32 and 14 % at float16.)
constexpr int kClusterRows = 13;  // vectors of a thread at most
constexpr int kClusterShared = kStripThreads * kClusterRows * kVectorBytes + (10 << 10);  // with the sums, where all threads have a place
constexpr int kClusterMost = kStripThreads * (kClusterRows + 2) * kVectorBytes;  // without them, where fewer do

template <int N>
StripPlan cluster_plan(const GroupNormParams& p) {
  constexpr int64_t kMost = kStripThreads * kClusterRows, kMostBlocks = 8, kMostLanes = 64;
  const int64_t per_group = p.channels / p.groups, vectors = p.channels / N, group_lanes = per_group / N;
  const int64_t line = kStripWantedBytes / kVectorBytes;
  if (!takes_strips<N>(p)) return {};
  for (const int64_t multiple : {line, int64_t{1}}) {
    const int64_t first = group_lanes > line ? group_lanes : line, last = group_lanes > 0 ? kMostLanes : line;
    for (int64_t lanes = first; lanes <= last && lanes <= vectors; ++lanes) {
      if (lanes % multiple != 0 || vectors % lanes != 0 || (group_lanes > 0 && lanes % group_lanes != 0)) continue;
      int64_t blocks = 1;
      while (blocks < kMostBlocks && (p.spatial + blocks - 1) / blocks * lanes > kMost) blocks *= 2;
      const int64_t rows = (p.spatial + blocks - 1) / blocks;
      if (blocks == 1 || rows * lanes > kMost) continue;
      const int64_t row_threads = rows < kStripThreads / lanes ? rows : kStripThreads / lanes;
      return {static_cast<int>(lanes), static_cast<int>(row_threads), static_cast<int>(group_lanes),
              static_cast<int>(blocks), static_cast<int>(rows)};
    }
  }
  return {};
}

#if defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA_ARCH__)
// Adds up the totals of a cluster's blocks, in the same order in each.
__device__ inline void cluster_sums([[maybe_unused]] int blocks, [[maybe_unused]] int groups, [[maybe_unused]] float* totals) {
#if SBK_NVIDIA && __CUDA_ARCH__ >= 900
  const auto barrier = [] { asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory"); };
  const int g = static_cast<int>(threadIdx.x);
  barrier();
  float sum = 0.0f;
  for (int rank = 0; rank < blocks && g < groups; ++rank) {
    float other;
    asm volatile("{\n.reg .u32 there;\nmapa.shared::cluster.u32 there, %1, %2;\nld.shared::cluster.f32 %0, [there];\n}"
                 : "=f"(other)
                 : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(totals + g))), "r"(rank)
                 : "memory");
    sum += other;
  }
  barrier();
  if (g < groups) totals[g] = sum;
  __syncthreads();
#endif
}

// Sums of each group over the block, and over its cluster: a thread brings Parts values, one for each group of its vector. `parts` is shared
// memory of Parts floats a thread, `totals` of one a group.
template <int Parts>
__device__ inline void strip_sums(const StripPlan& plan, const float (&mine)[Parts], float* parts, float* totals) {
  const int threads = static_cast<int>(blockDim.x), waves = threads / kWaveSize;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < Parts; ++k) parts[k * threads + static_cast<int>(threadIdx.x)] = mine[k];
  __syncthreads();
  const int width = Parts > 1 ? 1 : plan.group_lanes, groups = Parts > 1 ? plan.lanes * Parts : plan.lanes / width;
  for (int g = wave_id(); g < groups; g += waves) {
    const float* at = Parts > 1 ? parts + g % Parts * threads + g / Parts : parts + g * width;
    float sum = 0.0f;
    for (int r = lane_id(); r < plan.row_threads; r += kWaveSize) {
      for (int l = 0; l < width; ++l) sum += at[r * plan.lanes + l];
    }
    sum = wave_sum(sum);
    if (lane_id() == 0) totals[g] = sum;
  }
  __syncthreads();
  if (plan.blocks > 1) cluster_sums(plan.blocks, groups, totals);
}
#endif

#if defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA_ARCH__)
// The vectors of a thread's pixels, `step` apart, while a block needs them: R in registers, or, for clusters, with R = 0
// any number in shared memory. A thread reads back what it copied itself, so no barrier is needed.
template <class V, int R>
class StripRows {
 public:
  __device__ __forceinline__ StripRows(const V* x, int count, int64_t step, char*) : count_(count) {
#pragma unroll
    for (int i = 0; i < R; ++i) {
      values_[i] = {};
      if (i < count) values_[i] = x[i * step];
    }
  }
  template <class F>
  __device__ __forceinline__ void each(F f) {
#pragma unroll
    for (int i = 0; i < R; ++i) {
      if (i < count_) f(i, values_[i]);
    }
  }

 private:
  const int count_;
  V values_[R];
};

template <class V>
class StripRows<V, 0> {
 public:
  __device__ __forceinline__ StripRows(const V* x, int count, int64_t step, char* shared)
      : count_(count), values_(reinterpret_cast<V*>(shared) + threadIdx.x) {
    Copies<1> copies;
    for (int i = 0; i < count; ++i) {
      copies.begin(0, values_ + i * static_cast<int>(blockDim.x), x + i * step, true);
      copies.finish();
    }
    copies.commit();
    Copies<1>::template wait<0>();
  }
  template <class F>
  __device__ __forceinline__ void each(F f) {
#pragma unroll 4
    for (int i = 0; i < count_; ++i) {
      V value = values_[i * static_cast<int>(blockDim.x)];
      f(i, value);
    }
  }

 private:
  const int count_;
  V* values_;
};
#endif

// Grid: x over strips and the blocks of each, y over images. R: see StripRows; N values in a vector; Parts: groups in a vector. Plain: no
// activation.
template <class T, int N, int R, int Parts, bool Plain>
__global__ void __launch_bounds__(kStripThreads)
group_norm_strip([[maybe_unused]] GroupNormParams p, [[maybe_unused]] StripPlan plan) {
#if defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA_ARCH__)
  __shared__ float parts[Parts * kStripThreads];
  __shared__ float totals[kStripGroups];
  constexpr int kShare = N / Parts;  // channels of a vector in one group
  const int lane = static_cast<int>(threadIdx.x) % plan.lanes, row = static_cast<int>(threadIdx.x) / plan.lanes;
  const int strip = static_cast<int>(blockIdx.x) / plan.blocks, row0 = static_cast<int>(blockIdx.x) % plan.blocks * plan.rows;
  const int vectors = static_cast<int>(p.channels / N), vector = strip * plan.lanes + lane;
  const int rows = row < plan.row_threads ? min(plan.rows, static_cast<int>(p.spatial) - row0) : 0, step = plan.row_threads;
  const int64_t first = (blockIdx.y * p.spatial + row0 + row) * vectors + vector;
  const auto* x = reinterpret_cast<const Vec<T, N>*>(p.x) + first;
  auto* y = reinterpret_cast<Vec<T, N>*>(p.y) + first;
  using V = Vec<T, N>;
  extern __shared__ __align__(16) char dynamic[];
  const int count = row < rows ? (rows - row + step - 1) / step : 0;
  StripRows<V, R> strip_rows(x, count, static_cast<int64_t>(step) * vectors, dynamic);
  const int group0 = Parts > 1 ? lane * Parts : lane / plan.group_lanes;
  const float count_in_group = static_cast<float>(p.channels / p.groups) * static_cast<float>(p.spatial);
  const float share = 1.0f / count_in_group;
  const int64_t per_group = p.channels / p.groups;
  const int64_t first_group = static_cast<int64_t>(strip) * (plan.lanes * N) / per_group + group0;
  float mine[Parts] = {}, mean[Parts], rest[Parts] = {}, origin[Parts];
  // Of the image's first pixel: a cluster's blocks add up what is relative to the same.
#pragma unroll
  for (int k = 0; k < Parts; ++k) origin[k] = origin_of(static_cast<const T*>(p.x) + blockIdx.y * p.spatial * p.channels + (first_group + k) * per_group);
  strip_rows.each([&](int, const V& value) {
#pragma unroll
    for (int j = 0; j < N; ++j) mine[j / kShare] += to_float(value.v[j]) - origin[j / kShare];
  });
  strip_sums<Parts>(plan, mine, parts, totals);
#pragma unroll
  for (int k = 0; k < Parts; ++k) {
    // About the rounded mean: differences from origin and mean both would be kept from the first pass, in no registers.
    const Moments moments = renormalize(origin[k], totals[group0 + k] * share, 0.0f);
    mean[k] = moments.mean;
    rest[k] = kSumsRest<T> ? 0.0f : moments.rest;
    mine[k] = 0.0f;
  }
  strip_rows.each([&](int, const V& value) {
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const float deviation = to_float(value.v[j]) - mean[j / kShare];
      if constexpr (kSumsRest<T>) rest[j / kShare] += deviation;
      mine[j / kShare] += deviation * deviation;
    }
  });
  if constexpr (kSumsRest<T>) {
    strip_sums<Parts>(plan, rest, parts, totals);
#pragma unroll
    for (int k = 0; k < Parts; ++k) rest[k] = totals[group0 + k] / count_in_group;  // exact where values are all alike
  }
  strip_sums<Parts>(plan, mine, parts, totals);
  float inverse[Parts], factor[N], bias[N];
#pragma unroll
  for (int k = 0; k < Parts; ++k) {
    float variance = totals[group0 + k] * share;
    variance = about_mean(variance, rest[k], 1.0f);
    const Moments moments = renormalize(mean[k], rest[k], variance);
    mean[k] = moments.mean;
    rest[k] = moments.rest;
    inverse[k] = 1.0f / sqrtf(variance + p.epsilon);
  }
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const int k = j / kShare;
    const int64_t which = p.per_group ? first_group + k : static_cast<int64_t>(vector) * N + j;
    factor[j] = load_any(p.scale, p.scale_dtype, which) * inverse[k];
    bias[j] = load_any(p.bias, p.scale_dtype, which);
    bias[j] -= rest[k] * factor[j];
  }
  strip_rows.each([&](int i, V& value) {
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const float normal = (to_float(value.v[j]) - mean[j / kShare]) * factor[j] + bias[j];
      value.v[j] = from_float<T>(Plain ? normal : activate(p.activation, normal));
    }
    y[static_cast<int64_t>(i * step) * vectors] = value;
  });
#endif
}

}  // namespace sbk::group_norm_detail
