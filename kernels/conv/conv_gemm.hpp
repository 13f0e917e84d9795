// Host side of the implicit GEMM: which shapes it takes, what it needs, how it is launched.
#pragma once

#include "common/limits.hpp"
#include "common/overlap.hpp"
#include "conv/conv_gemm_kernels.hpp"
#include "conv/conv_plan.hpp"

namespace sbk::conv_detail {

// Bytes of the packed copies in the workspace, one behind the other; 0 for a tensor that is used as it is.
struct GemmNeeds {
  bool fits = false;
  size_t input = 0, filter = 0;
  size_t flag = 0;           // bytes of gemm_flag
  bool packed_weights = false;  // the filters are there, packed, as ConvParams::packed_weights
  int64_t form = 0;          // of packed filters; 0 where they are used as they are
  size_t packed_filter = 0;  // bytes of them

  static size_t round_up(size_t bytes) { return (bytes + 255) / 256 * 256; }
  size_t filter_at() const { return round_up(input); }
  size_t flag_at() const { return filter_at() + round_up(filter); }
  size_t bytes() const { return flag_at() + round_up(flag); }
};

GemmNeeds gemm_needs(const ConvParams& p);
// Where run_gemm has merged groups, whose filters hold zeros for each other's channels: in the workspace, 1 where a sum was no
// number, which may have been another group's. Then the convolution has to be made again in another way. Else null.
int32_t* gemm_flag(const ConvParams& p, const Launch& launch);
// Whether it takes the shape, and the current device has the shared memory for the tile that `p` names, or for any.
bool takes_gemm(const ConvParams& p);
// ConvParams::variant names one of the tiles, from 1; 0 leaves the choice to their cost.
int gemm_variants(const ConvParams& p);
Status run_gemm(const ConvParams& p, const Launch& launch);
// The filters as run_gemm reads them, GemmNeeds::packed_filter bytes of the form that gemm_needs says.
Status pack_filter(const ConvParams& p, void* to, hipStream_t stream);

// Whether an image has three axes to gather over.
inline bool is_deep(const GemmConv& g) { return g.D > 1 || g.Q > 1 || g.image.divisor() != g.plane.divisor(); }

// Output pixels and channels of a block, and how well tiles of that size keep the matrix units busy, relative to others.
struct GemmTile {
  int64_t m, n;
  double rate;
};
constexpr int kMaxGemmTiles = 12;

// The block's stages (no more than there are steps), or the waves' buffers at the end where those are larger. `wave`: lanes
// of one on the device.
template <class Shape>
int shared_bytes(int64_t k_vectors, int wave) {
  const int64_t steps = ceil_div(k_vectors, Shape::kVectorsPerRow);
  const int stages = static_cast<int>(steps < Shape::kStages ? steps : Shape::kStages) * Shape::kStage;
  const int out = Shape::out_bytes(wave);
  return stages > out ? stages : out;
}

// The most that a block of these tiles asks for.
template <class Shape>
int most_shared_bytes(int wave) {
  return shared_bytes<Shape>(INT32_MAX, wave);
}

// `more`: bytes of shared memory beyond those, for alignment. `splits`: blocks of a cluster that share a tile's sums.
// `arguments`: the kernel's, after `g`.
template <class Shape, class Kernel, class... Arguments>
Status enqueue_tiles(Kernel kernel, int threads, int more, GemmConv g, int64_t groups, int splits, hipStream_t stream,
                     const Arguments&... arguments) {
  const int64_t columns = ceil_div(g.K, Shape::kN);
  const int64_t blocks = ceil_div(g.rows, Shape::kM) * columns * splits;
  if (blocks > most_blocks(threads)) return unsupported_status("conv: more tiles than one launch takes");
  DeviceFacts device;
  SBK_TRY(device_facts(&device));
  const int most = most_shared_bytes<Shape>(device.wave) + more;
  if (most > device.shared) return unsupported_status("conv: the device has too little shared memory (LDS) for this tile");
  g.column_tiles = static_cast<int32_t>(columns);
  g.columns = FastDivisor(static_cast<uint32_t>(columns));
  // The limit is always set to the most that the kernel can ask for: another thread may set it at the same time.
  SBK_HIP(hipFuncSetAttribute(reinterpret_cast<const void*>(kernel), hipFuncAttributeMaxDynamicSharedMemorySize, most));
  return launch_overlapped_cluster(kernel, dim3(static_cast<uint32_t>(blocks), 1, static_cast<uint32_t>(groups)),
                                   dim3(static_cast<uint32_t>(threads)), splits,
                                   static_cast<size_t>(shared_bytes<Shape>(g.k_vectors, device.wave) + more), stream, g, arguments...);
}

}  // namespace sbk::conv_detail
