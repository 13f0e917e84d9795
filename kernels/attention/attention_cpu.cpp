#include "attention/attention.hpp"

#include <algorithm>
#include <vector>

#include "attention/attention_host.hpp"
#include "attention/attention_plan.hpp"

namespace sbk::cpu {
namespace {

using namespace attention_detail;

constexpr int64_t kKeysAtOnce = 256;  // added up before they are added to the rest: long sums round less

// Copies `rows` rows of one head to dense float32.
template <class T>
std::vector<float> gather(const void* data, const AttentionStrides& s, int64_t b, int64_t h, int64_t rows,
                          int64_t columns) {
  std::vector<float> out(static_cast<size_t>(rows * columns));
  const T* base = static_cast<const T*>(data) + b * s.batch + h * s.head;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t d = 0; d < columns; ++d) out[static_cast<size_t>(i * columns + d)] = to_float(base[i * s.sequence + d]);
  }
  return out;
}

template <class T>
void run_head(const AttentionParams& p, int64_t b, int64_t h) {
  const int64_t kv = h * p.key_heads / p.query_heads;
  const auto q = gather<T>(p.q, p.q_strides, b, h, p.query_length, p.head_size);
  const auto k = gather<T>(p.k, p.k_strides, b, kv, p.key_length, p.head_size);
  const auto v = gather<T>(p.v, p.v_strides, b, kv, p.key_length, p.value_size);
  T* y = static_cast<T*>(p.y) + b * p.y_strides.batch + h * p.y_strides.head;
  std::vector<float> scores(static_cast<size_t>(p.key_length));
  std::vector<float> row(static_cast<size_t>(p.value_size)), part(row.size());
  for (int64_t i = 0; i < p.query_length; ++i) {
    bool any_open = false;
    for (int64_t j = 0; j < p.key_length; ++j) {
      float dot = 0.0f;
      for (int64_t d = 0; d < p.head_size; ++d) dot += q[i * p.head_size + d] * k[j * p.head_size + d];
      const Bias bias = bias_of<T>(p, b, h, i, j);
      scores[static_cast<size_t>(j)] = bias.on(soft_capped(p, dot * p.scale));
      any_open = any_open || bias.open();
    }
    softmax(scores, any_open, p.empty_row);
    row.assign(row.size(), scores.empty() ? p.empty_row : 0.0f);
    for (int64_t first = 0; first < p.key_length; first += kKeysAtOnce) {
      part.assign(part.size(), 0.0f);
      for (int64_t j = first; j < std::min(first + kKeysAtOnce, p.key_length); ++j) {
        const float weight = scores[static_cast<size_t>(j)];
        for (int64_t d = 0; d < p.value_size; ++d) part[d] += weight * v[j * p.value_size + d];
      }
      for (int64_t d = 0; d < p.value_size; ++d) row[d] += part[d];
    }
    for (int64_t d = 0; d < p.value_size; ++d) y[i * p.y_strides.sequence + d] = from_float<T>(row[d]);
  }
}

}  // namespace

Status attention(const AttentionParams& p, const Launch&) {
  SBK_TRY(validate(p));
  if (is_empty(p)) return {};
  return by_type(p.dtype, [&](auto type) -> Status {
    for (int64_t b = 0; b < p.batch; ++b) {
      for (int64_t h = 0; h < p.query_heads; ++h) run_head<decltype(type)>(p, b, h);
    }
    return {};
  });
}

}  // namespace sbk::cpu
