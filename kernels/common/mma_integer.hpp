// Products of signed bytes for one wave, on 16 x 16 tiles of int32 sums, one interface for every target:
//   NVIDIA        mma.sync m16n8k32 s8
//   AMD CDNA      v_mfma_i32_16x16x16_i8 (gfx908, gfx90a), v_mfma_i32_16x16x32_i8 (gfx942, gfx950)
//   AMD RDNA3/4   v_wmma_i32_16x16x16_iu8
//   other AMD     v_dot4_i32_i8
// Both operands lie in shared memory (LDS) as lines of K: panels of 128 bytes of each line (byte_place()). The sums wrap.
#pragma once

#include "common/mma.hpp"

namespace sbk {

constexpr int kPanelBytes = 128;                          // of a line's K, side by side in LDS
constexpr int kPanelChunks = kPanelBytes / kVectorBytes;  // chunks are what is stored and loaded at once

// Where chunk `chunk` of line `line` of a panel is, in chunks. Eight lanes that load, or store, one chunk each of lines i … i + 7,
// of the lines that load_bytes_b asks for, or of every fourth line, take eight different groups of banks.
__host__ __device__ constexpr int byte_place(int line, int chunk) {
  return line * kPanelChunks + (chunk ^ (line & 7) ^ ((line >> 3 & 1) << 1) ^ (line >> 4 & 1));
}

using Chunk = Vec<uint32_t, kVectorBytes / 4>;

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)

// sum + the products of four pairs of signed bytes.
__device__ __forceinline__ int32_t dot_bytes(uint32_t a, uint32_t b, int32_t sum) {
#if SBK_NVIDIA
  return __dp4a(static_cast<int32_t>(a), static_cast<int32_t>(b), sum);
#elif !defined(__AMDGCN__)  // emulated lanes
  for (int i = 0; i < 4; ++i) sum += static_cast<int8_t>(a >> 8 * i) * static_cast<int8_t>(b >> 8 * i);
  return sum;
#elif defined(SBK_WMMA)
  return __builtin_amdgcn_sudot4(true, static_cast<int>(a), true, static_cast<int>(b), sum, false);
#else
  return __builtin_amdgcn_sdot4(static_cast<int>(a), static_cast<int>(b), sum, false);
#endif
}

// Four bytes of the eight of `low` and `high`, as the nibbles of Selector name them.
template <uint32_t Selector>
__device__ __forceinline__ uint32_t pick_bytes(uint32_t low, uint32_t high) {
#if SBK_NVIDIA
  return __byte_perm(low, high, Selector);
#else
  constexpr uint32_t kBytes = (Selector & 0xf) | (Selector & 0xf0) << 4 | (Selector & 0xf00) << 8 | (Selector & 0xf000) << 12;
#if defined(__AMDGCN__)
  return __builtin_amdgcn_perm(high, low, kBytes);
#else
  const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
  uint32_t bytes = 0;
  for (int i = 0; i < 4; ++i) bytes |= static_cast<uint32_t>(both >> 8 * (kBytes >> 8 * i & 7) & 0xff) << 8 * i;
  return bytes;
#endif
#endif
}

// Byte i of word j becomes byte j of word i.
__device__ __forceinline__ void transpose_bytes(uint32_t (&w)[4]) {
  const uint32_t a = pick_bytes<0x5140>(w[0], w[1]), b = pick_bytes<0x5140>(w[2], w[3]);
  const uint32_t c = pick_bytes<0x7362>(w[0], w[1]), d = pick_bytes<0x7362>(w[2], w[3]);
  w[0] = pick_bytes<0x5410>(a, b);
  w[1] = pick_bytes<0x7632>(a, b);
  w[2] = pick_bytes<0x5410>(c, d);
  w[3] = pick_bytes<0x7632>(c, d);
}

// A tile's sums as one lane holds them: value i is of a's line row(i) and of b's line column() + i % kTogether.
struct IntegerTile {
  static constexpr int kValues = 256 / kWaveSize;
#if SBK_NVIDIA || defined(SBK_MFMA)
  static constexpr int kTogether = 4;
#else
  static constexpr int kTogether = 8;
#endif
#if SBK_NVIDIA
  __device__ static int row(int i) { return lane_id() / 4 + 8 * (i / kTogether); }
  __device__ static int column() { return kTogether * (lane_id() % 4); }
#else
  __device__ static int row(int) { return lane_id() % 16; }
  __device__ static int column() { return kTogether * (lane_id() / 16); }
#endif

  int32_t v[kValues];
};

#if SBK_NVIDIA

constexpr int kStepChunks = 2;  // of K that one step takes

struct ByteOperand {
  uint32_t w[4];
};

__device__ __forceinline__ void load_bytes_a(ByteOperand& a, const Chunk* panel, int line, int chunk) {
  const int lane = lane_id();
  load_matrix(a.w, panel + byte_place(line + lane % 16, chunk + lane / 16));
}

// Lines in the order 0 1 4 5 8 9 12 13, 2 3 6 7 10 11 14 15: a lane's sums of both instructions are of four neighbours.
__device__ __forceinline__ void load_bytes_b(ByteOperand& b, const Chunk* panel, int line, int chunk) {
  const int lane = lane_id(), within = lane % 8;
  load_matrix(b.w, panel + byte_place(line + within / 2 * 4 + lane / 16 * 2 + within % 2, chunk + lane / 8 % 2));
}

__device__ __forceinline__ void multiply_add(IntegerTile& c, const ByteOperand& a, const ByteOperand& b) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    int32_t* v = c.v + 2 * half;
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(v[0]), "+r"(v[1]), "+r"(v[4]), "+r"(v[5])
        : "r"(a.w[0]), "r"(a.w[1]), "r"(a.w[2]), "r"(a.w[3]), "r"(b.w[2 * half]), "r"(b.w[2 * half + 1]));
  }
}

#else  // AMD. b is the instructions' left operand, so that a lane's sums are of one line of a and of neighbours of b.

typedef int32_t int32x2_t __attribute__((ext_vector_type(2)));
typedef int32_t int32x4_t __attribute__((ext_vector_type(4)));
typedef int32_t int32x8_t __attribute__((ext_vector_type(8)));

#if defined(SBK_MFMA)
constexpr int kStepChunks = 4;  // one for each 16 lanes: which K a lane has does not matter, so long as both operands agree
#else
constexpr int kStepChunks = 2;
#endif

#if defined(SBK_MFMA) || (defined(SBK_WMMA) && SBK_WMMA == 12)

// The (lane / 16)th chunk of a line.
struct ByteOperand {
  Chunk part;
};

__device__ __forceinline__ void load_bytes_a(ByteOperand& a, const Chunk* panel, int line, int chunk) {
  a.part = panel[byte_place(line + lane_id() % 16, chunk + lane_id() / 16)];
}
__device__ __forceinline__ void load_bytes_b(ByteOperand& b, const Chunk* panel, int line, int chunk) { load_bytes_a(b, panel, line, chunk); }

#else  // RDNA3, which wants the whole line in both halves of the wave, and RDNA2, which has no matrix unit

struct ByteOperand {
  Chunk part[kStepChunks];
};

__device__ __forceinline__ void load_line(ByteOperand& o, const Chunk* panel, int line, int chunk) {
#pragma unroll
  for (int i = 0; i < kStepChunks; ++i) o.part[i] = panel[byte_place(line, chunk + i)];
}
__device__ __forceinline__ void load_bytes_a(ByteOperand& a, const Chunk* panel, int line, int chunk) {
  load_line(a, panel, line + lane_id() % 16, chunk);
}

#endif

#if defined(SBK_MFMA)

__device__ __forceinline__ void multiply_add(IntegerTile& c, const ByteOperand& a, const ByteOperand& b) {
  int32x4_t v;
  __builtin_memcpy(&v, c.v, sizeof v);
#if defined(__gfx942__) || defined(__gfx950__)
  int64_t x[2], y[2];
  __builtin_memcpy(x, &a.part, sizeof x);
  __builtin_memcpy(y, &b.part, sizeof y);
#pragma unroll
  for (int i = 0; i < 2; ++i) v = __builtin_amdgcn_mfma_i32_16x16x32_i8(y[i], x[i], v, 0, 0, 0);
#else
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    v = __builtin_amdgcn_mfma_i32_16x16x16i8(static_cast<int>(b.part.v[i]), static_cast<int>(a.part.v[i]), v, 0, 0, 0);
  }
#endif
  __builtin_memcpy(c.v, &v, sizeof v);
}

#elif defined(SBK_WMMA) && SBK_WMMA == 12

__device__ __forceinline__ void multiply_add(IntegerTile& c, const ByteOperand& a, const ByteOperand& b) {
  int32x8_t v;
  int32x2_t x[2], y[2];
  __builtin_memcpy(&v, c.v, sizeof v);
  __builtin_memcpy(x, &a.part, sizeof x);
  __builtin_memcpy(y, &b.part, sizeof y);
#pragma unroll
  for (int i = 0; i < 2; ++i) v = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, y[i], true, x[i], v, false);
  __builtin_memcpy(c.v, &v, sizeof v);
}

#elif defined(SBK_WMMA)

// Lines in the order 0 8 1 9 2 10 …: the instruction's row 2 i + lane / 16 is b's line 8 (lane / 16) + i.
__device__ __forceinline__ void load_bytes_b(ByteOperand& b, const Chunk* panel, int line, int chunk) {
  load_line(b, panel, line + lane_id() % 2 * 8 + lane_id() % 16 / 2, chunk);
}

__device__ __forceinline__ void multiply_add(IntegerTile& c, const ByteOperand& a, const ByteOperand& b) {
  int32x8_t v;
  __builtin_memcpy(&v, c.v, sizeof v);
#pragma unroll
  for (int i = 0; i < kStepChunks; ++i) {
    int32x4_t x, y;
    __builtin_memcpy(&x, &a.part[i], sizeof x);
    __builtin_memcpy(&y, &b.part[i], sizeof y);
    v = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, y, true, x, v, false);
  }
  __builtin_memcpy(c.v, &v, sizeof v);
}

#endif
#endif

// sums += a bᵀ over `Chunks` chunks of K for one wave: 16 * M lines of a from `a_line` on, 16 * N of b from `b_line` on. Unrolled, on
// NVIDIA: operands are fetched ahead, which takes registers.
template <int M, int N, int Chunks, bool Unrolled>
__device__ __forceinline__ void multiply_bytes(IntegerTile (&sums)[M][N], const Chunk* a, int a_line, const Chunk* b, int b_line, int chunk) {
  static_assert(Chunks % kStepChunks == 0);
#if SBK_NVIDIA || defined(SBK_MFMA) || defined(SBK_WMMA)
  constexpr int kUnroll = SBK_NVIDIA && Unrolled ? Chunks / kStepChunks : 1;
#pragma unroll kUnroll
  for (int step = 0; step < Chunks; step += kStepChunks) {
    ByteOperand columns[N];
#pragma unroll
    for (int n = 0; n < N; ++n) load_bytes_b(columns[n], b, b_line + 16 * n, chunk + step);
#pragma unroll
    for (int m = 0; m < M; ++m) {
      ByteOperand rows;
      load_bytes_a(rows, a, a_line + 16 * m, chunk + step);
#pragma unroll
      for (int n = 0; n < N; ++n) multiply_add(sums[m][n], rows, columns[n]);
    }
  }
#else
#pragma unroll 1
  for (int step = 0; step < Chunks; ++step) {
    Chunk rows[M];
#pragma unroll
    for (int m = 0; m < M; ++m) rows[m] = a[byte_place(a_line + 16 * m + lane_id() % 16, chunk + step)];
#pragma unroll
    for (int n = 0; n < N; ++n) {
#pragma unroll
      for (int i = 0; i < IntegerTile::kTogether; ++i) {
        const Chunk column = b[byte_place(b_line + 16 * n + IntegerTile::column() + i, chunk + step)];
#pragma unroll
        for (int m = 0; m < M; ++m) {
#pragma unroll
          for (int j = 0; j < 4; ++j) sums[m][n].v[i] = dot_bytes(rows[m].v[j], column.v[j], sums[m][n].v[i]);
        }
      }
    }
  }
#endif
}

#endif  // device pass

}  // namespace sbk
