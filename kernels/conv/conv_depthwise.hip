#include "conv/conv_depthwise.hpp"

#include <algorithm>

#include "conv/conv_depthwise_kernels.hpp"
#include "conv/conv_plan.hpp"

namespace sbk::conv_detail {
namespace {

// The square filter of one stride and no dilation that a kernel is made for, or 0.
int taps_of(const ConvParams& p) {
  const bool square = p.spatial == 2 && p.kernel[0] == p.kernel[1] && p.stride[0] == p.stride[1];
  const bool plain = p.dilation[0] == 1 && p.dilation[1] == 1 && (p.stride[0] == 1 || p.stride[0] == 2);
  const bool seven = p.kernel[0] == 7 && p.stride[0] == 1;
  return square && plain && (p.kernel[0] == 3 || p.kernel[0] == 5 || seven) ? static_cast<int>(p.kernel[0]) : 0;
}

bool takes_last(const ConvParams& p) {
  const size_t bytes = kDepthwiseLanes * size_of(p.dtype);
  return p.in_channels == p.out_channels && p.out_channels % kDepthwiseLanes == 0 &&
         p.out_channels / kDepthwiseLanes / kDepthwiseVectors < kMostBlocksAcross && aligned_to(p.x, bytes) && aligned_to(p.y, bytes);
}

// Whether a thread may make two lines of outputs where channels are last: with more columns than these CDNA would lose a wave.
constexpr bool pairs_lines(int64_t taps, int64_t stride) {
  constexpr int64_t kMostColumns = 9;
  return SBK_NVIDIA || (kDepthwiseRun - 1) * stride + taps <= kMostColumns;
}

// Where channels are last: lines of outputs that a thread makes. Two read fewer inputs, and leave half of the threads. Measured on an
// H200: two are faster from about this many threads on.
Status lines_at_once(const ConvParams& p, int64_t* lines) {
  constexpr int64_t kThreadsPerUnit = 256;
  DeviceFacts device;
  SBK_TRY(device_facts(&device));
  const ConvParams q = with_three_axes(p);
  const int64_t threads = p.batch * ceil_div(q.out[1], 2) * ceil_div(q.out[2], kDepthwiseRun) * (p.out_channels / kDepthwiseLanes);
  *lines = pairs_lines(taps_of(p), p.stride[0]) && threads >= device.units * kThreadsPerUnit ? 2 : 1;
  return {};
}

// With three axes (of which the first has extent 1), `p` says the rest.
Depthwise describe(const ConvParams& p, int64_t lines_of_thread) {
  const ConvParams q = with_three_axes(p);
  const auto i32 = [](int64_t v) { return static_cast<int32_t>(v); };
  const auto divisor = [](int64_t v) { return FastDivisor(static_cast<uint32_t>(v)); };
  Depthwise d{};
  d.x = p.x, d.w = p.w, d.bias = p.bias, d.residual = p.residual, d.y = p.y;
  d.H = i32(q.in[1]), d.W = i32(q.in[2]), d.OH = i32(q.out[1]), d.OW = i32(q.out[2]);
  d.R = i32(q.kernel[1]), d.S = i32(q.kernel[2]);
  d.channels = i32(p.out_channels), d.inputs = i32(p.in_channels), d.multiplier = d.channels / d.inputs;
  for (int i = 0; i < 2; ++i) {
    d.stride[i] = i32(q.stride[i + 1]), d.dilation[i] = i32(q.dilation[i + 1]), d.pad[i] = i32(q.pad_begin[i + 1]);
  }
  d.by_multiplier = divisor(d.multiplier);
  d.activation = p.activation;
  if (p.layout == Layout::channels_first) {
    const int run = taps_of(p) > 0 ? kDepthwiseDown : 1;
    d.items = p.batch * p.out_channels * ceil_div(d.OH, run) * d.OW;
    d.by_width = divisor(d.OW), d.by_height = divisor(ceil_div(d.OH, run)), d.by_channels = divisor(d.channels);
  } else if (taps_of(p) == 0) {
    d.vectors = d.channels / kDepthwiseLanes;
    d.items = p.batch * d.OH * d.OW * d.vectors;
    d.by_chunk = divisor(d.vectors), d.by_width = divisor(d.OW), d.by_height = divisor(d.OH);
  } else {
    const int64_t line = ceil_div(d.OW, kDepthwiseRun), lines = ceil_div(d.OH, lines_of_thread);
    d.vectors = d.channels / kDepthwiseLanes;
    d.chunk = i32(ceil_div(d.vectors, ceil_div(d.vectors, kDepthwiseVectors)));
    d.items = p.batch * lines * line;
    d.by_width = divisor(line), d.by_height = divisor(lines), d.by_chunk = divisor(d.chunk);
  }
  return d;
}

template <class T, int Taps, int Stride>
Status enqueue(const Depthwise& d, Layout layout, int64_t lines, hipStream_t stream) {
  const dim3 threads(kDepthwiseThreads);
  if (layout == Layout::channels_first) {
    const int64_t blocks = ceil_div(d.items, kDepthwiseThreads);
    return launch_overlapped(depthwise_planes<T, Taps, Stride>, dim3(static_cast<uint32_t>(blocks)), threads, 0, stream, d);
  }
  if constexpr (Taps == 0) {
    const int64_t blocks = ceil_div(d.items, kDepthwiseThreads);
    return launch_overlapped(depthwise_any_last<T>, dim3(static_cast<uint32_t>(blocks)), threads, 0, stream, d);
  } else {
    DeviceFacts device;
    SBK_TRY(device_facts(&device));
    const int64_t chunks = ceil_div(d.vectors, d.chunk), runs = kDepthwiseThreads / d.chunk;
    constexpr int64_t kBlocksPerUnit = 4;  // as many as a unit holds: the filters are fetched once a block
    const int64_t blocks = std::max<int64_t>(1, std::min(ceil_div(d.items, runs), device.units * kBlocksPerUnit / chunks));
    const dim3 grid(static_cast<uint32_t>(blocks), static_cast<uint32_t>(chunks));
    if constexpr (pairs_lines(Taps, Stride)) {
      if (lines == 2) return launch_overlapped(depthwise_last<T, Taps, Stride, 2>, grid, threads, 0, stream, d);
    }
    return launch_overlapped(depthwise_last<T, Taps, Stride, 1>, grid, threads, 0, stream, d);
  }
}

constexpr int64_t kLimit = INT32_MAX / 4;  // outputs at a time, counted in 32 bits

template <class T>
Status run_images(const ConvParams& p, hipStream_t stream) {
  int64_t lines = 1;
  SBK_TRY(lines_at_once(p, &lines));
  const Depthwise d = describe(p, lines);
  const int taps = taps_of(p);
  const bool every = p.stride[0] == 1;
  if (taps == 3) return every ? enqueue<T, 3, 1>(d, p.layout, lines, stream) : enqueue<T, 3, 2>(d, p.layout, lines, stream);
  if (taps == 7) return enqueue<T, 7, 1>(d, p.layout, lines, stream);
  if (taps == 5) return every ? enqueue<T, 5, 1>(d, p.layout, lines, stream) : enqueue<T, 5, 2>(d, p.layout, lines, stream);
  return enqueue<T, 0, 0>(d, p.layout, lines, stream);
}

// In parts of images that one launch counts: four at a time, which start on whole vectors.
template <class T>
Status run(const ConvParams& p, hipStream_t stream) {
  constexpr int64_t kWhole = 4;
  const int64_t out = output_count(p) / p.batch, in = p.in_channels * p.in[0] * (p.spatial == 2 ? p.in[1] : 1);
  const int64_t most = (kLimit - 1) / out, images = most >= p.batch || most < kWhole ? most : most / kWhole * kWhole;
  return in_parts(p.batch, images, [&](int64_t first, int64_t count) {
    const auto past = [&](const void* data, int64_t values) { return data == nullptr ? nullptr : static_cast<const T*>(data) + first * values; };
    ConvParams part = p;
    part.batch = count;
    part.x = past(p.x, in);
    part.residual = past(p.residual, out);
    part.y = const_cast<T*>(past(p.y, out));
    return run_images<T>(part, stream);
  });
}

}  // namespace

bool takes_depthwise(const ConvParams& p) {
  if (p.spatial > 2 || p.in_channels == 0 || p.groups != p.in_channels || p.batch == 0) return false;
  for (int i = 0; i < p.spatial; ++i) {
    const int64_t reach = (p.out[i] - 1 + kDepthwiseDown) * p.stride[i] + (p.kernel[i] - 1) * p.dilation[i] + p.pad_begin[i];
    if (p.stride[i] >= kLimit || p.dilation[i] >= kLimit || p.kernel[i] >= kLimit || p.in[i] >= kLimit || reach >= kLimit) {
      return false;
    }
  }
  if (output_count(p) / p.batch >= kLimit) return false;
  const int64_t width = p.in[p.spatial - 1];  // a line of the input is counted in 32 bits, and there is one
  if (width == 0 || width * p.in_channels >= kLimit) return false;
  return p.layout == Layout::channels_first || takes_last(p);
}

Status run_depthwise(const ConvParams& p, const Launch& launch) {
  if (!takes_depthwise(p)) return unsupported_status("conv: the depthwise kernels do not take this shape");
  const auto stream = static_cast<hipStream_t>(launch.stream);
  return p.dtype == DataType::float32 ? run<float>(p, stream) : run<__half>(p, stream);
}

}  // namespace sbk::conv_detail
