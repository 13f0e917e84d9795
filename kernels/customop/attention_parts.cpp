#include "customop/attention_parts.hpp"

#include "attention/attention_host.hpp"
#include "customop/ops.hpp"

namespace sbk::customop {
namespace {

using namespace attention_detail;

// One query's scores in float32.
template <class T>
struct Row {
  const AttentionParams& p;
  int64_t mode, b, h, i;

  float product(int64_t j) const {
    const int64_t kv = h * p.key_heads / p.query_heads;
    const T* q = static_cast<const T*>(p.q) + b * p.q_strides.batch + h * p.q_strides.head + i * p.q_strides.sequence;
    const T* k = static_cast<const T*>(p.k) + b * p.k_strides.batch + kv * p.k_strides.head + j * p.k_strides.sequence;
    float dot = 0.0f;
    for (int64_t d = 0; d < p.head_size; ++d) dot += to_float(q[d]) * to_float(k[d]);
    return dot * p.scale;
  }

  void fill(std::vector<float>& scores) const {
    bool any_open = false;
    for (size_t j = 0; j < scores.size(); ++j) {
      const auto key = static_cast<int64_t>(j);
      const Bias bias = bias_of<T>(p, b, h, i, key);
      any_open = any_open || bias.open();
      scores[j] = product(key);
      if (mode > 0) scores[j] = soft_capped(p, scores[j]);
      if (mode > 1) scores[j] = bias.on(scores[j]);
    }
    if (mode == 3) softmax(scores, any_open, p.empty_row);
  }
};

template <class T>
void scores_of(const AttentionParams& p, int64_t mode, int64_t keys, T* out) {
  std::vector<float> scores(static_cast<size_t>(keys));
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.query_heads; ++h) {
      for (int64_t i = 0; i < p.query_length; ++i) {
        Row<T>{p, mode, b, h, i}.fill(scores);
        for (const float s : scores) *out++ = from_float<T>(s);
      }
    }
  }
}

// Elements from a tensor's pointer to behind its last.
size_t reach(const AttentionStrides& s, int64_t batch, int64_t heads, int64_t length, int64_t size) {
  if (batch * heads * length * size == 0) return 0;
  return static_cast<size_t>((batch - 1) * s.batch + (heads - 1) * s.head + (length - 1) * s.sequence + size);
}

}  // namespace

Heads heads_of(const Tensor& t, int64_t heads, const char* name) {
  if (t.shape.size() == 4) {
    if (heads != 0 && heads != t.shape[1]) {
      throw std::runtime_error(std::string("Attention: q_num_heads or kv_num_heads is not the second extent of ") + name);
    }
    return heads_apart(t.data, t.shape[0], t.shape[1], t.shape[2], t.shape[3]);
  }
  if (t.shape.size() != 3) throw std::runtime_error(std::string("Attention: ") + name + " must have 3 or 4 axes");
  if (heads <= 0 || t.shape[2] % heads != 0) {
    throw std::runtime_error("Attention: q_num_heads and kv_num_heads must divide the hidden sizes of 3-D inputs");
  }
  return heads_within(t.data, t.shape[0], t.shape[1], heads, t.shape[2] / heads);
}

void place(AttentionParams& p, const Heads& q, const Heads& k, const Heads& v) {
  if (!fit_together(q, k, v)) throw std::runtime_error("attention: the shapes of query, key and value (Q, K and V) disagree");
  if (!key_heads_divide(q, k)) throw std::runtime_error("attention: the number of K's heads does not divide Q's");
  set_extents(p, q, k, v);
  place_heads(p, q, k, v);
}

void place_mask(AttentionParams& p, const Tensor& mask) {
  if (mask.shape.size() > 4) throw std::runtime_error("Attention: the mask must have at most 4 axes");
  const int64_t want[4] = {p.batch, p.query_heads, p.query_length, p.key_length};
  int64_t strides[4] = {0, 0, 0, 0};
  int64_t step = 1;
  for (size_t i = 0; i < mask.shape.size(); ++i) {
    const size_t axis = 3 - i;
    const int64_t extent = mask.shape[mask.shape.size() - 1 - i];
    if (extent != want[axis] && (extent != 1 || (axis == 3 && want[axis] != 0))) {
      throw std::runtime_error("Attention: the mask does not broadcast");
    }
    strides[axis] = extent == 1 ? 0 : step;
    step *= extent;
  }
  p.mask_batch_stride = strides[0];
  p.mask_head_stride = strides[1];
  p.mask_query_stride = strides[2];
  p.mask = mask.data;
  if (mask.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL) p.mask_kind = MaskKind::boolean;
  else if (mask.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32) p.mask_kind = MaskKind::int32;
  else if (mask.type == type_of(p.dtype)) p.mask_kind = MaskKind::additive;
  else throw std::runtime_error("Attention: attn_mask must be bool, int32 or of Q's type");
  if (mask.count() == 0) p.mask_kind = MaskKind::none;
}

void* Memory::get(size_t bytes) {
  if (where_ == Where::gpu) return device_.emplace_back(std::make_unique<Scratch>(call_, bytes))->get();
  return host_.emplace_back(bytes).data();
}

Heads extended_heads(Memory& memory, const Tensor& past, const Heads& fresh, void* present, size_t element_bytes) {
  if (!past.present && present == nullptr) return fresh;
  if (past.present && (past.shape.size() != 4 || past.shape[0] != fresh.batch || past.shape[1] != fresh.heads ||
                       past.shape[3] != fresh.size)) {
    throw std::runtime_error("attention: a past must be [batch, heads, length, size] of its key or value");
  }
  const int64_t before = past.present ? past.shape[2] : 0, total = before + fresh.length;
  const size_t row = static_cast<size_t>(fresh.size) * element_bytes;
  Heads whole = heads_apart(present, fresh.batch, fresh.heads, total, fresh.size);
  if (present == nullptr) whole.data = memory.get(whole.elements() * element_bytes);
  char* to = static_cast<char*>(const_cast<void*>(whole.data));
  const size_t old_bytes = static_cast<size_t>(before) * row, step = static_cast<size_t>(total) * row;
  const auto heads = static_cast<size_t>(fresh.batch * fresh.heads);
  if (before > 0) memory.copy({to, step, past.data, old_bytes, old_bytes, heads});
  for (int64_t head = 0; head < fresh.batch * fresh.heads; ++head) {
    const int64_t from = head / fresh.heads * fresh.strides.batch + head % fresh.heads * fresh.strides.head;
    memory.copy({to + static_cast<size_t>(head) * step + old_bytes, row,
                 static_cast<const char*>(fresh.data) + static_cast<size_t>(from) * element_bytes,
                 static_cast<size_t>(fresh.strides.sequence) * element_bytes, row, static_cast<size_t>(fresh.length)});
  }
  return whole;
}

void run_attention(Where where, const Call& call, AttentionParams& p) {
  const int64_t values = p.batch * p.query_heads * p.query_length * p.value_size;
  if (values == 0) return;
  if (p.key_length == 0) p.mask_kind = MaskKind::none;  // of one value it is none of no keys; where copies are made it has no bytes
  if (p.mask_kind == MaskKind::none) p.mask = nullptr;
  const size_t mask_element = p.mask_kind == MaskKind::boolean ? 1 : p.mask_kind == MaskKind::int32 ? 4 : size_of(p.dtype);
  const AttentionStrides mask{p.mask_batch_stride, p.mask_head_stride, p.mask_query_stride};
  const size_t q = reach(p.q_strides, p.batch, p.query_heads, p.query_length, p.head_size) * size_of(p.dtype);
  const size_t k = reach(p.k_strides, p.batch, p.key_heads, p.key_length, p.head_size) * size_of(p.dtype);
  const size_t v = reach(p.v_strides, p.batch, p.key_heads, p.key_length, p.value_size) * size_of(p.dtype);
  const size_t m = reach(mask, p.batch, p.query_heads, p.query_length, p.key_length) * mask_element;
  const size_t lengths = p.key_lengths == nullptr ? 0 : static_cast<size_t>(p.batch) * sizeof(int32_t);
  static constexpr Launchers launchers{run_untyped<AttentionParams, cpu::attention>, &GpuLibrary::attention,
                                       &GpuLibrary::attention_workspace};
  run(where, launchers, &p,
      {{&p.q, q}, {&p.k, k}, {&p.v, v}, {&p.mask, p.mask == nullptr ? 0 : m},
       {reinterpret_cast<const void**>(&p.key_lengths), lengths},
       {const_cast<const void**>(&p.y), static_cast<size_t>(values) * size_of(p.dtype), true}},
      call);
}

void attention_scores(const AttentionParams& p, int64_t mode, int64_t keys, void* out) {
  if (p.dtype == DataType::float32) return scores_of(p, mode, keys, static_cast<float*>(out));
  scores_of(p, mode, keys, static_cast<Half*>(out));
}

}  // namespace sbk::customop
