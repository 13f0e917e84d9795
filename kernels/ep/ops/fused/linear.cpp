// A linear layer with what follows it: Gelu, Relu, or a residual and LayerNormalization; and a residual Add followed by
// LayerNormalization on its own.
#include <cmath>

#include "core/tensor/strides.hpp"
#include "ops/elementwise/broadcast_add.hpp"
#include "ops/fused/fused.hpp"
#include "ops/fused/matchers.hpp"
#include "ops/matmul/linear.hpp"

namespace rk {
namespace {

// As the constant's type rounds it; float32 with the five digits that some exporters write.
bool near(const ValueView& value, double number) {
  const auto constant = scalar(value);
  return constant && std::fabs(*constant - number) <= (value.type() == kHalf ? 5e-4 : 1e-5) * std::fabs(number);
}

// Nodes of y ↦ y/2 (1 + erf(y/√2)) spelled out, and its result; nothing when `y` is not read so.
struct Gelu {
  Group nodes;
  ValueView out;
};

std::optional<Gelu> gelu_one_node(const ValueView& y, const Scope& scope) {
  const auto node = scope.only_reader(y);
  if (!node || node->op() != "Gelu" || node->text("approximate", "none") != "none") return std::nullopt;
  return Gelu{{node->raw()}, node->output(0)};
}

bool halves(const NodeView& node, const ValueView& value) {
  return node.op() == "Mul" && near(other_input(node, value), 0.5);
}

bool shrinks(const NodeView& node, const ValueView& y) {  // y / √2
  if (node.op() == "Div") return node.input(0) == y && near(node.input(1), std::sqrt(2.0));
  return node.op() == "Mul" && near(other_input(node, y), std::sqrt(0.5));
}

std::optional<Gelu> gelu_from(const ValueView& y, const NodeView& shrink, const NodeView& product, const Scope& scope) {
  if (!shrinks(shrink, y) || product.op() != "Mul") return std::nullopt;
  const auto erf = scope.only_reader(shrink.output(0));
  if (!is_op(erf, "Erf")) return std::nullopt;
  const auto plus = scope.only_reader(erf->output(0));
  if (!is_op(plus, "Add") || !near(other_input(*plus, erf->output(0)), 1.0)) return std::nullopt;
  Gelu gelu{{shrink.raw(), erf->raw(), plus->raw(), product.raw()}, {}};
  const auto reader = scope.only_reader(plus->output(0));
  if (!reader) return std::nullopt;
  if (reader->raw() == product.raw()) {  // (y (erf + 1)) / 2
    const auto half = scope.only_reader(product.output(0));
    if (!half || !halves(*half, product.output(0))) return std::nullopt;
    gelu.nodes.push_back(half->raw());
    gelu.out = half->output(0);
    return gelu;
  }
  if (!halves(product, y) || reader->op() != "Mul") return std::nullopt;  // (y / 2) (erf + 1)
  const auto last = scope.only_reader(product.output(0));
  if (!last || last->raw() != reader->raw()) return std::nullopt;
  gelu.nodes.push_back(reader->raw());
  gelu.out = reader->output(0);
  return gelu;
}

std::optional<Gelu> find_gelu(const ValueView& y, const Scope& scope) {
  if (auto one = gelu_one_node(y, scope)) return one;
  const auto readers = scope.two_readers(y);
  if (!readers) return std::nullopt;
  if (auto gelu = gelu_from(y, readers->first, readers->second, scope)) return gelu;
  return gelu_from(y, readers->second, readers->first, scope);
}

// The LayerNormalization of x + residual over the last axis.
struct Norm {
  NodeView add;
  NodeView norm;
  ValueView residual;
};

bool last_axis(const NodeView& norm) {
  const auto dims = norm.input(0).dims();
  const int64_t axis = norm.integer("axis", -1);
  return dims && (axis == -1 || axis == static_cast<int64_t>(dims->size()) - 1);
}

bool plain_norm(const NodeView& norm) {
  if (norm.op() != "LayerNormalization" || !last_axis(norm)) return false;
  if (norm.input(1).type() != norm.input(0).type()) return false;  // ONNX Runtime's own schema lets them differ
  for (size_t i = 1; i < norm.outputs().size(); ++i)
    if (norm.output(i)) return false;
  for (size_t i = 1; i < norm.inputs().size(); ++i) {  // one value for all would have to be spread
    const auto dims = norm.input(i) ? norm.input(i).dims() : std::vector<int64_t>{2};
    if (!dims || dims->size() != 1 || (*dims)[0] < 2) return false;
  }
  return true;
}

// Whether the sum's last axis is both's own; the others may broadcast, at the cost of a pass more.
bool add_to_norm(const ValueView& a, const ValueView& b) {
  const auto p = a.dims(), q = b.dims();
  if (alike(a, b)) return true;
  return p && q && !p->empty() && !q->empty() && known_equal(a, static_cast<int>(p->size()) - 1, b, static_cast<int>(q->size()) - 1);
}

std::optional<Norm> find_norm(const ValueView& x, const Scope& scope) {
  const auto add = scope.only_reader(x);
  if (!is_op(add, "Add")) return std::nullopt;
  const ValueView residual = other_input(*add, x);
  if (!residual || !add_to_norm(x, residual)) return std::nullopt;
  const auto norm = scope.only_reader(add->output(0));
  if (!norm || !plain_norm(*norm) || !(norm->input(0) == add->output(0))) return std::nullopt;
  return Norm{*add, *norm, residual};
}

constexpr size_t kAbsent = static_cast<size_t>(-1);

struct NormSlots {
  size_t residual = kAbsent, scale = kAbsent, shift = kAbsent;
  float epsilon = 1e-5f;
};

NormSlots norm_slots(const Norm& norm, const Slots& slots) {
  NormSlots result;
  result.residual = slots.of(norm.residual);
  result.scale = slots.of(norm.norm.input(1));
  if (norm.norm.input(2)) result.shift = slots.of(norm.norm.input(2));
  result.epsilon = norm.norm.real("epsilon", 1e-5f);
  return result;
}

// Output 0 = LayerNorm(x + bias + residual). Where the two do not have one shape, the sum is made first.
void sum_and_norm(Context& context, const NormSlots& slots, Tensor x, const Tensor& bias) {
  const Tensor residual = context.input(slots.residual);
  const Tensor y = context.output(0, broadcast(x.shape, residual.shape));
  const int64_t n = y.shape.rank() > 0 ? y.shape[y.shape.rank() - 1] : 0;
  require(n > 0, "a normalization over no elements has no mean");
  if (y.size() == 0) return;
  const bool whole = x.shape == y.shape && residual.shape == y.shape;
  if (!whole) {
    if (bias) bias_curve(context.stream(), x.type, x.data, bias.data, x.size() / n, n, Curve::none);
    broadcast_add(context.stream(), x, residual, y);
  }
  AddNorm work;
  work.type = y.type;
  work.x = whole ? x.data : y.data;
  if (whole) work.residual = residual.data;
  if (whole) work.bias = bias.data;
  work.scale = context.input(slots.scale).data;
  const Tensor shift = slots.shift == kAbsent ? Tensor{} : context.input(slots.shift);
  work.shift = shift.data;
  work.y = y.data;
  work.n = n;
  work.rows = y.size() / n;
  work.epsilon = slots.epsilon;
  require(context.input(slots.scale).size() == n && (!shift || shift.size() == n),
          "LayerNormalization's scale and bias must have the last axis's extent");
  add_norm(context.stream(), work);
}

// Where a step finds a linear layer's inputs.
struct LinearSlots {
  LinearSlots(const Linear& linear, const Slots& slots)
      : x(slots.of(linear.x)), w(slots.of(linear.w)), bias(slots.of(linear.bias)), form(linear.form) {}
  size_t x, w, bias;
  LinearForm form;
};

class LinearStep : public Kernel {
 public:
  LinearStep(const LinearSlots& linear, Curve curve) : linear_(linear), curve_(curve) {}

  void compute(Context& context) override {
    const Tensor x = context.input(linear_.x), w = context.input(linear_.w), bias = context.input(linear_.bias);
    const Tensor y = context.output(0, linear_.form.out(x.shape, w.shape));
    if (y.size() == 0) return;
    run_linear(context.stream(), linear_.form, x, w, y);
    bias_curve(context.stream(), y.type, y.data, bias.data, y.size() / bias.size(), bias.size(), curve_);
  }

 private:
  LinearSlots linear_;
  Curve curve_;
};

class LinearNormStep : public Kernel {
 public:
  LinearNormStep(const LinearSlots& linear, const NormSlots& norm) : linear_(linear), norm_(norm) {}

  void compute(Context& context) override {
    const Tensor x = context.input(linear_.x), w = context.input(linear_.w);
    Tensor product{nullptr, linear_.form.out(x.shape, w.shape), x.type};
    product.data = context.scratch(static_cast<size_t>(product.bytes()));
    run_linear(context.stream(), linear_.form, x, w, product);
    sum_and_norm(context, norm_, product, context.input(linear_.bias));
  }

 private:
  LinearSlots linear_;
  NormSlots norm_;
};

class AddNormStep : public Kernel {
 public:
  AddNormStep(size_t x, const NormSlots& norm) : x_(x), norm_(norm) {}

  void compute(Context& context) override {
    sum_and_norm(context, norm_, context.input(x_), {});
  }

 private:
  size_t x_;
  NormSlots norm_;
};

// Whether the bias is still one value for each element of the last axis, which a Reshape may have changed.
bool bias_is_last_axis(const Linear& linear) {
  const auto dims = linear.y.dims();
  return dims && !dims->empty() && known_equal(linear.y, static_cast<int>(dims->size()) - 1, linear.bias, 0);
}

Match with_what_follows(const Linear& linear, const Scope& scope) {
  Match match;
  match.nodes = linear.nodes;
  if (const auto norm = bias_is_last_axis(linear) ? find_norm(linear.y, scope) : std::nullopt) {
    match.nodes.insert(match.nodes.end(), {norm->add.raw(), norm->norm.raw()});
    match.make = [=](const Slots& slots) -> std::unique_ptr<Kernel> {
      return std::make_unique<LinearNormStep>(LinearSlots(linear, slots), norm_slots(*norm, slots));
    };
    return match;
  }
  Curve curve = Curve::none;
  if (const auto gelu = find_gelu(linear.y, scope)) {
    match.nodes.insert(match.nodes.end(), gelu->nodes.begin(), gelu->nodes.end());
    curve = Curve::gelu;
  } else if (const auto relu = scope.only_reader(linear.y); is_op(relu, "Relu")) {
    match.nodes.push_back(relu->raw());
    curve = Curve::relu;
  }
  match.make = [=](const Slots& slots) -> std::unique_ptr<Kernel> {
    return std::make_unique<LinearStep>(LinearSlots(linear, slots), curve);
  };
  return match;
}

}  // namespace

std::optional<Match> match_linear(const NodeView& product, const Scope& scope) {
  const auto linear = linear_of(product, scope);
  if (!linear) return std::nullopt;
  Match match = with_what_follows(*linear, scope);
  if (match.nodes.size() < 2) return std::nullopt;  // a Gemm by itself is an operator
  return match;
}

std::optional<Match> match_add_norm(const NodeView& norm, const Scope& scope) {
  if (!plain_norm(norm)) return std::nullopt;
  const auto add = scope.only_maker(norm.input(0));
  if (!is_op(add, "Add") || !add_to_norm(add->input(0), add->input(1))) return std::nullopt;
  const Norm addition{*add, norm, add->input(1)};
  const ValueView x = add->input(0);
  return Match{{add->raw(), norm.raw()}, [=](const Slots& slots) -> std::unique_ptr<Kernel> {
                 return std::make_unique<AddNormStep>(slots.of(x), norm_slots(addition, slots));
               }};
}

}  // namespace rk
