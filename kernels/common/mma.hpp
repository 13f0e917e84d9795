// Matrix products of one wave on 16 x 16 tiles, one interface for every target:
//   NVIDIA        mma.sync: float16 m16n8k16; float32 as three tf32 products (see below)
//   AMD CDNA      v_mfma_f32_16x16x16_f16, v_mfma_f32_16x16x4_f32 (gfx908, gfx90a, gfx942, gfx950)
//   AMD RDNA3/4   v_wmma_f32_16x16x16_f16; float32 by fused multiply-add
//   other AMD     fused multiply-add
// Operands lie in shared memory (LDS) with 32 bytes of K, a slab, consumed per step: 16 float16 or 8 float32.
//
// float32 on NVIDIA keeps float32's accuracy: x = high + low with 11 bits each, and high*high + high*low + low*high
// leaves out only low*low, 2^-20 of the product at most (the split known from CUTLASS's 3xTF32 examples). Single-pass tf32 is
// never used.
#pragma once

#include "common/device.hpp"

#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
#define SBK_MFMA 1
#elif defined(__GFX11__) || defined(__gfx1100__) || defined(__gfx1101__) || defined(__gfx1102__) || \
    defined(__gfx1103__) || defined(__gfx1150__) || defined(__gfx1151__) || defined(__gfx1152__)
#define SBK_WMMA 11
#elif defined(__GFX12__) || defined(__gfx1200__) || defined(__gfx1201__)
#define SBK_WMMA 12
#endif

namespace sbk {

constexpr int kSlabBytes = 32;

template <class T>
__host__ __device__ constexpr int slab_of() {
  return kSlabBytes / static_cast<int>(sizeof(T));
}

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)

// Whether a target has matrix instructions for T; where not, lanes multiply and add.
#if SBK_NVIDIA || defined(SBK_MFMA)
template <class T>
constexpr bool kHasMatrixUnit = true;
#elif defined(SBK_WMMA)
template <class T>
constexpr bool kHasMatrixUnit = sizeof(T) == 2;
#else
template <class T>
constexpr bool kHasMatrixUnit = false;
#endif

constexpr int kTileValues = 256 / kWaveSize;  // values of a 16 x 16 tile that one lane holds

// Where they are. Rows come in `kSlots` groups: value i lies in the row row(slot(i)), which `kLanesPerRow` neighbouring
// lanes share.
template <class T>
struct TileLayout {
#if SBK_NVIDIA
  static constexpr int kSlots = 2;
  static constexpr int kLanesPerRow = 4;
  __device__ static int slot(int i) { return (i >> 1) & 1; }
  __device__ static int row(int s) { return lane_id() / 4 + 8 * s; }
  __device__ static int column(int i) { return 2 * (lane_id() % 4) + (i & 1) + 8 * (i >> 2); }
  static constexpr int kNeighbours = 2;  // values i and i + 1, for even i, are of neighbouring columns of one row
  __device__ static constexpr int place_in_first(int i) { return i & ~2; }  // the value of row(0) in the same column
#else
  static constexpr int kSlots = kTileValues;
  static constexpr int kLanesPerRow = 16;
  __device__ static int slot(int i) { return i; }
  // RDNA3's matrix unit alternates rows between the halves of a wave. Where lanes multiply and add, that is best too:
  // rows that are eight apart would lie in the same banks of LDS.
#if defined(SBK_WMMA) && SBK_WMMA == 11
  static constexpr bool kAlternates = true;
#else
  static constexpr bool kAlternates = !kHasMatrixUnit<T>;
#endif
  __device__ static int row(int s) {
    return kAlternates ? kWaveSize / 16 * s + lane_id() / 16 : kTileValues * (lane_id() / 16) + s;
  }
  __device__ static int column(int) { return lane_id() % 16; }
  static constexpr int kNeighbours = 1;
  __device__ static constexpr int place_in_first(int) { return 0; }
#endif
};

// A 16 x 16 tile of float32 sums.
struct Accumulator {
  float v[kTileValues];
};

__device__ inline void clear(Accumulator& c) {
#pragma unroll
  for (float& x : c.v) x = 0.0f;
}

// Reductions over the lanes that hold one row.
#if !SBK_NVIDIA
static_assert(TileLayout<float>::kLanesPerRow == 16);
__device__ inline float row_max(float x) { return row16_max(x); }
__device__ inline float row_sum(float x) { return row16_sum(x); }
#else
__device__ inline float row_max(float x) {
#pragma unroll
  for (int mask = 1; mask < TileLayout<float>::kLanesPerRow; mask *= 2) x = fmaxf(x, shuffle_xor(x, mask));
  return x;
}
__device__ inline float row_sum(float x) {
#pragma unroll
  for (int mask = 1; mask < TileLayout<float>::kLanesPerRow; mask *= 2) x += shuffle_xor(x, mask);
  return x;
}
#endif

#if SBK_NVIDIA

// One lane's part of a 16 x slab operand: 4 words.
template <class T>
struct Operand {
  uint32_t w[4];
};

__device__ inline void load_matrix(uint32_t (&w)[4], const void* row) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
               : "r"(address));
}

// The left operand: 16 rows of `ld` values, K dense.
template <class T>
__device__ inline void load_rows(Operand<T>& a, const T* tile, int ld) {
  const int lane = lane_id();
  load_matrix(a.w, reinterpret_cast<const char*>(tile + (lane % 16) * ld) + 16 * (lane / 16));
}

// The right operand from its transpose: 16 columns stored as rows of `ld` values, K dense.
template <class T>
__device__ inline void load_columns(Operand<T>& b, const T* tile, int ld) {
  const int lane = lane_id();
  load_matrix(b.w, reinterpret_cast<const char*>(tile + (lane % 8 + 8 * (lane / 16)) * ld) + 16 * (lane / 8 % 2));
}

__device__ inline void mma_step(float* c, const uint32_t* a, const uint32_t* b, const __half*) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ inline void mma_step(float* c, const uint32_t* a, const uint32_t* b, const float*) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// An operand made ready for products: float16 as it is, float32 split in high and low.
template <class T>
struct Ready;

template <>
struct Ready<__half> {
  uint32_t w[4];
  __device__ void set(const Operand<__half>& o) {
#pragma unroll
    for (int i = 0; i < 4; ++i) w[i] = o.w[i];
  }
};

template <>
struct Ready<float> {
  uint32_t high[4], low[4];
  __device__ void set(const Operand<float>& o) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      high[i] = o.w[i] & 0xffffe000u;  // towards zero: the greatest numbers would round to infinity
      // To nearest: the matrix unit reads 11 bits. (Of an infinity the low part, a NaN, becomes a number next to 0.)
      low[i] = __float_as_uint(__uint_as_float(o.w[i]) - __uint_as_float(high[i])) + 0x1000u;
    }
  }
};

__device__ inline void multiply_add(Accumulator& c, const Ready<__half>& a, const Ready<__half>& b) {
  mma_step(c.v, a.w, b.w, static_cast<const __half*>(nullptr));
  mma_step(c.v + 4, a.w, b.w + 2, static_cast<const __half*>(nullptr));
}

// The matrix unit truncates as it adds, and over a long K that shows. So the product of every few slabs starts from
// zero and is added in float32, rounded to nearest (Ootomo & Yokota 2022).
template <int Slabs>
__device__ inline void multiply_add(Accumulator& c, const Ready<float>* a, const Ready<float>* b, int b_step) {
  constexpr const float* tag = nullptr;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int s = 0; s < Slabs; ++s) {
      mma_step(sum, a[s].low, b[s * b_step].high + 2 * half, tag);
      mma_step(sum, a[s].high, b[s * b_step].low + 2 * half, tag);
      mma_step(sum, a[s].high, b[s * b_step].high + 2 * half, tag);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) c.v[4 * half + i] += sum[i];
  }
}

__device__ inline void multiply_add(Accumulator& c, const Ready<float>& a, const Ready<float>& b) {
  multiply_add<1>(c, &a, &b, 0);
}

// The right operand from 16 columns of rows [k][n]: K runs down the rows. For float32 the slab's rows are taken in the
// order 0 2 4 6 1 3 5 7, the one that `weights` gives the left operand.
__device__ inline void load_down(Operand<__half>& b, const __half* tile, int ld) {
  const int lane = lane_id();
  const auto address =
      static_cast<uint32_t>(__cvta_generic_to_shared(tile + (lane % 16) * ld + 8 * (lane / 16)));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(b.w[0]), "=r"(b.w[1]), "=r"(b.w[2]), "=r"(b.w[3])
               : "r"(address));
}
__device__ inline void load_down(Operand<float>& b, const float* tile, int ld) {
  const int lane = lane_id();
  const float* from = tile + 2 * (lane % 4) * ld + lane / 4;
#pragma unroll
  for (int i = 0; i < 4; ++i) b.w[i] = __float_as_uint(from[(i % 2) * ld + (i / 2) * 8]);
}

// The left operand from sums that this wave holds: slab `part` of the tile's 16 columns.
__device__ inline void weights(Operand<__half>& a, const Accumulator& c, int) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const __half2 pair = __floats2half2_rn(c.v[2 * i], c.v[2 * i + 1]);
    memcpy(&a.w[i], &pair, sizeof pair);
  }
}
__device__ inline void weights(Operand<float>& a, const Accumulator& c, int part) {
  a.w[0] = __float_as_uint(c.v[4 * part]);
  a.w[1] = __float_as_uint(c.v[4 * part + 2]);
  a.w[2] = __float_as_uint(c.v[4 * part + 1]);
  a.w[3] = __float_as_uint(c.v[4 * part + 3]);
}

#else  // AMD

typedef _Float16 half4_t __attribute__((ext_vector_type(4)));
typedef _Float16 half8_t __attribute__((ext_vector_type(8)));
typedef _Float16 half16_t __attribute__((ext_vector_type(16)));
typedef float float4_t __attribute__((ext_vector_type(4)));
typedef float float8_t __attribute__((ext_vector_type(8)));

#if defined(SBK_MFMA)

// Lane l holds row (or column) l % 16 and a quarter of the slab, the (l / 16)th.
template <class T>
struct Operand {
  Vec<T, slab_of<T>() / 4> part;
};

template <class T>
__device__ inline void load_rows(Operand<T>& a, const T* tile, int ld) {
  constexpr int kPart = slab_of<T>() / 4;
  a.part = *reinterpret_cast<const Vec<T, kPart>*>(tile + (lane_id() % 16) * ld + kPart * (lane_id() / 16));
}

__device__ inline void mfma(float4_t& c, const Operand<__half>& a, const Operand<__half>& b) {
  half4_t x, y;
  __builtin_memcpy(&x, &a.part, sizeof x);
  __builtin_memcpy(&y, &b.part, sizeof y);
  c = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, c, 0, 0, 0);
}

// Two steps of K = 4: which four of the slab's eight each takes does not matter, so long as both operands agree.
__device__ inline void mfma(float4_t& c, const Operand<float>& a, const Operand<float>& b) {
  c = __builtin_amdgcn_mfma_f32_16x16x4f32(a.part.v[0], b.part.v[0], c, 0, 0, 0);
  c = __builtin_amdgcn_mfma_f32_16x16x4f32(a.part.v[1], b.part.v[1], c, 0, 0, 0);
}

template <class T>
__device__ inline void multiply(Accumulator& c, const Operand<T>& a, const Operand<T>& b) {
  float4_t v;
  __builtin_memcpy(&v, c.v, sizeof v);
  mfma(v, a, b);
  __builtin_memcpy(c.v, &v, sizeof v);
}

#else  // RDNA

static_assert(kTileValues == 8, "RDNA is compiled for in its narrow waves");

#if defined(SBK_WMMA)
// RDNA3 wants all of row (or column) l % 16 in every lane, RDNA4 the (l / 16)th half of it.
constexpr int kOperandBytes = SBK_WMMA == 11 ? kSlabBytes : kSlabBytes / 2;
#else
constexpr int kOperandBytes = kSlabBytes;
#endif

template <class T>
struct Operand {
  Vec<T, kOperandBytes / static_cast<int>(sizeof(T))> part;
};

template <class T>
__device__ inline void load_rows(Operand<T>& a, const T* tile, int ld) {
  constexpr int kPart = kOperandBytes / static_cast<int>(sizeof(T));
  const T* from = tile + (lane_id() % 16) * ld + (kOperandBytes < kSlabBytes ? kPart * (lane_id() / 16) : 0);
  __builtin_memcpy(&a.part, __builtin_assume_aligned(from, kVectorBytes), sizeof a.part);
}

#if defined(SBK_WMMA)
__device__ inline void multiply(Accumulator& c, const Operand<__half>& a, const Operand<__half>& b) {
  float8_t v;
  __builtin_memcpy(&v, c.v, sizeof v);
#if SBK_WMMA == 11
  half16_t x, y;
  __builtin_memcpy(&x, &a.part, sizeof x);
  __builtin_memcpy(&y, &b.part, sizeof y);
  v = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(x, y, v);
#else
  half8_t x, y;
  __builtin_memcpy(&x, &a.part, sizeof x);
  __builtin_memcpy(&y, &b.part, sizeof y);
  v = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(x, y, v);
#endif
  __builtin_memcpy(c.v, &v, sizeof v);
}
#endif

#endif

template <class T>
__device__ inline void load_columns(Operand<T>& b, const T* tile, int ld) {
  load_rows(b, tile, ld);
}

template <class T>
struct Ready {
  Operand<T> o;
  __device__ void set(const Operand<T>& operand) { o = operand; }
};

#if defined(SBK_MFMA) || defined(SBK_WMMA)
template <class T>
__device__ inline void multiply_add(Accumulator& c, const Ready<T>& a, const Ready<T>& b) {
  multiply(c, a.o, b.o);
}
#else
template <class T>
__device__ void multiply_add(Accumulator& c, const Ready<T>& a, const Ready<T>& b);  // never called
#endif

#endif  // AMD

#if SBK_NVIDIA
// The float32 form on NVIDIA, two slabs to a sum.
template <int M, int N, int Slabs>
__device__ inline void multiply_split(Accumulator (&sums)[M][N], const float* a, int lda, const float* b, int ldb) {
  constexpr int kPair = 2;
  static_assert(Slabs % kPair == 0);
#pragma unroll
  for (int slab = 0; slab < Slabs; slab += kPair) {
    Ready<float> columns[kPair][N];
#pragma unroll
    for (int s = 0; s < kPair; ++s) {
#pragma unroll
      for (int n = 0; n < N; ++n) {
        Operand<float> o;
        load_columns(o, b + n * 16 * ldb + (slab + s) * slab_of<float>(), ldb);
        columns[s][n].set(o);
      }
    }
#pragma unroll
    for (int m = 0; m < M; ++m) {
      Ready<float> rows[kPair];
#pragma unroll
      for (int s = 0; s < kPair; ++s) {
        Operand<float> o;
        load_rows(o, a + m * 16 * lda + (slab + s) * slab_of<float>(), lda);
        rows[s].set(o);
      }
#pragma unroll
      for (int n = 0; n < N; ++n) multiply_add<kPair>(sums[m][n], rows, &columns[0][n], N);
    }
  }
}
#endif

// sums += a bᵀ for one wave: `a` has 16 * M rows and `b` 16 * N rows of Slabs slabs of K, in shared memory. Paired:
// float32 on NVIDIA adds up two slabs at a time, for half the additions and a third more registers.
template <class T, int M, int N, int Slabs, bool Paired = false>
__device__ __forceinline__ void multiply_tiles(Accumulator (&sums)[M][N], const T* a, int lda, const T* b, int ldb) {
#if SBK_NVIDIA
  if constexpr (sizeof(T) == 4 && Paired) return multiply_split<M, N, Slabs>(sums, a, lda, b, ldb);
#endif
  if constexpr (kHasMatrixUnit<T>) {
    // Unrolled, clang fetches every slab's operands at once: on RDNA the tiled attention then spills.
    constexpr int kUnroll = SBK_NVIDIA ? Slabs : 1;
#pragma unroll kUnroll
    for (int slab = 0; slab < Slabs; ++slab) {
      // On AMD the operands of the shorter side stay, and the longer's come and go: long heads have no registers for all.
      if constexpr (!SBK_NVIDIA && M < N) {
        Operand<T> rows[M];
#pragma unroll
        for (int m = 0; m < M; ++m) load_rows(rows[m], a + m * 16 * lda + slab * slab_of<T>(), lda);
#pragma unroll
        for (int n = 0; n < N; ++n) {
          Ready<T> column, row;
          Operand<T> o;
          load_columns(o, b + n * 16 * ldb + slab * slab_of<T>(), ldb);
          column.set(o);
#pragma unroll
          for (int m = 0; m < M; ++m) {
            row.set(rows[m]);
            multiply_add(sums[m][n], row, column);
          }
        }
        continue;
      }
      Ready<T> columns[N];
#pragma unroll
      for (int n = 0; n < N; ++n) {
        Operand<T> o;
        load_columns(o, b + n * 16 * ldb + slab * slab_of<T>(), ldb);
        columns[n].set(o);
      }
#pragma unroll
      for (int m = 0; m < M; ++m) {
        Operand<T> o;
        load_rows(o, a + m * 16 * lda + slab * slab_of<T>(), lda);
        Ready<T> rows;
        rows.set(o);
#pragma unroll
        for (int n = 0; n < N; ++n) multiply_add(sums[m][n], rows, columns[n]);
      }
    }
  } else {
    constexpr int kLanes = lanes_of<T>();
    using V = Vec<T, kLanes>;
    constexpr int kAtOnce = N > 8 ? N / 2 : N;  // tiles of columns whose operands a lane has registers for
    static_assert(N % kAtOnce == 0);
#pragma unroll
    for (int first = 0; first < N; first += kAtOnce) {
      const T* column = b + (first * 16 + lane_id() % 16) * ldb;
#pragma unroll 1  // unrolled, the compiler fetches everything at once and spills
      for (int k = 0; k < Slabs * slab_of<T>(); k += kLanes) {
        V right[kAtOnce];
#pragma unroll
        for (int n = 0; n < kAtOnce; ++n) right[n] = *reinterpret_cast<const V*>(column + n * 16 * ldb + k);
#pragma unroll
        for (int m = 0; m < M; ++m) {
#pragma unroll
          for (int i = 0; i < kTileValues; ++i) {
            const V left = *reinterpret_cast<const V*>(a + (m * 16 + TileLayout<T>::row(i)) * lda + k);
#pragma unroll
            for (int n = 0; n < kAtOnce; ++n) {
#pragma unroll
              for (int j = 0; j < kLanes; ++j) {
                sums[m][first + n].v[i] = fmaf(to_float(left.v[j]), to_float(right[n].v[j]), sums[m][first + n].v[i]);
              }
            }
          }
        }
      }
    }
  }
}

#endif  // device pass

}  // namespace sbk
