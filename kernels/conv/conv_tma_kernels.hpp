// The implicit GEMM for float16 on NVIDIA's Hopper, fed by the tensor copy engine: one lane of a block, of a warp of its own
// or of the first that multiplies, orders whole tiles (input pixels in the engine's im2col order, zeros outside the image), so that no thread works out an
// address. A stage has 64 channels of one tap, or 32; where a convolution has other numbers of them and no groups, the engine
// puts zeros beyond the last. The blocks of a cluster may share a tile's sums, each with a part of the stages: the first adds
// up the others' over their shared memory. Facts: PTX ISA, "Tensors"; CUDA driver API, tensor maps.
#pragma once

#include <cuda.h>

#include "conv/conv_wgmma_kernels.hpp"

namespace sbk::conv_detail {

// HopperShape, and a warp more that copies, where blocks have one.
template <int BM, int BN, int Stages, bool Deep, int RowBytes>
struct TmaShape : HopperShape<BM, BN, Stages, Deep, RowBytes> {
  using Base = HopperShape<BM, BN, Stages, Deep, RowBytes>;
  static constexpr int kWarps = Base::kThreads / kNarrowestWave;  // that multiply
  static constexpr bool kMayFeed = BM < 256 || BN < 128;  // registers for another warp
  static constexpr int kBlock = Base::kThreads + (kMayFeed ? kNarrowestWave : 0);
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

__device__ __forceinline__ void copy_pixels(char* to, const CUtensorMap& map, Barrier& barrier, int c, int w, int h, int n,
                                            int s, int r) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
      "[%2], {%7, %8};" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))),
      "l"(&map), "r"(barrier.address()), "r"(c), "r"(w), "r"(h), "r"(n), "h"(static_cast<uint16_t>(s)),
      "h"(static_cast<uint16_t>(r))
      : "memory");
}

__device__ __forceinline__ void copy_voxels(char* to, const CUtensorMap& map, Barrier& barrier, int c, int w, int h, int d, int n,
                                            int s, int r, int q) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], "
      "[%2], {%8, %9, %10};" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))),
      "l"(&map), "r"(barrier.address()), "r"(c), "r"(w), "r"(h), "r"(d), "r"(n), "h"(static_cast<uint16_t>(s)),
      "h"(static_cast<uint16_t>(r)), "h"(static_cast<uint16_t>(q))
      : "memory");
}

__device__ __forceinline__ void copy_filters(char* to, const CUtensorMap& map, Barrier& barrier, int c, int tap, int channel) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(
          static_cast<uint32_t>(__cvta_generic_to_shared(to))),
      "l"(&map), "r"(barrier.address()), "r"(c), "r"(tap), "r"(channel)
      : "memory");
}

// The stages [first, last) of a block.
struct StageRange {
  int first, last;
};

// Orders stages' tiles, one after the other.
template <class Shape>
class TmaFeed {
 public:
  __device__ __forceinline__ TmaFeed(const GemmConv& g, const TileOrigin<Shape>& at, int first) {
    n_ = static_cast<int>(g.image.divide(at.row));
    int pixel = at.row - n_ * static_cast<int>(g.image.divisor());
    if constexpr (Shape::kDeep) {
      const auto od = static_cast<int>(g.plane.divide(pixel));
      pixel -= od * static_cast<int>(g.plane.divisor());
      d_ = od * g.deep_stride - g.deep_pad;
    }
    const auto oh = static_cast<int>(g.line.divide(pixel));
    const int ow = pixel - oh * static_cast<int>(g.line.divisor());
    h_ = oh * g.stride[0] - g.pad[0], w_ = ow * g.stride[1] - g.pad[1];
    const int of_tap = (g.C + Shape::kDepth - 1) / Shape::kDepth;
    tap_ = first / of_tap, c_ = (first - tap_ * of_tap) * Shape::kDepth;
    r_ = tap_ / g.S, s_ = tap_ - r_ * g.S, q_ = Shape::kDeep ? r_ / g.R : 0;
    r_ -= q_ * g.R;
  }
  // The next stage's, into its place, which is free.
  __device__ __forceinline__ void order(const GemmConv& g, const CUtensorMap& input, const CUtensorMap& filter, char* stage, Barrier& full,
                                        const TileOrigin<Shape>& at) {
    full.arrive_expecting(Shape::kStage);
    if constexpr (Shape::kDeep) {
      copy_voxels(stage, input, full, at.group * g.C + c_, w_, h_, d_, n_, s_ * g.dilation[1], r_ * g.dilation[0], q_ * g.deep_dilation);
    } else {
      copy_pixels(stage, input, full, at.group * g.C + c_, w_, h_, n_, s_ * g.dilation[1], r_ * g.dilation[0]);
    }
    copy_filters(stage + Shape::kM * Shape::kRowBytes, filter, full, c_, tap_, at.group * g.K + at.column);
    c_ += Shape::kDepth;
    if (c_ >= g.C) {
      c_ = 0;
      ++tap_;
      if (++s_ == g.S) s_ = 0, ++r_;
      if (Shape::kDeep && r_ == g.R) r_ = 0, ++q_;
    }
  }

 private:
  int n_, d_ = 0, h_, w_, c_, tap_, s_, r_, q_;
};

template <class Shape>
__device__ __forceinline__ void tma_block(const GemmConv& g, const CUtensorMap& input, const CUtensorMap& filter,
                                          int splits, char* shared) {
  __shared__ Barrier full[Shape::kStages], empty[Shape::kStages];
  const uint32_t place = blockIdx.x / static_cast<uint32_t>(splits);
  const int part = static_cast<int>(blockIdx.x - place * static_cast<uint32_t>(splits)), all = g.k_vectors / Shape::kVectorsPerRow;
  const TileOrigin<Shape> at(g, place);
  const StageRange stages{all * part / splits, all * (part + 1) / splits};
  const int steps = stages.last - stages.first;
  if (threadIdx.x == 0) {
    for (int i = 0; i < Shape::kStages; ++i) {
      full[i].init(1);
      empty[i].init(Shape::kWarps);
    }
    wgmma::publish();
  }
  __syncthreads();
  wait_for_previous();
  const auto order = [&](TmaFeed<Shape>& feed, int step) {
    const int place = step % Shape::kStages;
    feed.order(g, input, filter, shared + place * Shape::kStage, full[place], at);
  };
  const bool has_feed_warp = Shape::kMayFeed && blockDim.x == Shape::kBlock;
  TmaFeed<Shape> feed(g, at, stages.first);
  if (has_feed_warp && wave_id() == Shape::kWarps) {
    if (lane_id() != 0) return;
    for (int step = 0; step < steps; ++step) {
      if (step >= Shape::kStages) empty[step % Shape::kStages].wait((step / Shape::kStages - 1) % 2);
      order(feed, step);
    }
    return;
  }
  const bool is_feed = !has_feed_warp && threadIdx.x == 0;
  if (is_feed) {
    for (int step = 0; step < steps && step < Shape::kStages; ++step) order(feed, step);
  }
  HopperTile<Shape> tile;
  for (int step = 0; step < steps; ++step) {
    full[step % Shape::kStages].wait(step / Shape::kStages % 2);
    tile.multiply(shared + step % Shape::kStages * Shape::kStage);
    wgmma::wait<1>();
    if (step > 0 && lane_id() == 0) empty[(step - 1) % Shape::kStages].arrive();
    if (is_feed && step > 0 && step - 1 + Shape::kStages < steps) {
      empty[(step - 1) % Shape::kStages].wait((step - 1) / Shape::kStages % 2);
      order(feed, step - 1 + Shape::kStages);
    }
    __syncwarp();
  }
  wgmma::wait<0>();
  sync_some(1, Shape::kThreads);  // the warps that multiply
  if (splits > 1) {
    auto* sums = reinterpret_cast<float*>(shared);
    if (part > 0) tile.each([&](float& sum, int at_sum) { sums[at_sum] = sum; });
    cluster_barrier();
    for (int other = 1; part == 0 && other < splits; ++other) {
      const uint32_t there = shared_of(other, sums);
      tile.each([&](float& sum, int at_sum) { sum += load_there(there + 4 * at_sum); });
    }
    cluster_barrier();
    if (part > 0) return;
  }
  let_next_start();
  store_tile<Shape>(g, tile, reinterpret_cast<float*>(shared), at);
}

#endif  // sm_90a

template <class Shape>
__global__ void __launch_bounds__(Shape::kBlock)
    conv_tma([[maybe_unused]] const GemmConv g, [[maybe_unused]] int splits, [[maybe_unused]] const __grid_constant__ CUtensorMap input,
             [[maybe_unused]] const __grid_constant__ CUtensorMap filter) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(16) char dynamic[];
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(dynamic));
  tma_block<Shape>(g, input, filter, splits, dynamic + (Shape::kAlign - address % Shape::kAlign) % Shape::kAlign);
#endif
}

}  // namespace sbk::conv_detail
