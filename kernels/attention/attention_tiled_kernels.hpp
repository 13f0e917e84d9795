// Attention in tiles with an online softmax (Milakov & Gimelshein 2018; Dao 2023): a block keeps a tile of queries and
// walks over tiles of keys; scores and weights stay in registers (on AMD the weights pass through LDS to become an
// operand again).
#pragma once

#include <type_traits>

#include "attention/attention.hpp"
#include "attention/attention_direct_kernels.hpp"
#include "attention/attention_parts.hpp"
#include "common/copy.hpp"
#include "common/mma.hpp"

namespace sbk::attention_detail {

// Tile sizes. D: head size and value size, padded. Shared memory stays under half of a multiprocessor's on NVIDIA, but for
// float32 heads above 128.
template <class T, int D, int BQ, int BK, int Threads = 128>
struct TiledShape {
  static constexpr int kD = D, kQueries = BQ, kKeys = BK;
  static constexpr int kPad = lanes_of<T>();
  static constexpr int kLd = D + kPad;         // of queries and keys, and of values where they lie as in memory
  static constexpr int kLdKeys = BK + kPad;    // of transposed values and of weights
#if SBK_NVIDIA
  // On a multiprocessor at once. Without the number, nvcc 13.0 gives the smaller float32 forms half the registers there are
  // room for, and they take a fifth longer. 0: as nvcc likes.
  static constexpr int kBlocks = sizeof(T) == 4 ? (D > 128 ? 1 : 2) : 0;
  static constexpr int kBuffers = 2;
  static constexpr int kValueCount = BK * kLd;
  static constexpr int kWeightCount = 0;
#else
  static constexpr int kBuffers = 1;
  static constexpr int kValueCount = D * kLdKeys;
  static constexpr int kWeightCount = BQ * kLdKeys;
#endif
  static constexpr int kKeyCount = BK * kLd;
  static constexpr int kShared =
      (BQ * kLd + kBuffers * (kKeyCount + kValueCount) + kWeightCount) * static_cast<int>(sizeof(T));
  // Of a block. A compute unit of CDNA has four SIMDs, and 64 KiB of LDS: a block that is alone there has a wave for each. (At other
  // head sizes so many threads have no whole number of vectors each.)
  static constexpr bool kFourWaves = !SBK_NVIDIA && kShared > (32 << 10) && (D == 64 || D == 128);
  __host__ __device__ static constexpr int threads([[maybe_unused]] int wave) { return kFourWaves ? 4 * wave : Threads; }
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  static constexpr int kThreads = threads(kWaveSize);
#endif
};

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)

constexpr float kLog2E = 1.4426950408889634f;

__device__ __forceinline__ float fast_exp2(float x) {
#if SBK_NVIDIA
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return __builtin_amdgcn_exp2f(x);
#endif
}

// Copies `Rows` rows of up to D values into shared memory, zeros past the ends. Transposed: AMD's values, whose rows and columns are
// exchanged on the way.
template <class T, class Shape, int Rows, bool Transposed>
struct RowCopies {
  static constexpr int kPerRow = Shape::kD / lanes_of<T>();
  static constexpr int kCount = Rows * kPerRow / Shape::kThreads;
  static_assert(kCount * Shape::kThreads == Rows * kPerRow);
  Copies<kCount> copies;

  // Where whole rows make up one vector of every thread, a thread's copies are of one column.
  static constexpr bool kOneColumn = Shape::kThreads % kPerRow == 0;
  // Rows of one column that a thread has, one after the other: exchanged, they are neighbours, and are stored at once.
  static constexpr bool kNeighbours = Transposed && kOneColumn && (kCount == 2 || kCount == 4);
  // From one of a thread's copies to the next.
  static constexpr int kStep = kNeighbours ? 1 : kOneColumn ? Shape::kThreads / kPerRow : 1;

  __device__ __forceinline__ static int place(int i) { return static_cast<int>(threadIdx.x) + i * Shape::kThreads; }
  __device__ __forceinline__ static int row(int i) {
    const int first = static_cast<int>(threadIdx.x) / kPerRow;
    return kNeighbours ? first * kCount + i : kOneColumn ? first + i * kStep : place(i) / kPerRow;
  }
  __device__ __forceinline__ static int column(int i) { return (kOneColumn ? static_cast<int>(threadIdx.x) : place(i)) % kPerRow * lanes_of<T>(); }

  __device__ __forceinline__ void begin(T* to, const T* from, int64_t stride, int64_t rows, int columns) {
    const int rows_left = static_cast<int>(min(rows, int64_t{Rows}));
    const T* const first = from + row(0) * stride + column(0);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const bool valid = row(i) < rows_left && column(i) < columns;
      const T* const at = kOneColumn ? first + i * kStep * stride : from + row(i) * stride + column(i);
      copies.begin(i, to + row(i) * Shape::kLd + column(i), valid ? at : from, valid);
    }
  }

  // AMD: the same rows, stored with rows and columns exchanged.
  __device__ __forceinline__ void finish_transposed([[maybe_unused]] T* to) {
#if !SBK_NVIDIA
    using V = Vec<T, lanes_of<T>()>;
    if constexpr (kNeighbours) {
      V values[kCount];
#pragma unroll
      for (int i = 0; i < kCount; ++i) values[i] = copies.template words_of<T>(i);
#pragma unroll
      for (int j = 0; j < lanes_of<T>(); ++j) {
        Vec<T, kCount> line;
#pragma unroll
        for (int i = 0; i < kCount; ++i) line.v[i] = values[i].v[j];
        *reinterpret_cast<Vec<T, kCount>*>(to + (column(0) + j) * Shape::kLdKeys + row(0)) = line;
      }
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        const V values = copies.template words_of<T>(i);
#pragma unroll
        for (int j = 0; j < lanes_of<T>(); ++j) to[(column(i) + j) * Shape::kLdKeys + row(i)] = values.v[j];
      }
    }
#endif
  }
};

// One block: a tile of queries of one head; with Split, and a part of the keys.
template <class T, class Shape, bool General, bool Split>
class TiledBlock {
 public:
  __device__ __forceinline__ TiledBlock(const AttentionParams& p, float scale, bool tiles_last, const KeyParts& parts, char* shared)
      : p_(p), scale_(scale), parts_(parts) {
    uint32_t tile = tiles_last ? gridDim.z - 1 - blockIdx.z : gridDim.x - 1 - blockIdx.x;  // the longest rows first
    if constexpr (Split) {
      part_ = static_cast<int>(tile % static_cast<uint32_t>(parts.splits));
      tile /= static_cast<uint32_t>(parts.splits);
    }
    query0_ = static_cast<int>(tile) * Shape::kQueries;
    head_ = static_cast<int>(tiles_last ? blockIdx.x : blockIdx.y);
    batch_ = static_cast<int>(tiles_last ? blockIdx.y : blockIdx.z);
    queries_ = reinterpret_cast<T*>(shared);
    keys_ = queries_ + Shape::kQueries * Shape::kLd;
    values_ = keys_ + Shape::kBuffers * Shape::kKeyCount;
    weights_ = values_ + Shape::kBuffers * Shape::kValueCount;
    const int64_t kv = head_ * p.key_heads / p.query_heads;
    k_ = static_cast<const T*>(p.k) + batch_ * p.k_strides.batch + kv * p.k_strides.head;
    v_ = static_cast<const T*>(p.v) + batch_ * p.v_strides.batch + kv * p.v_strides.head;
    int64_t end = p.key_length;
    constexpr int64_t kFar = INT32_MAX / 2;  // no tensor here is as long
    lead_ = kFar;
    if (p.causal) {
      const int64_t lead = query0_ + 1 + (General ? causal_offset(p, batch_) : p.causal_offset);
      lead_ = static_cast<int>(max(min(lead, kFar), -kFar));
      end = min(end, lead + Shape::kQueries - 1);
    }
    if (General && p.key_lengths != nullptr) end = min(end, static_cast<int64_t>(p.key_lengths[batch_]));
    if constexpr (Split) end = min(end, (part_ + 1) * parts.keys);
    keys_end_ = static_cast<int>(max(end, int64_t{0}));
  }

  __device__ __forceinline__ void run() {
    const int first = Split ? static_cast<int>(part_ * parts_.keys / Shape::kKeys) : 0;
    const int tiles = (keys_end_ + Shape::kKeys - 1) / Shape::kKeys;
    begin_queries();
    if (kInTurn) query_copies_.copies.finish();
    if (tiles > first) begin_tile(first);
    Copies<1>{}.commit();
    if (!kInTurn) query_copies_.copies.finish();
    if (tiles > first) finish_tile();
    clear_state();
    for (int tile = first; tile < tiles; ++tile) {
      Copies<1>::template wait<0>();
      __syncthreads();
      if (Shape::kBuffers == 2 && tile + 1 < tiles) begin_tile(tile + 1);
      Copies<1>{}.commit();
      step(tile);
      // One buffer: held in registers during the step, the next tile would cost a wave's worth of occupancy.
      if (Shape::kBuffers == 1 && tile + 1 < tiles) {
        __syncthreads();
        begin_tile(tile + 1);
        finish_tile();
      }
    }
    Copies<1>::template wait<0>();
    if constexpr (Split) store_part();
    else store();
  }

 private:
  static constexpr int kWaves = Shape::kThreads / kWaveSize;
  // gfx90a's matrix units take float16's subnormal numbers for zeros, and anywhere they are coarse. So AMD's weights of float16
  // are 2^14 times as large, the largest 2^14 then, of numbers that end at 2^16. Their sums are too, and it cancels. (That a
  // rounding of a large top times log2(e) cannot carry them past that end, the difference is multiplied, not each score.)
  static constexpr bool kLifts = !SBK_NVIDIA && sizeof(T) == 2;
  static constexpr float kLift = 14.0f;
  static constexpr int kRowTiles = Shape::kQueries / 16 / kWaves;
  static constexpr int kKeyTiles = Shape::kKeys / 16;
  static constexpr int kValueTiles = Shape::kD / 16;
  using Layout = TileLayout<T>;
  static constexpr int kSlots = Layout::kSlots;
  static_assert(kRowTiles * 16 * kWaves == Shape::kQueries);
  // Whether tiles without a weight are looked for. Without a mask they are rare; but the branch keeps nvcc from mixing what
  // comes before it with what comes after, for which the larger forms have no registers.
  static constexpr bool kMaySkip = General || (SBK_NVIDIA && (kRowTiles > 1 || Shape::kD > 160));

  // The queries and a tile of long heads at once are more than a lane's registers hold on AMD.
  static constexpr bool kInTurn = !SBK_NVIDIA && Shape::kD > 128;

  __device__ __forceinline__ int wave_row() const { return wave_id() * kRowTiles * 16; }

  // Where the keys end that a row of this block's sees.
  __device__ __forceinline__ int end_of(int row) const { return min(keys_end_, row + lead_); }

  __device__ __forceinline__ void begin_queries() {
    const T* q = static_cast<const T*>(p_.q) + batch_ * p_.q_strides.batch + head_ * p_.q_strides.head +
                 int64_t{query0_} * p_.q_strides.sequence;
    query_copies_.begin(queries_, q, p_.q_strides.sequence, p_.query_length - query0_, static_cast<int>(p_.head_size));
  }

  __device__ __forceinline__ void begin_tile(int tile) {
    const int64_t key0 = static_cast<int64_t>(tile) * Shape::kKeys;
    const int buffer = tile % Shape::kBuffers;
    key_copies_.begin(keys_ + buffer * Shape::kKeyCount, k_ + key0 * p_.k_strides.sequence, p_.k_strides.sequence,
                      keys_end_ - key0, static_cast<int>(p_.head_size));
    if (kInTurn) key_copies_.copies.finish();
    value_copies_.begin(values_ + buffer * Shape::kValueCount, v_ + key0 * p_.v_strides.sequence,
                        p_.v_strides.sequence, keys_end_ - key0, static_cast<int>(p_.value_size));
  }

  __device__ __forceinline__ void finish_tile() {
    if (!kInTurn) key_copies_.copies.finish();
    value_copies_.finish_transposed(values_);
  }

  __device__ __forceinline__ void clear_state() {
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int n = 0; n < kValueTiles; ++n) clear(out_[m][n]);
#pragma unroll
      for (int s = 0; s < kSlots; ++s) {
        top_[m][s] = -INFINITY;
        sum_[m][s] = 0.0f;
      }
    }
  }

  __device__ __forceinline__ void step(int tile) {
    const int buffer = tile % Shape::kBuffers;
    const int key0 = tile * Shape::kKeys;
    if (key0 >= end_of(wave_row() + kRowTiles * 16 - 1)) return;  // above this wave's part of the diagonal
    Accumulator scores[kRowTiles][kKeyTiles];
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int n = 0; n < kKeyTiles; ++n) clear(scores[m][n]);
    }
    MaskTile mask;
    if (General) fetch_mask(mask, key0);
    multiply_tiles<T, kRowTiles, kKeyTiles, Shape::kD / slab_of<T>()>(
        scores, queries_ + wave_row() * Shape::kLd, Shape::kLd, keys_ + buffer * Shape::kKeyCount, Shape::kLd);
    if (General) adjust(scores, mask);
    if (key0 + Shape::kKeys > end_of(wave_row())) exclude(scores, key0);
    if (soften(scores)) add_values(scores, values_ + buffer * Shape::kValueCount);
  }

  // Calls f(m, s, n, i) for each score a lane holds, row by row: row s of tile m, value i of the tile of keys n.
  template <class F>
  __device__ __forceinline__ static void each_place(F f) {
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int s = 0; s < kSlots; ++s) {
#pragma unroll
        for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
          for (int i = 0; i < kTileValues; ++i) {
            if (Layout::slot(i) == s) f(m, s, n, i);
          }
        }
      }
    }
  }

  template <class F>
  __device__ __forceinline__ static void each(Accumulator (&scores)[kRowTiles][kKeyTiles], F f) {
    each_place([&](int m, int s, int n, int i) { f(scores[m][n].v[i], m, s, n, i); });
  }

  __device__ __forceinline__ int row(int m, int s) const { return wave_row() + m * 16 + Layout::row(s); }
  __device__ __forceinline__ static int key(int n, int i) { return n * 16 + Layout::column(i); }

  // Takes out the keys past a row's end.
  __device__ __forceinline__ void exclude(Accumulator (&scores)[kRowTiles][kKeyTiles], int key0) const {
    each(scores, [&](float& score, int m, int s, int n, int i) {
      if (key0 + key(n, i) >= end_of(row(m, s))) score = -INFINITY;
    });
  }

  // The mask's values of a lane's scores as they are in memory, in the scores' places; read before the product of queries
  // and keys, and used after it.
  struct MaskTile {
    uint32_t v[kRowTiles][kKeyTiles][kTileValues];
  };

  __device__ __forceinline__ void fetch_mask(MaskTile& to, int key0) const {
    switch (p_.mask_kind) {
      case MaskKind::boolean: return fetch<uint8_t>(to, key0);
      case MaskKind::int32: return fetch<uint32_t>(to, key0);
      case MaskKind::additive: return fetch<std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>(to, key0);
      case MaskKind::none: return;
    }
  }

  template <class M>
  __device__ __forceinline__ void fetch(MaskTile& to, int key0) const {
    const M* mask = static_cast<const M*>(p_.mask) + batch_ * p_.mask_batch_stride + head_ * p_.mask_head_stride +
                    query0_ * p_.mask_query_stride + key0;
    const int last = keys_end_ - 1 - key0;  // beyond the last key may lie no mask, and the scores do not count
    if (last < Shape::kKeys - 1) return fetch_rows<M, true, 1>(to, mask, last);
    const bool pairs = aligned_pair(mask) && p_.mask_query_stride % 2 == 0;
    if (Layout::kNeighbours == 2 && pairs) return fetch_rows<M, false, 2>(to, mask, last);
    return fetch_rows<M, false, 1>(to, mask, last);
  }

  template <class M>
  __device__ __forceinline__ static bool aligned_pair(const M* mask) {
    return reinterpret_cast<uintptr_t>(mask) % (2 * sizeof(M)) == 0;
  }

  // Count: values read at a time, of neighbouring keys. Edge: keys end within the tile.
  template <class M, bool Edge, int Count>
  __device__ __forceinline__ void fetch_rows(MaskTile& to, const M* mask, int last) const {
    const int64_t stride = p_.mask_query_stride;
    const int last_row = static_cast<int>(p_.query_length) - 1 - query0_;
    each_place([&](int m, int s, int n, int i) {
      if (i % Count != 0 || (stride == 0 && m + s > 0)) return;  // a row for all queries is read once
      const M* const from = mask + min(row(m, s), last_row) * stride + (Edge ? min(key(n, i), last) : key(n, i));
      const auto values = *reinterpret_cast<const Vec<M, Count>*>(from);
#pragma unroll
      for (int j = 0; j < Count; ++j) to.v[m][n][i + j] = values.v[j];
    });
  }

  // Scale, soft cap and mask.
  __device__ __forceinline__ void adjust(Accumulator (&scores)[kRowTiles][kKeyTiles], const MaskTile& mask) const {
    each(scores, [&](float& score, int, int, int, int) { score *= scale_; });
    if (p_.softcap > 0.0f) {
      each(scores, [&](float& score, int, int, int, int) { score = p_.softcap * tanhf(score / p_.softcap); });
    }
    if (p_.mask_kind == MaskKind::none) return;
    if (p_.mask_kind == MaskKind::int32) return add_integers(scores, mask);
    const bool adds = p_.mask_kind == MaskKind::additive, one_row = p_.mask_query_stride == 0;
    each(scores, [&](float& score, int m, int, int n, int i) {
      const uint32_t value = one_row ? mask.v[0][n][Layout::place_in_first(i)] : mask.v[m][n][i];
      if (adds) score += as_float(value);
      else score = value != 0 ? score : -INFINITY;
    });
  }

  __device__ __forceinline__ void add_integers(Accumulator (&scores)[kRowTiles][kKeyTiles], const MaskTile& mask) const {
    const bool one_row = p_.mask_query_stride == 0;
    each(scores, [&](float& score, int m, int, int n, int i) {
      score += static_cast<float>(static_cast<int32_t>(one_row ? mask.v[0][n][Layout::place_in_first(i)] : mask.v[m][n][i]));
    });
  }

  // An additive mask's value.
  __device__ __forceinline__ static float as_float(uint32_t value) {
    T read;
    memcpy(&read, &value, sizeof read);
    return to_float(read);
  }

  // Scores become weights exp(score - top); sums and outputs so far are scaled to the new top. False if the whole wave
  // has no weight in this tile.
  __device__ __forceinline__ bool soften(Accumulator (&scores)[kRowTiles][kKeyTiles]) {
    const float factor = General ? kLog2E : scale_ * kLog2E;
    // Of far numbers, as exporters mask with (-1e30, the least there is), times log2(e) the rounding alone is more than an exponent
    // holds: the top is taken off before.
    constexpr bool kDiffers = kLifts || (General && sizeof(T) == 4);
    constexpr float kAdd = kLifts ? kLift : 0.0f;
    bool weighs = !kMaySkip;
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
      float top[kSlots], fade[kSlots], base[kSlots];
#pragma unroll
      for (int s = 0; s < kSlots; ++s) top[s] = top_[m][s];
#pragma unroll
      for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
        for (int i = 0; i < kTileValues; ++i) {
          top[Layout::slot(i)] = fmaxf(top[Layout::slot(i)], scores[m][n].v[i]);
        }
      }
#pragma unroll
      for (int s = 0; s < kSlots; ++s) {
        top[s] = row_max(top[s]);
        base[s] = top[s] == -INFINITY ? 0.0f : kDiffers ? top[s] : top[s] * factor;
        // From the difference, so that it is one, and rounds nothing, while the top stays.
        fade[s] = top[s] == -INFINITY ? 0.0f : fast_exp2((top_[m][s] - top[s]) * factor);
        top_[m][s] = top[s];
        sum_[m][s] *= fade[s];
      }
#pragma unroll
      for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
        for (int i = 0; i < kTileValues; ++i) {
          const int s = Layout::slot(i);
          const float score = scores[m][n].v[i];
          scores[m][n].v[i] = fast_exp2(kDiffers ? (score - base[s]) * factor + kAdd : score * factor - base[s]);
          sum_[m][s] += scores[m][n].v[i];
          if (kMaySkip) weighs = weighs || scores[m][n].v[i] != 0.0f;
        }
      }
#pragma unroll
      for (int n = 0; n < kValueTiles; ++n) {
#pragma unroll
        for (int i = 0; i < kTileValues; ++i) out_[m][n].v[i] *= fade[Layout::slot(i)];
      }
    }
    return !kMaySkip || wave_any(weighs);
  }

  __device__ __forceinline__ void add_values(const Accumulator (&share)[kRowTiles][kKeyTiles], const T* values) {
#if SBK_NVIDIA
    constexpr int kParts = 16 / slab_of<T>();  // slabs in a tile's 16 keys
#pragma unroll
    for (int k = 0; k < kKeyTiles * kParts; ++k) {
      Ready<T> left[kRowTiles];
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m) {
        Operand<T> o;
        weights(o, share[m][k / kParts], k % kParts);
        left[m].set(o);
      }
#pragma unroll
      for (int n = 0; n < kValueTiles; ++n) {
        Operand<T> o;
        load_down(o, values + k * slab_of<T>() * Shape::kLd + n * 16, Shape::kLd);
        Ready<T> right;
        right.set(o);
        // Reordered over more than two tiles of values, the largest form with a mask spills twice as much, and takes 6 % longer.
        if (General && sizeof(T) == 4 && Shape::kD > 64 && kRowTiles > 1 && n % 2 == 1) __syncwarp();
#pragma unroll
        for (int m = 0; m < kRowTiles; ++m) multiply_add(out_[m][n], left[m], right);
      }
    }
#else
    T* mine = weights_ + wave_row() * Shape::kLdKeys;  // this wave's rows only, so no barrier
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
        for (int i = 0; i < kTileValues; ++i) {
          const int line = m * 16 + Layout::row(Layout::slot(i));
          mine[line * Shape::kLdKeys + n * 16 + Layout::column(i)] = from_float<T>(share[m][n].v[i]);
        }
      }
    }
    wave_barrier();
    multiply_tiles<T, kRowTiles, kValueTiles, Shape::kKeys / slab_of<T>()>(out_, mine, Shape::kLdKeys, values,
                                                                        Shape::kLdKeys);
    wave_barrier();
#endif
  }

  // This part's sums, for attention_merge.
  __device__ __forceinline__ void store_part() {
    const int64_t width = kPartialHead + p_.value_size;
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int s = 0; s < kSlots; ++s) {
        const float sum = row_sum(sum_[m][s]);
        const int query = query0_ + row(m, s);
        if (query >= p_.query_length) continue;
        const int64_t place = (static_cast<int64_t>(batch_) * p_.query_heads + head_) * p_.query_length + query;
        float* const to = parts_.partial + (place * parts_.splits + part_) * width;
        if (Layout::column(0) == 0) {
          to[0] = top_[m][s] == -INFINITY ? -INFINITY : top_[m][s] * scale_;
          to[1] = sum;
          to[2] = sum != 0.0f ? 1.0f : 0.0f;  // NaN too
        }
#pragma unroll
        for (int n = 0; n < kValueTiles; ++n) {
#pragma unroll
          for (int i = 0; i < kTileValues; ++i) {
            const int column = n * 16 + Layout::column(i);
            if (Layout::slot(i) == s && column < p_.value_size) to[kPartialHead + column] = out_[m][n].v[i];
          }
        }
      }
    }
  }

  // Through the queries' place in shared memory, so that whole vectors leave.
  __device__ __forceinline__ void store() {
    __syncthreads();
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
      float inverse[kSlots];
#pragma unroll
      for (int s = 0; s < kSlots; ++s) {
        const float sum = row_sum(sum_[m][s]);
        inverse[s] = sum == 0.0f ? p_.empty_row : 1.0f / sum;
      }
#pragma unroll
      for (int n = 0; n < kValueTiles; ++n) {
#pragma unroll
        for (int i = 0; i < kTileValues; ++i) {
          const int s = Layout::slot(i);
          queries_[(wave_row() + m * 16 + Layout::row(s)) * Shape::kLd + n * 16 + Layout::column(i)] =
              from_float<T>(out_[m][n].v[i] * inverse[s]);
        }
      }
    }
    __syncthreads();
    constexpr int kLanes = lanes_of<T>();
    using V = Vec<T, kLanes>;
    T* y = static_cast<T*>(p_.y) + batch_ * p_.y_strides.batch + head_ * p_.y_strides.head;
    for (int i = static_cast<int>(threadIdx.x); i < Shape::kQueries * Shape::kD / kLanes; i += Shape::kThreads) {
      const int line = i / (Shape::kD / kLanes), column = i % (Shape::kD / kLanes) * kLanes;
      if (query0_ + line >= p_.query_length || column >= p_.value_size) continue;
      *reinterpret_cast<V*>(y + int64_t{query0_ + line} * p_.y_strides.sequence + column) =
          *reinterpret_cast<const V*>(queries_ + line * Shape::kLd + column);
    }
  }

  const AttentionParams& p_;
  float scale_;
  const KeyParts& parts_;
  int part_ = 0;
  int query0_, head_, batch_;
  int keys_end_, lead_;  // lead_: where the keys of the block's first row end, were there no end for all
  T *queries_, *keys_, *values_, *weights_;
  const T *k_, *v_;
  RowCopies<T, Shape, Shape::kQueries, false> query_copies_;
  RowCopies<T, Shape, Shape::kKeys, false> key_copies_;
  RowCopies<T, Shape, Shape::kKeys, !SBK_NVIDIA> value_copies_;
  Accumulator out_[kRowTiles][kValueTiles];
  float top_[kRowTiles][kSlots], sum_[kRowTiles][kSlots];
};

#endif  // device pass

#if SBK_NVIDIA
#define SBK_TILED_BOUNDS Shape::threads(kNarrowestWave), Shape::kBlocks
#elif defined(__HIP_DEVICE_COMPILE__)
#define SBK_TILED_BOUNDS Shape::threads(kWaveSize)
#else
#define SBK_TILED_BOUNDS Shape::threads(kNarrowestWave)
#endif

// Grid: x over tiles of queries, y over query heads, z over the batch; tiles_last: heads, batch, tiles.
// Split: a tile's parts of the keys, which are whole tiles of them, side by side in x.
template <class T, class Shape, bool General, bool Split>
__global__ void __launch_bounds__(SBK_TILED_BOUNDS)
attention_tiled([[maybe_unused]] const AttentionParams p, [[maybe_unused]] float scale, [[maybe_unused]] bool tiles_last,
                [[maybe_unused]] const KeyParts parts) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  extern __shared__ __align__(16) char shared[];
  TiledBlock<T, Shape, General, Split>(p, scale, tiles_last, parts, shared).run();
#endif
}

}  // namespace sbk::attention_detail
