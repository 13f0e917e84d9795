#include "customop/attention_parts.hpp"

#include "attention/attention_host.hpp"

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

}  // namespace

Heads heads_of(const Tensor& t, int64_t heads, const char* name) {
  if (t.shape.size() == 4) {
    const int64_t h = t.shape[1], s = t.shape[2], d = t.shape[3];
    if (heads != 0 && heads != h) {
      throw std::runtime_error(std::string("Attention: q_num_heads or kv_num_heads is not the second extent of ") + name);
    }
    return {t.data, t.shape[0], h, s, d, {h * s * d, s * d, d}};
  }
  if (t.shape.size() != 3) throw std::runtime_error(std::string("Attention: ") + name + " must have 3 or 4 axes");
  if (heads <= 0 || t.shape[2] % heads != 0) {
    throw std::runtime_error("Attention: q_num_heads and kv_num_heads must divide the hidden sizes of 3-D inputs");
  }
  const int64_t s = t.shape[1], hidden = t.shape[2], d = hidden / heads;
  return {t.data, t.shape[0], heads, s, d, {s * hidden, d, hidden}};
}

void* Memory::get(size_t bytes) {
  if (where_ == Where::gpu) return device_.emplace_back(std::make_unique<Scratch>(call_, bytes))->get();
  return host_.emplace_back(bytes).data();
}

Heads extended(Memory& memory, const Tensor& past, const Heads& fresh, void* present, size_t element_bytes) {
  if (!past.present && present == nullptr) return fresh;
  if (past.present && (past.shape.size() != 4 || past.shape[0] != fresh.batch || past.shape[1] != fresh.heads ||
                       past.shape[3] != fresh.size)) {
    throw std::runtime_error("Attention: a past must be [batch, heads, length, size] of its key or value");
  }
  const int64_t before = past.present ? past.shape[2] : 0, total = before + fresh.length;
  const size_t row = static_cast<size_t>(fresh.size) * element_bytes;
  Heads whole{present, fresh.batch, fresh.heads, total, fresh.size,
              {fresh.heads * total * fresh.size, total * fresh.size, fresh.size}};
  if (present == nullptr) whole.data = memory.get(whole.elements() * element_bytes);
  const bool dense = fresh.strides.sequence == fresh.size;  // the rows of one head lie together
  for (int64_t head = 0; head < fresh.batch * fresh.heads; ++head) {
    char* to = static_cast<char*>(const_cast<void*>(whole.data)) + static_cast<size_t>(head * total) * row;
    const size_t old_bytes = static_cast<size_t>(before) * row;
    if (before > 0) memory.copy(to, static_cast<const char*>(past.data) + static_cast<size_t>(head) * old_bytes, old_bytes);
    const char* from = static_cast<const char*>(fresh.data) +
                       static_cast<size_t>(head / fresh.heads * fresh.strides.batch + head % fresh.heads * fresh.strides.head) *
                           element_bytes;
    const int64_t pieces = dense ? 1 : fresh.length;
    const size_t piece = dense ? static_cast<size_t>(fresh.length) * row : row;
    for (int64_t i = 0; i < pieces; ++i) {
      memory.copy(to + old_bytes + static_cast<size_t>(i) * row,
                  from + static_cast<size_t>(i * fresh.strides.sequence) * element_bytes, piece);
    }
  }
  return whole;
}

void attention_scores(const AttentionParams& p, int64_t mode, int64_t keys, void* out) {
  if (p.dtype == DataType::float32) return scores_of(p, mode, keys, static_cast<float*>(out));
  scores_of(p, mode, keys, static_cast<Half*>(out));
}

}  // namespace sbk::customop
