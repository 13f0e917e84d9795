#include <algorithm>

#include "customop/attention_parts.hpp"
#include "customop/ops.hpp"

namespace sbk::customop {
namespace {

// A mask without axes is for all keys, and written out for each: the kernels read whole rows.
Tensor whole_rows(Memory& memory, const Tensor& mask, int64_t keys) {
  Tensor whole = mask;
  whole.shape.back() = keys;
  const size_t element = element_bytes(mask.type), row = static_cast<size_t>(keys) * element;
  const auto rows = static_cast<size_t>(mask.count());
  auto* to = static_cast<char*>(memory.get(rows * row));
  whole.data = to;
  memory.copy({to, row, mask.data, element, element, rows});
  for (size_t copied_bytes = element; copied_bytes < row; copied_bytes *= 2) {  // as much again as is there
    memory.copy({to + copied_bytes, row, to, row, std::min(copied_bytes, row - copied_bytes), rows});
  }
  return whole;
}

// nonpad_kv_seqlen, which is on the host, as the kernel reads it.
const int32_t* key_lengths(Memory& memory, const Tensor& lengths, int64_t batch) {
  if (lengths.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 || lengths.count() != batch) {
    throw std::runtime_error("Attention: nonpad_kv_seqlen must be one int64 for each batch entry");
  }
  std::vector<int32_t> narrow(static_cast<size_t>(batch));
  const auto* from = static_cast<const int64_t*>(lengths.data);
  std::transform(from, from + batch, narrow.begin(),
                 [](int64_t n) { return static_cast<int32_t>(std::clamp<int64_t>(n, 0, INT32_MAX)); });
  return static_cast<const int32_t*>(memory.place(narrow));
}

}  // namespace

AttentionOp::AttentionOp(const Attributes& attributes)
    : query_heads_(attributes.integer("q_num_heads", 0)), key_heads_(attributes.integer("kv_num_heads", 0)),
      has_scale_(attributes.has_any("scale")), scale_(attributes.number("scale", 0.0f)),
      softcap_(attributes.number("softcap", 0.0f)), causal_(attributes.flag("is_causal")),
      mode_(attributes.integer("qk_matmul_output_mode", 0)) {
  if (mode_ < 0 || mode_ > 3) throw std::runtime_error("Attention: qk_matmul_output_mode must be 0, 1, 2 or 3");
  if (scale_ < 0.0f) throw std::runtime_error("Attention: scale must not be negative: ONNX multiplies by its square root");
  for (const char* window : {"left_window_size", "right_window_size"}) {  // opset 25
    if (attributes.integer(window, -1) != -1) throw std::runtime_error(std::string("Attention: ") + window + " is not supported");
  }
}

void AttentionOp::compute(const Call& call, Where where) const {
  const Tensor qt = call.required_input(0, "Q"), kt = call.required_input(1, "K"), vt = call.required_input(2, "V");
  Tensor mask = call.input(3);
  const Tensor past_key = call.input(4), past_value = call.input(5), lengths = call.input(6);
  if (kt.shape.size() != qt.shape.size() || vt.shape.size() != qt.shape.size()) {
    throw std::runtime_error("Attention: Q, K and V must all have 3 axes or all 4");
  }
  if (past_key.present != past_value.present) throw std::runtime_error("Attention: past_key and past_value go together");
  if (past_key.present && lengths.present) throw std::runtime_error("Attention: nonpad_kv_seqlen excludes a past");
  AttentionParams p;
  p.dtype = floating(qt, "Q");
  const size_t element = size_of(p.dtype);
  const Heads q = heads_of(qt, query_heads_, "Q");
  Memory memory(where, call);
  const auto whole = [&](const Heads& fresh, const Tensor& past, size_t output) {
    const int64_t before = past.present && past.shape.size() == 4 ? past.shape[2] : 0;
    void* present = call.output({fresh.batch, fresh.heads, before + fresh.length, fresh.size}, output);
    return extended_heads(memory, past, fresh, present, element);
  };
  const Heads k = whole(heads_of(kt, key_heads_, "K"), past_key, 1), v = whole(heads_of(vt, key_heads_, "V"), past_value, 2);
  place(p, q, k, v);
  p.scale = scale_of(q.size);
  p.softcap = softcap_;
  p.causal = causal_;
  p.causal_offset = past_key.present ? past_key.shape[2] : 0;
  if (qt.shape.size() == 3) {
    p.y = call.output({q.batch, q.length, q.heads * v.size});
    p.y_strides = heads_within(p.y, q.batch, q.length, q.heads, v.size).strides;
  } else {
    p.y = call.output({q.batch, q.heads, q.length, v.size});
    p.y_strides = heads_apart(p.y, q.batch, q.heads, q.length, v.size).strides;
  }
  if (mask.present) {
    if (mask.shape.empty()) {
      mask.shape = {1};
      if (p.key_length > 1) mask = whole_rows(memory, mask, p.key_length);
    }
    p.key_length = std::min(p.key_length, mask.shape.back());  // keys that it does not reach take no part; opset 23 broadcast one value
    place_mask(p, mask);
  }
  if (lengths.present) {
    p.key_lengths = key_lengths(memory, lengths, p.batch);
    p.causal_from_lengths = causal_;
  }
  if (void* scores = call.output({q.batch, q.heads, q.length, k.length}, 3)) {
    if (where == Where::gpu) throw std::runtime_error("Attention: on a GPU qk_matmul_output comes from the execution provider alone");
    attention_scores(p, mode_, k.length, scores);
  }
  run_attention(where, call, p);
}

}  // namespace sbk::customop
