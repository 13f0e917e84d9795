// Attention as exporters spell it: softmax(q kᵀ · scale + mask) v with the Transposes around it, as one step; where q, k
// and v are linear layers of one input, they too, as one product.
#include <algorithm>
#include <array>
#include <mutex>

#include "core/copy.hpp"
#include "core/fusion.hpp"
#include "core/matmul.hpp"
#include "ops/bundled.hpp"
#include "ops/fused.hpp"

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

// How the step is done apart from where q, k and v come from.
struct Core {
  std::optional<size_t> mask;
  float scale = 1.0f;
  bool out_sequence_first = false;
};

void attend(Context& context, const Core& core, Type type, Heads q, Heads k, Heads v) {
  const auto joint = [](int64_t a, int64_t b, int64_t c) { return a != 1 ? a : (b != 1 ? b : c); };  // 0 stays 0
  const int64_t batch = joint(q.batch, k.batch, v.batch), heads = joint(q.heads, k.heads, v.heads);
  for (Heads* each : {&q, &k, &v}) spread(*each, batch, heads);
  require(k.length == v.length && q.size == k.size, "attention's inputs do not fit together");
  const Tensor y = context.output(0, core.out_sequence_first ? Shape{q.batch, q.length, q.heads, v.size}
                                                             : Shape{q.batch, q.heads, q.length, v.size});
  if (y.size() == 0) return;
  sbk::AttentionParams p;
  p.dtype = data_type(type);
  p.batch = q.batch;
  p.query_heads = q.heads;
  p.key_heads = k.heads;
  p.query_length = q.length;
  p.key_length = k.length;
  p.head_size = q.size;
  p.value_size = v.size;
  p.scale = core.scale;
  p.y = y.data;
  p.y_strides = heads_in(y, core.out_sequence_first).strides;
  if (core.mask) place_mask(p, whole_rows(context, context.input(*core.mask), k.length));
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

// One of three linear layers of one input: its Reshape to heads, Add and MatMul.
struct Projection {
  ValueView x, weight, bias;
  int64_t heads = 0, size = 0;
  Group nodes;
};

bool constant_axes(const ValueView& value, size_t rank) {
  const auto dims = value && value.is_constant() ? value.dims() : std::nullopt;
  return dims && dims->size() == rank;
}

std::optional<Projection> projection(const Operand& operand, const Scope& scope) {
  const auto dims = operand.value.dims();
  if (!operand.sequence_first || !dims || dims->size() != 4 || (*dims)[2] <= 0 || (*dims)[3] <= 0) return std::nullopt;
  const auto reshape = scope.only_maker(operand.value);
  if (!reshape || reshape->op() != "Reshape" || !constant_axes(reshape->input(1), 1)) return std::nullopt;
  const auto add = scope.only_maker(reshape->input(0));
  if (!add || add->op() != "Add") return std::nullopt;
  const bool second = constant_axes(add->input(0), 1);
  Projection found;
  found.bias = add->input(second ? 0 : 1);
  const auto product = scope.only_maker(add->input(second ? 1 : 0));
  if (!product || product->op() != "MatMul" || !constant_axes(found.bias, 1)) return std::nullopt;
  found.x = product->input(0);
  found.weight = product->input(1);
  found.heads = (*dims)[2];
  found.size = (*dims)[3];
  const auto x_dims = found.x.dims();
  if (!constant_axes(found.weight, 2) || !x_dims || x_dims->size() != 3) return std::nullopt;
  if ((*found.weight.dims())[1] != found.heads * found.size || (*found.bias.dims())[0] != found.heads * found.size) return std::nullopt;
  // The Reshape must only part the last axis: [0 or batch, 0 or -1, heads, size].
  const std::vector<int64_t> wanted = integers(reshape->input(1).constant());
  if (wanted.size() != 4 || wanted[0] != 0 || (wanted[1] != 0 && wanted[1] != -1) || reshape->integer("allowzero", 0) != 0)
    return std::nullopt;
  found.nodes = {product->raw(), add->raw(), reshape->raw()};
  return found;
}

// Three weights side by side, [in, 3 · out], and their biases: one product makes q, k and v.
class PackedProjections {
 public:
  ~PackedProjections() {
    device::release(weight);
    device::release(bias);
  }
  void prepare(Stream& stream, const Tensor (&weights)[3], const Tensor (&biases)[3]) {
    const std::lock_guard<std::mutex> hold(lock_);
    if (ready_) return;
    const int64_t element = bytes_of(weights[0].type), in = weights[0].shape[0], out = weights[0].shape[1];
    weight = device::allocate(static_cast<size_t>(3 * weights[0].bytes()));
    bias = device::allocate(static_cast<size_t>(3 * biases[0].bytes()));
    if (weight == nullptr || bias == nullptr) fail("no device memory left for packed weights", ORT_EP_FAIL);
    for (int i = 0; i < 3; ++i) {
      StridedCopy copy;
      copy.shape = Shape{in, out};
      copy.from = weights[i].data;
      copy.to = weight;
      copy.from_strides = {out, 1};
      copy.to_strides = {3 * out, 1};
      copy.to_offset = i * out;
      copy.element_bytes = element;
      strided_copy(stream, copy);
      device::copy(static_cast<char*>(bias) + i * biases[i].bytes(), biases[i].data, static_cast<size_t>(biases[i].bytes()),
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
  };
  SelfAttentionStep(size_t x, const std::array<Source, 3>& sources, int64_t heads, const Core& core)
      : x_(x), sources_(sources), heads_(heads), core_(core) {}

  void compute(Context& context) override {
    const Tensor x = context.input(x_);
    Tensor weights[3], biases[3];
    for (size_t i = 0; i < 3; ++i) {
      weights[i] = context.input(sources_[i].weight);
      biases[i] = context.input(sources_[i].bias);
    }
    packed_.prepare(context.stream(), weights, biases);
    const int64_t batch = x.shape[0], length = x.shape[1], in = x.shape[2], out = weights[0].shape[1], size = out / heads_;
    require(in == weights[0].shape[0], "MatMul's inner extents differ");
    Tensor all{nullptr, Shape{batch * length, 3 * out}, x.type};
    all.data = context.scratch(static_cast<size_t>(all.bytes()));
    if (all.size() != 0) {
      run_matmul(context.stream(), plan_matmul(Shape{batch * length, in}, Shape{in, 3 * out}), x.type, x.data, packed_.weight,
                 all.data);
      bias_curve(context.stream(), x.type, all.data, packed_.bias, batch * length, 3 * out, Curve::none);
    }
    Heads parts[3];
    for (int i = 0; i < 3; ++i)
      parts[i] = {static_cast<char*>(all.data) + i * out * bytes_of(x.type), batch, heads_, length, size,
                  {length * 3 * out, size, 3 * out}};
    attend(context, core_, x.type, parts[0], parts[1], parts[2]);
  }

 private:
  size_t x_;
  std::array<Source, 3> sources_;
  int64_t heads_;
  Core core_;
  PackedProjections packed_;
};

// The three projections when they are of one input and one shape.
std::optional<std::array<Projection, 3>> self_projections(const Operand& q, const Operand& k, const Operand& v, const Scope& scope) {
  const auto a = projection(q, scope), b = projection(k, scope), c = projection(v, scope);
  if (!a || !b || !c) return std::nullopt;
  for (const Projection* other : {&*b, &*c})
    if (!(other->x == a->x) || other->heads != a->heads || other->size != a->size || other->weight.dims() != a->weight.dims())
      return std::nullopt;
  return std::array<Projection, 3>{*a, *b, *c};
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
  const auto core = [=](const Slots& slots) {
    return Core{mask ? std::optional<size_t>(slots.of(mask)) : std::nullopt, scale, merged};
  };
  if (const auto all = self_projections(q, *k, v, scope)) {
    for (const Projection& one : *all) match.nodes.insert(match.nodes.end(), one.nodes.begin(), one.nodes.end());
    match.make = [core, parts = *all](const Slots& slots) -> std::unique_ptr<Kernel> {
      std::array<SelfAttentionStep::Source, 3> sources{};
      for (size_t i = 0; i < 3; ++i) sources[i] = {slots.of(parts[i].weight), slots.of(parts[i].bias)};
      return std::make_unique<SelfAttentionStep>(slots.of(parts[0].x), sources, parts[0].heads, core(slots));
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
