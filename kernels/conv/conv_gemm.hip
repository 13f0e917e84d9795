#include "conv/conv_gemm.hpp"

#include <algorithm>

#include "conv/conv_pack_kernels.hpp"
#include "conv/conv_wgmma.hpp"

namespace sbk::conv_detail {
namespace {

constexpr size_t kAlign = 256;

size_t rounded(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

struct Sizes {
  int64_t c, k, padded;              // of a group
  int64_t h, w, oh, ow, r, s, rows;  // one-dimensional convolutions have h = oh = r = 1
  int32_t axis;                      // index of the width in the params' arrays
  int32_t vector;                    // bytes of channels copied at a time
};

Sizes sizes_of(const ConvParams& p) {
  Sizes z{};
  z.c = p.in_channels / p.groups;
  // Images have three channels: eight of float16 would multiply mostly zeros.
  z.vector = p.dtype == DataType::float16 && z.c <= 4 ? kVectorBytes / 2 : kVectorBytes;
  const int64_t lanes = z.vector / static_cast<int64_t>(size_of(p.dtype));
  z.k = p.out_channels / p.groups;
  z.padded = ceil_div(z.c, lanes) * lanes;
  z.axis = p.spatial - 1;
  const auto height = [&](const int64_t (&v)[kConvMaxSpatial]) { return p.spatial == 1 ? 1 : v[0]; };
  z.h = height(p.in);
  z.oh = height(p.out);
  z.r = height(p.kernel);
  z.w = p.in[z.axis];
  z.ow = p.out[z.axis];
  z.s = p.kernel[z.axis];
  z.rows = p.batch * z.oh * z.ow;
  return z;
}

template <class T, int N, bool FromLast>
Status pack_narrow(const Pack& p, hipStream_t stream) {
  const int64_t items = std::min<int64_t>(p.items, kMostBlocksAcross);
  const dim3 grid(static_cast<uint32_t>(ceil_div(p.area, kPackThreads)), static_cast<uint32_t>(items));
  return launch_overlapped(conv_pack_narrow<T, N, FromLast>, grid, dim3(kPackThreads), 0, stream, p);
}

template <class T, bool FromLast>
Status pack_as(const Pack& p, hipStream_t stream) {
  if (p.groups * p.padded == 4 && p.area >= kPackThreads) return pack_narrow<T, 4, FromLast>(p, stream);
  if (p.groups * p.padded == 8 && p.area >= kPackThreads) return pack_narrow<T, 8, FromLast>(p, stream);
  const int64_t items = std::min<int64_t>(p.items, kMostBlocksAcross);
  const dim3 grid(static_cast<uint32_t>(ceil_div(p.area, kPackTile)),
                  static_cast<uint32_t>(ceil_div(static_cast<int64_t>(p.groups) * p.padded, kPackTile)),
                  static_cast<uint32_t>(items));
  return launch_overlapped(conv_pack<T, FromLast>, grid, dim3(kPackThreads), 0, stream, p);
}

template <class T>
Status pack(const Pack& p, bool from_last, hipStream_t stream) {
  return from_last ? pack_as<T, true>(p, stream) : pack_as<T, false>(p, stream);
}

// Packs what needs it into the workspace and returns where input and filters are.
template <class T>
Status prepare(const ConvParams& p, const Sizes& z, const Launch& launch, const void** x, const void** w) {
  const auto stream = static_cast<hipStream_t>(launch.stream);
  const GemmNeeds needs = gemm_needs(p);
  if (launch.workspace_bytes < rounded(needs.input) + rounded(needs.filter) ||
      (launch.workspace == nullptr && needs.input + needs.filter > 0)) {
    return {Code::workspace_too_small, "conv: workspace is smaller than conv_workspace_bytes"};
  }
  *x = p.x;
  *w = p.w;
  const auto i32 = [](int64_t v) { return static_cast<int32_t>(v); };
  if (needs.input > 0) {
    *x = launch.workspace;
    SBK_TRY(pack<T>({p.x, launch.workspace, p.batch, i32(z.h * z.w), i32(p.groups), i32(z.c), i32(z.padded)},
                    p.layout == Layout::channels_last, stream));
  }
  if (needs.filter > 0) {
    void* to = static_cast<char*>(launch.workspace) + rounded(needs.input);
    *w = to;
    SBK_TRY(pack<T>({p.w, to, p.out_channels, i32(z.r * z.s), 1, i32(z.c), i32(z.padded)},
                    p.filter_layout == FilterLayout::channels_last, stream));
  }
  return {};
}

template <class T>
GemmConv describe(const ConvParams& p, const Sizes& z, const void* x, const void* w) {
  const int64_t lanes = z.vector / static_cast<int64_t>(sizeof(T));
  const auto i32 = [](int64_t v) { return static_cast<int32_t>(v); };
  const auto u32 = [](int64_t v) { return static_cast<uint32_t>(v); };
  GemmConv g{};
  g.x = x;
  g.w = w;
  g.bias = p.bias;
  g.residual = p.residual;
  g.y = p.y;
  g.H = i32(z.h);
  g.W = i32(z.w);
  g.C = i32(z.padded);
  g.K = i32(z.k);
  g.R = i32(z.r);
  g.S = i32(z.s);
  g.x_channels = i32(z.padded * p.groups);
  g.y_channels = i32(p.out_channels);
  const bool two = p.spatial == 2;
  g.stride[0] = two ? i32(p.stride[0]) : 1;
  g.dilation[0] = two ? i32(p.dilation[0]) : 1;
  g.pad[0] = two ? i32(p.pad_begin[0]) : 0;
  g.stride[1] = i32(p.stride[z.axis]);
  g.dilation[1] = i32(p.dilation[z.axis]);
  g.pad[1] = i32(p.pad_begin[z.axis]);
  g.rows = i32(z.rows);
  g.k_vectors = i32(z.r * z.s * z.padded / lanes);
  g.image = FastDivisor(u32(z.oh * z.ow));
  g.line = FastDivisor(u32(z.ow));
  g.tap = FastDivisor(u32(z.padded / lanes));
  g.tap_line = FastDivisor(u32(z.s));
  g.channels_last = p.layout == Layout::channels_last;
  g.aligned = aligned_to(p.y, kVectorBytes) && aligned_to(p.residual, kVectorBytes);
  g.activation = p.activation;
  return g;
}

// Of the images [first, first + count).
GemmConv images_of(const GemmConv& g, int64_t element, int64_t first, int64_t count) {
  const int64_t pixels = g.image.divisor();
  const auto past = [&](const void* data, int64_t values) {
    return data == nullptr ? nullptr : static_cast<const char*>(data) + values * element;
  };
  GemmConv part = g;
  part.rows = static_cast<int32_t>(count * pixels);
  part.x = past(g.x, first * g.H * g.W * g.x_channels);
  part.residual = past(g.residual, first * pixels * g.y_channels);
  part.y = const_cast<char*>(past(g.y, first * pixels * g.y_channels));
  part.aligned = aligned_to(part.y, kVectorBytes) && aligned_to(part.residual, kVectorBytes);
  return part;
}

// As many images at a time as one launch takes.
template <class Shape>
Status enqueue(const GemmConv& g, int64_t groups, hipStream_t stream) {
  const int64_t pixels = g.image.divisor(), most_rows = most_blocks(Shape::kThreads) / ceil_div(g.K, Shape::kN) * Shape::kM;
  const int64_t most = g.rows <= most_rows ? g.rows : most_rows / pixels;
  return in_parts(g.rows / pixels, std::max<int64_t>(most, 1), [&](int64_t first, int64_t count) {
    const GemmConv part = images_of(g, sizeof(typename Shape::Type), first, count);
    return enqueue_tiles<Shape>(conv_gemm<Shape>, Shape::kThreads, 0, part, groups, stream);
  });
}

// Tiles that a multiprocessor works through, weighed by their size and by how well a tile of that size keeps the matrix
// units busy (relative rates, measured on an H200 with tools/conv_ways.py).
double cost(const GemmConv& g, int64_t groups, int64_t units, const GemmTile& tile) {
  const int64_t blocks = ceil_div(g.rows, tile.m) * ceil_div(g.K, tile.n) * groups;
  const double turns = static_cast<double>(blocks) / static_cast<double>(units);
  return (turns < 1.0 ? 1.0 : turns) * static_cast<double>(tile.m * tile.n) / tile.rate;
}

#if SBK_NVIDIA
constexpr int kSlabs = 4, kStages = 3, kParts = 4;
#else
constexpr int kSlabs = 2, kStages = 2, kParts = 2;
#endif

template <class T>
struct Tiles {
  static constexpr int kCount = 5;
  static constexpr GemmTile kList[kCount] = {{64, 32, 0.69}, {64, 64, 0.95}, {128, 64, 1.1}, {128, 128, 1.3}, {32, 32, 0.57}};
  // use(shape) of a tile, for `k_vectors` along K.
  template <class F>
  static auto with(int tile, [[maybe_unused]] int64_t k_vectors, F use) {
    if (tile == 0) return use(GemmShape<T, 64, 32, 128, 2, kSlabs, kStages>{});
    if (tile == 1) return use(GemmShape<T, 64, 64, 128, 2, kSlabs, kStages>{});
    if (tile == 2) return use(GemmShape<T, 128, 64, 256, 4, kSlabs, kStages>{});
    if (tile == 3) return use(GemmShape<T, 128, 128, 256, 2, kSlabs, kStages>{});
    return use(GemmShape<T, 32, 32, 128, 1, kSlabs, kStages, kVectorBytes, false, kParts>{});
  }
};

#if SBK_NVIDIA
// float32 there is three tf32 products: splitting operands costs registers, and larger tiles leave too few waves. Where
// K is long, adding the sums of two slabs at a time wins; where it is short, the waves that those registers cost.
template <>
struct Tiles<float> {
  static constexpr int kCount = 3;
  static constexpr GemmTile kList[kCount] = {{64, 32, 0.6}, {64, 64, 1.0}, {32, 32, 0.97}};
  static constexpr int kLong = 16;  // vectors: two stages
  template <class F>
  static auto with(int tile, int64_t k_vectors, F use) {
    if (tile == 0) return use(GemmShape<float, 64, 32, 128, 2, kSlabs, kStages>{});
    if (tile == 2) return use(GemmShape<float, 32, 32, 128, 1, kSlabs, kStages, kVectorBytes, false, kParts>{});
    if (k_vectors <= kLong) return use(GemmShape<float, 64, 64, 128, 2, kSlabs, kStages>{});
    return use(GemmShape<float, 64, 64, 128, 2, kSlabs, kStages, kVectorBytes, true>{});
  }
};
#endif

// Of float16 images with few channels, copied half a vector at a time.
using NarrowShape = GemmShape<__half, 128, 64, 256, 4, 2, kStages, kVectorBytes / 2>;

// Whether the device has the shared memory for a tile. Hopper's, behind the others in the list, are made for its own.
template <class T>
bool has_room(int tile, const GemmConv& g, const DeviceFacts& device) {
  if (tile >= Tiles<T>::kCount) return true;
  return Tiles<T>::with(tile, g.k_vectors, [&](auto shape) { return most_shared_bytes<decltype(shape)>(device.wave) <= device.shared; });
}

// The general kernels' tiles and, for float16 on Hopper, wgmma's after them.
template <class T>
int tiles_of(const GemmConv& g, GemmTile (&tiles)[kMaxGemmTiles]) {
  int count = 0;
  for (const GemmTile& tile : Tiles<T>::kList) tiles[count++] = tile;
  if constexpr (sizeof(T) == 2) {
    count += wgmma_tiles(g, tiles + count);
  }
  return count;
}

// The place in the list of the tile that `variant` names, or else of the cheapest that the device has room for; -1 where it
// has for none.
template <class T>
int choose_tile(const GemmConv& g, int64_t groups, int variant, const DeviceFacts& device) {
  GemmTile tiles[kMaxGemmTiles];
  const int count = tiles_of<T>(g, tiles);
  if (variant > 0 && variant <= count) return has_room<T>(variant - 1, g, device) ? variant - 1 : -1;
  // Of wgmma's alone, where there are any: their rates have a scale of their own.
  int best = -1;
  for (int i = count > Tiles<T>::kCount ? Tiles<T>::kCount : 0; i < count; ++i) {
    if (!has_room<T>(i, g, device)) continue;
    if (best < 0 || cost(g, groups, device.units, tiles[i]) < cost(g, groups, device.units, tiles[best])) best = i;
  }
  return best;
}

template <class T>
Status launch_gemm(const GemmConv& g, int64_t groups, int variant, hipStream_t stream) {
  DeviceFacts device;
  SBK_TRY(device_facts(&device));
  const int tile = choose_tile<T>(g, groups, variant, device);
  if (tile < 0) return unsupported("conv: the device has too little shared memory (LDS) for a tile");
  if (tile >= Tiles<T>::kCount) return launch_wgmma(g, groups, tile - Tiles<T>::kCount, stream);
  return Tiles<T>::with(tile, g.k_vectors, [&](auto shape) { return enqueue<decltype(shape)>(g, groups, stream); });
}

template <class T>
Status run(const ConvParams& p, const Launch& launch) {
  const Sizes z = sizes_of(p);
  const void* x = nullptr;
  const void* w = nullptr;
  SBK_TRY(prepare<T>(p, z, launch, &x, &w));
  const GemmConv g = describe<T>(p, z, x, w);
  const auto stream = static_cast<hipStream_t>(launch.stream);
  if constexpr (sizeof(T) == 2) {
    if (z.vector < kVectorBytes) return enqueue<NarrowShape>(g, p.groups, stream);
  }
  return launch_gemm<T>(g, p.groups, p.variant, stream);
}

}  // namespace

int gemm_variants(const ConvParams& p) {
  if (sums_nothing(p)) return 0;  // and has no taps to divide by
  const Sizes z = sizes_of(p);
  if (z.vector < kVectorBytes) return 1;
  GemmTile tiles[kMaxGemmTiles];
  return p.dtype == DataType::float32 ? tiles_of<float>(describe<float>(p, z, nullptr, nullptr), tiles)
                                      : tiles_of<__half>(describe<__half>(p, z, nullptr, nullptr), tiles);
}

// Wasted work is the limit: a group's channels are padded to a vector and its output channels to a tile.
GemmNeeds gemm_needs(const ConvParams& p) {
  GemmNeeds needs;
  if (p.spatial > 2 || p.in_channels == 0) return needs;
  const Sizes z = sizes_of(p);
  if (p.groups > 1 && (z.k < 16 || z.c < 8)) return needs;
  const int64_t limit = INT32_MAX / 2;  // places in the input are 32 bits, those of padding pixels included
  if (z.rows >= limit || p.batch * z.h * z.w * z.padded * p.groups >= limit || z.r * z.s * z.padded >= limit ||
      p.groups > kMostBlocksAcross || z.r > kMaxTaps || z.s > kMaxTaps) {
    return needs;
  }
  const size_t element = size_of(p.dtype);
  needs.fits = true;
  const bool padding = z.padded != z.c;
  // A tensor that does not start on a vector is copied as well; null stands for a pointer that will be aligned.
  if (padding || (p.layout == Layout::channels_first && z.h * z.w > 1) || !aligned_to(p.x, kVectorBytes)) {
    needs.input = static_cast<size_t>(p.batch * z.h * z.w * z.padded * p.groups) * element;
  }
  if (padding || (p.filter_layout == FilterLayout::channels_first && z.r * z.s > 1) || !aligned_to(p.w, kVectorBytes)) {
    needs.filter = static_cast<size_t>(p.out_channels * z.r * z.s * z.padded) * element;
  }
  return needs;
}

bool takes_gemm(const ConvParams& p) {
  DeviceFacts device;
  if (!gemm_needs(p).fits || !device_facts(&device).ok()) return false;
  const Sizes z = sizes_of(p);
  if (z.vector < kVectorBytes) return most_shared_bytes<NarrowShape>(device.wave) <= device.shared;
  const int tile = p.dtype == DataType::float32
                       ? choose_tile<float>(describe<float>(p, z, nullptr, nullptr), p.groups, p.variant, device)
                       : choose_tile<__half>(describe<__half>(p, z, nullptr, nullptr), p.groups, p.variant, device);
  return tile >= 0;
}

Status run_gemm(const ConvParams& p, const Launch& launch) {
  return p.dtype == DataType::float32 ? run<float>(p, launch) : run<__half>(p, launch);
}

}  // namespace sbk::conv_detail
