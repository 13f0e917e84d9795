// Attention as exporters spell it: softmax(q kᵀ · scale + mask) v with the Transposes around it and the Reshape after it, as
// one step; where q, k and v are linear layers of one input, they too, as one product.
#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>

#include "ops/bundled/bundled.hpp"
#include "ops/fused/fused.hpp"
#include "ops/fused/matchers.hpp"
#include "ops/matmul/linear.hpp"
#include "ops/shape/copy.hpp"

namespace rk {
namespace {

bool permutes(const NodeView& node, std::initializer_list<int64_t> axes) {
  return node.op() == "Transpose" && node.integers("perm") == std::vector<int64_t>(axes);
}

// One of q, k, v as the step reads it: [B, S, H, D] when `sequence_first`, else [B, H, S, D], to be multiplied by `factor`.
struct Operand {
  ValueView value;
  bool sequence_first = false;
  float factor = 1.0f;
  Group nodes;
};

// A factor or a divisor that is one constant.
std::optional<float> factor_of(const NodeView& node) {
  if (node.op() == "Mul") {
    const auto second = scalar(node.input(1));
    return second ? second : scalar(node.input(0));
  }
  const auto divisor = node.op() == "Div" ? scalar(node.input(1)) : std::nullopt;
  return divisor ? std::optional<float>(1.0f / *divisor) : std::nullopt;
}

ValueView what_is_scaled(const NodeView& node) {
  return node.op() == "Mul" && !scalar(node.input(1)) ? node.input(1) : node.input(0);
}

void take_factor(Operand& operand, const Scope& scope) {
  const auto node = scope.only_maker(operand.value);
  const auto factor = node ? factor_of(*node) : std::nullopt;
  if (!factor) return;
  operand.value = what_is_scaled(*node);
  operand.factor *= *factor;
  operand.nodes.push_back(node->raw());
}

void take_transpose(Operand& operand, const Scope& scope) {
  const auto transpose = scope.only_maker(operand.value);
  if (!transpose || !permutes(*transpose, {0, 2, 1, 3})) return;
  operand.value = transpose->input(0);
  operand.sequence_first = true;
  operand.nodes.push_back(transpose->raw());
}

Operand query(const ValueView& value, const Scope& scope) {
  Operand operand;
  operand.value = value;
  take_factor(operand, scope);
  take_transpose(operand, scope);
  take_factor(operand, scope);
  return operand;
}

Operand values(const ValueView& value, const Scope& scope) {
  Operand operand;
  operand.value = value;
  take_transpose(operand, scope);
  return operand;
}

// The product takes kᵀ: somewhere a Transpose swaps its last two axes.
std::optional<Operand> key(const ValueView& value, const Scope& scope) {
  Operand operand;
  operand.value = value;
  take_factor(operand, scope);
  const auto transpose = scope.only_maker(operand.value);
  if (!transpose) return std::nullopt;
  const bool both = permutes(*transpose, {0, 2, 3, 1});
  if (!both && !permutes(*transpose, {0, 1, 3, 2})) return std::nullopt;
  operand.value = transpose->input(0);
  operand.sequence_first = both;
  operand.nodes.push_back(transpose->raw());
  take_factor(operand, scope);
  if (both) return operand;
  take_transpose(operand, scope);
  take_factor(operand, scope);
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

std::optional<Scores> scores_of(const NodeView& softmax, const Scope& scope) {
  Scores scores;
  scores.product = softmax.input(0);
  auto node = scope.only_maker(scores.product);
  if (node && node->op() == "Add") {
    const auto first_factor = scope.only_maker(node->input(0));
    const bool first = first_factor && (first_factor->op() == "Div" || first_factor->op() == "Mul" || first_factor->op() == "MatMul");
    scores.product = node->input(first ? 0 : 1);
    scores.mask = node->input(first ? 1 : 0);
    if (!mask_fits(scores.mask, softmax.input(0)) || !rank_of_four(scores.product)) return std::nullopt;
    scores.nodes.push_back(node->raw());
    node = scope.only_maker(scores.product);
  }
  if (const auto factor = node ? factor_of(*node) : std::nullopt) {
    scores.scale = *factor;
    scores.product = what_is_scaled(*node);
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

// How the step is done apart from where q, k and v come from.
struct Core {
  std::optional<size_t> mask;
  float scale = 1.0f;
  bool out_sequence_first = false;
  std::optional<Reshaping> reshaping;  // of what comes out
};

// The extent of axes that broadcast to each other: the first that is not 1.
int64_t joint(std::initializer_list<int64_t> extents) {
  for (int64_t extent : extents)
    if (extent != 1) return extent;  // 0 stays 0
  return 1;
}

// One of a sequence of one, written out `length` times.
Heads repeated_heads(Context& context, const Heads& one, int64_t length, Type type) {
  StridedCopy copy;
  copy.shape = Shape{one.batch, one.heads, length, one.size};
  copy.from = one.data;
  copy.from_strides = {one.strides.batch, one.strides.head, 0, 1};
  copy.to_strides = dense_strides(copy.shape);
  copy.element_bytes = bytes_of(type);
  copy.to = context.scratch(static_cast<size_t>(copy.shape.size() * copy.element_bytes));
  strided_copy(context.stream(), copy);
  return {copy.to, one.batch, one.heads, length, one.size, {copy.to_strides[0], copy.to_strides[1], copy.to_strides[2]}};
}

void attend(Context& context, const Core& core, Type type, Heads q, Heads k, Heads v) {
  const Tensor mask = core.mask ? context.input(*core.mask) : Tensor{};
  const int left_out = 4 - mask.shape.rank();  // axes that the mask does not have
  const auto of_mask = [&](int axis) { return axis < left_out ? int64_t{1} : mask.shape[axis - left_out]; };
  const int64_t batch = joint({q.batch, k.batch, v.batch, of_mask(0)}), heads = joint({q.heads, k.heads, v.heads, of_mask(1)});
  for (Heads* each : {&q, &k, &v}) spread(*each, batch, heads);
  // The Add broadcasts the product to a larger mask, too.
  const int64_t queries = joint({q.length, of_mask(2)}), keys = joint({k.length, of_mask(3)});
  if (queries != q.length) q = repeated_heads(context, q, queries, type);
  if (keys != k.length) k = repeated_heads(context, k, keys, type);
  require(k.length == v.length && q.size == k.size, "attention's inputs do not fit together");
  Tensor y{nullptr, core.out_sequence_first ? Shape{q.batch, q.length, q.heads, v.size} : Shape{q.batch, q.heads, q.length, v.size}, type};
  y.data = context.output(0, core.reshaping ? core.reshaping->of(y.shape) : y.shape).data;
  if (y.size() == 0) return;
  sbk::AttentionParams p;
  p.dtype = data_type(type);
  sbk::set_extents(p, q, k, v);
  p.scale = core.scale;
  p.empty_row = k.length > 0 ? NAN : 0.0f;  // Softmax of nothing but -inf; or a product over nothing
  p.y = y.data;
  p.y_strides = heads_in(y, core.out_sequence_first).strides;
  if (mask) place_mask(p, whole_rows(context, mask, k.length));
  run_attention(context, p, q, k, v);
}

class AttentionStep : public Kernel {
 public:
  AttentionStep(Layout q, Layout k, Layout v, const Core& core) : q_(q), k_(k), v_(v), core_(core) {}

  void compute(Context& context) override {
    const Tensor q = context.input(q_.slot), k = context.input(k_.slot), v = context.input(v_.slot);
    attend(context, core_, q.type, heads_in(q, q_.sequence_first), heads_in(k, k_.sequence_first),
           heads_in(v, v_.sequence_first));
  }

 private:
  Layout q_, k_, v_;
  Core core_;
};

// One of three linear layers of one input, and the Reshape that parts its last axis into heads.
struct Projection {
  Linear linear;
  Reshaping parting;
  int64_t in = 0, out = 0;
};

std::optional<Projection> projection(const Operand& operand, const Scope& scope) {
  const auto dims = operand.value.dims();
  const auto reshape = scope.only_maker(operand.value);
  if (!operand.sequence_first || !dims || dims->size() != 4 || (*dims)[2] <= 0 || (*dims)[3] <= 0 || !reshape) return std::nullopt;
  const auto parting = constant_reshape(*reshape);
  auto linear = parting ? linear_making(reshape->input(0), scope) : std::nullopt;
  if (!linear) return std::nullopt;
  const auto w = linear->w.dims();
  Projection projection{*linear, *parting, (*w)[0], (*w)[1]};
  if (linear->form.transposed) std::swap(projection.in, projection.out);
  if (projection.in <= 0 || projection.out != (*dims)[2] * (*dims)[3]) return std::nullopt;
  projection.linear.nodes.push_back(reshape->raw());
  return projection;
}

// Three weights side by side, [in, 3 · out], and their biases: one product makes q, k and v.
class PackedProjections {
 public:
  ~PackedProjections() {
    device::release(weight);
    device::release(bias);
  }
  struct Part {
    Tensor weight, bias;
    bool transposed;
  };
  void prepare(Stream& stream, const std::array<Part, 3>& parts, int64_t in, int64_t out) {
    const std::lock_guard<std::mutex> hold(lock_);
    if (ready_) return;
    const int64_t bytes = parts[0].bias.bytes();
    if (weight == nullptr) weight = device::allocate(static_cast<size_t>(3 * in * bytes));  // a run that failed may have it
    if (bias == nullptr) bias = device::allocate(static_cast<size_t>(3 * bytes));
    if (weight == nullptr || bias == nullptr) fail("no device memory left for packed weights", ORT_FAIL);
    for (size_t i = 0; i < 3; ++i) {
      StridedCopy copy;
      copy.shape = Shape{in, out};
      copy.from = parts[i].weight.data;
      copy.to = weight;
      copy.from_strides = parts[i].transposed ? Strides{1, in} : Strides{out, 1};
      copy.to_strides = {3 * out, 1};
      copy.to_offset = static_cast<int64_t>(i) * out;
      copy.element_bytes = bytes_of(parts[i].weight.type);
      strided_copy(stream, copy);
      device::copy(static_cast<char*>(bias) + static_cast<int64_t>(i) * bytes, parts[i].bias.data, static_cast<size_t>(bytes),
                   device::Copy::on_device, stream.native());
    }
    stream.synchronize();  // another stream may use them next
    ready_ = true;
  }

  void* weight = nullptr;
  void* bias = nullptr;

 private:
  std::mutex lock_;
  bool ready_ = false;
};

class SelfAttentionStep : public Kernel {
 public:
  struct Source {
    size_t weight, bias;
    LinearForm form;
    Reshaping parting;
  };
  SelfAttentionStep(size_t x, const std::array<Source, 3>& sources, int64_t in, int64_t out, const Core& core)
      : x_(x), sources_(sources), in_(in), out_(out), core_(core) {}

  void compute(Context& context) override {
    const Tensor x = context.input(x_);
    std::array<PackedProjections::Part, 3> weights;
    for (size_t i = 0; i < 3; ++i)
      weights[i] = {context.input(sources_[i].weight), context.input(sources_[i].bias), sources_[i].form.transposed};
    projections_.prepare(context.stream(), weights, in_, out_);
    const int64_t rows = x.size() / in_;
    Tensor all{nullptr, Shape{rows, 3 * out_}, x.type};
    all.data = context.scratch(static_cast<size_t>(all.bytes()));
    run_linear(context.stream(), {}, x, Tensor{projections_.weight, Shape{in_, 3 * out_}, x.type}, all);
    if (all.size() != 0) bias_curve(context.stream(), x.type, all.data, projections_.bias, rows, 3 * out_, Curve::none);
    Heads parts[3];
    for (size_t i = 0; i < 3; ++i) parts[i] = heads_of_part(sources_[i], x, weights[i].weight, all, i);
    attend(context, core_, x.type, parts[0], parts[1], parts[2]);
  }

 private:
  Heads heads_of_part(const Source& source, const Tensor& x, const Tensor& weight, const Tensor& all, size_t part) const {
    const Shape shape = source.parting.of(source.form.out(x.shape, weight.shape));
    require(shape.rank() == 4 && shape[2] * shape[3] == out_, "attention's heads are not parts of the last axis");
    char* const data = static_cast<char*>(all.data) + static_cast<int64_t>(part) * out_ * bytes_of(all.type);
    return {data, shape[0], shape[2], shape[1], shape[3], {shape[1] * 3 * out_, shape[3], 3 * out_}};
  }

  size_t x_;
  std::array<Source, 3> sources_;
  int64_t in_, out_;
  Core core_;
  PackedProjections projections_;
};

// Where x is a Reshape's that only the three read, they can do without it too.
void take_shared_reshape(std::array<Projection, 3>& parts, const Scope& scope) {
  const ValueView x = parts[0].linear.x;
  const OrtNode* const maker = x.is_graph_output() || x.consumers().size() != parts.size() ? nullptr : x.producer();
  const auto reshaping = scope.has(maker) ? constant_reshape(NodeView(maker)) : std::nullopt;
  if (!reshaping) return;
  for (const Projection& part : parts)
    if (part.linear.form.before) return;
  for (Projection& part : parts) {
    part.linear.x = NodeView(maker).input(0);
    part.linear.form.before = reshaping;
  }
  parts[0].linear.nodes.push_back(maker);
}

// The three projections when they are of one input and one size.
std::optional<std::array<Projection, 3>> self_projections(const Operand& q, const Operand& k, const Operand& v, const Scope& scope) {
  const auto a = projection(q, scope), b = projection(k, scope), c = projection(v, scope);
  if (!a || !b || !c) return std::nullopt;
  for (const Projection* other : {&*b, &*c})
    if (!(other->linear.x == a->linear.x) || other->in != a->in || other->out != a->out) return std::nullopt;
  std::array<Projection, 3> parts{*a, *b, *c};
  take_shared_reshape(parts, scope);
  return parts;
}

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
  const Operand q = query(product->input(0), scope), v = values(result->input(1), scope);
  const auto k = key(product->input(1), scope);
  const float scale = k ? scores->scale * q.factor * k->factor : 0.0f;
  if (scale == 0.0f || !std::isfinite(scale)) return std::nullopt;
  Match match;
  for (const Group* part : {&q.nodes, &k->nodes, &v.nodes, &scores->nodes})
    match.nodes.insert(match.nodes.end(), part->begin(), part->end());
  match.nodes.insert(match.nodes.end(), {product->raw(), softmax.raw(), result->raw()});
  const auto last = scope.only_reader(result->output(0));
  const bool merged = last && permutes(*last, {0, 2, 1, 3});
  if (merged) match.nodes.push_back(last->raw());
  const auto next = scope.only_reader(merged ? last->output(0) : result->output(0));
  const auto reshaping = next ? constant_reshape(*next) : std::nullopt;
  if (reshaping) match.nodes.push_back(next->raw());
  const ValueView mask = scores->mask;
  const auto core = [=](const Slots& slots) {
    return Core{mask ? std::optional<size_t>(slots.of(mask)) : std::nullopt, scale, merged, reshaping};
  };
  if (const auto all = self_projections(q, *k, v, scope)) {
    for (const Projection& one : *all) match.nodes.insert(match.nodes.end(), one.linear.nodes.begin(), one.linear.nodes.end());
    match.make = [core, parts = *all](const Slots& slots) -> std::unique_ptr<Kernel> {
      std::array<SelfAttentionStep::Source, 3> sources;
      for (size_t i = 0; i < 3; ++i)
        sources[i] = {slots.of(parts[i].linear.w), slots.of(parts[i].linear.bias), parts[i].linear.form, parts[i].parting};
      return std::make_unique<SelfAttentionStep>(slots.of(parts[0].linear.x), sources, parts[0].in, parts[0].out, core(slots));
    };
    return match;
  }
  const Operand key_operand = *k;
  match.make = [=](const Slots& slots) -> std::unique_ptr<Kernel> {
    return std::make_unique<AttentionStep>(Layout{slots.of(q.value), q.sequence_first},
                                           Layout{slots.of(key_operand.value), key_operand.sequence_first},
                                           Layout{slots.of(v.value), v.sequence_first}, core(slots));
  };
  return match;
}

}  // namespace rk
