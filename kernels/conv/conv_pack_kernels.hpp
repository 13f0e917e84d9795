// Moves channels last and pads each group's channels with zeros: [items, groups * c, area] becomes
// [items, area, groups * C].
// FromLast: the channels are last already and only want padding.
#pragma once

#include "common/device.hpp"
#include "common/overlap.hpp"

namespace sbk::conv_detail {

constexpr int kPackTile = 64;
constexpr int kPackThreads = 256;

struct Pack {
  const void* from;
  void* to;
  int64_t items;
  int32_t area, groups, channels, padded;  // channels: of a group, before and after padding
  // Filters of `merged` groups that become one: `own` outputs each. A filter's channels come behind those of the groups before
  // its own, and the others are zeros.
  int32_t merged, own;
  int32_t* cleared;  // becomes 0; or null
};

__device__ inline void clear_flag(const Pack& p) {
  if (p.cleared != nullptr && blockIdx.x + blockIdx.y + blockIdx.z + threadIdx.x == 0) *p.cleared = 0;
}

template <class T, bool FromLast>
__device__ inline T packed_value(const Pack& p, int64_t item, int s, int cp) {
  const int group = p.groups == 1 ? 0 : cp / p.padded;
  int c = cp - group * p.padded;
  if (p.merged > 1) c -= static_cast<int>(item / p.own % p.merged) * p.channels;
  if (c < 0 || s >= p.area || group >= p.groups || c >= p.channels) return from_float<T>(0.0f);
  const int64_t channels = static_cast<int64_t>(p.groups) * p.channels;
  const int64_t channel = static_cast<int64_t>(group) * p.channels + c;
  const T* from = static_cast<const T*>(p.from);
  return FromLast ? from[(item * p.area + s) * channels + channel] : from[(item * channels + channel) * p.area + s];
}

// Through a tile in shared memory, so that both sides are read and written along their own rows.
// Grid: x over tiles of the area, y over tiles of the padded channels, z over items.
template <class T, bool FromLast>
__global__ void __launch_bounds__(kPackThreads) conv_pack(Pack p) {
  constexpr int kRun = 32;  // threads side by side; each line of a tile is two runs
  constexpr int kLines = kPackThreads / kRun;
  constexpr int kPer = kPackTile / kLines;
  __shared__ T tile[kPackTile][kPackTile + 4 / sizeof(T)];
  const int run = static_cast<int>(threadIdx.x) % kRun, line = static_cast<int>(threadIdx.x) / kRun;
  const int s0 = static_cast<int>(blockIdx.x) * kPackTile, c0 = static_cast<int>(blockIdx.y) * kPackTile;
  const int total = p.groups * p.padded;
  T* to = static_cast<T*>(p.to);
  wait_for_previous();
  clear_flag(p);
  for (int64_t item = blockIdx.z; item < p.items; item += gridDim.z) {
    T held[kPer][2];
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int across = line + i * kLines, along = run + half * kRun;
        const int s = s0 + (FromLast ? across : along), c = c0 + (FromLast ? along : across);
        held[i][half] = packed_value<T, FromLast>(p, item, s, c);
      }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int across = line + i * kLines, along = run + half * kRun;
        if (FromLast) tile[across][along] = held[i][half];
        else tile[along][across] = held[i][half];
      }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int s = line + i * kLines, c = run + half * kRun;
        if (s0 + s < p.area && c0 + c < total) to[(item * p.area + s0 + s) * total + c0 + c] = tile[s][c];
      }
    }
  }
}

// Few channels (images): one thread gathers a pixel's N channels, padding included, and writes them at once.
// Grid: x over the area, y over items.
template <class T, int N, bool FromLast>
__global__ void __launch_bounds__(kPackThreads) conv_pack_narrow(Pack p) {
  const int s = static_cast<int>(blockIdx.x) * kPackThreads + static_cast<int>(threadIdx.x);
  wait_for_previous();
  clear_flag(p);
  if (s >= p.area) return;
  for (int64_t item = blockIdx.y; item < p.items; item += gridDim.y) {
    Vec<T, N> values;
#pragma unroll
    for (int c = 0; c < N; ++c) values.v[c] = packed_value<T, FromLast>(p, item, s, c);
    reinterpret_cast<Vec<T, N>*>(p.to)[item * p.area + s] = values;
  }
}

}  // namespace sbk::conv_detail
