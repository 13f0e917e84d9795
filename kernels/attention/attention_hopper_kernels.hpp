// The tiled attention for float16 on NVIDIA's Hopper (sm_90a): wgmma reads queries, keys and values from shared memory,
// where one lane of a block's last warp orders them from the tensor copy engine. The scores of a tile of keys are
// multiplied while the values of the tile before are, and softened while those products run (after Shah et al. 2024,
// "FlashAttention-3"). Facts: PTX ISA, "Tensors"; CUDA driver API, tensor maps.
#pragma once

#include <cuda.h>

#include "attention/attention_tiled_kernels.hpp"
#include "common/hopper.hpp"
#include "common/overlap.hpp"

namespace sbk::attention_detail {

// Groups: warpgroups, 64 queries each. D: head size and value size, padded. BK: keys to a tile. Blocks: on one
// multiprocessor at a time. A tile lies in shared memory in boxes of 64 columns, or of 32 where D is not a multiple of 64; a box's
// rows are swizzled.
template <int D, int BK, int Groups, int Blocks, bool Turns>
struct HopperTiles {
  static constexpr int kD = D, kKeys = BK, kGroups = Groups, kQueries = 64 * Groups, kBlocks = Blocks;
  static constexpr bool kTurns = Turns;
  static constexpr int kColumns = D % 64 == 0 ? 64 : 32, kBoxes = D / kColumns, kRowBytes = kColumns * 2, kStages = 2;
  static_assert(D % kColumns == 0);
  static constexpr int kThreads = Groups * 128, kBlock = kThreads + 128;  // the last warpgroup copies
  // Registers a thread: the block gets kEvenRegisters for each, and the copying warpgroup leaves the others its own.
  static constexpr int kEvenRegisters = 65536 / Blocks / kBlock / 8 * 8, kFeedRegisters = 24;
  static constexpr int kShare = (kEvenRegisters * (Groups + 1) - kFeedRegisters) / Groups / 8 * 8;
  static constexpr int kRegisters = kShare < 240 ? kShare : 240;
  static constexpr bool kLent = kEvenRegisters < kRegisters;  // a block of few threads has all it can use
  static constexpr int kQueryBytes = kQueries * kRowBytes * kBoxes, kTileBytes = BK * kRowBytes * kBoxes;
  static constexpr int kAlign = 1024;  // eight rows
  static constexpr int kShared = kQueryBytes + 2 * kStages * kTileBytes + kAlign;
};

// Axes, innermost first: column, row, head, batch. Zeros where columns or rows end.
struct AttentionMaps {
  CUtensorMap q, k, v;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Unrolled in two loops: one of 64 rounds, nvcc 13.0 unrolls after it has given its arrays a place in local memory.
#define SBK_EACH(i, count)                                            \
  _Pragma("unroll") for (int i##_0 = 0; i##_0 < (count); i##_0 += 8) \
      _Pragma("unroll") for (int i = i##_0; i < i##_0 + 8; ++i)

template <class Tiles>
struct HopperShared {
  Barrier queries, keys_full[Tiles::kStages], keys_empty[Tiles::kStages], values_full[Tiles::kStages],
      values_empty[Tiles::kStages];

  __device__ __forceinline__ void init() {
    queries.init(1);
    for (int i = 0; i < Tiles::kStages; ++i) {
      keys_full[i].init(1);
      values_full[i].init(1);
      keys_empty[i].init(Tiles::kThreads / kWaveSize);
      values_empty[i].init(Tiles::kThreads / kWaveSize);
    }
    wgmma::publish();
  }
};

// Rows from `row` on, box by box.
template <class Tiles, int Rows>
__device__ __forceinline__ void copy_rows(char* to, const CUtensorMap& map, Barrier& barrier, int row, int head, int batch) {
  barrier.arrive_expecting(Rows * Tiles::kRowBytes * Tiles::kBoxes);
#pragma unroll
  for (int box = 0; box < Tiles::kBoxes; ++box) {
    const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to + box * Rows * Tiles::kRowBytes));
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
        "[%2];" ::"r"(address),
        "l"(&map), "r"(barrier.address()), "r"(box * Tiles::kColumns), "r"(row), "r"(head), "r"(batch)
        : "memory");
  }
}

// Which tile of queries of which head a block has, and from where to where its keys lie.
template <class Tiles, bool Split>
struct HopperPlace {
  int query0, head, batch, key_head, part, first_key, keys_end, tiles;

  __device__ __forceinline__ HopperPlace(const AttentionParams& p, const KeyParts& parts) {
    uint32_t tile = gridDim.x - 1 - blockIdx.x;  // causal: the longest rows first
    part = 0;
    if constexpr (Split) {
      part = static_cast<int>(tile % static_cast<uint32_t>(parts.splits));
      tile /= static_cast<uint32_t>(parts.splits);
    }
    query0 = static_cast<int>(tile) * Tiles::kQueries;
    head = static_cast<int>(blockIdx.y);
    batch = static_cast<int>(blockIdx.z);
    key_head = head / static_cast<int>(p.query_heads / p.key_heads);
    int64_t end = p.key_length;
    if (p.causal) end = min(end, query0 + Tiles::kQueries + causal_offset(p, batch));
    if (p.key_lengths != nullptr) end = min(end, static_cast<int64_t>(p.key_lengths[batch]));
    if constexpr (Split) end = min(end, (part + 1) * parts.keys);
    first_key = Split ? static_cast<int>(part * parts.keys) : 0;
    keys_end = static_cast<int>(max(end, int64_t{0}));
    tiles = max(keys_end - first_key + Tiles::kKeys - 1, 0) / Tiles::kKeys;
  }
};

template <class Tiles, bool Split>
__device__ __forceinline__ void feed(const AttentionMaps& maps, const HopperPlace<Tiles, Split>& at, char* queries, char* keys,
                                     char* values, HopperShared<Tiles>& barriers) {
  if (at.tiles == 0) return;
  copy_rows<Tiles, Tiles::kQueries>(queries, maps.q, barriers.queries, at.query0, at.head, at.batch);
  for (int tile = 0; tile < at.tiles; ++tile) {
    const int place = tile % Tiles::kStages, parity = (tile / Tiles::kStages - 1) % 2;
    const int key0 = at.first_key + tile * Tiles::kKeys;
    if (tile >= Tiles::kStages) barriers.keys_empty[place].wait(parity);
    copy_rows<Tiles, Tiles::kKeys>(keys + place * Tiles::kTileBytes, maps.k, barriers.keys_full[place], key0, at.key_head,
                                   at.batch);
    if (tile >= Tiles::kStages) barriers.values_empty[place].wait(parity);
    copy_rows<Tiles, Tiles::kKeys>(values + place * Tiles::kTileBytes, maps.v, barriers.values_full[place], key0,
                                   at.key_head, at.batch);
  }
}

// cap * tanh(x / cap), 7e-7 of itself off at most, however small x / cap is: by exponentials alone the difference of two
// numbers near cap would be left of it. The polynomial is tanh(t) / t to 1.5e-8 (fitted for |t| < 0.5 in t * t).
__device__ __forceinline__ float soft_cap(float x, float cap, float inverse_cap) {
  const float t = x * inverse_cap, square = t * t, size = fabsf(t);
  const float series = fmaf(fmaf(fmaf(0.01724149f, square, -0.053045494f), square, 0.13325879f), square, -0.33333144f);
  const float falling = fast_exp2(-2.0f * kLog2E * size);
  const float far = copysignf(__fdividef(1.0f - falling, 1.0f + falling), t);
  return cap * (size < 0.5f ? fmaf(t * square, series, t) : far);
}

// A warpgroup's 64 queries; a thread has two rows of them, 8 apart, and of each two neighbouring columns in every eight.
template <class Tiles, bool General, bool Split>
class HopperQueries {
 public:
  __device__ __forceinline__ HopperQueries(const AttentionParams& p, float scale, const HopperPlace<Tiles, Split>& at,
                                           const KeyParts& parts, char* queries, char* keys, char* values, HopperShared<Tiles>& barriers)
      : p_(p), scale_(scale), at_(at), parts_(parts), keys_(keys), values_(values), barriers_(barriers) {
    group_ = wave_id() / 4;
    mine_ = queries + group_ * 64 * Tiles::kRowBytes;
    const int64_t offset = p.causal ? causal_offset(p, at.batch) : 0;
    const int bytes = p.mask_kind == MaskKind::boolean ? 1 : 2;
    paired_ = General && p.mask_kind != MaskKind::int32 && reinterpret_cast<uintptr_t>(p.mask) % (2 * bytes) == 0;
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      const int query = at.query0 + row(s);
      end_[s] = p.causal ? static_cast<int>(max(min(static_cast<int64_t>(at.keys_end), query + offset + 1), int64_t{0}))
                         : at.keys_end;
      if (General && p.mask_kind != MaskKind::none) {
        mask_[s] = at.batch * p.mask_batch_stride + at.head * p.mask_head_stride +
                   min(static_cast<int64_t>(query), p.query_length - 1) * p.mask_query_stride;
        paired_ = paired_ && mask_[s] % 2 == 0;
      }
      top_[s] = -INFINITY;
      sum_[s] = 0.0f;
    }
    SBK_EACH(i, kOut) out_[i] = 0.0f;
  }

  __device__ __forceinline__ void run() {
    if (at_.tiles > 0) {
      barriers_.queries.wait(0);
      begin_scores(0);
      fetch_mask(0);
      wgmma::wait<0>();
      wgmma::pin(scores_);
      release(barriers_.keys_empty[0]);
      soften(0);
      share();
      for (int tile = 1; tile < at_.tiles; ++tile) step(tile);
      begin_values(at_.tiles - 1);
      wgmma::wait<0>();
      wgmma::pin(out_);
    }
    let_next_start();
    if constexpr (Split) store_part();
    else store();
  }

 private:
  static constexpr int kScores = Tiles::kKeys / 2, kOut = Tiles::kD / 2;  // values a thread

  // Of this thread's row s, within the block's queries.
  __device__ __forceinline__ int row(int s) const { return wave_id() * 16 + lane_id() / 4 + 8 * s; }
  __device__ __forceinline__ static int slot(int i) { return i / 2 % 2; }
  __device__ __forceinline__ static int column(int i) { return i / 4 * 8 + 2 * (lane_id() % 4) + i % 2; }

  __device__ __forceinline__ void release(Barrier& empty) const {
    if (lane_id() == 0) empty.arrive();
  }

  __device__ __forceinline__ void begin_scores(int tile) {
    const int place = tile % Tiles::kStages;
    barriers_.keys_full[place].wait(tile / Tiles::kStages % 2);
    wgmma::fence();
#pragma unroll
    for (int box = 0; box < Tiles::kBoxes; ++box) {
      const uint64_t a = wgmma::descriptor<Tiles::kRowBytes>(mine_ + box * Tiles::kQueries * Tiles::kRowBytes);
      const uint64_t b = wgmma::descriptor<Tiles::kRowBytes>(keys_ + place * Tiles::kTileBytes + box * Tiles::kKeys * Tiles::kRowBytes);
#pragma unroll
      for (int k = 0; k < Tiles::kColumns / 16; ++k) {
        if (box == 0 && k == 0) wgmma::multiply<false>(scores_, a, b);
        else wgmma::multiply(scores_, a + 2 * k, b + 2 * k);
      }
    }
    wgmma::commit();
  }

  __device__ __forceinline__ void begin_values(int tile) {
    const int place = tile % Tiles::kStages;
    barriers_.values_full[place].wait(tile / Tiles::kStages % 2);
    const uint64_t b = wgmma::descriptor<Tiles::kRowBytes>(values_ + place * Tiles::kTileBytes, Tiles::kKeys * Tiles::kRowBytes);
    wgmma::fence();
#pragma unroll
    for (int k = 0; k < Tiles::kKeys / 16; ++k) wgmma::multiply_down(out_, shares_ + 4 * k, b + k * (16 * Tiles::kRowBytes / 16));
    wgmma::commit();
  }

  __device__ __forceinline__ void step(int tile) {
    if (Tiles::kTurns) sync_some(2 + group_, 2 * 128);
    begin_scores(tile);
    begin_values(tile - 1);
    if (Tiles::kTurns) arrive_some(2 + (group_ + 1) % Tiles::kGroups, 2 * 128);
    fetch_mask(tile);
    wgmma::wait<1>();
    wgmma::pin(scores_);
    release(barriers_.keys_empty[tile % Tiles::kStages]);
    soften(tile);
    wgmma::wait<0>();
    wgmma::pin(out_);
    release(barriers_.values_empty[(tile - 1) % Tiles::kStages]);
    SBK_EACH(i, kOut) out_[i] *= fade_[slot(i)];
    share();
  }

  // Scores become weights exp(score - top); the sums so far are scaled to the new top, the outputs are to be by fade_.
  __device__ __forceinline__ void soften(int tile) {
    const int key0 = at_.first_key + tile * Tiles::kKeys;
    if (General) mask(key0);
    const int first_end = p_.causal ? static_cast<int>(min(static_cast<int64_t>(at_.keys_end), at_.query0 + group_ * 64 + (General ? causal_offset(p_, at_.batch) : p_.causal_offset) + 1)) : at_.keys_end;
    if (key0 + Tiles::kKeys > first_end) {
      SBK_EACH(i, kScores) {
        scores_[i] = key0 + column(i) < end_[slot(i)] ? scores_[i] : -INFINITY;
      }
    }
    const float factor = General ? kLog2E : scale_ * kLog2E;
    float base[2];
#pragma unroll
    for (int s = 0; s < 2; ++s) base[s] = top_[s];
    SBK_EACH(i, kScores) base[slot(i)] = fmaxf(base[slot(i)], scores_[i]);
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      const float top = row_max(base[s]);
      base[s] = top == -INFINITY ? 0.0f : top * factor;
      fade_[s] = top == -INFINITY ? 0.0f : fast_exp2((top_[s] - top) * factor);
      top_[s] = top;
      sum_[s] *= fade_[s];
    }
    SBK_EACH(i, kScores) {
      scores_[i] = fast_exp2(scores_[i] * factor - base[slot(i)]);
      sum_[slot(i)] += scores_[i];
    }
  }

  // Whether this tile's mask is read two neighbouring keys at a time, while its scores are multiplied.
  __device__ __forceinline__ bool fetches(int key0) const { return paired_ && key0 + Tiles::kKeys <= at_.keys_end; }

  __device__ __forceinline__ void fetch_mask(int tile) {
    const int key0 = tile * Tiles::kKeys;
    if (!General || !fetches(key0)) return;
    if (p_.mask_kind == MaskKind::boolean) fetch<uint8_t, uint16_t>(key0);
    else if (p_.mask_kind == MaskKind::additive) fetch<__half, uint32_t>(key0);
  }

  template <class M, class Pair>
  __device__ __forceinline__ void fetch(int key0) {
    const M* const mask = static_cast<const M*>(p_.mask) + key0 + column(0);
    const auto* const first = reinterpret_cast<const Pair*>(mask + mask_[0]);
    const auto* const second = reinterpret_cast<const Pair*>(mask + mask_[1]);
    const bool one_row = p_.mask_query_stride == 0;
    SBK_EACH(i, kScores / 2) {
      if (i % 2 == 0) mask_words_[i] = first[i / 2 * 4];
      else if (!one_row) mask_words_[i] = second[i / 2 * 4];
    }
  }

  // Scale, soft cap and mask.
  __device__ __forceinline__ void mask(int key0) {
    float scale = scale_;
    if (p_.softcap > 0.0f) {
      const float inverse = 1.0f / p_.softcap;
      SBK_EACH(i, kScores) scores_[i] = soft_cap(scores_[i] * scale_, p_.softcap, inverse);
      scale = 1.0f;
    }
    switch (p_.mask_kind) {
      case MaskKind::boolean: return fetches(key0) ? use_fetched<uint8_t>(scale) : mask_by(static_cast<const uint8_t*>(p_.mask), key0, scale);
      case MaskKind::int32: return mask_by(static_cast<const int32_t*>(p_.mask), key0, scale);
      case MaskKind::additive: return fetches(key0) ? use_fetched<__half>(scale) : mask_by(static_cast<const __half*>(p_.mask), key0, scale);
      case MaskKind::none: break;
    }
    SBK_EACH(i, kScores) scores_[i] *= scale;
  }

  template <class M>
  __device__ __forceinline__ static float masked_score(float score, float scale, M value) {
    if constexpr (sizeof(M) == 2) return fmaf(score, scale, to_float(value));
    else if constexpr (sizeof(M) == 4) return fmaf(score, scale, static_cast<float>(value));
    else return value ? score * scale : -INFINITY;
  }

  template <class M>
  __device__ __forceinline__ void use_fetched(float scale) {
    const bool one_row = p_.mask_query_stride == 0;
    SBK_EACH(i, kScores / 2) {
      const uint32_t word = one_row ? mask_words_[i - i % 2] : mask_words_[i];
      Vec<M, 2> pair;
      memcpy(&pair, &word, sizeof pair);
      scores_[2 * i] = masked_score(scores_[2 * i], scale, pair.v[0]);
      scores_[2 * i + 1] = masked_score(scores_[2 * i + 1], scale, pair.v[1]);
    }
  }

  template <class M>
  __device__ __forceinline__ void mask_by(const M* mask, int key0, float scale) {
    const int last = at_.keys_end - 1 - key0;  // beyond it may lie no mask, and the scores do not count
    SBK_EACH(i, kScores) {
      scores_[i] = masked_score(scores_[i], scale, mask[mask_[slot(i)] + key0 + min(column(i), last)]);
    }
  }

  // The weights as the next product's operand.
  __device__ __forceinline__ void share() {
    SBK_EACH(i, kScores / 2) {
      const __half2 pair = __floats2half2_rn(scores_[2 * i], scores_[2 * i + 1]);
      memcpy(&shares_[i], &pair, sizeof pair);
    }
  }

  // Where vector n of row r of this warp's 16 lies, in its warpgroup's part of the queries' boxes: another warpgroup may
  // still multiply its own.
  __device__ __forceinline__ char* place(int r, int n) const {
    constexpr int kVectors = Tiles::kColumns / 8, kRowsOfTurn = 8 / kVectors;  // of a box; rows of one place
    return mine_ + n / kVectors * (Tiles::kQueries * Tiles::kRowBytes) + (wave_id() % 4 * 16 + r) * Tiles::kRowBytes +
           (n % kVectors ^ r / kRowsOfTurn % kVectors) * kVectorBytes;
  }

  // This part's sums, for attention_merge.
  __device__ __forceinline__ void store_part() {
    const int64_t width = kPartialHead + p_.value_size;
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      const float sum = row_sum(sum_[s]);
      const int query = at_.query0 + row(s);
      if (query >= p_.query_length) continue;
      const int64_t place = (static_cast<int64_t>(at_.batch) * p_.query_heads + at_.head) * p_.query_length + query;
      float* const to = parts_.partial + (place * parts_.splits + at_.part) * width;
      if (column(0) == 0) {
        to[0] = top_[s] == -INFINITY ? -INFINITY : top_[s] * scale_;
        to[1] = sum;
        to[2] = sum != 0.0f ? 1.0f : 0.0f;  // NaN too
      }
      SBK_EACH(i, kOut) {
        if (slot(i) == s && column(i) < p_.value_size) to[kPartialHead + column(i)] = out_[i];
      }
    }
  }

  // Through the queries' place in shared memory, so that whole vectors leave.
  __device__ __forceinline__ void store() {
    sync_some(1 + (Tiles::kTurns ? 8 : 0) + group_, 128);  // the warpgroup has read its queries
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      const float sum = row_sum(sum_[s]);
      const float inverse = sum == 0.0f ? p_.empty_row : 1.0f / sum;
#pragma unroll
      for (int n = 0; n < Tiles::kD / 8; ++n) {
        *reinterpret_cast<__half2*>(place(lane_id() / 4 + 8 * s, n) + lane_id() % 4 * 4) =
            __floats2half2_rn(out_[4 * n + 2 * s] * inverse, out_[4 * n + 2 * s + 1] * inverse);
      }
    }
    __syncwarp();
    constexpr int kVectors = Tiles::kD / 8;  // of a row
    __half* y = static_cast<__half*>(p_.y) + at_.batch * p_.y_strides.batch + at_.head * p_.y_strides.head;
#pragma unroll
    for (int i = 0; i < 16 * kVectors / kWaveSize; ++i) {
      const int r = (i * kWaveSize + lane_id()) / kVectors, n = (i * kWaveSize + lane_id()) % kVectors;
      const int query = at_.query0 + wave_id() * 16 + r;
      if (query >= p_.query_length || n * 8 >= p_.value_size) continue;
      *reinterpret_cast<uint4*>(y + query * p_.y_strides.sequence + n * 8) = *reinterpret_cast<const uint4*>(place(r, n));
    }
  }

  const AttentionParams& p_;
  const float scale_;
  const HopperPlace<Tiles, Split>& at_;
  const KeyParts& parts_;
  char *mine_, *keys_, *values_;
  HopperShared<Tiles>& barriers_;
  int group_, end_[2];
  int64_t mask_[2];
  bool paired_;  // the mask's rows begin where two values can be read at a time
  uint32_t mask_words_[kScores / 2];
  float scores_[kScores], out_[kOut], top_[2], sum_[2], fade_[2];
  uint32_t shares_[kScores / 2];
};

#endif  // sm_90a

// Grid: x over tiles of queries (with Split, and parts of the keys), y over query heads, z over the batch.
template <class Tiles, bool General, bool Split>
__global__ void __launch_bounds__(Tiles::kBlock, Tiles::kBlocks)
    attention_hopper([[maybe_unused]] const __grid_constant__ AttentionParams p, [[maybe_unused]] float scale,
                     [[maybe_unused]] const __grid_constant__ AttentionMaps maps, [[maybe_unused]] const __grid_constant__ KeyParts parts) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(16) char dynamic[];
  __shared__ HopperShared<Tiles> barriers;
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(dynamic));
  char* queries = dynamic + (Tiles::kAlign - address % Tiles::kAlign) % Tiles::kAlign;
  char* keys = queries + Tiles::kQueryBytes;
  char* values = keys + Tiles::kStages * Tiles::kTileBytes;
  if (threadIdx.x == 0) barriers.init();
  __syncthreads();
  wait_for_previous();
  const HopperPlace<Tiles, Split> at(p, parts);
  if (wave_id() >= Tiles::kThreads / kWaveSize) {
    if constexpr (Tiles::kLent) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Tiles::kFeedRegisters));
    if (threadIdx.x == Tiles::kThreads) feed(maps, at, queries, keys, values, barriers);
  } else {
    if constexpr (Tiles::kLent) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Tiles::kRegisters));
    HopperQueries<Tiles, General, Split> mine(p, scale, at, parts, queries, keys, values, barriers);
    if (Tiles::kTurns && wave_id() / 4 == Tiles::kGroups - 1) arrive_some(2, 2 * 128);
    mine.run();
  }
#endif
}

}  // namespace sbk::attention_detail
