#include "conv/conv_winograd.hpp"

#include <algorithm>

#include "common/limits.hpp"
#include "conv/conv_gemm.hpp"
#include "conv/conv_winograd_kernels.hpp"

namespace sbk::conv_detail {
namespace {

constexpr size_t kAlign = 256;
// V and M of one pass, at most: what is a fair amount of memory, and what stays in a last-level cache between the kernel
// that writes it and the one that reads it.
constexpr int64_t kPassBytes = int64_t{256} << 20, kCachedBytes = int64_t{32} << 20;

size_t round_up(int64_t bytes) { return (static_cast<size_t>(bytes) + kAlign - 1) / kAlign * kAlign; }

struct Sizes {
  int64_t points, padded_channels, tiles, images, passes;  // tiles of an image; images of a pass
  size_t v, u, m;                                 // bytes
};

Sizes sizes_of(const ConvParams& p, int outputs) {
  Sizes z{};
  z.points = (outputs + 2) * (outputs + 2);
  z.padded_channels = ceil_div(p.in_channels, lanes_of<float>()) * lanes_of<float>();
  z.tiles = ceil_div(p.out[0], outputs) * ceil_div(p.out[1], outputs);
  const int64_t values = z.tiles * z.points * (z.padded_channels + p.out_channels);  // of an image
  const int64_t limit = p.variant == kWinogradCached ? kCachedBytes : kPassBytes;
  z.images = std::min(p.batch, std::max<int64_t>(1, limit / (4 * values)));
  z.passes = ceil_div(p.batch, z.images);
  z.images = ceil_div(p.batch, z.passes);
  z.v = round_up(4 * z.images * z.tiles * z.points * z.padded_channels);
  z.m = round_up(4 * z.images * z.tiles * z.points * p.out_channels);
  z.u = round_up(4 * z.points * z.padded_channels * p.out_channels);
  return z;
}

bool takes(const ConvParams& p, int outputs) {
  if (p.dtype != DataType::float32 || p.spatial != 2 || p.groups != 1) return false;
  if (p.in_channels < 8 || p.out_channels < 16) return false;  // the matrix products' limits
  constexpr int64_t kLimit = INT32_MAX / 2;
  const int64_t tiles = ceil_div(p.out[0], outputs) * ceil_div(p.out[1], outputs);
  if (p.batch >= kLimit || tiles >= kLimit || p.batch * tiles >= kLimit || p.in_channels + p.out_channels > (1 << 20)) {
    return false;
  }
  for (int i = 0; i < 2; ++i) {
    if (p.kernel[i] != 3 || p.stride[i] != 1 || p.dilation[i] != 1 || p.pad_begin[i] > INT32_MAX / 4) return false;
    if (p.in[i] > INT32_MAX / 4 || p.out[i] > INT32_MAX / 4) return false;
  }
  return true;
}

// Of the images [first, first + count).
Winograd describe(const ConvParams& p, const Sizes& z, int outputs, char* workspace, int64_t first, int64_t count) {
  const auto i32 = [](int64_t v) { return static_cast<int32_t>(v); };
  Winograd g{};
  const int64_t out = first * p.out_channels * p.out[0] * p.out[1];
  g.x = static_cast<const float*>(p.x) + first * p.in_channels * p.in[0] * p.in[1];
  g.w = static_cast<const float*>(p.w);
  g.bias = static_cast<const float*>(p.bias);
  g.residual = p.residual == nullptr ? nullptr : static_cast<const float*>(p.residual) + out;
  g.y = static_cast<float*>(p.y) + out;
  g.v = reinterpret_cast<float*>(workspace);
  g.m = reinterpret_cast<float*>(workspace + z.v);
  g.u = reinterpret_cast<float*>(workspace + z.v + z.m);
  g.H = i32(p.in[0]), g.W = i32(p.in[1]), g.OH = i32(p.out[0]), g.OW = i32(p.out[1]);
  g.C = i32(p.in_channels), g.K = i32(p.out_channels), g.padded_channels = i32(z.padded_channels);
  g.pad[0] = i32(p.pad_begin[0]), g.pad[1] = i32(p.pad_begin[1]);
  g.tile_lines = i32(ceil_div(p.out[0], outputs));
  g.tile_columns = i32(ceil_div(p.out[1], outputs));
  g.strips = i32(ceil_div(p.out[1], kWinogradColumns));
  g.blocks = i32(count * g.tile_lines * g.strips);
  g.by_strips = FastDivisor(static_cast<uint32_t>(g.strips));
  g.by_lines = FastDivisor(static_cast<uint32_t>(g.tile_lines));
  g.by_channels = FastDivisor(static_cast<uint32_t>(g.padded_channels));
  g.channels_last = p.layout == Layout::channels_last;
  g.filter_last = p.filter_layout == FilterLayout::channels_last;
  g.activation = p.activation;
  return g;
}

// m = v uᵀ at every point: a 1 x 1 convolution of one image of `tiles` pixels, in as many groups as there are points.
ConvParams products(const ConvParams& p, const Sizes& z, const Winograd& g, int64_t tiles) {
  ConvParams q;
  q.layout = Layout::channels_last;
  q.algorithm = ConvAlgorithm::implicit_gemm;
  q.variant = p.variant < kWinogradTiles ? 0 : 1 + p.variant - kWinogradTiles;
  q.spatial = 1;
  q.batch = 1;
  q.groups = z.points;
  q.in_channels = z.points * z.padded_channels;
  q.out_channels = z.points * p.out_channels;
  q.in[0] = q.out[0] = tiles;
  q.x = g.v, q.w = g.u, q.y = g.m;
  return q;
}

template <int M>
Status enqueue(const ConvParams& p, const Sizes& z, const Launch& launch) {
  const auto stream = static_cast<hipStream_t>(launch.stream);
  const auto u32 = [](int64_t v) { return static_cast<uint32_t>(v); };
  const dim3 threads(Strip<M>::kThreads);
  for (int64_t first = 0; first < p.batch; first += z.images) {
    const int64_t count = std::min(z.images, p.batch - first);
    const Winograd g = describe(p, z, M, static_cast<char*>(launch.workspace), first, count);
    const int64_t rows = ceil_div(z.padded_channels, kWinogradChannels);
    const int64_t filters = first > 0 ? 0 : ceil_div(ceil_div(z.padded_channels * p.out_channels, Strip<M>::kThreads), rows);
    SBK_TRY(launch_overlapped(winograd_in<M>, dim3(u32(g.blocks + filters), u32(rows)), threads, 0, stream, g));
    SBK_TRY(run_gemm(products(p, z, g, count * z.tiles), {launch.stream, nullptr, 0}));
    const int64_t columns = ceil_div(p.out_channels, kWinogradChannels);
    SBK_TRY(launch_overlapped(winograd_out<M>, dim3(u32(g.blocks), u32(columns)), threads, 0, stream, g));
  }
  return {};
}

}  // namespace

size_t winograd_workspace(const ConvParams& p, int outputs) {
  if (!takes(p, outputs)) return 0;
  const Sizes z = sizes_of(p, outputs);
  const int64_t limit = INT32_MAX / 2, wide = z.padded_channels + p.out_channels;
  if (z.images * z.tiles * z.points * wide >= limit || z.padded_channels * p.out_channels * z.points >= limit ||
      ceil_div(wide, kWinogradChannels) > kMostBlocksAcross) {
    return 0;
  }
  return z.v + z.m + z.u;
}

bool takes_winograd(const ConvParams& p, int outputs) {
  if (winograd_workspace(p, outputs) == 0) return false;
  const Sizes z = sizes_of(p, outputs);
  return takes_gemm(products(p, z, Winograd{}, z.images * z.tiles));
}

Status run_winograd(const ConvParams& p, int outputs, const Launch& launch) {
  const size_t workspace_bytes = winograd_workspace(p, outputs);
  if (workspace_bytes == 0) return unsupported_status("conv: Winograd's algorithm does not take this shape");
  if (launch.workspace == nullptr || launch.workspace_bytes < workspace_bytes) {
    return {Code::workspace_too_small, "conv: workspace is smaller than conv_workspace_bytes"};
  }
  const Sizes z = sizes_of(p, outputs);
  return outputs == 2 ? enqueue<2>(p, z, launch) : enqueue<4>(p, z, launch);
}

}  // namespace sbk::conv_detail
