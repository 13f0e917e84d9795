// Moves channels last and pads each group's channels with zeros: [items, groups * c, area] becomes
// [items, area, groups * C]. Every kernel writes whole vectors of channels.
#pragma once

#include <cstring>

#include "common/device.hpp"
#include "common/overlap.hpp"

namespace sbk::conv_detail {

constexpr int kPackThreads = 256;
constexpr int kPackTile = 2048;  // words of 4 bytes of a block of pack_planes
constexpr int kPackBytes = 8192; // that a block keeps

struct Pack {
  const void* from;
  void* to;
  int64_t items;
  int32_t area, groups, channels, padded_channels;  // channels: of a group, before and after padding
  // Filters of `merged_groups` groups that become one: `own` outputs each. A filter's channels come behind those of the groups before
  // its own, and the others are zeros.
  int32_t merged_groups, own;
  int32_t* flag;  // becomes 0; or null
  int32_t chunk;     // padded channels of a block of pack_few, whole vectors
  bool aligned;      // `from` starts on a whole vector
};

// Where a block is among those of its tensor, and how many there are.
struct PackBlock {
  uint32_t x, y, z, across, down, deep;
};

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)

__device__ __forceinline__ PackBlock own_block() {
  return {blockIdx.x, blockIdx.y, blockIdx.z, gridDim.x, gridDim.y, gridDim.z};
}

__device__ inline void clear_flag(const Pack& p, const PackBlock& at) {
  if (p.flag != nullptr && at.x + at.y + at.z + threadIdx.x == 0) *p.flag = 0;
}

// The channels of a vector that is written, all of one group: value j comes from the source's channel first + j, where `has` it.
struct PackRun {
  int first, within, channels;
  __device__ __forceinline__ bool has(int j) const { return static_cast<uint32_t>(within + j) < static_cast<uint32_t>(channels); }
};

// Where an item's channels come from: channels [0, padded * groups) of what is written.
class PackChannels {
 public:
  __device__ __forceinline__ PackChannels(const Pack& p, int64_t item) : p_(p) {
    behind_ = p.merged_groups > 1 ? static_cast<int>(item / p.own % p.merged_groups) * p.channels : 0;
  }
  // The source's channel, or -1 for padding.
  __device__ __forceinline__ int source(int c) const {
    const int group = group_of(c), within = c - group * p_.padded_channels - behind_;
    return group < p_.groups && within >= 0 && within < p_.channels ? group * p_.channels + within : -1;
  }
  // Of the vector from c on.
  __device__ __forceinline__ PackRun run(int c) const {
    const int group = group_of(c), within = c - group * p_.padded_channels - behind_;
    return {group * p_.channels + within, within, group < p_.groups ? p_.channels : 0};
  }
  // The source's channels that come before c.
  __device__ __forceinline__ int before(int c) const {
    const int group = group_of(c), within = c - group * p_.padded_channels - behind_;
    return group < p_.groups ? group * p_.channels + min(max(within, 0), p_.channels) : p_.groups * p_.channels;
  }

 private:
  __device__ __forceinline__ int group_of(int c) const { return p_.groups == 1 ? 0 : c / p_.padded_channels; }
  const Pack& p_;
  int behind_;
};

#endif  // device pass

// Words: of channels, of 4 bytes each, side by side in a tile; the rest of a tile is area.
template <class T, int Words>
struct PackTile {
  static constexpr int kWide = 4 / static_cast<int>(sizeof(T));  // channels of a word
  static constexpr int kArea = kPackTile / Words, kChannels = Words * kWide;
};

// What a block keeps, in either of the forms below.
template <class T>
using PackShared = Vec<T, lanes_of<T>()>[kPackBytes / kVectorBytes];
static_assert(kPackTile * 4 <= kPackBytes);

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)

// Channels first, for images: through a tile of shared memory, in words of 4 bytes (two channels of float16). Line s of the
// tile is rotated by 4 words for each vector of the area before it, so that neither side meets in a bank.
// Blocks: x over tiles of the area, y over those of the padded channels, z over items.
template <class T, int Words>
__device__ __forceinline__ void pack_planes(const Pack& p, const PackBlock& at, PackShared<T>& shared) {
  using Tile = PackTile<T, Words>;
  constexpr int L = lanes_of<T>(), kHalf = L / 2, kWide = Tile::kWide, kVectors = Tile::kArea / L;
  constexpr int kLoads = kVectors * Words / kPackThreads, kRowVectors = Words * 4 / kVectorBytes;
  constexpr int kStores = Tile::kArea * kRowVectors / kPackThreads;
  using V = Vec<T, L>;
  using H = Vec<T, kHalf>;
  using Four = Vec<uint32_t, 4>;
  uint32_t* const tile = reinterpret_cast<uint32_t*>(shared);
  const int s0 = static_cast<int>(at.x) * Tile::kArea, c0 = static_cast<int>(at.y) * Tile::kChannels;
  const int total = p.groups * p.padded_channels, thread = static_cast<int>(threadIdx.x);
  const bool whole = p.aligned && p.area % L == 0;
  const bool halves = SBK_NVIDIA && p.aligned && p.area % kHalf == 0;  // they cost CDNA two waves of seven
  const T* const from = static_cast<const T*>(p.from);
  T* const to = static_cast<T*>(p.to);
  for (int64_t item = at.z; item < p.items; item += at.deep) {
    const PackChannels channels(p, item);
    const T* const planes = from + item * p.groups * p.channels * p.area;
    V values[kLoads][kWide];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int e = thread + i * kPackThreads, vector = e % 8 + e / (8 * Words) * 8, word = e / 8 % Words;
      const int s = s0 + vector * L;
#pragma unroll
      for (int k = 0; k < kWide; ++k) {
        const int source = channels.source(c0 + word * kWide + k);
        const T* const plane = planes + static_cast<int64_t>(max(source, 0)) * p.area;
        // Beyond the area its last values are read, and not stored.
        if (whole) {
          values[i][k] = *reinterpret_cast<const V*>(plane + min(s, p.area - L));
        } else if (halves) {
          const H first = *reinterpret_cast<const H*>(plane + min(s, p.area - kHalf));
          const H second = *reinterpret_cast<const H*>(plane + min(s + kHalf, p.area - kHalf));
#pragma unroll
          for (int j = 0; j < kHalf; ++j) values[i][k].v[j] = first.v[j], values[i][k].v[kHalf + j] = second.v[j];
        } else {
#pragma unroll
          for (int j = 0; j < L; ++j) values[i][k].v[j] = plane[min(s + j, p.area - 1)];
        }
#pragma unroll
        for (int j = 0; j < L; ++j) values[i][k].v[j] = source < 0 ? from_float<T>(0.0f) : values[i][k].v[j];
      }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int e = thread + i * kPackThreads, vector = e % 8 + e / (8 * Words) * 8, word = e / 8 % Words;
#pragma unroll
      for (int j = 0; j < L; ++j) {
        Vec<T, kWide> both;
#pragma unroll
        for (int k = 0; k < kWide; ++k) both.v[k] = values[i][k].v[j];
        uint32_t bits;
        memcpy(&bits, &both, sizeof bits);
        tile[(vector * L + j) * Words + (word + 4 * vector) % Words] = bits;
      }
    }
    __syncthreads();
    let_next_start();
#pragma unroll
    for (int i = 0; i < kStores; ++i) {
      const int e = thread + i * kPackThreads, vector = e % kRowVectors, s = e / kRowVectors, c = c0 + vector * L;
      const Four words = *reinterpret_cast<const Four*>(tile + s * Words + (4 * vector + 4 * (s / L)) % Words);
      if (s0 + s < p.area && c < total) *reinterpret_cast<Four*>(to + (item * p.area + s0 + s) * total + c) = words;
    }
  }
}

// Channels first, of a small area (filters): a block reads a run of whole channels as it lies.
// Blocks: x over chunks of the padded channels, y over items.
template <class T>
__device__ __forceinline__ void pack_few(const Pack& p, const PackBlock& at, PackShared<T>& run) {
  constexpr int L = lanes_of<T>();
  using V = Vec<T, L>;
  T* const run_values = run[0].v;
  const int total = p.groups * p.padded_channels, thread = static_cast<int>(threadIdx.x);
  const int c0 = static_cast<int>(at.x) * p.chunk, chunk = min(p.chunk, total - c0);
  const T* const from = static_cast<const T*>(p.from);
  T* const to = static_cast<T*>(p.to);
  for (int64_t item = at.y; item < p.items; item += at.down) {
    const PackChannels channels(p, item);
    const int first = channels.before(c0), count = (channels.before(c0 + chunk) - first) * p.area;
    const int64_t start = (item * p.groups * p.channels + first) * p.area;
    const int whole = p.aligned && start % L == 0 ? count / L : 0;
    for (int i = thread; i < whole; i += kPackThreads) {
      run[i] = reinterpret_cast<const V*>(from + start)[i];
    }
    for (int i = whole * L + thread; i < count; i += kPackThreads) run_values[i] = from[start + i];
    __syncthreads();
    let_next_start();
    const int vectors = chunk / L;
    for (int i = thread; i < p.area * vectors; i += kPackThreads) {
      const int s = i / vectors, c = c0 + (i - s * vectors) * L;
      const PackRun source = channels.run(c);
      V values;
#pragma unroll
      for (int j = 0; j < L; ++j) {
        values.v[j] = source.has(j) ? run_values[(source.first + j - first) * p.area + s] : from_float<T>(0.0f);
      }
      *reinterpret_cast<V*>(to + (item * p.area + s) * total + c) = values;
    }
    __syncthreads();
  }
}

#endif  // device pass

// Channels first, in one of the forms above. Words: 0 for pack_few.
template <class T, int Words>
__global__ void __launch_bounds__(kPackThreads) conv_pack_first([[maybe_unused]] const Pack p) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  __shared__ PackShared<T> shared;
  wait_for_previous();
  clear_flag(p, own_block());
  if constexpr (Words > 0) pack_planes<T, Words>(p, own_block(), shared);
  else pack_few<T>(p, own_block(), shared);
#endif
}

// An image and its filters in one launch: the first blocks have the filters, which are of a small area, and the others the image.
// `image`: how many blocks the image has in x, y and z.
template <class T, int Words>
__global__ void __launch_bounds__(kPackThreads)
    conv_pack_both([[maybe_unused]] const Pack x, [[maybe_unused]] const Pack w, [[maybe_unused]] const PackBlock filter,
                   [[maybe_unused]] const PackBlock image) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  __shared__ PackShared<T> shared;
  wait_for_previous();
  const uint32_t before = filter.across * filter.down;
  PackBlock at = blockIdx.x < before ? filter : image;
  const uint32_t place = blockIdx.x < before ? blockIdx.x : blockIdx.x - before;
  at.x = place % at.across;
  at.y = place / at.across % at.down;
  at.z = place / at.across / at.down;
  if (blockIdx.x < before) {
    clear_flag(w, at);
    pack_few<T>(w, at, shared);
  } else if constexpr (Words > 0) {
    pack_planes<T, Words>(x, at, shared);
  } else {
    pack_few<T>(x, at, shared);
  }
#endif
}

// Channels last already: a thread makes one vector. Grid: x over an item's vectors, y over items.
template <class T>
__global__ void __launch_bounds__(kPackThreads) conv_pack_last([[maybe_unused]] const Pack p) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  constexpr int L = lanes_of<T>(), kHalf = L / 2;
  const int total = p.groups * p.padded_channels, vectors = total / L;
  const int i = static_cast<int>(blockIdx.x) * kPackThreads + static_cast<int>(threadIdx.x);
  wait_for_previous();
  clear_flag(p, own_block());
  if (i >= p.area * vectors) return;
  const int s = i / vectors, c = (i - s * vectors) * L;
  const bool halves = p.aligned && p.channels % kHalf == 0;
  for (int64_t item = blockIdx.y; item < p.items; item += gridDim.y) {
    const PackRun source = PackChannels(p, item).run(c);
    const T* const from = static_cast<const T*>(p.from) + (item * p.area + s) * p.groups * p.channels;
    Vec<T, L> values = {};
    if (halves) {
#pragma unroll
      for (int half = 0; half < L; half += kHalf) {
        if (!source.has(half)) continue;
        const auto some = *reinterpret_cast<const Vec<T, kHalf>*>(from + source.first + half);
#pragma unroll
        for (int j = 0; j < kHalf; ++j) values.v[half + j] = some.v[j];
      }
    } else {
#pragma unroll
      for (int j = 0; j < L; ++j) {
        if (source.has(j)) values.v[j] = from[source.first + j];
      }
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
  clear_flag(p, own_block());
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

// Lines whose taps become channels: [items, channels, lines, width] becomes [items, lines, columns, taps * tap_channels], padded with
// zeros, behind the channels of each tap too. A line may also have its channels last.
struct Fold {
  const void* from;
  void* to;
  int32_t vectors;  // that are written; 0: nothing to do
  int32_t* flag;    // becomes 0; or null
  int32_t width, channels, tap_channels, taps, stride, dilation, pad;
  int32_t pixel;               // values from a pixel of a line to the next
  int64_t item, line, channel; // likewise
  FastDivisor by_vector, by_column, by_line, by_channel;  // by the vectors of a column, the columns, the lines and tap_channels
};

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)

// Makes vector i, of N values.
template <class T, int N>
__device__ __forceinline__ void fold_vector(const Fold& f, uint32_t i) {
  if (i >= static_cast<uint32_t>(f.vectors)) return;
  if (i == 0 && f.flag != nullptr) *f.flag = 0;
  const uint32_t at = f.by_vector.divide(i), row = f.by_column.divide(at), item = f.by_line.divide(row);
  const auto first = static_cast<int>((i - at * f.by_vector.divisor()) * N), column = static_cast<int>(at - row * f.by_column.divisor());
  const auto line = static_cast<int>(row - item * f.by_line.divisor());
  const T* const from = static_cast<const T*>(f.from) + item * f.item + line * f.line;
  auto tap = static_cast<int>(f.by_channel.divide(static_cast<uint32_t>(first)));
  int channel = first - tap * f.tap_channels;
  const int corner = column * f.stride - f.pad;
  Vec<T, N> values;
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const int place = corner + tap * f.dilation;
    const bool inside = tap < f.taps && channel < f.channels && static_cast<uint32_t>(place) < static_cast<uint32_t>(f.width);
    values.v[j] = inside ? from[channel * f.channel + static_cast<int64_t>(place) * f.pixel] : from_float<T>(0.0f);
    if (++channel == f.tap_channels) channel = 0, ++tap;
  }
  let_next_start();
  reinterpret_cast<Vec<T, N>*>(f.to)[i] = values;
}

#endif  // device pass

// A thread makes one vector. The first blocks have the filters.
template <class T, int N>
__global__ void __launch_bounds__(kPackThreads)
    conv_fold([[maybe_unused]] const Fold image, [[maybe_unused]] const Fold filter, [[maybe_unused]] const uint32_t filter_blocks) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  wait_for_previous();
  if (blockIdx.x < filter_blocks) fold_vector<T, N>(filter, blockIdx.x * kPackThreads + threadIdx.x);
  else fold_vector<T, N>(image, (blockIdx.x - filter_blocks) * kPackThreads + threadIdx.x);
#endif
}

}  // namespace sbk::conv_detail
