#include "conv/conv_pointwise.hpp"

#include <algorithm>

#include "conv/conv_plan.hpp"
#include "conv/conv_pointwise_kernels.hpp"

namespace sbk::conv_detail {
namespace {

constexpr int64_t kLimit = INT32_MAX / 2;  // pixels, counted in 32 bits
constexpr int64_t kMostOutputs = 16;
constexpr size_t kMostFilters = 16384;     // bytes; with what parts send each other, two blocks on a compute unit of CDNA
constexpr size_t kSentBytes = kPointwiseSums * kPointwiseThreads / 2 * sizeof(float);
constexpr int kVectorPixels = 4;           // channels first, of a thread: at most

int64_t area_of(const ConvParams& p) {
  int64_t area = 1;
  for (int i = 0; i < p.spatial; ++i) area *= p.in[i];
  return area;
}

int rounded_outputs(const ConvParams& p) { return p.out_channels <= 4 ? 4 : p.out_channels <= 8 ? 8 : 16; }

size_t filter_bytes(const ConvParams& p) { return static_cast<size_t>(rounded_outputs(p) * p.in_channels) * sizeof(float); }

bool has_window(const ConvParams& p) {
  for (int i = 0; i < p.spatial; ++i) {
    if (p.kernel[i] != 1 || p.stride[i] != 1 || p.pad_begin[i] != 0 || p.in[i] != p.out[i]) return true;
  }
  return false;
}

Pointwise describe(const ConvParams& p) {
  Pointwise d{};
  d.x = p.x, d.w = p.w, d.bias = p.bias, d.residual = p.residual, d.y = p.y;
  d.area = static_cast<int32_t>(area_of(p));
  d.channels = static_cast<int32_t>(p.in_channels), d.outputs = static_cast<int32_t>(p.out_channels);
  d.activation = p.activation;
  return d;
}

// `blocks_of_unit` at most of a compute unit: the filters are fetched once a block. Measured on an H200.
Status enqueue(void (*kernel)(Pointwise), const Pointwise& d, int64_t items_of_block, int64_t blocks_of_unit, size_t shared, hipStream_t stream) {
  DeviceFacts device;
  SBK_TRY(device_facts(&device));
  const int64_t blocks = std::min(ceil_div(d.items, items_of_block), device.units * blocks_of_unit);
  return launch_overlapped(kernel, dim3(static_cast<uint32_t>(blocks)), dim3(kPointwiseThreads), shared, stream, d);
}

// Threads that share a pixel's channels: more while the device is not full of threads, and each has enough channels.
Status parts_of(const ConvParams& p, const Pointwise& d, int32_t* parts) {
  constexpr int64_t kThreadsPerUnit = 1024, kFewestChannels = 16, kMostParts = 8;
  DeviceFacts device;
  SBK_TRY(device_facts(&device));
  *parts = 1;
  if (filter_bytes(p) + kSentBytes > static_cast<size_t>(device.shared)) return {};
  while (*parts < kMostParts && d.items * *parts < device.units * kThreadsPerUnit && p.in_channels >= *parts * 2 * kFewestChannels) *parts *= 2;
  return {};
}

template <class T, int K>
Status run_planes(const ConvParams& p, hipStream_t stream) {
  constexpr int kPixels = kPointwiseSums / K < kVectorPixels ? kPointwiseSums / K : kVectorPixels;
  Pointwise d = describe(p);
  const bool vectors = d.area % kPixels == 0 && aligned_to(p.x, kPixels * sizeof(T)) && aligned_to(p.y, kPixels * sizeof(T));
  const int32_t of_image = d.area / (vectors ? kPixels : 1);
  d.items = p.batch * of_image;
  d.by_image = FastDivisor(static_cast<uint32_t>(of_image));
  SBK_TRY(parts_of(p, d, &d.parts));
  const size_t shared = filter_bytes(p) + (d.parts > 1 ? kSentBytes : 0);
  return enqueue(vectors ? pointwise_planes<T, K, kPixels> : pointwise_planes<T, K, 1>, d, kPointwiseThreads / d.parts, 16, shared, stream);
}

template <class T, int K, int Lanes>
Status run_last_by(const ConvParams& p, hipStream_t stream) {
  constexpr int kLanes = lanes_of<T>(), kPixels = K < 16 ? 4 : 2;
  Pointwise d = describe(p);
  const bool vectors = d.channels % kLanes == 0 && aligned_to(p.x, kVectorBytes);
  d.items = p.batch * d.area;
  d.whole = p.out_channels == K && aligned_to(p.y, kVectorBytes);
  return enqueue(vectors ? pointwise_last<T, K, kLanes, Lanes> : pointwise_last<T, K, 1, Lanes>, d, kPointwiseThreads / Lanes * kPixels, 8,
                 filter_bytes(p), stream);
}

// Four threads a pixel where their sums are few beside what they read. Measured on an H200.
template <class T, int K>
Status run_last(const ConvParams& p, hipStream_t stream) {
  if constexpr (K == 4) {
    constexpr int64_t kManyChannels = sizeof(T) == 2 ? 128 : 32;
    if (p.in_channels >= kManyChannels) return run_last_by<T, K, 4>(p, stream);
  }
  return run_last_by<T, K, 2>(p, stream);
}

template <class T, int K>
Status run_layout(const ConvParams& p, hipStream_t stream) {
  return p.layout == Layout::channels_last ? run_last<T, K>(p, stream) : run_planes<T, K>(p, stream);
}

template <class T>
Status run(const ConvParams& p, hipStream_t stream) {
  switch (rounded_outputs(p)) {
    case 4: return run_layout<T, 4>(p, stream);
    case 8: return run_layout<T, 8>(p, stream);
    default: return run_layout<T, 16>(p, stream);
  }
}

}  // namespace

bool takes_pointwise(const ConvParams& p) {
  if (p.groups != 1 || p.out_channels < 1 || p.out_channels > kMostOutputs || p.in_channels < 1 || has_window(p)) return false;
  const int64_t area = area_of(p);
  if (p.batch < 1 || area < 1 || area > kLimit / p.batch || p.in_channels > kLimit / kMostOutputs) return false;
  DeviceFacts device;
  return filter_bytes(p) <= kMostFilters && device_facts(&device).ok() && filter_bytes(p) <= static_cast<size_t>(device.shared);
}

// Where channels are last and fill vectors, nothing is packed for a matrix product, and matrix units win where filters are many
// or pixels few. Measured on an H200 with tools/conv_ways.py.
bool prefers_pointwise(const ConvParams& p) {
  constexpr int64_t kFewChannels = 64, kManyPixels = 8192, kManyPixelsLast = 16384, kPixelsEnough = 65536;
  const int64_t pixels = p.batch * area_of(p);
  const bool is_float = p.dtype == DataType::float32, has_few_channels = p.in_channels <= kFewChannels;
  if (p.layout == Layout::channels_first) return is_float || has_few_channels || pixels >= kManyPixels;
  if (p.in_channels * static_cast<int64_t>(size_of(p.dtype)) % kVectorBytes != 0) return has_few_channels;
  if (pixels < kManyPixelsLast) return false;
  if (is_float) return has_few_channels || p.out_channels <= 4 || pixels >= kPixelsEnough;
  return p.out_channels <= 4 || (p.out_channels <= 8 && has_few_channels);
}

Status run_pointwise(const ConvParams& p, const Launch& launch) {
  if (!takes_pointwise(p)) return unsupported_status("conv: the pointwise kernels do not take this shape");
  const auto stream = static_cast<hipStream_t>(launch.stream);
  return p.dtype == DataType::float32 ? run<float>(p, stream) : run<__half>(p, stream);
}

}  // namespace sbk::conv_detail
