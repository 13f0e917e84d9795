// Attention (ONNX opset 23/24 `Attention`, and the core of com.microsoft `MultiHeadAttention`):
// y = softmax(softcap(scale * q kᵀ) + mask) v for each batch and query head, online softmax in float32.
#pragma once

#include <cmath>

#include "common/status.hpp"
#include "common/types.hpp"

namespace sbk {

enum class MaskKind : int32_t {
  none = 0,
  boolean = 1,   // one byte each, nonzero = takes part
  int32 = 2,     // added to the scaled scores
  additive = 3,  // of `dtype`, added likewise
};

// Strides in elements of the axes batch, head and sequence; the last axis (head size) is dense. A tensor
// [B, S, H * D] is {S * H * D, D, H * D}; a tensor [B, H, S, D] is {H * S * D, S * D, D}.
struct AttentionStrides {
  int64_t batch = 0;
  int64_t head = 0;
  int64_t sequence = 0;
};

struct AttentionParams {
  DataType dtype = DataType::float32;  // of q, k, v, y and an additive mask
  int64_t batch = 0;
  int64_t query_heads = 0;
  int64_t key_heads = 0;  // divides query_heads; grouped queries: head h reads key head h * key_heads / query_heads
  int64_t query_length = 0;
  int64_t key_length = 0;    // past included: give k and v as one tensor each
  int64_t head_size = 0;     // of q and k
  int64_t value_size = 0;    // of v and y
  float scale = 0.0f;        // multiplies q kᵀ
  float softcap = 0.0f;      // > 0: scores become softcap * tanh(scores / softcap), before the mask
  bool causal = false;       // query i sees key j only where j <= i + causal_offset
  bool causal_from_lengths = false;  // the offset is key_lengths[batch] - query_length instead (a cache kept outside)
  float empty_row = 0.0f;    // of a query that no key may answer: 0, or NaN as where the softmax is an operator of its own
  int64_t causal_offset = 0; // the length of the past, or key_length - query_length for the lower-right triangle
  AttentionStrides q_strides, k_strides, v_strides, y_strides;
  MaskKind mask_kind = MaskKind::none;
  // Strides in elements over batch, query head and query; 0 broadcasts. Keys are dense.
  int64_t mask_batch_stride = 0;
  int64_t mask_head_stride = 0;
  int64_t mask_query_stride = 0;
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  const void* mask = nullptr;
  const int32_t* key_lengths = nullptr;  // [batch] or null: keys at and past it do not take part
  void* y = nullptr;
};

// ONNX's scale where a node gives none. Of no products it is any: their sum is 0.
inline float default_attention_scale(int64_t head_size) {
  return head_size > 0 ? 1.0f / std::sqrt(static_cast<float>(head_size)) : 1.0f;
}

size_t attention_workspace_bytes(const AttentionParams& params);

namespace gpu {
// A query that no key may answer gets empty_row, whatever it is (on the tiled forms not if it is NaN and the mask is added);
// one with a NaN among its scores gets NaN.
Status attention(const AttentionParams& params, const Launch& launch);
// Whether the current device has a form for it that nothing made of several kernels outruns (Hopper's; measured).
bool attention_is_fast(const AttentionParams& params);
}
namespace cpu {
Status attention(const AttentionParams& params, const Launch& launch);
}

}  // namespace sbk
