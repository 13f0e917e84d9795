// Compiled for sm_90a alone, the one target that has wgmma: cmake/device-library.cmake.
#include "conv/conv_wgmma.hpp"

#include "common/hopper_host.hpp"
#include "conv/conv_tma_kernels.hpp"
#include "conv/conv_wgmma_kernels.hpp"

namespace sbk::conv_detail {
namespace {

// Places of the bounding box that the engine walks: its first window's corner, and how far beyond (before) the image's last
// line or column the last window's corner lies.
struct Box {
  int lower[2], upper[2];  // width, then height, as the engine has them
};

Box box_of(const GemmConv& g) {
  const int out[2] = {static_cast<int>(g.image.divisor() / g.line.divisor()), static_cast<int>(g.line.divisor())};
  const int in[2] = {g.H, g.W};
  Box box{};
  for (int i = 0; i < 2; ++i) {
    box.lower[1 - i] = -g.pad[i];
    box.upper[1 - i] = -g.pad[i] + (out[i] - 1) * g.stride[i] + 1 - in[i];
  }
  return box;
}

// The engine's limits: corners in 8 bits, offsets of taps too, strides up to 8.
bool takes_tma(const GemmConv& g) {
  if (g.C % 64 != 0 || is_deep(g) || g.H == 0 || g.W == 0 || TensorMapMakers::get().im2col == nullptr || TensorMapMakers::get().tiled == nullptr) return false;
  const Box box = box_of(g);
  for (int i = 0; i < 2; ++i) {
    if (box.lower[i] < -128 || box.upper[i] < -128 || box.upper[i] > 127 || g.stride[i] > 8) return false;
  }
  return (g.R - 1) * g.dilation[0] < 256 && (g.S - 1) * g.dilation[1] < 256;
}

Status made(CUresult result) {
  return result == CUDA_SUCCESS ? Status{} : Status{Code::device_error, "conv: the driver makes no tensor map for this shape"};
}

Status map_input(const GemmConv& g, uint32_t pixels, CUtensorMap* map) {
  const uint64_t images = static_cast<uint64_t>(g.rows) / g.image.divisor(), channels = static_cast<uint64_t>(g.x_channels);
  const cuuint64_t extents[4] = {channels, static_cast<uint64_t>(g.W), static_cast<uint64_t>(g.H), images};
  const cuuint64_t strides[3] = {channels * 2, channels * 2 * extents[1], channels * 2 * extents[1] * extents[2]};
  const cuuint32_t steps[4] = {1, static_cast<uint32_t>(g.stride[1]), static_cast<uint32_t>(g.stride[0]), 1};
  const Box box = box_of(g);
  return made(TensorMapMakers::get().im2col(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, const_cast<void*>(g.x), extents, strides,
                                   box.lower, box.upper, 64, pixels, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                   CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
}

Status map_filter(const GemmConv& g, uint32_t channels, CUtensorMap* map) {
  const cuuint64_t depth = static_cast<uint64_t>(g.k_vectors) * lanes_of<__half>();
  const cuuint64_t extents[2] = {depth, static_cast<uint64_t>(g.y_channels)}, strides[1] = {depth * 2};
  const cuuint32_t box[2] = {64, channels}, steps[2] = {1, 1};
  return made(TensorMapMakers::get().tiled(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, const_cast<void*>(g.w), extents, strides, box,
                                  steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                  CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
}

template <int BM, int BN, int Stages, bool Deep>
Status enqueue(const GemmConv& g, int64_t groups, hipStream_t stream) {
  using Shape = HopperShape<BM, BN, Stages, Deep>;
  return enqueue_tiles<Shape>(conv_wgmma<Shape>, Shape::kThreads, Shape::kAlign, g, groups, stream);
}

template <int BM, int BN, int Stages>
Status enqueue_tma(const GemmConv& g, int64_t groups, hipStream_t stream) {
  using Shape = TmaShape<BM, BN, Stages>;
  CUtensorMap input, filter;
  SBK_TRY(map_input(g, BM, &input));
  SBK_TRY(map_filter(g, BN, &filter));
  return enqueue_tiles<Shape>(conv_tma<Shape>, Shape::kBlock, Shape::kAlign, g, groups, stream, input, filter);
}

template <bool Deep>
Status launch_gathered(const GemmConv& g, int64_t groups, int index, hipStream_t stream) {
  if (index == 0) return enqueue<64, 64, 4, Deep>(g, groups, stream);
  if (index == 1) return enqueue<128, 64, 4, Deep>(g, groups, stream);
  return enqueue<128, 128, 4, Deep>(g, groups, stream);
}

constexpr GemmTile kTiles[] = {{64, 64, 0.85}, {128, 64, 0.92}, {128, 128, 1.0}};
constexpr GemmTile kTmaTiles[] = {{64, 64, 0.6}, {128, 64, 0.96}, {128, 128, 1.49}, {64, 128, 1.15}, {64, 256, 1.2}, {256, 128, 1.3}};

}  // namespace

int wgmma_tiles(const GemmConv& g, GemmTile* tiles) {
  if (!on_hopper()) return 0;
  int count = 0;
  if (takes_tma(g)) {
    for (const GemmTile& tile : kTmaTiles) tiles[count++] = tile;
  } else {
    for (const GemmTile& tile : kTiles) tiles[count++] = tile;
  }
  return count;
}

Status launch_wgmma(const GemmConv& g, int64_t groups, int index, hipStream_t stream) {
  if (is_deep(g)) return launch_gathered<true>(g, groups, index, stream);
  if (!takes_tma(g)) return launch_gathered<false>(g, groups, index, stream);
  switch (index) {
    case 0: return enqueue_tma<64, 64, 6>(g, groups, stream);
    case 1: return enqueue_tma<128, 64, 4>(g, groups, stream);
    case 2: return enqueue_tma<128, 128, 3>(g, groups, stream);
    case 3: return enqueue_tma<64, 128, 4>(g, groups, stream);
    case 4: return enqueue_tma<64, 256, 4>(g, groups, stream);
    default: return enqueue_tma<256, 128, 4>(g, groups, stream);
  }
}

}  // namespace sbk::conv_detail
