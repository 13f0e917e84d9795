#include "ops/attention/attention_blas.hpp"

#include "core/device/blas.hpp"
#include "core/kernel/parallel_for.hpp"

namespace rk {
namespace {

constexpr int64_t kMostScoreBytes = int64_t{1} << 28;
constexpr int64_t kLeastKeys = 64;  // below, one launch of the fused kernel beats four
constexpr int kVector = 8;          // float16 values in 16 bytes
// What float16 weights are multiplied by, and their products divided: gfx90a's matrix units take subnormal numbers, weights below
// 6.1e-5, for zeros, and anywhere these are coarse. The largest weight is 1, float16's largest number 65504.
constexpr float kLift = 16384.0f;

// Where the matrices of each batch entry and head lie.
struct Pointers {
  const half_t** q;
  const half_t** k;
  const half_t** v;
  half_t** scores;
  half_t** y;
  half_t* score_data;
  sbk::AttentionParams p;

  RK_HD void operator()(int64_t i) const {
    const int64_t b = i / p.query_heads, h = i % p.query_heads, g = h * p.key_heads / p.query_heads;
    q[i] = static_cast<const half_t*>(p.q) + b * p.q_strides.batch + h * p.q_strides.head;
    k[i] = static_cast<const half_t*>(p.k) + b * p.k_strides.batch + g * p.k_strides.head;
    v[i] = static_cast<const half_t*>(p.v) + b * p.v_strides.batch + g * p.v_strides.head;
    y[i] = static_cast<half_t*>(p.y) + b * p.y_strides.batch + h * p.y_strides.head;
    scores[i] = score_data + i * p.query_length * p.key_length;
  }
};

// A key's part of the softmax before it is divided by the sum of all. Where no score is above -inf (`answered` false), the
// row is `empty`, 0 or NaN; a NaN among its scores, which no maximum shows, makes it NaN.
RK_D inline float weight(float score, float most, bool answered) {
  if (answered) return expf(score - most);
  return score != score ? score : 0.0f;
}
RK_D inline float share(float sum, bool answered, float empty) { return answered ? kLift / sum : sum + empty; }

// One row of scores, in place: softmax(score + mask). A row that no key may answer becomes zeros or NaN.
struct ScoreRow {
  half_t* scores;
  sbk::AttentionParams p;

  RK_D float masked_score(const half_t* row, int64_t mask_row, int64_t i) const {
    const float score = load(row[i]);
    if (p.mask_kind == sbk::MaskKind::boolean)
      return static_cast<const bool*>(p.mask)[mask_row + i] ? score : -INFINITY;
    if (p.mask_kind == sbk::MaskKind::additive) return score + load(static_cast<const half_t*>(p.mask)[mask_row + i]);
    return score;
  }
  RK_D void operator()(int64_t row, const Team& team) const {
    const int64_t head = row / p.query_length, query = row % p.query_length;
    const int64_t mask_row = head / p.query_heads * p.mask_batch_stride + head % p.query_heads * p.mask_head_stride +
                             query * p.mask_query_stride;
    half_t* data = scores + row * p.key_length;
    float most = -INFINITY;
    for (int64_t i = team.rank; i < p.key_length; i += team.size) most = fmaxf(most, masked_score(data, mask_row, i));
    most = team.max(most);
    const bool answered = most > -INFINITY;
    float sum = 0;
    for (int64_t i = team.rank; i < p.key_length; i += team.size) sum += weight(masked_score(data, mask_row, i), most, answered);
    const float factor = share(team.sum(sum), answered, p.empty_row);
    for (int64_t i = team.rank; i < p.key_length; i += team.size)
      data[i] = static_cast<half_t>(weight(masked_score(data, mask_row, i), most, answered) * factor);
  }
};

// The same with the row read once, a pack of values a thread, and kept in registers.
struct ScorePacks {
  using P = Pack<half_t, kVector>;
  half_t* scores;
  int packs;
  bool whole_mask;  // the mask's rows can be read in packs
  sbk::AttentionParams p;

  RK_D void mask(float (&values)[kVector], int64_t at) const {
    if (p.mask_kind == sbk::MaskKind::boolean) {
      for (int k = 0; k < kVector; ++k)
        if (!static_cast<const bool*>(p.mask)[at + k]) values[k] = -INFINITY;
    } else if (whole_mask) {
      const P pack = *reinterpret_cast<const P*>(static_cast<const half_t*>(p.mask) + at);
      for (int k = 0; k < kVector; ++k) values[k] += load(pack.v[k]);
    } else {
      for (int k = 0; k < kVector; ++k) values[k] += load(static_cast<const half_t*>(p.mask)[at + k]);
    }
  }
  RK_D void operator()(int64_t row, const Team& team) const {
    P* data = reinterpret_cast<P*>(scores + row * p.key_length);
    const bool active = team.rank < packs;
    float values[kVector];
    for (int k = 0; k < kVector; ++k) values[k] = -INFINITY;
    if (active) {
      const P pack = data[team.rank];
      for (int k = 0; k < kVector; ++k) values[k] = load(pack.v[k]);
      if (p.mask_kind != sbk::MaskKind::none) {
        const auto line = static_cast<uint32_t>(row), queries = static_cast<uint32_t>(p.query_length);
        const uint32_t head = line / queries, batch = head / static_cast<uint32_t>(p.query_heads);
        mask(values, batch * p.mask_batch_stride + (head - batch * p.query_heads) * p.mask_head_stride +
                       (line - head * queries) * p.mask_query_stride + team.rank * kVector);
      }
    }
    float most = values[0];
    for (int k = 1; k < kVector; ++k) most = fmaxf(most, values[k]);
    most = team.max(most);
    const bool answered = most > -INFINITY;
    float sum = 0;
    for (int k = 0; k < kVector; ++k) {
      values[k] = weight(values[k], most, answered);
      sum += values[k];
    }
    sum = team.sum(sum);
    if (!active) return;
    const float factor = share(sum, answered, p.empty_row);
    P out;
    for (int k = 0; k < kVector; ++k) out.v[k] = static_cast<half_t>(values[k] * factor);
    data[team.rank] = out;
  }
};

void score_softmax(Stream& stream, half_t* scores, const sbk::AttentionParams& p) {
  const int64_t rows = p.batch * p.query_heads * p.query_length, packs = p.key_length / kVector;
  if (device::kIsCpu || packs > kMostThreads) return for_rows(stream, rows, p.key_length, ScoreRow{scores, p});
  const bool whole = p.mask_batch_stride % kVector == 0 && p.mask_head_stride % kVector == 0 &&
                     p.mask_query_stride % kVector == 0 && aligned16(p.mask);
  for_rows(stream, rows, kRowShare * packs, ScorePacks{scores, static_cast<int>(packs), whole, p});  // a thread for each pack
}

bool whole_vectors(const sbk::AttentionStrides& s, const void* data) {
  return s.batch % kVector == 0 && s.head % kVector == 0 && s.sequence % kVector == 0 && aligned16(data);
}

}  // namespace

bool fits_blas(const sbk::AttentionParams& p) {
  if (p.dtype != sbk::DataType::float16 || p.causal || p.softcap != 0.0f || p.key_lengths != nullptr) return false;
  if (p.mask_kind == sbk::MaskKind::int32 || p.key_length < kLeastKeys || p.query_length < kLeastKeys) return false;
  if (p.head_size == 0 || p.head_size % kVector != 0 || p.value_size % kVector != 0 || p.key_length % kVector != 0) return false;
  if (!whole_vectors(p.q_strides, p.q) || !whole_vectors(p.k_strides, p.k) || !whole_vectors(p.v_strides, p.v) ||
      !whole_vectors(p.y_strides, p.y))
    return false;
  return p.batch * p.query_heads * p.query_length * p.key_length * 2 <= kMostScoreBytes;
}

void attention_blas(Context& context, const sbk::AttentionParams& p) {
  const int64_t count = p.batch * p.query_heads;
  const auto pointers = [&] { return context.scratch(static_cast<size_t>(count) * sizeof(void*)); };
  Pointers work{};
  work.q = static_cast<const half_t**>(pointers());
  work.k = static_cast<const half_t**>(pointers());
  work.v = static_cast<const half_t**>(pointers());
  work.scores = static_cast<half_t**>(pointers());
  work.y = static_cast<half_t**>(pointers());
  work.score_data = static_cast<half_t*>(context.scratch(static_cast<size_t>(count * p.query_length * p.key_length * 2)));
  work.p = p;
  Stream& stream = context.stream();
  for_each(stream, count, work);
  Gemm gemm;
  gemm.type = kHalf;
  gemm.batch = count;
  gemm.m = p.query_length;
  gemm.n = gemm.ldc = p.key_length;
  gemm.k = p.head_size;
  gemm.transpose_b = true;
  gemm.lda = p.q_strides.sequence;
  gemm.ldb = p.k_strides.sequence;
  gemm.alpha = p.scale;
  const auto constant = [](auto** array) { return reinterpret_cast<const void* const*>(array); };
  stream.blas().gemm(gemm, constant(work.q), constant(work.k), reinterpret_cast<void* const*>(work.scores));
  score_softmax(stream, work.score_data, p);
  gemm.n = p.value_size;
  gemm.k = gemm.lda = p.key_length;
  gemm.transpose_b = false;
  gemm.ldb = p.v_strides.sequence;
  gemm.ldc = p.y_strides.sequence;
  gemm.alpha = 1.0f / kLift;
  stream.blas().gemm(gemm, constant(work.scores), constant(work.v), reinterpret_cast<void* const*>(work.y));
}

}  // namespace rk
