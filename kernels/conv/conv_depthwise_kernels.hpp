// Convolutions with one input channel to each output channel: too little arithmetic for matrix products, so the aim is to
// read the input once. Each thread makes several neighbouring outputs and keeps what they share in registers.
#pragma once

#include "common/device.hpp"
#include "common/overlap.hpp"
#include "conv/conv.hpp"
#include "conv/conv_value.hpp"

namespace sbk::conv_detail {

constexpr int kDepthwiseThreads = 256;
constexpr int kDepthwiseDown = 7;      // outputs of a thread, down an image's column
constexpr int kDepthwiseRun = 4;       // where channels are last: along its line,
constexpr int kDepthwiseLanes = 4;     // of so many channels: more would take the registers of other waves
constexpr int kDepthwiseVectors = 32;  // at most, of a block's channels

struct Depthwise {
  const void *x, *w, *bias, *residual;
  void* y;
  int32_t H, W, OH, OW, R, S;
  int32_t channels, inputs, multiplier;  // of y, of x, channels / inputs
  int32_t stride[2], dilation[2], pad[2];
  int64_t items;             // threads' worth of work; channels last: without the channels
  int32_t vectors, chunk;    // channels last: vectors of channels, and those of a block
  FastDivisor by_width;      // channels first: OW; last: runs of a line
  FastDivisor by_height;     // channels first: runs of a column; last: OH
  FastDivisor by_channels;   // channels first: channels
  FastDivisor by_multiplier, by_chunk;
  ActivationParams activation;
};

// Channels first. Taps x Taps with one stride and no dilation where Taps is given, else anything. One thread: `kRun`
// outputs below each other; neighbours in a wave are neighbours in the line.
template <class T, int Taps, int Stride>
__global__ void __launch_bounds__(kDepthwiseThreads) depthwise_planes(const Depthwise d) {
  constexpr int kRun = Taps > 0 ? kDepthwiseDown : 1;
  wait_for_previous();
  const bool plain = stores_sums(d);
  const int64_t step = static_cast<int64_t>(gridDim.x) * kDepthwiseThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kDepthwiseThreads + threadIdx.x; i < d.items; i += step) {
    const auto line = d.by_width.divide(static_cast<uint32_t>(i));
    const int ow = static_cast<int>(static_cast<uint32_t>(i) - line * d.by_width.divisor());
    const auto plane = d.by_height.divide(line);
    const int oh = static_cast<int>(line - plane * d.by_height.divisor()) * kRun;
    const auto n = d.by_channels.divide(plane);
    const int k = static_cast<int>(plane - n * d.by_channels.divisor());
    const int64_t from = static_cast<int64_t>(n) * d.inputs + d.by_multiplier.divide(k);
    const T* x = static_cast<const T*>(d.x) + from * d.H * d.W;
    const T* w = static_cast<const T*>(d.w) + static_cast<int64_t>(k) * d.R * d.S;
    const int h0 = oh * d.stride[0] - d.pad[0], w0 = ow * d.stride[1] - d.pad[1];
    float sums[kRun] = {};
    if constexpr (Taps > 0) {
      float taps[Taps * Taps];
#pragma unroll
      for (int t = 0; t < Taps * Taps; ++t) taps[t] = to_float(w[t]);
      bool columns[Taps];
#pragma unroll
      for (int s = 0; s < Taps; ++s) columns[s] = static_cast<uint32_t>(w0 + s) < static_cast<uint32_t>(d.W);
      const T* from = x + static_cast<int64_t>(h0) * d.W + w0;
#pragma unroll
      for (int row = 0; row < (kRun - 1) * Stride + Taps; ++row, from += d.W) {
        const bool inside = static_cast<uint32_t>(h0 + row) < static_cast<uint32_t>(d.H);
#pragma unroll
        for (int s = 0; s < Taps; ++s) {
          const float value = inside && columns[s] ? to_float(from[s]) : 0.0f;
#pragma unroll
          for (int o = 0; o < kRun; ++o) {
            const int r = row - o * Stride;
            if (r >= 0 && r < Taps) sums[o] = fmaf(value, taps[r * Taps + s], sums[o]);
          }
        }
      }
    } else {
      for (int r = 0; r < d.R; ++r) {
        const int h = h0 + r * d.dilation[0];
        if (static_cast<uint32_t>(h) >= static_cast<uint32_t>(d.H)) continue;
        for (int s = 0; s < d.S; ++s) {
          const int column = w0 + s * d.dilation[1];
          if (static_cast<uint32_t>(column) >= static_cast<uint32_t>(d.W)) continue;
          sums[0] = fmaf(to_float(x[static_cast<int64_t>(h) * d.W + column]), to_float(w[r * d.S + s]), sums[0]);
        }
      }
    }
    const int64_t at = (static_cast<int64_t>(plane) * d.OH + oh) * d.OW + ow;
    if (!plain) {
#pragma unroll
      for (int o = 0; o < kRun; ++o) {
        if (oh + o < d.OH) static_cast<T*>(d.y)[at + o * d.OW] = conv_value<T>(d, k, at + o * d.OW, sums[o]);
      }
      continue;
    }
    T* y = static_cast<T*>(d.y) + at;
#pragma unroll
    for (int o = 0; o < kRun; ++o, y += d.OW) {
      if (oh + o < d.OH) *y = from_float<T>(sums[o]);
    }
  }
}

// Channels last, as many out as in, in whole vectors of four. One thread: a vector of channels of `kRun` outputs beside each
// other in `Down` lines; neighbours in a wave are neighbours in the channels. Grid: x over runs, y over chunks of channels, whose filters
// wait in shared memory.
template <class T, int Taps, int Stride, int Down>
__global__ void __launch_bounds__(kDepthwiseThreads, 2) depthwise_last(const Depthwise d) {
  constexpr int kLanes = kDepthwiseLanes;
  using V = Vec<T, kLanes>;
  constexpr int kColumns = (kDepthwiseRun - 1) * Stride + Taps, kLines = (Down - 1) * Stride + Taps, kTaps = Taps * Taps;
  __shared__ Vec<float, kLanes> filters[kTaps][kDepthwiseVectors];
  const int first = static_cast<int>(blockIdx.y) * d.chunk;
  const int chunk = d.vectors - first < d.chunk ? d.vectors - first : d.chunk;
  const T* w = static_cast<const T*>(d.w) + static_cast<int64_t>(first) * kLanes * kTaps;
  wait_for_previous();
  for (int i = static_cast<int>(threadIdx.x); i < chunk * kLanes * kTaps; i += kDepthwiseThreads) {
    const int channel = i / kTaps;
    filters[i % kTaps][channel / kLanes].v[channel % kLanes] = to_float(w[i]);
  }
  __syncthreads();
  const int run = static_cast<int>(d.by_chunk.divide(threadIdx.x)), vector = static_cast<int>(threadIdx.x) - run * d.chunk;
  const int runs = kDepthwiseThreads / d.chunk;
  if (run >= runs || vector >= chunk) return;
  const int channel = (first + vector) * kLanes;
  const bool plain = stores_sums(d);
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * runs + run; i < d.items; i += static_cast<int64_t>(gridDim.x) * runs) {
    // Down the columns first: the lines that neighbours share stay in the first-level cache.
    const auto column = d.by_height.divide(static_cast<uint32_t>(i));
    const int oh = static_cast<int>(static_cast<uint32_t>(i) - column * d.by_height.divisor()) * Down;
    const auto n = d.by_width.divide(column);
    const int ow = static_cast<int>(column - n * d.by_width.divisor()) * kDepthwiseRun;
    const int h0 = oh * Stride - d.pad[0], w0 = ow * Stride - d.pad[1];
    const T* const image = static_cast<const T*>(d.x) + static_cast<int64_t>(n) * d.H * d.W * d.channels + channel;
    float sums[Down][kDepthwiseRun][kLanes] = {};
    // Outside the line its nearest column is read and not used: a load that may be left out would keep its zeros in
    // scratch memory on AMD.
    bool inside[kColumns];
    int offsets[kColumns];
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const int w = w0 + c < 0 ? 0 : (w0 + c < d.W ? w0 + c : d.W - 1);
      inside[c] = w == w0 + c;
      offsets[c] = w * d.channels;
    }
#pragma unroll 1
    for (int r = 0; r < kLines; ++r) {
      if (static_cast<uint32_t>(h0 + r) >= static_cast<uint32_t>(d.H)) continue;
      const T* const line = image + static_cast<int64_t>(h0 + r) * d.W * d.channels;
      V vectors[kColumns];  // all on their way before the first is used
#pragma unroll
      for (int c = 0; c < kColumns; ++c) vectors[c] = *reinterpret_cast<const V*>(line + offsets[c]);
      float values[kColumns][kLanes];
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
#pragma unroll
        for (int j = 0; j < kLanes; ++j) values[c][j] = inside[c] ? to_float(vectors[c].v[j]) : 0.0f;
      }
#pragma unroll
      for (int o = 0; o < Down; ++o) {
        const int tap = r - o * Stride;  // the filter's line that this one is for the output's
        if (Down > 1 && static_cast<uint32_t>(tap) >= static_cast<uint32_t>(Taps)) continue;
#pragma unroll
        for (int s = 0; s < Taps; ++s) {
          const Vec<float, kLanes> taps = filters[tap * Taps + s][vector];
#pragma unroll
          for (int p = 0; p < kDepthwiseRun; ++p) {
#pragma unroll
            for (int j = 0; j < kLanes; ++j) sums[o][p][j] = fmaf(values[p * Stride + s][j], taps.v[j], sums[o][p][j]);
          }
        }
      }
    }
#pragma unroll
    for (int o = 0; o < Down; ++o) {
      if (oh + o >= d.OH) continue;
      const int64_t at = ((static_cast<int64_t>(n) * d.OH + oh + o) * d.OW + ow) * d.channels + channel;
#pragma unroll
      for (int p = 0; p < kDepthwiseRun; ++p) {
        if (ow + p >= d.OW) continue;
        V out;
        if (plain) {
#pragma unroll
          for (int j = 0; j < kLanes; ++j) out.v[j] = from_float<T>(sums[o][p][j]);
        } else {
          out = conv_values<T>(d, channel, at + p * d.channels, sums[o][p]);
        }
        *reinterpret_cast<V*>(static_cast<T*>(d.y) + at + p * d.channels) = out;
      }
    }
  }
}

// Channels last, any filter: a thread has a vector of channels of one output. Neighbours in a wave are neighbours in the
// channels.
template <class T>
__global__ void __launch_bounds__(kDepthwiseThreads) depthwise_any_last(const Depthwise d) {
  constexpr int kLanes = kDepthwiseLanes;
  using V = Vec<T, kLanes>;
  wait_for_previous();
  const T* const image = static_cast<const T*>(d.x);
  const T* const filters = static_cast<const T*>(d.w);
  T* const y = static_cast<T*>(d.y);
  const int taps = d.R * d.S;
  const int64_t step = static_cast<int64_t>(gridDim.x) * kDepthwiseThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kDepthwiseThreads + threadIdx.x; i < d.items; i += step) {
    const auto pixel = d.by_chunk.divide(static_cast<uint32_t>(i));
    const int channel = static_cast<int>(static_cast<uint32_t>(i) - pixel * d.by_chunk.divisor()) * kLanes;
    const auto line = d.by_width.divide(pixel);
    const int ow = static_cast<int>(pixel - line * d.by_width.divisor());
    const auto n = d.by_height.divide(line);
    const int oh = static_cast<int>(line - n * d.by_height.divisor());
    const int h0 = oh * d.stride[0] - d.pad[0], w0 = ow * d.stride[1] - d.pad[1];
    const T* x = image + static_cast<int64_t>(n) * d.H * d.W * d.channels + channel;
    const T* w = filters + static_cast<int64_t>(channel) * taps;
    float sums[kLanes] = {};
    for (int r = 0; r < d.R; ++r) {
      const int h = h0 + r * d.dilation[0];
      if (static_cast<uint32_t>(h) >= static_cast<uint32_t>(d.H)) continue;
      for (int s = 0; s < d.S; ++s) {
        const int column = w0 + s * d.dilation[1];
        if (static_cast<uint32_t>(column) >= static_cast<uint32_t>(d.W)) continue;
        const V values = *reinterpret_cast<const V*>(x + (static_cast<int64_t>(h) * d.W + column) * d.channels);
#pragma unroll
        for (int j = 0; j < kLanes; ++j) sums[j] = fmaf(to_float(values.v[j]), to_float(w[j * taps + r * d.S + s]), sums[j]);
      }
    }
    const int64_t at = static_cast<int64_t>(pixel) * d.channels + channel;
    *reinterpret_cast<V*>(y + at) = conv_values<T>(d, channel, at, sums);
  }
}

}  // namespace sbk::conv_detail
