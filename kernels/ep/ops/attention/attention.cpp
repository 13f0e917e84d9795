// Attention (ONNX opset 23 and 24), and what com.microsoft's MultiHeadAttention shares with it.
#include <algorithm>
#include <cmath>

#include "core/graph/graph.hpp"
#include "core/tensor/types.hpp"
#include "ops/attention/attention_blas.hpp"
#include "ops/attention/attention_scores.hpp"
#include "ops/bundled/bundled.hpp"
#include "ops/shape/copy.hpp"

namespace rk {

Heads heads_of(const Tensor& t, int64_t heads) {
  if (t.shape.rank() == 4) {
    require(heads == 0 || heads == t.shape[1], "attention's head count is not the second extent of its 4-axis input");
    return sbk::heads_apart(t.data, t.shape[0], t.shape[1], t.shape[2], t.shape[3]);
  }
  require(t.shape.rank() == 3 && heads > 0 && t.shape[2] % heads == 0,
          "attention takes 4-axis inputs, or 3-axis ones whose last extent the head count divides");
  return sbk::heads_within(t.data, t.shape[0], t.shape[1], heads, t.shape[2] / heads);
}

void place_mask(sbk::AttentionParams& p, const Tensor& mask) {
  const Shape scores{p.batch, p.query_heads, p.query_length, p.key_length};
  require(broadcast(mask.shape, scores) == scores, "attention's mask does not broadcast to batch, heads, queries, keys");
  if (p.key_length == 0) return;
  const Strides strides = broadcast_strides(mask.shape, scores);
  require(strides[3] == 1 || p.key_length == 1, "attention's mask must cover every key");
  p.mask_batch_stride = strides[0];
  p.mask_head_stride = strides[1];
  p.mask_query_stride = strides[2];
  p.mask = mask.data;
  p.mask_kind = mask.type == kBool ? sbk::MaskKind::boolean : sbk::MaskKind::additive;
  require(mask.type == kBool || data_type(mask.type) == p.dtype, "attention's additive mask must have the query's type");
}

// The kernels read whole rows of the mask.
Tensor whole_rows(Context& context, const Tensor& mask, int64_t keys) {
  const int rank = mask.shape.rank();
  if (keys == 1 || (rank > 0 && mask.shape[rank - 1] != 1)) return mask;
  Tensor whole = mask;
  if (rank == 0) whole.shape.push(keys);
  else whole.shape[rank - 1] = keys;
  whole.data = context.scratch(static_cast<size_t>(whole.bytes()));
  StridedCopy copy;
  copy.shape = whole.shape;
  copy.from = mask.data;
  copy.to = whole.data;
  copy.from_strides = broadcast_strides(mask.shape, whole.shape);
  copy.to_strides = dense_strides(whole.shape);
  copy.element_bytes = bytes_of(mask.type);
  strided_copy(context.stream(), copy);
  return whole;
}

void run_attention(Context& context, sbk::AttentionParams p, const Heads& q, const Heads& k, const Heads& v) {
  place_heads(p, q, k, v);
  if (!attention_is_fast(p) && fits_blas(p)) return attention_blas(context, p);
  check(backend::attention(p, context.launch(workspace_bytes(p))));
}

void take_extents(sbk::AttentionParams& p, const Heads& q, const Heads& k, const Heads& v) {
  require(sbk::fit_together(q, k, v), "attention's inputs do not fit together");
  require(sbk::key_heads_divide(q, k), "attention's key heads do not divide its query heads");
  sbk::set_extents(p, q, k, v);
}

namespace {

// past and fresh, one after the other along the sequence, into `to` [B, H, T, D].
Heads append(Stream& stream, const Tensor& past, const Heads& fresh, Type type, const Tensor& to) {
  const int64_t total = to.shape[2], before = past ? past.shape[2] : 0;
  StridedCopy copy;
  copy.to = to.data;
  copy.element_bytes = bytes_of(type);
  copy.to_strides = dense_strides(to.shape);
  if (past) {
    copy.shape = past.shape;
    copy.from = past.data;
    copy.from_strides = dense_strides(past.shape);
    strided_copy(stream, copy);
  }
  copy.shape = Shape{fresh.batch, fresh.heads, fresh.length, fresh.size};
  copy.from = fresh.data;
  copy.from_strides = {fresh.strides.batch, fresh.strides.head, fresh.strides.sequence, 1};
  copy.to_offset = before * fresh.size;
  strided_copy(stream, copy);
  return sbk::heads_apart(to.data, fresh.batch, fresh.heads, total, fresh.size);
}

}  // namespace

Heads with_past(Context& context, const Heads& fresh, Type type, const Tensor& past, size_t present) {
  require(!past || (past.shape.rank() == 4 && past.shape == Shape{fresh.batch, fresh.heads, past.shape[2], fresh.size}),
          "attention's past does not have the batch, heads and size of its key or value");
  const Shape shape{fresh.batch, fresh.heads, fresh.length + (past ? past.shape[2] : 0), fresh.size};
  Tensor whole = context.wanted_output(present, shape);
  if (!whole && !past) return fresh;
  if (!whole) {
    whole.type = type;
    whole.shape = shape;
    whole.data = context.scratch(static_cast<size_t>(whole.bytes()));
  }
  return append(context.stream(), past, fresh, type, whole);
}

namespace {

class Attention : public Kernel {
 public:
  explicit Attention(const Info& info)
      : query_heads_(info.integer("q_num_heads", 0)), key_heads_(info.integer("kv_num_heads", 0)),
        scale_(info.real("scale", NAN)), softcap_(info.real("softcap", 0.0f)), causal_(info.integer("is_causal", 0) == 1),
        mode_(static_cast<ScoreMode>(info.integer("qk_matmul_output_mode", 0))), masks_may_be_short_(info.since_version() >= 24) {
    require(info.integer("is_causal", 0) == (causal_ ? 1 : 0), "Attention's is_causal is 0 or 1");
    require(!(scale_ < 0.0f), "Attention's scale has a square root, and so is not negative");
    require(mode_ >= ScoreMode::product && mode_ <= ScoreMode::softmax, "Attention's qk_matmul_output_mode is 0, 1, 2 or 3");
  }

  void compute(Context& context) override {
    const Tensor query = context.input(0), mask = context.input(3), past = context.input(4), lengths = context.input(6);
    require(context.input(1).shape.rank() == query.shape.rank() && context.input(2).shape.rank() == query.shape.rank(),
            "attention's query, key and value all have 3 axes or all 4");
    require(static_cast<bool>(past) == static_cast<bool>(context.input(5)), "attention's past key and past value go together");
    require(!past || !lengths, "attention's nonpad_kv_seqlen excludes a past");
    const Heads q = heads_of(query, query_heads_);
    const Heads k = with_past(context, heads_of(context.input(1), key_heads_), query.type, past, 1);
    const Heads v = with_past(context, heads_of(context.input(2), key_heads_), query.type, context.input(5), 2);
    sbk::AttentionParams p;
    p.dtype = data_type(query.type);
    take_extents(p, q, k, v);
    p.scale = std::isnan(scale_) ? sbk::default_attention_scale(q.size) : scale_;
    p.softcap = softcap_;
    p.causal = causal_;
    p.causal_offset = past ? past.shape[2] : 0;
    const bool packed = query.shape.rank() == 3;
    const Tensor y = context.output(0, packed ? Shape{q.batch, q.length, q.heads * v.size} : Shape{q.batch, q.heads, q.length, v.size});
    const Tensor scores = context.wanted_output(3, Shape{q.batch, q.heads, q.length, k.length});
    if (y.size() == 0 && !(scores && scores.size() > 0)) return;
    p.y = y.data;
    p.y_strides = heads_of(y, q.heads).strides;
    if (mask) {
      const int rank = mask.shape.rank();
      // Since opset 24 keys that it does not reach take no part; before, one value is for all, and it does not fit otherwise.
      if (masks_may_be_short_ && rank > 0) p.key_length = std::min(p.key_length, mask.shape[rank - 1]);
      place_mask(p, whole_rows(context, mask, p.key_length));
    }
    if (lengths) {
      require(lengths.size() == p.batch, "attention's nonpad_kv_seqlen has one value for each batch entry");
      p.key_lengths = narrow_lengths(context, lengths);
      p.causal_from_lengths = p.causal;
    }
    place_heads(p, q, k, v);
    if (scores) attention_scores(context, p, mode_, scores);
    if (y.size() > 0) run_attention(context, p, q, k, v);
  }

 private:
  int64_t query_heads_, key_heads_;
  float scale_, softcap_;
  bool causal_;
  ScoreMode mode_;
  bool masks_may_be_short_;
};

// The kernels read one type; ONNX lets values have another than queries and keys, and a mask a third.
bool attention_fits(const NodeView& node) {
  const Type type = node.input(0).type();
  for (size_t i : {size_t{1}, size_t{2}, size_t{4}, size_t{5}})
    if (node.input(i) && node.input(i).type() != type) return false;
  const ValueView mask = node.input(3);
  return (!mask || mask.type() == kBool || mask.type() == type);
}

}  // namespace

void add_attention(Entries& e) {
  std::vector<Type> masks = floats();
  masks.push_back(kBool);
  // Opset 25's windows (left_window_size, right_window_size) are not taken.
  e.push_back({"Attention", 23, 24, {{"T1", floats()}, {"T2", floats()}, {"U", masks}}, make<Attention>, {}, {}, false, false,
               attention_fits});
}

}  // namespace rk
