// Attention as exporters spell it: softmax(q kᵀ · scale + mask) v with the Transposes around it, as one step.
#include <algorithm>

#include "core/copy.hpp"
#include "core/fusion.hpp"
#include "ops/bundled.hpp"

namespace rk {
namespace {

bool permutes(const NodeView& node, std::initializer_list<int64_t> wanted) {
  return node.op() == "Transpose" && node.integers("perm") == std::vector<int64_t>(wanted);
}

// One of q, k, v as the step reads it: [B, S, H, D] when `sequence_first`, else [B, H, S, D].
struct Operand {
  ValueView value;
  bool sequence_first = false;
  Group nodes;
};

Operand query_or_value(const ValueView& value, const Scope& scope) {
  const auto transpose = scope.only_maker(value);
  if (transpose && permutes(*transpose, {0, 2, 1, 3})) return {transpose->input(0), true, {transpose->raw()}};
  return {value, false, {}};
}

// The product takes kᵀ: somewhere a Transpose swaps its last two axes.
std::optional<Operand> key(const ValueView& value, const Scope& scope) {
  const auto transpose = scope.only_maker(value);
  if (!transpose) return std::nullopt;
  if (permutes(*transpose, {0, 2, 3, 1})) return Operand{transpose->input(0), true, {transpose->raw()}};
  if (!permutes(*transpose, {0, 1, 3, 2})) return std::nullopt;
  Operand operand = query_or_value(transpose->input(0), scope);
  operand.nodes.push_back(transpose->raw());
  return operand;
}

// What stands between the product and the softmax.
struct Scores {
  ValueView product;
  ValueView mask;  // false when there is none
  float scale = 1.0f;
  Group nodes;
};

bool rank_of_four(const ValueView& value) {
  const auto dims = value.dims();
  return dims && dims->size() == 4;
}

bool mask_fits(const ValueView& mask, const ValueView& scores) {
  const auto dims = mask.dims();
  return dims && dims->size() <= 4 && mask.type() == scores.type();
}

// Batch and heads may broadcast in a MatMul: read so here.
void spread(Heads& heads, int64_t batch, int64_t count) {
  require((heads.batch == batch || heads.batch == 1) && (heads.heads == count || heads.heads == 1),
          "attention's inputs do not broadcast");
  if (heads.batch != batch) heads.strides.batch = 0;
  if (heads.heads != count) heads.strides.head = 0;
  heads.batch = batch;
  heads.heads = count;
}

// The kernel reads whole rows of the mask: one value for all keys is written out for each.
Tensor whole_rows(Context& context, const Tensor& mask, int64_t keys) {
  const int rank = mask.shape.rank();
  if (rank > 0 && mask.shape[rank - 1] == keys) return mask;
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

std::optional<Scores> scores_of(const NodeView& softmax, const Scope& scope) {
  Scores scores;
  scores.product = softmax.input(0);
  auto node = scope.only_maker(scores.product);
  if (node && node->op() == "Add") {
    const auto left = scope.only_maker(node->input(0));
    const bool first = left && (left->op() == "Div" || left->op() == "Mul" || left->op() == "MatMul");
    scores.product = node->input(first ? 0 : 1);
    scores.mask = node->input(first ? 1 : 0);
    if (!mask_fits(scores.mask, softmax.input(0)) || !rank_of_four(scores.product)) return std::nullopt;
    scores.nodes.push_back(node->raw());
    node = scope.only_maker(scores.product);
  }
  if (node && (node->op() == "Div" || node->op() == "Mul")) {
    const bool divides = node->op() == "Div";
    const auto factor = scalar(node->input(1));
    if (!factor || *factor == 0.0f) return std::nullopt;
    scores.scale = divides ? 1.0f / *factor : *factor;
    scores.product = node->input(0);
    scores.nodes.push_back(node->raw());
  }
  return scores;
}

struct Layout {
  size_t slot;
  bool sequence_first;
};

Heads heads_in(const Tensor& t, bool sequence_first) {
  require(t.shape.rank() == 4, "fused attention takes 4 axes");
  if (!sequence_first) return heads_of(t, 0);
  const int64_t s = t.shape[1], h = t.shape[2], d = t.shape[3];
  return {t.data, t.shape[0], h, s, d, {s * h * d, d, h * d}};
}

class AttentionStep : public Kernel {
 public:
  AttentionStep(Layout q, Layout k, Layout v, std::optional<size_t> mask, float scale, bool out_sequence_first)
      : q_(q), k_(k), v_(v), mask_(mask), scale_(scale), out_sequence_first_(out_sequence_first) {}

  void compute(Context& context) override {
    const Tensor query = context.input(q_.slot);
    Heads q = heads_in(query, q_.sequence_first);
    Heads k = heads_in(context.input(k_.slot), k_.sequence_first);
    Heads v = heads_in(context.input(v_.slot), v_.sequence_first);
    const int64_t batch = std::max({q.batch, k.batch, v.batch}), heads = std::max({q.heads, k.heads, v.heads});
    for (Heads* each : {&q, &k, &v}) spread(*each, batch, heads);
    require(k.length == v.length && q.size == k.size, "attention's inputs do not fit together");
    const Tensor y = context.output(0, out_sequence_first_ ? Shape{q.batch, q.length, q.heads, v.size}
                                                           : Shape{q.batch, q.heads, q.length, v.size});
    if (y.size() == 0) return;
    sbk::AttentionParams p;
    p.dtype = data_type(query.type);
    p.batch = q.batch;
    p.query_heads = q.heads;
    p.key_heads = k.heads;
    p.query_length = q.length;
    p.key_length = k.length;
    p.head_size = q.size;
    p.value_size = v.size;
    p.scale = scale_;
    p.y = y.data;
    p.y_strides = heads_in(y, out_sequence_first_).strides;
    if (mask_) place_mask(p, whole_rows(context, context.input(*mask_), k.length));
    run_attention(context, p, q, k, v);
  }

 private:
  Layout q_, k_, v_;
  std::optional<size_t> mask_;
  float scale_;
  bool out_sequence_first_;
};

bool over_last_axis(const NodeView& softmax) {
  const int64_t axis = softmax.integer("axis", softmax.since_version() < 13 ? 1 : -1);
  return rank_of_four(softmax.input(0)) && (axis == -1 || axis == 3);
}

}  // namespace

std::optional<Match> match_attention(const NodeView& softmax, const Scope& scope) {
  if (!over_last_axis(softmax)) return std::nullopt;
  const auto scores = scores_of(softmax, scope);
  const auto product = scores ? scope.only_maker(scores->product) : std::nullopt;
  const auto result = scope.only_reader(softmax.output(0));
  if (!product || product->op() != "MatMul" || !result || result->op() != "MatMul") return std::nullopt;
  if (!(result->input(0) == softmax.output(0)) || !rank_of_four(product->input(0)) || !rank_of_four(result->input(1)))
    return std::nullopt;
  const Operand q = query_or_value(product->input(0), scope);
  const auto k = key(product->input(1), scope);
  const Operand v = query_or_value(result->input(1), scope);
  if (!k || scores->scale == 0.0f) return std::nullopt;
  Match match;
  for (const Group* part : {&q.nodes, &k->nodes, &v.nodes, &scores->nodes})
    match.nodes.insert(match.nodes.end(), part->begin(), part->end());
  match.nodes.insert(match.nodes.end(), {product->raw(), softmax.raw(), result->raw()});
  const auto last = scope.only_reader(result->output(0));
  const bool merged = last && permutes(*last, {0, 2, 1, 3});
  if (merged) match.nodes.push_back(last->raw());
  const ValueView mask = scores->mask;
  const float scale = scores->scale;
  const Operand key_operand = *k;
  match.make = [=](const Slots& slots) -> std::unique_ptr<Kernel> {
    return std::make_unique<AttentionStep>(
        Layout{slots.of(q.value), q.sequence_first}, Layout{slots.of(key_operand.value), key_operand.sequence_first},
        Layout{slots.of(v.value), v.sequence_first}, mask ? std::optional<size_t>(slots.of(mask)) : std::nullopt, scale, merged);
  };
  return match;
}

}  // namespace rk
