#include "ops/attention/attention_scores.hpp"

#include "core/kernel/parallel_for.hpp"

namespace rk {
namespace {

// A row is one query of one head; a thread of the team takes every team.size-th key.
template <class T>
struct ScoresOfQuery {
  sbk::AttentionParams p;
  ScoreMode mode;
  int64_t keys;
  float* work;  // [rows, keys], for the softmax
  T* out;

  RK_D float product(int64_t b, int64_t h, int64_t i, int64_t j) const {
    const int64_t kv = h * p.key_heads / p.query_heads;
    const T* q = static_cast<const T*>(p.q) + b * p.q_strides.batch + h * p.q_strides.head + i * p.q_strides.sequence;
    const T* k = static_cast<const T*>(p.k) + b * p.k_strides.batch + kv * p.k_strides.head + j * p.k_strides.sequence;
    float dot = 0.0f;
    for (int64_t d = 0; d < p.head_size; ++d) dot += load(q[d]) * load(k[d]);
    return dot * p.scale;
  }
  RK_D float mask(float score, int64_t b, int64_t h, int64_t i, int64_t j) const {
    const int64_t offset = p.causal_from_lengths ? p.key_lengths[b] - p.query_length : p.causal_offset;
    if (j >= p.key_length || (p.causal && j > i + offset)) return -INFINITY;
    if (p.key_lengths != nullptr && j >= p.key_lengths[b]) return -INFINITY;
    const int64_t at = b * p.mask_batch_stride + h * p.mask_head_stride + i * p.mask_query_stride + j;
    if (p.mask_kind == sbk::MaskKind::boolean) return static_cast<const bool*>(p.mask)[at] ? score : -INFINITY;
    if (p.mask_kind == sbk::MaskKind::additive) return score + load(static_cast<const T*>(p.mask)[at]);
    return score;
  }
  RK_D void operator()(int64_t row, const Team& team) const {
    const int64_t i = row % p.query_length, h = row / p.query_length % p.query_heads, b = row / p.query_length / p.query_heads;
    float most = -INFINITY, nans = 0.0f;
    for (int64_t j = team.rank; j < keys; j += team.size) {
      float score = product(b, h, i, j);
      if (mode != ScoreMode::product && p.softcap > 0.0f) score = p.softcap * tanhf(score / p.softcap);
      if (mode == ScoreMode::masked || mode == ScoreMode::softmax) score = mask(score, b, h, i, j);
      if (mode == ScoreMode::softmax) work[row * keys + j] = score;
      else out[row * keys + j] = static_cast<T>(score);
      most = fmaxf(most, score);
      if (score != score) nans += 1.0f;
    }
    if (mode != ScoreMode::softmax) return;
    most = team.max(most);
    const bool nothing = most == -INFINITY && team.sum(nans) == 0.0f;  // no key takes part: zeros, not 0/0
    float sum = 0.0f;
    for (int64_t j = team.rank; j < keys; j += team.size) sum += expf(work[row * keys + j] - most);
    sum = team.sum(sum);
    for (int64_t j = team.rank; j < keys; j += team.size)
      out[row * keys + j] = static_cast<T>(nothing ? 0.0f : expf(work[row * keys + j] - most) / sum);
  }
};

struct Narrow {
  const int64_t* from;
  int32_t* to;
  RK_D void operator()(int64_t i) const {
    const int64_t most = 0x7fffffff;
    to[i] = static_cast<int32_t>(from[i] < most ? from[i] : most);
  }
};

}  // namespace

void attention_scores(Context& context, const sbk::AttentionParams& p, ScoreMode mode, const Tensor& scores) {
  const int64_t keys = scores.shape[3];
  if (scores.size() == 0) return;
  float* work = nullptr;
  if (mode == ScoreMode::softmax) work = static_cast<float*>(context.scratch(static_cast<size_t>(scores.size()) * sizeof(float)));
  with_float(scores.type, [&](auto zero) {
    using T = decltype(zero);
    for_rows(context.stream(), scores.size() / keys, keys, ScoresOfQuery<T>{p, mode, keys, work, scores.as<T>()});
  });
}

const int32_t* narrow_lengths(Context& context, const Tensor& lengths) {
  auto* narrow = static_cast<int32_t*>(context.scratch(static_cast<size_t>(lengths.size()) * sizeof(int32_t)));
  for_each(context.stream(), lengths.size(), Narrow{lengths.as<int64_t>(), narrow});
  return narrow;
}

}  // namespace rk
