// Compiled for sm_90a alone, the one target that has wgmma: cmake/device-library.cmake.
#include "conv/conv_wgmma.hpp"

#include "common/hopper_host.hpp"
#include "conv/conv_tma_kernels.hpp"
#include "conv/conv_wgmma_kernels.hpp"

namespace sbk::conv_detail {
namespace {

// What the copy engine is told of an image: width, then height and depth, as it has them.
struct Walk {
  int axes;  // 2, or 3 where the image is deep
  int in[3], out[3], taps[3], stride[3], dilation[3], pad[3];

  explicit Walk(const GemmConv& g)
      : axes(is_deep(g) ? 3 : 2), in{g.W, g.H, g.D},
        out{static_cast<int>(g.line.divisor()), static_cast<int>(g.plane.divisor() / g.line.divisor()),
            static_cast<int>(g.image.divisor() / g.plane.divisor())},
        taps{g.S, g.R, g.Q}, stride{g.stride[1], g.stride[0], g.deep_stride}, dilation{g.dilation[1], g.dilation[0], g.deep_dilation},
        pad{g.pad[1], g.pad[0], g.deep_pad} {}
  // The bounding box's places: the first window's corner, and how far beyond (before) the image's last line or column the last
  // window's corner lies.
  int lower(int i) const { return -pad[i]; }
  int upper(int i) const { return -pad[i] + (out[i] - 1) * stride[i] + 1 - in[i]; }
};

bool has_groups(const GemmConv& g) { return g.x_channels != g.C; }

// Channels of a stage: 64 or 32, whichever has fewer zeros behind the last; 0 where neither is worth it. Groups lie one behind
// the other, so that theirs have to be whole stages.
int stage_channels(const GemmConv& g) {
  constexpr int kWide = 64, kNarrow = 32, kLeast = 16;
  if (g.C % kWide == 0) return kWide;
  if (g.C % kNarrow == 0) return kNarrow;
  if (has_groups(g) || g.C < kLeast) return 0;
  return ceil_div(g.C, kNarrow) % 2 == 0 ? kWide : kNarrow;
}

// The engine's limits: corners and offsets of taps in 8 bits, or in 5 where images are deep; strides up to 8.
bool takes_tma(const GemmConv& g) {
  if (stage_channels(g) == 0 || g.H == 0 || g.W == 0 || g.D == 0 || TensorMapMakers::get().im2col == nullptr || TensorMapMakers::get().make_tiled == nullptr) return false;
  const Walk walk(g);
  const int corner = walk.axes == 3 ? 16 : 128;
  for (int i = 0; i < walk.axes; ++i) {
    if (walk.lower(i) < -corner || walk.upper(i) < -corner || walk.upper(i) > corner - 1 || walk.stride[i] > 8) return false;
    if ((walk.taps[i] - 1) * walk.dilation[i] >= 2 * corner) return false;
  }
  return true;
}

Status status_of(CUresult result) {
  return result == CUDA_SUCCESS ? Status{} : Status{Code::device_error, "conv: the driver makes no tensor map for this shape"};
}

CUtensorMapSwizzle swizzle_of(int channels) { return channels == 64 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B; }

Status map_input(const GemmConv& g, uint32_t pixels, CUtensorMap* map) {
  const Walk walk(g);
  const auto images = static_cast<uint64_t>(g.rows) / g.image.divisor(), channels = static_cast<uint64_t>(g.x_values);
  cuuint64_t extents[5] = {channels}, strides[4];  // of whole pixels, lines, …, images, in bytes
  cuuint32_t steps[5] = {1};
  int lower[3], upper[3];
  uint64_t bytes = static_cast<uint64_t>(g.x_pixel) * 2;
  for (int i = 0; i < walk.axes; ++i) {
    extents[1 + i] = static_cast<uint64_t>(walk.in[i]);
    steps[1 + i] = static_cast<uint32_t>(walk.stride[i]);
    strides[i] = bytes;
    bytes = i == 0 ? static_cast<uint64_t>(g.x_line) * 2 : bytes * extents[1 + i];
    lower[i] = walk.lower(i), upper[i] = walk.upper(i);
  }
  extents[1 + walk.axes] = images, steps[1 + walk.axes] = 1, strides[walk.axes] = bytes;
  const int depth = stage_channels(g);
  return status_of(TensorMapMakers::get().im2col(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, static_cast<uint32_t>(walk.axes + 2), const_cast<void*>(g.x),
                                   extents, strides, lower, upper, static_cast<uint32_t>(depth), pixels, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                   swizzle_of(depth), CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
}

// Whether the driver makes a map of pixels that overlap, which CUDA's documentation does not promise: asked once, of lines of seven taps
// of four values whose columns are two taps apart. The map is of an address alone: nothing is read.
bool maps_overlap() {
  static const bool answer = [] {
    alignas(64) static const char pixels[2048] = {};
    const cuuint64_t extents[4] = {28, 4, 4, 1}, strides[3] = {16, 128, 512};
    const cuuint32_t steps[4] = {1, 1, 1, 1};
    const int corner[2] = {0, 0};
    constexpr uint32_t kChannels = 32, kPixels = 64;
    CUtensorMap map;
    return TensorMapMakers::get().im2col(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, const_cast<char*>(pixels), extents, strides, corner, corner,
                                         kChannels, kPixels, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_64B,
                                         CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
  }();
  return answer;
}

Status map_filter(const GemmConv& g, uint32_t channels, CUtensorMap* map) {
  const auto depth = static_cast<uint64_t>(g.C), taps = static_cast<uint64_t>(g.Q * g.R * g.S);
  const int stage = stage_channels(g);
  const cuuint64_t extents[3] = {depth, taps, static_cast<uint64_t>(g.y_channels)}, strides[2] = {depth * 2, taps * depth * 2};
  const cuuint32_t box[3] = {static_cast<uint32_t>(stage), 1, channels}, steps[3] = {1, 1, 1};
  return status_of(TensorMapMakers::get().make_tiled(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 3, const_cast<void*>(g.w), extents, strides, box,
                                  steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(stage),
                                  CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
}

template <int BM, int BN, int Stages, bool Deep>
Status enqueue(const GemmConv& g, int64_t groups, hipStream_t stream) {
  using Shape = HopperShape<BM, BN, Stages, Deep>;
  return enqueue_tiles<Shape>(conv_wgmma<Shape>, Shape::kThreads, Shape::kAlign, g, groups, 1, stream);
}

// Blocks of a cluster that share a tile's sums, each with a part of K: where tiles are too few for a device, and K is long. Only the
// smallest tiles gain where that puts a second block on a multiprocessor.
template <class Shape>
int splits_of(const GemmConv& g, int64_t groups, const DeviceFacts& device) {
  constexpr int kMost = 8, kLeastSteps = 8;
  constexpr int64_t kResident = Shape::kM * Shape::kN <= 64 * 64 ? 2 : 1;
  const int64_t blocks = ceil_div(g.rows, Shape::kM) * ceil_div(g.K, Shape::kN) * groups, steps = g.k_vectors / Shape::kVectorsPerRow;
  int splits = 1;
  while (splits < kMost && 2 * splits * blocks <= kResident * device.units && steps / (2 * splits) >= kLeastSteps) splits *= 2;
  return splits > 1 && has_clusters(most_shared_bytes<Shape>(device.wave) + Shape::kAlign) ? splits : 1;
}

// A warp that only copies is faster along more stages than are loaded at the start. The registers of four go with it, which costs large
// tiles the second block of a multiprocessor, where there is one. Measured on an H200 (docs/appendix/kernels-notes.md).
template <class Shape>
bool has_feed_warp(const GemmConv& g, int64_t groups, const DeviceFacts& device) {
  constexpr int kFewSteps = 4;
  if (!Shape::kMayFeed || g.k_vectors / Shape::kVectorsPerRow <= kFewSteps) return false;
  return Shape::kM * Shape::kN < 128 * 128 || ceil_div(g.rows, Shape::kM) * ceil_div(g.K, Shape::kN) * groups <= device.units;
}

// RowBytes: of a stage's channels. `g` as for the tiles that gather.
template <int BM, int BN, int Stages, bool Deep, int RowBytes>
Status enqueue_tma(GemmConv g, int64_t groups, hipStream_t stream) {
  using Shape = TmaShape<BM, BN, Stages, Deep, RowBytes>;
  CUtensorMap input, filter;
  SBK_TRY(map_input(g, BM, &input));
  SBK_TRY(map_filter(g, BN, &filter));
  g.k_vectors = g.Q * g.R * g.S * static_cast<int32_t>(ceil_div(g.C, Shape::kDepth)) * Shape::kVectorsPerRow;  // with the zeros
  DeviceFacts device;
  SBK_TRY(device_facts(&device));
  const int splits = splits_of<Shape>(g, groups, device);
  const int threads = has_feed_warp<Shape>(g, groups, device) ? Shape::kBlock : Shape::kThreads;
  return enqueue_tiles<Shape>(conv_tma<Shape>, threads, Shape::kAlign, g, groups, splits, stream, splits, input, filter);
}

template <bool Deep>
Status launch_tma(const GemmConv& g, int64_t groups, int index, hipStream_t stream) {
  if (stage_channels(g) == 32) {
    if (index == 0) return enqueue_tma<64, 64, 8, Deep, 64>(g, groups, stream);
    if (index == 1) return enqueue_tma<128, 64, 8, Deep, 64>(g, groups, stream);
    if (index == 2) return enqueue_tma<128, 128, 6, Deep, 64>(g, groups, stream);
    if (index == 3) return enqueue_tma<128, 32, 8, Deep, 64>(g, groups, stream);
    return enqueue_tma<256, 32, 6, Deep, 64>(g, groups, stream);
  }
  switch (index) {
    case 0: return enqueue_tma<64, 64, 6, Deep, 128>(g, groups, stream);
    case 1: return enqueue_tma<128, 64, 4, Deep, 128>(g, groups, stream);
    case 2: return enqueue_tma<128, 128, 3, Deep, 128>(g, groups, stream);
    case 3: return enqueue_tma<64, 128, 4, Deep, 128>(g, groups, stream);
    case 4: return enqueue_tma<64, 256, 4, Deep, 128>(g, groups, stream);
    case 5: return enqueue_tma<256, 128, 4, Deep, 128>(g, groups, stream);
    default: return enqueue_tma<256, 32, 4, Deep, 128>(g, groups, stream);
  }
}

template <bool Deep>
Status launch_gathered(const GemmConv& g, int64_t groups, int index, hipStream_t stream) {
  if (index == 0) return enqueue<64, 64, 4, Deep>(g, groups, stream);
  if (index == 1) return enqueue<128, 64, 4, Deep>(g, groups, stream);
  return enqueue<128, 128, 4, Deep>(g, groups, stream);
}

constexpr GemmTile kTiles[] = {{64, 64, 0.85}, {128, 64, 0.92}, {128, 128, 1.0}};
// Along a K of up to two stages, up to eight, and more. Fitted to the times of each tile for 128 shapes on an H200, of which a tile of the
// least cost takes 1.02 times the fastest one's on average.
constexpr int64_t kStageValues = 64;
constexpr GemmTile kTmaTiles[][7] = {
    {{64, 64, 2.07}, {128, 64, 0.94}, {128, 128, 1.49}, {64, 128, 2.04}, {64, 256, 1.6}, {256, 128, 1.43}, {256, 32, 1.4}},
    {{64, 64, 1.19}, {128, 64, 1.38}, {128, 128, 1.49}, {64, 128, 0.58}, {64, 256, 1.34}, {256, 128, 1.25}, {256, 32, 0.85}},
    {{64, 64, 1.68}, {128, 64, 1.82}, {128, 128, 1.49}, {64, 128, 0.98}, {64, 256, 1.94}, {256, 128, 2.68}, {256, 32, 1.28}},
};
// With stages of 32 channels.
constexpr GemmTile kNarrowTmaTiles[] = {{64, 64, 0.6}, {128, 64, 0.96}, {128, 128, 1.49}, {128, 32, 0.7}, {256, 32, 0.9}};

// Tiles of 32 channels are for so few outputs: with more of them the pixels would be read again for each.
GemmTile for_outputs(const GemmConv& g, const GemmTile& tile) {
  constexpr double kAgain = 0.5;
  return tile.n == 32 && g.K > tile.n ? GemmTile{tile.m, tile.n, tile.rate * kAgain} : tile;
}

int depth_class(const GemmConv& g) {
  const int64_t stages = g.Q * g.R * g.S * ceil_div(g.C, kStageValues);
  return stages <= 2 ? 0 : stages <= 8 ? 1 : 2;
}

}  // namespace

bool takes_copy_engine(const GemmConv& g) { return on_hopper() && takes_tma(g) && maps_overlap(); }

int wgmma_tiles(const GemmConv& g, GemmTile* tiles) {
  if (!on_hopper()) return 0;
  int count = 0;
  if (takes_tma(g)) {
    if (stage_channels(g) == 32) {
      for (const GemmTile& tile : kNarrowTmaTiles) tiles[count++] = for_outputs(g, tile);
    } else {
      for (const GemmTile& tile : kTmaTiles[depth_class(g)]) tiles[count++] = for_outputs(g, tile);
    }
  } else {
    for (const GemmTile& tile : kTiles) tiles[count++] = tile;
  }
  return count;
}

Status launch_wgmma(const GemmConv& g, int64_t groups, int index, hipStream_t stream) {
  if (takes_tma(g)) return is_deep(g) ? launch_tma<true>(g, groups, index, stream) : launch_tma<false>(g, groups, index, stream);
  return is_deep(g) ? launch_gathered<true>(g, groups, index, stream) : launch_gathered<false>(g, groups, index, stream);
}

}  // namespace sbk::conv_detail
