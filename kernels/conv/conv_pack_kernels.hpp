// Moves channels last and pads each group's channels with zeros: [items, groups * c, area] becomes
// [items, area, groups * C]. Every kernel writes whole vectors of channels.
#pragma once

#include <cstring>

#include "common/device.hpp"
#include "common/overlap.hpp"

namespace sbk::conv_detail {

constexpr int kPackThreads = 256;
constexpr int kPackTile = 64;    // of the area, for a block of conv_pack_planes
constexpr int kPackWords = 32;   // of channels, of 4 bytes each, side by side there
constexpr int kPackRun = 4096;   // values that a block of conv_pack_few keeps

struct Pack {
  const void* from;
  void* to;
  int64_t items;
  int32_t area, groups, channels, padded;  // channels: of a group, before and after padding
  // Filters of `merged` groups that become one: `own` outputs each. A filter's channels come behind those of the groups before
  // its own, and the others are zeros.
  int32_t merged, own;
  int32_t* cleared;  // becomes 0; or null
  int32_t chunk;     // padded channels of a block of conv_pack_few, whole vectors
  bool aligned;      // `from` starts on a whole vector
};

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)

__device__ inline void clear_flag(const Pack& p) {
  if (p.cleared != nullptr && blockIdx.x + blockIdx.y + blockIdx.z + threadIdx.x == 0) *p.cleared = 0;
}

// Where an item's channels come from: channels [0, padded * groups) of what is written.
class PackChannels {
 public:
  __device__ __forceinline__ PackChannels(const Pack& p, int64_t item) : p_(p) {
    behind_ = p.merged > 1 ? static_cast<int>(item / p.own % p.merged) * p.channels : 0;
  }
  // The source's channel, or -1 for padding.
  __device__ __forceinline__ int source(int c) const {
    const int group = group_of(c), within = c - group * p_.padded - behind_;
    return group < p_.groups && within >= 0 && within < p_.channels ? group * p_.channels + within : -1;
  }
  // The source's channels that come before c.
  __device__ __forceinline__ int before(int c) const {
    const int group = group_of(c), within = c - group * p_.padded - behind_;
    return group < p_.groups ? group * p_.channels + min(max(within, 0), p_.channels) : p_.groups * p_.channels;
  }

 private:
  __device__ __forceinline__ int group_of(int c) const { return p_.groups == 1 ? 0 : c / p_.padded; }
  const Pack& p_;
  int behind_;
};

#endif  // device pass

// Channels first, for images: through a tile of shared memory, in words of 4 bytes (two channels of float16). Line s of the
// tile is rotated by 4 words for each vector of the area before it, so that neither side meets in a bank.
// Grid: x over tiles of the area, y over those of the padded channels, z over items.
template <class T>
__global__ void __launch_bounds__(kPackThreads) conv_pack_planes([[maybe_unused]] const Pack p) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  constexpr int L = lanes_of<T>(), kWide = 4 / static_cast<int>(sizeof(T)), kVectors = kPackTile / L;
  constexpr int kLoads = kVectors * kPackWords / kPackThreads, kRowVectors = kPackWords * 4 / kVectorBytes;
  constexpr int kStores = kPackTile * kRowVectors / kPackThreads;
  using V = Vec<T, L>;
  using Words = Vec<uint32_t, 4>;
  __shared__ Words lines[kPackTile * kPackWords / 4];
  uint32_t* const tile = lines[0].v;
  const int s0 = static_cast<int>(blockIdx.x) * kPackTile, c0 = static_cast<int>(blockIdx.y) * kPackWords * kWide;
  const int total = p.groups * p.padded, thread = static_cast<int>(threadIdx.x);
  const bool whole = p.aligned && p.area % L == 0 && p.area >= L;
  const T* const from = static_cast<const T*>(p.from);
  T* const to = static_cast<T*>(p.to);
  wait_for_previous();
  clear_flag(p);
  for (int64_t item = blockIdx.z; item < p.items; item += gridDim.z) {
    const PackChannels channels(p, item);
    const T* const planes = from + item * p.groups * p.channels * p.area;
    V held[kLoads][kWide];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int e = thread + i * kPackThreads, vector = e % 8 + e / kPackThreads * 8, word = e / 8 % kPackWords;
      const int s = s0 + vector * L;
#pragma unroll
      for (int k = 0; k < kWide; ++k) {
        const int source = channels.source(c0 + word * kWide + k);
        const T* const plane = planes + static_cast<int64_t>(max(source, 0)) * p.area;
        // Beyond the area its last values are read, and not stored.
        if (whole) {
          held[i][k] = *reinterpret_cast<const V*>(plane + min(s, p.area - L));
        } else {
#pragma unroll
          for (int j = 0; j < L; ++j) held[i][k].v[j] = plane[min(s + j, p.area - 1)];
        }
#pragma unroll
        for (int j = 0; j < L; ++j) held[i][k].v[j] = source < 0 ? from_float<T>(0.0f) : held[i][k].v[j];
      }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int e = thread + i * kPackThreads, vector = e % 8 + e / kPackThreads * 8, word = e / 8 % kPackWords;
#pragma unroll
      for (int j = 0; j < L; ++j) {
        Vec<T, kWide> both;
#pragma unroll
        for (int k = 0; k < kWide; ++k) both.v[k] = held[i][k].v[j];
        uint32_t bits;
        memcpy(&bits, &both, sizeof bits);
        tile[(vector * L + j) * kPackWords + (word + 4 * vector) % kPackWords] = bits;
      }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kStores; ++i) {
      const int e = thread + i * kPackThreads, vector = e % kRowVectors, s = e / kRowVectors, c = c0 + vector * L;
      const Words words = *reinterpret_cast<const Words*>(tile + s * kPackWords + (4 * vector + 4 * (s / L)) % kPackWords);
      if (s0 + s < p.area && c < total) *reinterpret_cast<Words*>(to + (item * p.area + s0 + s) * total + c) = words;
    }
  }
#endif
}

// Channels first, of a small area (filters): a block reads a run of whole channels as it lies.
// Grid: x over chunks of the padded channels, y over items.
template <class T>
__global__ void __launch_bounds__(kPackThreads) conv_pack_few([[maybe_unused]] const Pack p) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  constexpr int L = lanes_of<T>();
  using V = Vec<T, L>;
  __shared__ V run[kPackRun / L];
  T* const held = run[0].v;
  const int total = p.groups * p.padded, thread = static_cast<int>(threadIdx.x);
  const int c0 = static_cast<int>(blockIdx.x) * p.chunk, chunk = min(p.chunk, total - c0);
  const T* const from = static_cast<const T*>(p.from);
  T* const to = static_cast<T*>(p.to);
  wait_for_previous();
  clear_flag(p);
  for (int64_t item = blockIdx.y; item < p.items; item += gridDim.y) {
    const PackChannels channels(p, item);
    const int first = channels.before(c0), count = (channels.before(c0 + chunk) - first) * p.area;
    const int64_t start = (item * p.groups * p.channels + first) * p.area;
    const int whole = p.aligned && start % L == 0 ? count / L : 0;
    for (int i = thread; i < whole; i += kPackThreads) {
      run[i] = reinterpret_cast<const V*>(from + start)[i];
    }
    for (int i = whole * L + thread; i < count; i += kPackThreads) held[i] = from[start + i];
    __syncthreads();
    const int vectors = chunk / L;
    for (int i = thread; i < p.area * vectors; i += kPackThreads) {
      const int s = i / vectors, c = c0 + (i - s * vectors) * L;
      V values;
#pragma unroll
      for (int j = 0; j < L; ++j) {
        const int source = channels.source(c + j);
        values.v[j] = source < 0 ? from_float<T>(0.0f) : held[(source - first) * p.area + s];
      }
      *reinterpret_cast<V*>(to + (item * p.area + s) * total + c) = values;
    }
    __syncthreads();
  }
#endif
}

// Channels last already: a thread makes one vector. Grid: x over an item's vectors, y over items.
template <class T>
__global__ void __launch_bounds__(kPackThreads) conv_pack_last([[maybe_unused]] const Pack p) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  constexpr int L = lanes_of<T>();
  const int total = p.groups * p.padded, vectors = total / L;
  const int i = static_cast<int>(blockIdx.x) * kPackThreads + static_cast<int>(threadIdx.x);
  wait_for_previous();
  clear_flag(p);
  if (i >= p.area * vectors) return;
  const int s = i / vectors, c = (i - s * vectors) * L;
  for (int64_t item = blockIdx.y; item < p.items; item += gridDim.y) {
    const PackChannels channels(p, item);
    const T* const from = static_cast<const T*>(p.from) + (item * p.area + s) * p.groups * p.channels;
    Vec<T, L> values;
#pragma unroll
    for (int j = 0; j < L; ++j) {
      const int source = channels.source(c + j);
      const T value = from[max(source, 0)];
      values.v[j] = source < 0 ? from_float<T>(0.0f) : value;
    }
    *reinterpret_cast<Vec<T, L>*>(static_cast<T*>(p.to) + (item * p.area + s) * total + c) = values;
  }
#endif
}

// Few channels (images): one thread gathers a pixel's N channels, padding included, and writes them at once.
// Grid: x over the area, y over items.
template <class T, int N, bool FromLast>
__global__ void __launch_bounds__(kPackThreads) conv_pack_narrow([[maybe_unused]] const Pack p) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  const int s = static_cast<int>(blockIdx.x) * kPackThreads + static_cast<int>(threadIdx.x);
  wait_for_previous();
  clear_flag(p);
  if (s >= p.area) return;
  const int64_t pixel = FromLast ? static_cast<int64_t>(p.groups) * p.channels : 1, channel = FromLast ? 1 : p.area;
  for (int64_t item = blockIdx.y; item < p.items; item += gridDim.y) {
    const PackChannels channels(p, item);
    const T* const from = static_cast<const T*>(p.from) + item * p.groups * p.channels * p.area + s * pixel;
    Vec<T, N> values;
#pragma unroll
    for (int c = 0; c < N; ++c) {
      const int source = channels.source(c);
      const T value = from[max(source, 0) * channel];
      values.v[c] = source < 0 ? from_float<T>(0.0f) : value;
    }
    reinterpret_cast<Vec<T, N>*>(p.to)[item * p.area + s] = values;
  }
#endif
}

}  // namespace sbk::conv_detail
