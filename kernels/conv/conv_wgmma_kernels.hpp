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

  // Two neighbouring sums of row lane_id() / 4, or of the row eight further on: columns 8 n + 2 (lane_id() % 4) and the next.
  __device__ __forceinline__ float2 pair(int n, int half) const { return {sums_[n * 4 + half * 2], sums_[n * 4 + half * 2 + 1]}; }

  // All of a thread's sums, as `each` wants them: each(sum, place), the place among those of the block.
  template <class F>
  __device__ __forceinline__ void each(F f) {
#pragma unroll
    for (int i = 0; i < Shape::kN / 2; ++i) f(sums_[i], i * Shape::kThreads + static_cast<int>(threadIdx.x));
  }

 private:
  float sums_[Shape::kN / 2];
};

// Among the four lanes of a quad: word i of lane q becomes word q of lane i.
__device__ __forceinline__ void transpose_quad(uint32_t (&words)[4]) {
#pragma unroll
  for (int mask = 1; mask < 4; mask *= 2) {
    const bool upper = (lane_id() & mask) != 0;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int low = mask == 1 ? 2 * i : i, high = low + mask;
      const uint32_t other = shuffle_xor(upper ? words[low] : words[high], mask);
      words[low] = upper ? other : words[low];
      words[high] = upper ? words[high] : other;
    }
  }
}

// With the fast functions, which leave float16 all its digits.
template <int N>
__device__ __forceinline__ void activate_half(const ActivationParams& a, float (&x)[N]) {
  if (a.kind != Activation::silu) return activate_all(a, x);
#pragma unroll
  for (float& value : x) value = __fdividef(value, 1.0f + __expf(-value));
}

// Channels last, whole vectors: sums become float16 where they are, and a quad's lanes exchange them, so that each has eight
// neighbours of a row. A row's eight are read (residual) and written by the same lane.
template <class Shape>
__device__ __forceinline__ void store_quads(const GemmConv& g, const HopperTile<Shape>& tile, int row0, int column0, int group) {
  constexpr int kLanes = Shape::kLanes, kWide = 4 * kLanes;  // columns that quads exchange
  constexpr int kParts = Shape::kN / kWide, kAtOnce = kParts < 2 ? 1 : 2;  // residuals that are read before the first is used
  using Words = Vec<uint32_t, 4>;
  const int lane = lane_id() % 4, row = row0 + wave_id() * 16 + lane_id() / 4;
  const int channel0 = group * g.K + column0, columns = g.K - column0;
  const bool has[2] = {row < g.rows, row + 8 < g.rows};
  const int64_t place = static_cast<int64_t>(row) * g.y_channels + channel0 + lane * kLanes;
  const int eight = 8 * g.y_channels;
  const auto* bias = static_cast<const __half*>(g.bias);
  const auto* residual = static_cast<const __half*>(g.residual) + place;
  auto* y = static_cast<__half*>(g.y) + place;
  const bool with_bias = g.bias != nullptr, with_residual = g.residual != nullptr;
#pragma unroll
  for (int part0 = 0; part0 < kParts; part0 += kAtOnce) {
    Words vectors[kAtOnce][2] = {};
    if (with_residual) {
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int column = (part0 + i) * kWide;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          if (has[half] && column + lane * kLanes < columns) vectors[i][half] = *reinterpret_cast<const Words*>(residual + half * eight + column);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int column = (part0 + i) * kWide;
      __half2 biases[4] = {};
      if (with_bias) {
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          if (column + n * 8 + 2 * lane < columns) biases[n] = *reinterpret_cast<const __half2*>(bias + bias_place(g, channel0 + column + n * 8 + 2 * lane));
        }
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        uint32_t(&words)[4] = vectors[i][half].v;
        if (with_residual) transpose_quad(words);
        float sums[8];
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          float2 sum = tile.pair((part0 + i) * 4 + n, half);
          if (g.odd != nullptr && !(fabsf(sum.x) + fabsf(sum.y) < INFINITY)) *g.odd = 1;
          const float2 more = __half22float2(biases[n]);
          sum.x += more.x, sum.y += more.y;
          if (with_residual) {
            __half2 addend;
            memcpy(&addend, &words[n], sizeof addend);
            const float2 also = __half22float2(addend);
            sum.x += also.x, sum.y += also.y;
          }
          sums[2 * n] = sum.x, sums[2 * n + 1] = sum.y;
        }
        activate_half(g.activation, sums);
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          const __half2 halves = __floats2half2_rn(sums[2 * n], sums[2 * n + 1]);
          memcpy(&words[n], &halves, sizeof halves);
        }
        transpose_quad(words);
        if (has[half] && column + lane * kLanes < columns) *reinterpret_cast<Words*>(y + half * eight + column) = vectors[i][half];
      }
    }
  }
}

template <class Shape>
__device__ __forceinline__ void store_tile(const GemmConv& g, const HopperTile<Shape>& tile, float* shared, const TileOrigin<Shape>& at) {
  if (g.channels_last && g.aligned && g.K % Shape::kLanes == 0) store_quads<Shape>(g, tile, at.row, at.column, at.group);
  else store<__half>(g, tile, shared, at.row, at.column, at.group);
}

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
  store_tile<Shape>(g, tile, reinterpret_cast<float*>(shared), at);
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
