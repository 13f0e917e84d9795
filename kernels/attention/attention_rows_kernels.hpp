// Attention for few queries on many keys, and for rows that no tile takes. A block has up to R queries that share a key
// head, and a part of the keys (split keys: Dao, Haziza, Massa & Sizov 2023, "Flash-Decoding"). Sixteen lanes read one
// key's row together, in whole vectors where rows start on them. Parts leave their sums in the workspace; a second
// kernel joins them.
#pragma once

#include "common/device.hpp"
#include "common/overlap.hpp"

#include "attention/attention_bias.hpp"
#include "attention/attention_parts.hpp"

namespace sbk::attention_detail {

constexpr int kRowLanes = 16;      // that share a key's row
constexpr int kRowsThreads = 128;
constexpr int kMergeThreads = 128;

// C: vectors of 16 bytes a lane, so rows have up to kRowLanes * C vectors. R: queries of a block. Whole: rows start on
// whole vectors and end on one.
template <class T, int C, int R, bool Whole>
struct RowsShape {
  using Type = T;
  static constexpr int kChunks = C, kRows = R;
  static constexpr bool kWhole = Whole;
  static constexpr int kColumns = kRowLanes * C * lanes_of<T>();
  // Keys that sixteen lanes read at a time: loads on their way, as far as there are registers.
  static constexpr int kKeys = !Whole ? 1 : C * R * lanes_of<T>() > 16 ? 2 : 4;
};

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)

// One part of one query. A key group of sixteen lanes has its own top and sum until the end.
struct RowState {
  float top, sum;
  bool open;
};

__device__ __forceinline__ float fade_of(float from, float to) { return to == -INFINITY ? 0.0f : expf(from - to); }
// What sums with the top `from` count among those with the top `to`. Without a top they are zeros, or a NaN, which stays.
__device__ __forceinline__ float share_of(float from, float to) { return from == -INFINITY ? 1.0f : expf(from - to); }

template <class Shape>
class RowsBlock {
 public:
  using T = typename Shape::Type;
  static constexpr int C = Shape::kChunks, R = Shape::kRows, L = lanes_of<T>(), kKeys = Shape::kKeys;

  __device__ __forceinline__ RowsBlock(const AttentionParams& p, const KeyParts& plan) : p_(p) {
    const int64_t group = p.query_heads / p.key_heads, rows = group * p.query_length;
    const int64_t batch = blockIdx.y / p.key_heads, kv = blockIdx.y - batch * p.key_heads;
    const int64_t first_row = static_cast<int64_t>(blockIdx.x) * R;
    rows_ = static_cast<int>(min(rows - first_row, int64_t{R}));
    // Every pointer is worked out before anything is stored: AMD's compiler then knows that it is none of LDS.
    k_ = static_cast<const T*>(p.k) + batch * p.k_strides.batch + kv * p.k_strides.head;
    v_ = static_cast<const T*>(p.v) + batch * p.v_strides.batch + kv * p.v_strides.head;
    mask_ = p.mask;
    begin_ = static_cast<int64_t>(blockIdx.z) * plan.keys;
    int64_t last = 0;
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const int64_t row = first_row + (r < rows_ ? r : 0), head = kv * group + row / p.query_length, query = row % p.query_length;
      const T* q = static_cast<const T*>(p.q) + batch * p.q_strides.batch + head * p.q_strides.head + query * p.q_strides.sequence;
      load_query(q, r);
      y_[r] = static_cast<T*>(p.y) + batch * p.y_strides.batch + head * p.y_strides.head + query * p.y_strides.sequence;
      const int64_t place = (batch * p.query_heads + head) * p.query_length + query;
      partial_[r] = plan.partial + (place * plan.splits + blockIdx.z) * (kPartialHead + p.value_size);
      mask_at_[r] = batch * p.mask_batch_stride + head * p.mask_head_stride + query * p.mask_query_stride;
      int64_t end = p.key_length;
      if (p.key_lengths != nullptr) end = min(end, static_cast<int64_t>(p.key_lengths[batch]));
      if (p.causal) end = min(end, query + causal_offset(p, batch) + 1);
      row_end_[r] = end;
      last = max(last, end);
    }
    end_ = min(last, begin_ + plan.keys);
  }

  __device__ __forceinline__ void run(bool is_partial) {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      state_[r] = {-INFINITY, 0.0f, false};
#pragma unroll
      for (int c = 0; c < C; ++c) {
#pragma unroll
        for (int j = 0; j < L; ++j) out_[r][c][j] = 0.0f;
      }
    }
    constexpr int kStep = kGroups * kKeys;
    for (int64_t first = begin_; first < end_; first += kStep) step(first + group() * kKeys);
#pragma unroll
    for (int r = 0; r < R; ++r) {
      if (threadIdx.x % kRowLanes == 0) states()[group()][r] = state_[r];
    }
#pragma unroll
    for (int r = 0; r < R; ++r) join_groups(r, is_partial);
  }

 private:
  static constexpr int kGroups = kRowsThreads / kRowLanes;  // of lanes that share keys, in the block
  using V = Vec<T, L>;
  using States = RowState[kGroups][R];

  __device__ __forceinline__ static int group() { return static_cast<int>(threadIdx.x) / kRowLanes; }
  __device__ __forceinline__ static int column(int c) { return (c * kRowLanes + static_cast<int>(threadIdx.x) % kRowLanes) * L; }
  __device__ __forceinline__ static States& states() {
    __shared__ RowState row_states[kGroups][R];
    return row_states;
  }

  // Columns from `size` on are the last ones before it: who multiplies them takes zeros instead. (A load that may be left
  // out would keep its zeros in scratch memory on AMD.)
  __device__ __forceinline__ static V load(const T* row, int at, int64_t size) {
    if (Shape::kWhole) return *reinterpret_cast<const V*>(row + min(static_cast<int64_t>(at), size - L));
    V values;
#pragma unroll
    for (int j = 0; j < L; ++j) values.v[j] = row[min(static_cast<int64_t>(at + j), size - 1)];
    return values;
  }

  __device__ __forceinline__ void load_query(const T* q, int r) {
#pragma unroll
    for (int c = 0; c < C; ++c) {
      const V values = load(q, column(c), p_.head_size);
#pragma unroll
      for (int j = 0; j < L; ++j) query_[r][c][j] = column(c) + j < p_.head_size ? to_float(values.v[j]) : 0.0f;
    }
  }

  // kKeys keys from `key` on; of those from end_ on the last is read, and their weights are 0.
  __device__ __forceinline__ void step(int64_t key) {
    V keys[kKeys][C], values[kKeys][C];
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      const T* const row = k_ + min(key + i, end_ - 1) * p_.k_strides.sequence;
#pragma unroll
      for (int c = 0; c < C; ++c) keys[i][c] = load(row, column(c), p_.head_size);
    }
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      const T* const row = v_ + min(key + i, end_ - 1) * p_.v_strides.sequence;
#pragma unroll
      for (int c = 0; c < C; ++c) values[i][c] = load(row, column(c), p_.value_size);
    }
    float scores[R][kKeys];
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
#pragma unroll
      for (int r = 0; r < R; ++r) scores[r][i] = 0.0f;
#pragma unroll
      for (int c = 0; c < C; ++c) {
#pragma unroll
        for (int j = 0; j < L; ++j) {
          const float value = column(c) + j < p_.head_size ? to_float(keys[i][c].v[j]) : 0.0f;
#pragma unroll
          for (int r = 0; r < R; ++r) scores[r][i] = fmaf(query_[r][c][j], value, scores[r][i]);
        }
      }
    }
#pragma unroll
    for (int r = 0; r < R; ++r) soften(scores[r], r, key);
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      if (key + i >= end_) continue;  // it holds another key's value, which may be no number
#pragma unroll
      for (int c = 0; c < C; ++c) {
#pragma unroll
        for (int j = 0; j < L; ++j) {
          const float value = to_float(values[i][c].v[j]);
#pragma unroll
          for (int r = 0; r < R; ++r) out_[r][c][j] = fmaf(scores[r][i], value, out_[r][c][j]);
        }
      }
    }
  }

  // A lane's parts of a row's products become the row's weights; what it has so far is scaled to the new top.
  __device__ __forceinline__ void soften(float (&scores)[kKeys], int r, int64_t key) {
#pragma unroll
    for (int i = 0; i < kKeys; ++i) scores[i] = row16_sum(scores[i]) * p_.scale;
    if (p_.softcap > 0.0f) {
#pragma unroll
      for (int i = 0; i < kKeys; ++i) scores[i] = p_.softcap * tanhf(scores[i] / p_.softcap);
    }
    const int64_t end = min(end_, row_end_[r]);
    float top = state_[r].top;
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      const bool exists = key + i < end;
      Bias bias{!exists};
      if (mask_ != nullptr && exists) bias = masked_bias(mask_at_[r] + key + i);
      scores[i] = bias.on(scores[i]);
      state_[r].open = state_[r].open || bias.open();
      top = fmaxf(top, scores[i]);  // of those that are numbers
    }
    const float fade = fade_of(state_[r].top, top), base = top == -INFINITY ? 0.0f : top;
    state_[r].top = top;
    state_[r].sum *= fade;
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      scores[i] = expf(scores[i] - base);
      state_[r].sum += scores[i];
    }
#pragma unroll
    for (int c = 0; c < C; ++c) {
#pragma unroll
      for (int j = 0; j < L; ++j) out_[r][c][j] *= fade;
    }
  }

  __device__ __forceinline__ Bias masked_bias(int64_t at) const {
    if (p_.mask_kind == MaskKind::boolean) return {static_cast<const uint8_t*>(mask_)[at] == 0};
    if (p_.mask_kind == MaskKind::int32) return {false, static_cast<float>(static_cast<const int32_t*>(mask_)[at])};
    return {false, to_float(static_cast<const T*>(mask_)[at])};
  }

  // A row's sums of all groups become one, and leave.
  __device__ __forceinline__ void join_groups(int r, bool is_partial) {
    __shared__ float outs[kGroups][Shape::kColumns];
    __syncthreads();  // the states are there, and the row before has been read
#pragma unroll
    for (int c = 0; c < C; ++c) {
#pragma unroll
      for (int j = 0; j < L; ++j) outs[group()][column(c) + j] = out_[r][c][j];
    }
    __syncthreads();
    if (r >= rows_) return;
    float top = -INFINITY, sum = 0.0f, share[kGroups];
    bool open = false;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) top = fmaxf(top, states()[g][r].top);
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const RowState state = states()[g][r];
      share[g] = share_of(state.top, top);
      sum += state.sum * share[g];
      open = open || state.open;
    }
    const float inverse = 1.0f / sum;
    const bool answered = open && sum != 0.0f;
    for (int at = static_cast<int>(threadIdx.x); at < p_.value_size; at += kRowsThreads) {
      float value = 0.0f;
#pragma unroll
      for (int g = 0; g < kGroups; ++g) value += outs[g][at] * share[g];
      if (is_partial) partial_[r][kPartialHead + at] = value;
      else y_[r][at] = from_float<T>(answered ? value * inverse : p_.empty_row);
    }
    if (is_partial && threadIdx.x == 0) {
      partial_[r][0] = top;
      partial_[r][1] = sum;
      partial_[r][2] = open ? 1.0f : 0.0f;
    }
  }

  const AttentionParams& p_;
  int rows_;
  const T *k_, *v_;
  const void* mask_;
  T* y_[R];
  float* partial_[R];
  int64_t begin_, end_, row_end_[R], mask_at_[R];
  float query_[R][C][L], out_[R][C][L];
  RowState state_[R];
};

#endif  // device pass

// Grid: x over a key head's queries, R at a time, y over batch and key heads, z over parts of the keys.
template <class Shape>
__global__ void __launch_bounds__(kRowsThreads)
attention_rows([[maybe_unused]] const AttentionParams p, [[maybe_unused]] const KeyParts plan) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  RowsBlock<Shape>(p, plan).run(plan.partial != nullptr);
#endif
}

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
__device__ inline float block_max(float value, float* scratch) {
  const int waves = static_cast<int>(blockDim.x) / kWaveSize;
  value = wave_max(value);
  __syncthreads();
  if (lane_id() == 0) scratch[wave_id()] = value;
  __syncthreads();
  float top = scratch[0];
  for (int i = 1; i < waves; ++i) top = fmaxf(top, scratch[i]);
  return top;
}
#endif

// Joins the parts of a query, of which there are kMostKeyParts at most. Grid: x over batch, query heads and queries.
template <class T>
__global__ void __launch_bounds__(kMergeThreads)
attention_merge([[maybe_unused]] const AttentionParams p, [[maybe_unused]] const KeyParts plan, [[maybe_unused]] int64_t rows) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  __shared__ float shares[kMostKeyParts];
  __shared__ float scratch[kMaxWavesPerBlock];
  const int64_t width = kPartialHead + p.value_size;
  wait_for_previous();
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float* parts = plan.partial + row * plan.splits * width;
    float top = -INFINITY, sum = 0.0f, open = 0.0f;
    for (int s = static_cast<int>(threadIdx.x); s < plan.splits; s += kMergeThreads) top = fmaxf(top, parts[s * width]);
    top = block_max(top, scratch);
    for (int s = static_cast<int>(threadIdx.x); s < plan.splits; s += kMergeThreads) {
      const float* part = parts + s * width;
      shares[s] = share_of(part[0], top);
      sum += part[1] * shares[s];
      open += part[2];
    }
    sum = block_sum(sum, scratch);
    let_next_start();
    const bool answered = block_sum(open, scratch) != 0.0f && sum != 0.0f;
    __syncthreads();
    const float inverse = 1.0f / sum;
    const int64_t query = row % p.query_length, head = row / p.query_length % p.query_heads, batch = row / p.query_length / p.query_heads;
    T* y = static_cast<T*>(p.y) + batch * p.y_strides.batch + head * p.y_strides.head + query * p.y_strides.sequence;
    for (int64_t at = threadIdx.x; at < p.value_size; at += kMergeThreads) {
      float value = 0.0f;
#pragma unroll 8
      for (int s = 0; s < plan.splits; ++s) value += parts[s * width + kPartialHead + at] * shares[s];
      y[at] = from_float<T>(answered ? value * inverse : p.empty_row);
    }
    __syncthreads();  // the shares have been read
  }
#endif
}

}  // namespace sbk::attention_detail
