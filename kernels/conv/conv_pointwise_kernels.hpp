// Convolutions without a window (1 × 1) and with few output channels. A tile of a matrix product would be mostly empty, and
// packing would move the input twice. So each input value is read once where it lies and multiplied by all K filters, which wait in
// shared memory as float32.
#pragma once

#include "common/device.hpp"
#include "common/overlap.hpp"
#include "conv/conv.hpp"
#include "conv/conv_value.hpp"

namespace sbk::conv_detail {

constexpr int kPointwiseThreads = 256;
constexpr int kPointwiseSums = 32;  // of a thread

struct Pointwise {
  const void *x, *w, *bias, *residual;
  void* y;
  int64_t items;                     // channels first: vectors of pixels of all images; last: pixels of all images
  int32_t area, channels, outputs;   // pixels of an image, channels of x and of y
  int32_t parts;                     // channels first: threads that share a pixel's channels, a power of two
  bool whole;                        // channels last: y has K channels and starts on a vector
  FastDivisor by_image;              // channels first: by vectors of pixels of one image
  ActivationParams activation;
};

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)

// sums[k][j] += values[j] · filters[k], for the K filters of one channel.
template <int K, class T, int N>
__device__ __forceinline__ void add_channel(float (&sums)[K][N], const Vec<T, N>& values, const float* filters) {
  float x[N];
#pragma unroll
  for (int j = 0; j < N; ++j) x[j] = to_float(values.v[j]);
#pragma unroll
  for (int k = 0; k < K; k += 4) {
    const auto four = *reinterpret_cast<const Vec<float, 4>*>(filters + k);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < N; ++j) sums[k + i][j] = fmaf(x[j], four.v[i], sums[k + i][j]);
    }
  }
}

#endif

// Channels first: a thread has N neighbouring pixels and walks the channels; where pixels are few, each of `parts` threads a part of
// them. K: output channels, rounded up.
template <class T, int K, int N>
__global__ void __launch_bounds__(kPointwiseThreads) pointwise_planes([[maybe_unused]] const Pointwise p) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  constexpr int kBytesAhead = 128;  // of a thread's loads on their way
  constexpr int kChannelsAhead = kBytesAhead / static_cast<int>(N * sizeof(T)), kAhead = kChannelsAhead < 16 ? kChannelsAhead : 16;
  constexpr int kHalf = kPointwiseThreads / 2;
  using V = Vec<T, N>;
  extern __shared__ __align__(16) char shared[];
  auto* const filters = reinterpret_cast<float*>(shared);  // [channels][K]
  float* const exchange = filters + p.channels * K;        // [K * N][half of the threads]
  const T* const w = static_cast<const T*>(p.w);
  wait_for_previous();
  for (int i = static_cast<int>(threadIdx.x); i < p.channels * K; i += kPointwiseThreads) {
    const int k = i % K;
    filters[i] = k < p.outputs ? to_float(w[k * p.channels + i / K]) : 0.0f;
  }
  __syncthreads();
  const bool plain = stores_sums(p);
  const int vectors = kPointwiseThreads / p.parts, part = static_cast<int>(threadIdx.x) / vectors;
  const int vector = static_cast<int>(threadIdx.x) - part * vectors;
  const int chunk = (p.channels + p.parts - 1) / p.parts, c0 = part * chunk;
  const int end = c0 + chunk < p.channels ? c0 + chunk : p.channels;
  const int64_t step = static_cast<int64_t>(gridDim.x) * vectors;
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * vectors; first < p.items; first += step) {
    const bool exists = first + vector < p.items;
    const auto item = static_cast<uint32_t>(exists ? first + vector : p.items - 1);
    const auto n = p.by_image.divide(item);
    const auto pixel = static_cast<int64_t>(item - n * p.by_image.divisor()) * N;
    const T* const x = static_cast<const T*>(p.x) + static_cast<int64_t>(n) * p.channels * p.area + pixel;
    float sums[K][N] = {};
    int c = c0;
    for (; c + kAhead <= end; c += kAhead) {
      V values[kAhead];
#pragma unroll
      for (int i = 0; i < kAhead; ++i) values[i] = *reinterpret_cast<const V*>(x + static_cast<int64_t>(c + i) * p.area);
#pragma unroll
      for (int i = 0; i < kAhead; ++i) add_channel<K>(sums, values[i], filters + (c + i) * K);
    }
    for (; c < end; ++c) add_channel<K>(sums, *reinterpret_cast<const V*>(x + static_cast<int64_t>(c) * p.area), filters + c * K);
    for (int half = p.parts / 2; half > 0; half /= 2) {
      const int place = static_cast<int>(threadIdx.x) - (part < half ? 0 : half * vectors);
      if (part >= half && part < 2 * half) {
#pragma unroll
        for (int k = 0; k < K; ++k) {
#pragma unroll
          for (int j = 0; j < N; ++j) exchange[(k * N + j) * kHalf + place] = sums[k][j];
        }
      }
      __syncthreads();
      if (part < half) {
#pragma unroll
        for (int k = 0; k < K; ++k) {
#pragma unroll
          for (int j = 0; j < N; ++j) sums[k][j] += exchange[(k * N + j) * kHalf + place];
        }
      }
      __syncthreads();
    }
    if (part != 0 || !exists) continue;
    const int64_t at = static_cast<int64_t>(n) * p.outputs * p.area + pixel;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (k >= p.outputs) continue;
      const int64_t to = at + static_cast<int64_t>(k) * p.area;
      V out;
#pragma unroll
      for (int j = 0; j < N; ++j) out.v[j] = plain ? from_float<T>(sums[k][j]) : conv_value<T>(p, k, to + j, sums[k][j]);
      *reinterpret_cast<V*>(static_cast<T*>(p.y) + to) = out;
    }
  }
#endif
}

// Channels last: Lanes neighbouring threads (2 or 4) have N channels each of a pixel by turns, of several pixels at once. Then each of
// them takes the sums of its share of those pixels. K: output channels, rounded up.
template <class T, int K, int N, int Lanes>
__global__ void __launch_bounds__(kPointwiseThreads) pointwise_last([[maybe_unused]] const Pointwise p) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  constexpr int kPixels = K < 16 ? 4 : 2, kRead = N < 4 ? N : 4;
  constexpr int kStoreChannels = K < lanes_of<T>() ? K : lanes_of<T>();  // channels of y at a time
  using V = Vec<T, N>;
  extern __shared__ __align__(16) char shared[];
  auto* const filters = reinterpret_cast<float*>(shared);  // [K][channels]
  const T* const w = static_cast<const T*>(p.w);
  wait_for_previous();
  for (int i = static_cast<int>(threadIdx.x); i < p.channels * K; i += kPointwiseThreads) {
    filters[i] = i < p.channels * p.outputs ? to_float(w[i]) : 0.0f;
  }
  __syncthreads();
  const bool plain = stores_sums(p);
  constexpr int kSlots = kPointwiseThreads / Lanes, kMine = kPixels / Lanes;
  static_assert(kMine > 0 && (Lanes == 2 || Lanes == 4));
  const int lane = static_cast<int>(threadIdx.x) % Lanes, slot = static_cast<int>(threadIdx.x) / Lanes;
  constexpr int64_t kStep = static_cast<int64_t>(kSlots) * kPixels;
  for (int64_t first = blockIdx.x * kStep; first < p.items; first += gridDim.x * kStep) {
    const T* from[kPixels];
#pragma unroll
    for (int i = 0; i < kPixels; ++i) {  // beyond the last pixel that one again
      const int64_t pixel = first + i * kSlots + slot;
      from[i] = static_cast<const T*>(p.x) + (pixel < p.items ? pixel : p.items - 1) * p.channels;
    }
    float sums[kPixels][K] = {};
    for (int c = lane * N; c < p.channels; c += Lanes * N) {
      V values[kPixels];
#pragma unroll
      for (int i = 0; i < kPixels; ++i) values[i] = *reinterpret_cast<const V*>(from[i] + c);
#pragma unroll
      for (int j = 0; j < N; j += kRead) {
        float x[kPixels][kRead];
#pragma unroll
        for (int i = 0; i < kPixels; ++i) {
#pragma unroll
          for (int e = 0; e < kRead; ++e) x[i][e] = to_float(values[i].v[j + e]);
        }
#pragma unroll
        for (int k = 0; k < K; ++k) {
          const auto some = *reinterpret_cast<const Vec<float, kRead>*>(filters + k * p.channels + c + j);
#pragma unroll
          for (int i = 0; i < kPixels; ++i) {
#pragma unroll
            for (int e = 0; e < kRead; ++e) sums[i][k] = fmaf(x[i][e], some.v[e], sums[i][k]);
          }
        }
      }
    }
    // Each time a thread keeps half of its pixels' sums and gives the others away; what it has at last are its own.
#pragma unroll
    for (int half = kPixels / 2, mask = Lanes / 2; mask > 0; half /= 2, mask /= 2) {
      const bool keeps_first = (lane & mask) == 0;
#pragma unroll
      for (int i = 0; i < half; ++i) {
#pragma unroll
        for (int k = 0; k < K; ++k) {
          const float own = keeps_first ? sums[i][k] : sums[i + half][k], other = keeps_first ? sums[i + half][k] : sums[i][k];
          sums[i][k] = own + shuffle_xor(other, mask);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      const int64_t pixel = first + (lane * kMine + i) * kSlots + slot;
      if (pixel >= p.items) continue;
      const int64_t at = pixel * p.outputs;
      T* const y = static_cast<T*>(p.y) + at;
      if (p.whole) {
#pragma unroll
        for (int k = 0; k < K; k += kStoreChannels) {
          Vec<T, kStoreChannels> out;
#pragma unroll
          for (int j = 0; j < kStoreChannels; ++j) {
            out.v[j] = plain ? from_float<T>(sums[i][k + j]) : conv_value<T>(p, k + j, at + k + j, sums[i][k + j]);
          }
          *reinterpret_cast<Vec<T, kStoreChannels>*>(y + k) = out;
        }
      } else {
#pragma unroll
        for (int k = 0; k < K; ++k) {
          if (k < p.outputs) y[k] = conv_value<T>(p, k, at + k, sums[i][k]);
        }
      }
    }
  }
#endif
}

}  // namespace sbk::conv_detail
