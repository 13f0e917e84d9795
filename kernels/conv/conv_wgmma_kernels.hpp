// The implicit GEMM for float16 on NVIDIA's Hopper (sm_90a): wgmma reads both operands from shared memory itself, four
// waves to an instruction. Everything around the product is the general kernel's (conv_gemm_kernels.hpp).
#pragma once

#include "common/hopper.hpp"
#include "conv/conv_gemm_kernels.hpp"

namespace sbk::conv_detail {

// A block's tile of BM pixels by BN channels, 64 pixels to a warpgroup. A stage has rows of 128 bytes, swizzled: within
// eight rows, vector v of row r lies in place v ^ r. (Rows of 64 bytes, and 32 channels, are the copy engine's alone.)
template <int BM, int BN, int Stages, bool Deep = false, int RowBytes = 128>
struct HopperShape {
  using Type = __half;
  static constexpr bool kDeep = Deep;
  static constexpr int kM = BM, kN = BN, kThreads = BM * 2, kVector = kVectorBytes, kStages = Stages;
  static constexpr int kLanes = lanes_of<__half>();
  static constexpr int kRowBytes = RowBytes, kVectorsPerRow = kRowBytes / kVector, kDepth = kRowBytes / 2;
  static constexpr int kStage = (BM + BN) * kRowBytes;
  static constexpr int kRowStep = kThreads / kVectorsPerRow;
  static constexpr int kAlign = 1024;  // eight rows
  static_assert(BM % 64 == 0 && (BN == 32 || (BM % kRowStep == 0 && BN % kRowStep == 0)) && (BN == 32 || BN == 64 || BN == 128 || BN == 256));
  // A warp's 16 rows leave 64 columns at a time, or all 32. The padding keeps pairs of columns of four rows in different banks.
  static constexpr int kColumns = BN < 64 ? BN : 64, kLdLast = kColumns + 8, kLdFirst = 16 + 4;
  static constexpr int kBuffer = 16 * kLdLast > kColumns * kLdFirst ? 16 * kLdLast : kColumns * kLdFirst;  // floats

  static constexpr __host__ __device__ int place(int row, int column) {
    return row * kRowBytes + ((column ^ (row % 8)) * kVector);
  }
  static constexpr int out_bytes(int wave) { return kThreads / wave * kBuffer * 4; }
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// One warp's 16 of its warpgroup's 64 rows. They leave 64 columns at a time.
template <class Shape>
class HopperTile {
 public:
  static constexpr int kParts = 1, kWaves = Shape::kThreads / kWaveSize;
  static constexpr int kColumns = Shape::kColumns, kPieces = Shape::kN / kColumns;
  static constexpr int kLdLast = Shape::kLdLast, kLdFirst = Shape::kLdFirst, kBuffer = Shape::kBuffer;

  __device__ __forceinline__ HopperTile() {
#pragma unroll
    for (float& x : sums_) x = 0.0f;
  }
  __device__ __forceinline__ static int part() { return 0; }
  __device__ __forceinline__ static int number() { return wave_id(); }
  __device__ __forceinline__ static int row(int) { return wave_id() * 16; }
  __device__ __forceinline__ static int column(int piece) { return piece * kColumns; }

  // Begins the products of a stage, of which at most those of one stage before may still run.
  __device__ __forceinline__ void multiply(const char* stage) {
    const uint64_t a = wgmma::descriptor<Shape::kRowBytes>(stage + wave_id() / 4 * 64 * Shape::kRowBytes);
    const uint64_t b = wgmma::descriptor<Shape::kRowBytes>(stage + Shape::kM * Shape::kRowBytes);
    wgmma::fence();
#pragma unroll
    for (int k = 0; k < Shape::kDepth / 16; ++k) wgmma::multiply(sums_, a + 2 * k, b + 2 * k);
    wgmma::commit();
  }

  __device__ __forceinline__ void put(int piece, float* buffer, bool last) const {
    const int row = lane_id() / 4, column = 2 * (lane_id() % 4);
#pragma unroll
    for (int n = 0; n < kColumns / 8; ++n) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float x = sums_[piece * (kColumns / 2) + n * 4 + half * 2], y = sums_[piece * (kColumns / 2) + n * 4 + half * 2 + 1];
        const int r = row + 8 * half, c = n * 8 + column;
        if (last) {
          *reinterpret_cast<float2*>(buffer + r * kLdLast + c) = make_float2(x, y);
        } else {
          buffer[c * kLdFirst + r] = x;
          buffer[(c + 1) * kLdFirst + r] = y;
        }
      }
    }
  }

  // All of a thread's sums, as `each` wants them: each(sum, place), the place among those of the block.
  template <class F>
  __device__ __forceinline__ void each(F f) {
#pragma unroll
    for (int i = 0; i < Shape::kN / 2; ++i) f(sums_[i], i * Shape::kThreads + static_cast<int>(threadIdx.x));
  }

 private:
  float sums_[Shape::kN / 2];
};

// The products of one stage run while the next is waited for, so a stage may be overwritten two steps after its own.
template <class Shape>
__device__ __forceinline__ void wgmma_block(const GemmConv& g, char* shared) {
  constexpr int kAhead = Shape::kStages - 2;
  const TileOrigin<Shape> at(g, blockIdx.x);
  StageCopies<Shape> copies(g, at, shared);
  wait_for_previous();
#pragma unroll
  for (int step = 0; step < kAhead; ++step) copies.begin(step);
  HopperTile<Shape> tile;
  for (int step = 0; step < copies.steps(); ++step) {
    Copies<1>::template wait<kAhead - 1>();
    wgmma::publish();
    __syncthreads();
    tile.multiply(copies.stage(step));
    copies.begin(step + kAhead);
    wgmma::wait<1>();
  }
  wgmma::wait<0>();
  Copies<1>::template wait<0>();
  __syncthreads();
  let_next_start();
  store<__half>(g, tile, reinterpret_cast<float*>(shared), at.row, at.column, at.group);
}

#endif  // sm_90a

template <class Shape>
__global__ void __launch_bounds__(Shape::kThreads) conv_wgmma([[maybe_unused]] const GemmConv g) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(16) char dynamic[];
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(dynamic));
  wgmma_block<Shape>(g, dynamic + (Shape::kAlign - address % Shape::kAlign) % Shape::kAlign);
#endif
}

}  // namespace sbk::conv_detail
