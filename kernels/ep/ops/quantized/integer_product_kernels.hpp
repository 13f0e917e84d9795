// A tiled product y = (a - a_zeros) (b - b_zeros) of 8-bit integers by integer matrix instructions (common/mma_integer.hpp). For GPUs
// alone. What is multiplied are signed bytes, uint8 less 128. The zero points come in afterwards, by the sums of each line:
//   sum (a - za)(b - zb) = sum a b - za sum b - zb sum a + k za zb,  modulo 2^32
//
// What is multiplied is described by a struct P:
//   m, n, k, batch   extents; k: bytes of a line
//   Matrix           where one of the batch's matrices lies: matrix(i)
//   Rows             lines of a from one on: rows(matrix, i); fetch_a(rows, line, at): a chunk of one as it is in memory
//   flip_a, flip_b   what a word of raw bytes is XORed with to become signed bytes; what is not there becomes 0
//   kColumnsAcross   b lies as k lines of n; else as n lines of k
//   Column, RawB     as of a: column(matrix, j), fetch_b(column, at); across: four columns and 16 words, one for each K
//   sums_a, sums_b   whether the lines' sums are asked for
//   OfRow, OfColumn  what the answer takes of a line: of_row(matrix, i, sum), of_column(matrix, j, sum)
//   store            store(matrix, i, j, rows, columns, sums): four values of row i from column j on, of which some may not exist
#pragma once

#include "common/mma_integer.hpp"
#include "core/kernel/parallel_for.hpp"

namespace rk {

using Chunk = sbk::Chunk;

constexpr int kIntegerThreads = 256;
constexpr int kQuad = 4;  // values that are stored together

// A block's part of y, in waves of 32: RowWaves by ColumnWaves of 16 M by 16 N each, and DepthWaves that share K. Blocks: that a
// multiprocessor of NVIDIA's shall have registers for.
template <int RowWaves_, int ColumnWaves_, int DepthWaves_, int M_, int N_, int Depth_, int Blocks>
struct IntegerShape {
  static constexpr int RowWaves = RowWaves_, ColumnWaves = ColumnWaves_, DepthWaves = DepthWaves_, M = M_, N = N_;
  static constexpr int kRows = RowWaves * M * 16, kColumns = ColumnWaves * N * 16;
  static constexpr int kDepth = Depth_;  // bytes of K in LDS at a time
  static constexpr int kBlocks = SBK_NVIDIA ? Blocks : 1;  // on AMD the bound's second number means waves of a SIMD
  static_assert(RowWaves * ColumnWaves * DepthWaves * sbk::kNarrowestWave == kIntegerThreads);
};
using LargeShape = IntegerShape<2, 4, 1, 4, 2, 128, 1>;   // 128 × 128
using WideShape = IntegerShape<2, 4, 1, 2, 4, 128, 1>;    // 64 × 256
using FlatShape = IntegerShape<1, 8, 1, 2, 2, 128, 2>;    // 32 × 256
using MiddleShape = IntegerShape<2, 2, 2, 2, 2, 256, 2>;  // 64 × 64
using SmallShape = IntegerShape<1, 1, 8, 2, 2, 512, 2>;   // 32 × 32

// Sixteen bytes of a line that ends at `end`, by whole words where lines lie on their boundaries; what is beyond: `other`.
enum class Alignment : int32_t { byte, word, chunk };
RK_INLINE Chunk chunk_of(const uint8_t* line, int32_t at, int32_t end, Alignment alignment, uint32_t other) {
  Chunk chunk = {{other, other, other, other}};
  if (alignment == Alignment::chunk) {  // the end is a multiple of 16 then
    if (at < end) chunk = *reinterpret_cast<const Chunk*>(line + at);
    return chunk;
  }
  if (alignment == Alignment::word) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (at + 4 * i < end) chunk.v[i] = *reinterpret_cast<const uint32_t*>(line + at + 4 * i);
    return chunk;
  }
#pragma unroll
  for (int i = 0; i < sbk::kVectorBytes; ++i) {
    const int shift = i % 4 * 8;
    if (at + i < end) chunk.v[i / 4] = (chunk.v[i / 4] & ~(0xffu << shift)) | static_cast<uint32_t>(line[at + i]) << shift;
  }
  return chunk;
}

// Of lines of `bytes` bytes from `data` on.
inline Alignment alignment_of(const void* data, int64_t bytes) {
  const auto both = reinterpret_cast<uintptr_t>(data) | static_cast<uintptr_t>(bytes);
  return both % sbk::kVectorBytes == 0 ? Alignment::chunk : both % 4 == 0 ? Alignment::word : Alignment::byte;
}

// A product of signed bytes, less what the zero points of both lines take; rest: the sum of b's line less k times b's zero point.
RK_INLINE int32_t product_less_zeros(int32_t product, int32_t a_zero, int32_t rest, int32_t b_zero, int32_t a_sum) {
  const auto u = [](int32_t value) { return static_cast<uint32_t>(value); };
  return static_cast<int32_t>(u(product) - u(a_zero) * u(rest) - u(b_zero) * u(a_sum));
}

// The first `count` of four values; `together` where all exist and lie on their boundary.
template <class T>
RK_INLINE void store_quad(T* to, const sbk::Vec<T, kQuad>& values, int64_t count, bool together) {
  if (together) {
    *reinterpret_cast<sbk::Vec<T, kQuad>*>(to) = values;
    return;
  }
#pragma unroll
  for (int c = 0; c < kQuad; ++c)
    if (c < count) to[c] = values.v[c];
}

#if defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA_ARCH__)

// One block's work on one tile of y.
template <class P, class S>
class IntegerTileProduct {
  // Where waves have 64 lanes there are half as many of them.
  static constexpr int kHalfWaves = sbk::kWaveSize / sbk::kNarrowestWave;
  static constexpr int kDepthWaves = S::DepthWaves > 1 ? S::DepthWaves / kHalfWaves : 1;
  static constexpr int kColumnWaves = S::DepthWaves > 1 ? S::ColumnWaves : S::ColumnWaves / kHalfWaves;
  static constexpr int M = S::M, N = S::kColumns / kColumnWaves / 16;
  static constexpr int kChunks = S::kDepth / sbk::kVectorBytes;  // of a line in LDS
  static constexpr int kWaveChunks = kChunks / kDepthWaves;      // that one wave multiplies
  static constexpr int kLines = kIntegerThreads / kChunks;       // that the block's threads fetch at once
  static constexpr int kEachA = S::kRows / kLines, kEachB = S::kColumns / kLines;
  static constexpr int kQuads = S::kColumns / kQuad;  // of columns
  static constexpr int kQuadEach = kQuads * kChunks / kIntegerThreads;
  static constexpr int kValues = sbk::IntegerTile::kValues;
  static_assert(kQuads * kChunks % kIntegerThreads == 0 && kIntegerThreads % kQuads == 0 && kIntegerThreads % kChunks == 0);
  static constexpr int kPart = kWaveChunks < sbk::kPanelChunks ? kWaveChunks : sbk::kPanelChunks;  // of them, in one panel
  static_assert(sbk::kPanelChunks % kPart == 0 && kWaveChunks % kPart == 0);

 public:
  static constexpr int kChunksA = S::kRows * kChunks, kChunksB = S::kColumns * kChunks;
  static_assert(kDepthWaves == 1 || (kDepthWaves - 1) * S::kRows * S::kColumns <= (kChunksA + kChunksB) * 4, "sums of the waves that share K");

  RK_INLINE IntegerTileProduct(const P& p, Chunk* lds, int32_t* sums, int64_t tile)
      : p_(p), a_(lds), b_(lds + kChunksA), row_sums_(sums), column_sums_(sums + S::kRows) {
    const int64_t rows = sbk::ceil_div(p.m, S::kRows), columns = sbk::ceil_div(p.n, S::kColumns);
    top_ = tile % rows * S::kRows;  // blocks side by side share columns of b
    left_ = tile / rows % columns * S::kColumns;
    matrix_ = p.matrix(tile / rows / columns);
    rows_ = p.rows(matrix_, top_ + line());
#pragma unroll
    for (int i = 0; i < kEachA; ++i) sum_a_[i] = 0;
#pragma unroll
    for (int i = 0; i < kColumnCount; ++i) {
      if constexpr (P::kColumnsAcross) column_[i] = p.column(matrix_, left_ + quad() * kQuad);
      else column_[i] = p.column(matrix_, left_ + line() + i * kLines);
    }
#pragma unroll
    for (int i = 0; i < kSumsB; ++i) sum_b_[i] = 0;
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
      for (int n = 0; n < N; ++n)
#pragma unroll
        for (int i = 0; i < kValues; ++i) products_[m][n].v[i] = 0;
  }

  RK_INLINE void run() {
    const int t = static_cast<int>(threadIdx.x);
    __syncthreads();  // the tile before has been stored
    for (int i = t; i < S::kRows + S::kColumns; i += kIntegerThreads) row_sums_[i] = 0;
    fetch(0);
    for (int32_t k = 0; k < p_.k; k += S::kDepth) {
      __syncthreads();  // the bytes before have been read
      put();
      __syncthreads();
      if (k + S::kDepth < p_.k) fetch(k + S::kDepth);
      multiply();
    }
    __syncthreads();
    add_sums();
    join_depth();
    __syncthreads();
    describe_lines();
    __syncthreads();
    if (depth_wave() == 0) store();
  }

 private:
  static constexpr int kColumnCount = P::kColumnsAcross ? 1 : kEachB;
  static constexpr int kSumsB = P::kColumnsAcross ? kQuad : kEachB;
  static constexpr int kRawB = P::kColumnsAcross ? kQuadEach : kEachB;

  RK_INLINE static int chunk() { return static_cast<int>(threadIdx.x) % kChunks; }
  RK_INLINE static int line() { return static_cast<int>(threadIdx.x) / kChunks; }
  RK_INLINE static int quad() { return static_cast<int>(threadIdx.x) % kQuads; }
  RK_INLINE static int quad_chunk(int i) { return static_cast<int>(threadIdx.x) / kQuads + i * (kIntegerThreads / kQuads); }
  RK_INLINE static int depth_wave() { return sbk::wave_id() / (S::RowWaves * kColumnWaves); }
  RK_INLINE static int wave_row() { return sbk::wave_id() / kColumnWaves % S::RowWaves * (M * 16); }
  RK_INLINE static int wave_column() { return sbk::wave_id() % kColumnWaves * (N * 16); }
  // Panels of `lines` lines each.
  RK_INLINE static int place(int lines, int line, int chunk) {
    return chunk / sbk::kPanelChunks * lines * sbk::kPanelChunks + sbk::byte_place(line, chunk % sbk::kPanelChunks);
  }

  RK_INLINE void fetch(int32_t k) {
#pragma unroll
    for (int i = 0; i < kEachA; ++i) raw_a_[i] = p_.fetch_a(rows_, i * kLines, k + chunk() * sbk::kVectorBytes);
    if constexpr (P::kColumnsAcross) {
#pragma unroll
      for (int i = 0; i < kRawB; ++i) raw_b_[i] = p_.fetch_b(column_[0], k + quad_chunk(i) * sbk::kVectorBytes);
    } else {
      p_.template fetch_b<kEachB>(raw_b_, column_, k + chunk() * sbk::kVectorBytes);
    }
  }

  RK_INLINE static void add_bytes(int32_t& sum, const Chunk& bytes) {
    constexpr uint32_t kOnes = 0x01010101u;
#pragma unroll
    for (int i = 0; i < 4; ++i) sum = sbk::dot_bytes(bytes.v[i], kOnes, sum);
  }

  RK_INLINE void put() {
#pragma unroll
    for (int i = 0; i < kEachA; ++i) {
      Chunk bytes;
#pragma unroll
      for (int j = 0; j < 4; ++j) bytes.v[j] = raw_a_[i].v[j] ^ p_.flip_a;
      if (p_.sums_a) add_bytes(sum_a_[i], bytes);
      a_[place(S::kRows, line() + i * kLines, chunk())] = bytes;
    }
#pragma unroll
    for (int i = 0; i < kRawB; ++i) {
      if constexpr (P::kColumnsAcross) {
        Chunk bytes[kQuad];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          uint32_t words[4];
#pragma unroll
          for (int w = 0; w < 4; ++w) words[w] = raw_b_[i].words[4 * j + w] ^ p_.flip_b;
          sbk::transpose_bytes(words);
#pragma unroll
          for (int c = 0; c < kQuad; ++c) bytes[c].v[j] = words[c];
        }
#pragma unroll
        for (int c = 0; c < kQuad; ++c) {
          if (p_.sums_b) add_bytes(sum_b_[c], bytes[c]);
          b_[place(S::kColumns, quad() * kQuad + c, quad_chunk(i))] = bytes[c];
        }
      } else {
        if (p_.sums_b) add_bytes(sum_b_[i], raw_b_[i]);
        b_[place(S::kColumns, line() + i * kLines, chunk())] = raw_b_[i];
      }
    }
  }

  RK_INLINE void multiply() {
#pragma unroll
    for (int part = 0; part < kWaveChunks; part += kPart) {
      const int first = depth_wave() * kWaveChunks + part, panel = first / sbk::kPanelChunks;
      sbk::multiply_bytes<M, N, kPart, S::kBlocks == 1>(products_, a_ + panel * S::kRows * sbk::kPanelChunks, wave_row(),
                                       b_ + panel * S::kColumns * sbk::kPanelChunks, wave_column(), first % sbk::kPanelChunks);
    }
  }

  // The sums of lines, of all threads that fetched a part of them.
  RK_INLINE void add_sums() {
    if (p_.sums_a) {
#pragma unroll
      for (int i = 0; i < kEachA; ++i) atomicAdd(row_sums_ + line() + i * kLines, sum_a_[i]);
    }
    if (p_.sums_b) {
#pragma unroll
      for (int i = 0; i < kSumsB; ++i) atomicAdd(column_sums_ + (P::kColumnsAcross ? quad() * kQuad + i : line() + i * kLines), sum_b_[i]);
    }
  }

  // The first of the waves that share K gets the others' products through LDS.
  RK_INLINE void join_depth() {
    if constexpr (kDepthWaves > 1) {
      constexpr int kWaves = S::RowWaves * kColumnWaves, kWords = M * N * kValues * sbk::kWaveSize;
      auto* words = reinterpret_cast<int32_t*>(a_);
      const int place = sbk::wave_id() % kWaves * kWords + sbk::lane_id();
      if (depth_wave() > 0) {
        int32_t* to = words + (depth_wave() - 1) * kWaves * kWords + place;
#pragma unroll
        for (int i = 0; i < M * N * kValues; ++i) to[i * sbk::kWaveSize] = products_[i / kValues / N][i / kValues % N].v[i % kValues];
      }
      __syncthreads();
      if (depth_wave() > 0) return;
#pragma unroll 1
      for (int wave = 0; wave < kDepthWaves - 1; ++wave) {
        const int32_t* from = words + wave * kWaves * kWords + place;
#pragma unroll
        for (int i = 0; i < M * N * kValues; ++i) products_[i / kValues / N][i / kValues % N].v[i % kValues] += from[i * sbk::kWaveSize];
      }
    }
  }

  // What the answer takes of the tile's lines, in place of their bytes.
  RK_INLINE typename P::OfRow* rows() const { return reinterpret_cast<typename P::OfRow*>(a_); }
  RK_INLINE typename P::OfColumn* columns() const { return reinterpret_cast<typename P::OfColumn*>(rows() + S::kRows); }
  static_assert(S::kRows * sizeof(typename P::OfRow) % alignof(typename P::OfColumn) == 0);
  static_assert(S::kRows * sizeof(typename P::OfRow) + S::kColumns * sizeof(typename P::OfColumn) <= (kChunksA + kChunksB) * sizeof(Chunk));

  RK_INLINE void describe_lines() const {
    const int t = static_cast<int>(threadIdx.x);
    for (int i = t; i < S::kRows; i += kIntegerThreads)
      if (top_ + i < p_.m) rows()[i] = p_.of_row(matrix_, top_ + i, row_sums_[i]);
    for (int i = t; i < S::kColumns; i += kIntegerThreads) columns()[i] = p_.of_column(matrix_, left_ + i, column_sums_[i]);
  }

  RK_INLINE void store() const {
    using Tile = sbk::IntegerTile;
#pragma unroll
    for (int n = 0; n < N; ++n) {
#pragma unroll
      for (int part = 0; part < Tile::kTogether; part += kQuad) {
        const int column = wave_column() + 16 * n + Tile::column() + part;
        if (left_ + column >= p_.n) continue;
        typename P::OfColumn of_columns[kQuad];
#pragma unroll
        for (int c = 0; c < kQuad; ++c) of_columns[c] = columns()[column + c];
#pragma unroll
        for (int m = 0; m < M; ++m) {
#pragma unroll
          for (int i = part; i < kValues; i += Tile::kTogether) {
            const int row = wave_row() + 16 * m + Tile::row(i);
            if (top_ + row < p_.m) p_.store(matrix_, top_ + row, left_ + column, rows()[row], of_columns, products_[m][n].v + i);
          }
        }
      }
    }
  }

  const P& p_;
  Chunk *a_, *b_;
  int32_t *row_sums_, *column_sums_;
  int64_t top_, left_;
  typename P::Matrix matrix_;
  typename P::Rows rows_;
  typename P::Column column_[kColumnCount];
  Chunk raw_a_[kEachA];
  typename P::RawB raw_b_[kRawB];
  int32_t sum_a_[kEachA], sum_b_[kSumsB];
  sbk::IntegerTile products_[M][N];
};

#endif

template <class P, class S>
__global__ void __launch_bounds__(kIntegerThreads, S::kBlocks) integer_product([[maybe_unused]] const P p, [[maybe_unused]] int64_t tiles) {
#if defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA_ARCH__)
  using Work = IntegerTileProduct<P, S>;
  __shared__ Chunk lds[Work::kChunksA + Work::kChunksB];
  __shared__ int32_t sums[S::kRows + S::kColumns];
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) Work(p, lds, sums, tile).run();
#endif
}

// Lines of a matrix from one on, of k bytes each.
struct Lines {
  const uint8_t* from;
  int32_t count;  // of them there are

  RK_INLINE static Lines of(const uint8_t* matrix, int64_t first, int64_t all, int32_t k) {
    const int64_t rows_left = all - first;
    return {matrix + (rows_left > 0 ? first : 0) * k, static_cast<int32_t>(rows_left < 0 ? 0 : rows_left < INT32_MAX ? rows_left : INT32_MAX)};
  }
  RK_INLINE Chunk chunk(int line, int32_t at, int32_t k, Alignment alignment, uint32_t other) const {
    return chunk_of(from + static_cast<int64_t>(line) * k, at, line < count ? k : 0, alignment, other);
  }
};

template <class P, class S>
int64_t integer_tiles(const P& p) { return sbk::ceil_div(p.m, S::kRows) * sbk::ceil_div(p.n, S::kColumns) * p.batch; }

template <class S, class P>
void run_shape(Stream& stream, const P& p) {
  const int64_t tiles = integer_tiles<P, S>(p);
  const dim3 grid(blocks_for(tiles, kIntegerThreads));
  integer_product<P, S><<<grid, dim3(kIntegerThreads), 0, static_cast<hipStream_t>(stream.native())>>>(p, tiles);
  check_launched();
}

// Enqueues y = (a - a_zeros) (b - b_zeros), by the largest tiles that give half of the device's units one.
template <class P>
void run_integer_product(Stream& stream, const P& p) {
  if (p.m == 0 || p.n == 0 || p.batch == 0) return;
  sbk::DeviceFacts device;
  check(sbk::device_facts(&device));
  const auto fills = [&](int64_t tiles) { return 2 * tiles >= device.units; };
  if (p.m > WideShape::kRows && fills(integer_tiles<P, LargeShape>(p))) return run_shape<LargeShape>(stream, p);
  if constexpr (!P::kColumnsAcross) {  // else what is fetched for so many columns takes more registers than there are
    if (p.m > SmallShape::kRows && fills(integer_tiles<P, WideShape>(p))) return run_shape<WideShape>(stream, p);
  }
  if (p.m <= SmallShape::kRows && fills(integer_tiles<P, FlatShape>(p))) return run_shape<FlatShape>(stream, p);
  if (p.m > SmallShape::kRows && fills(integer_tiles<P, MiddleShape>(p))) return run_shape<MiddleShape>(stream, p);
  run_shape<SmallShape>(stream, p);
}

}  // namespace rk
