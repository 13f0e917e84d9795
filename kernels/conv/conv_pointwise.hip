#include "conv/conv_pointwise.hpp"

#include <algorithm>

#include "conv/conv_plan.hpp"
#include "conv/conv_pointwise_kernels.hpp"

namespace sbk::conv_detail {
namespace {

constexpr int64_t kLimit = INT32_MAX / 2;       // pixels, counted in 32 bits
constexpr int64_t kMostOutputs = 16;
constexpr size_t kMostShared = 32768;           // bytes of filters: two blocks on a compute unit of CDNA
constexpr int kMostLanes = 4;                   // of a pixel, channels last: 64 bytes

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

Status enqueue(void (*kernel)(Pointwise), const ConvParams& p, const Pointwise& d, int64_t items_of_block, hipStream_t stream) {
  DeviceFacts device;
  SBK_TRY(device_facts(&device));
  constexpr int64_t kBlocksPerUnit = 16;  // two rounds of the device: the filters are fetched once a block
  const int64_t blocks = std::min(ceil_div(d.items, items_of_block), device.units * kBlocksPerUnit);
  return launch_overlapped(kernel, dim3(static_cast<uint32_t>(blocks)), dim3(kPointwiseThreads), filter_bytes(p), stream, d);
}

template <class T, int K>
Status run_planes(const ConvParams& p, hipStream_t stream) {
  constexpr int kPixels = kPointwiseSums / K < lanes_of<T>() ? kPointwiseSums / K : lanes_of<T>();
  Pointwise d = describe(p);
  const bool vectors = d.area % kPixels == 0 && aligned_to(p.x, kPixels * sizeof(T)) && aligned_to(p.y, kPixels * sizeof(T));
  const int32_t of_image = d.area / (vectors ? kPixels : 1);
  d.items = p.batch * of_image;
  d.by_image = FastDivisor(static_cast<uint32_t>(of_image));
  return enqueue(vectors ? pointwise_planes<T, K, kPixels> : pointwise_planes<T, K, 1>, p, d, kPointwiseThreads, stream);
}

template <class T, int K>
Status run_last(const ConvParams& p, hipStream_t stream) {
  constexpr int kLanes = lanes_of<T>(), kPixels = K < 16 ? 4 : 2;
  Pointwise d = describe(p);
  const bool vectors = d.channels % kLanes == 0 && aligned_to(p.x, kVectorBytes);
  const int parts = d.channels / (vectors ? kLanes : 1);
  d.lanes = 1;
  while (d.lanes < kMostLanes && d.lanes * 2 <= parts) d.lanes *= 2;
  d.items = p.batch * d.area;
  d.whole = p.out_channels == K && aligned_to(p.y, kVectorBytes);
  return enqueue(vectors ? pointwise_last<T, K, kLanes> : pointwise_last<T, K, 1>, p, d, kPointwiseThreads / d.lanes * kPixels, stream);
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
  return filter_bytes(p) <= kMostShared && device_facts(&device).ok() && filter_bytes(p) <= static_cast<size_t>(device.shared);
}

// A thread's channels come one after the other: where they are many, only many pixels hide their way.
bool prefers_pointwise(const ConvParams& p) {
  constexpr int64_t kFewChannels = 64, kManyPixels = 65536;
  return p.in_channels <= kFewChannels || p.batch * area_of(p) >= kManyPixels;
}

Status run_pointwise(const ConvParams& p, const Launch& launch) {
  if (!takes_pointwise(p)) return unsupported("conv: the pointwise kernels do not take this shape");
  const auto stream = static_cast<hipStream_t>(launch.stream);
  return p.dtype == DataType::float32 ? run<float>(p, stream) : run<__half>(p, stream);
}

}  // namespace sbk::conv_detail
