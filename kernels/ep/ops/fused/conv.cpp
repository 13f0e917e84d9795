// Conv with the residual Add and the activation after it (SiLU spelled out too), as one step.
#include <utility>

#include "core/tensor/strides.hpp"
#include "ops/bundled/bundled.hpp"
#include "ops/bundled/conv_options.hpp"
#include "ops/elementwise/broadcast_add.hpp"
#include "ops/fused/fused.hpp"
#include "ops/fused/matchers.hpp"

namespace rk {
namespace {

constexpr size_t kAbsent = static_cast<size_t>(-1);

std::optional<sbk::ActivationParams> activation_of(const NodeView& node) {
  if (node.op() == "Relu") return sbk::ActivationParams{sbk::Activation::relu, 0.0f, 0.0f};
  if (node.op() == "LeakyRelu")
    return sbk::ActivationParams{sbk::Activation::leaky_relu, node.real("alpha", 0.01f), 0.0f};
  if (node.op() != "Clip") return std::nullopt;
  const auto low = scalar(node.input(1)), high = scalar(node.input(2));
  if (node.inputs().size() != 3 || !low || !high || *low > *high) return std::nullopt;
  return sbk::ActivationParams{sbk::Activation::clip, *low, *high};
}

class ConvStep : public Kernel {
 public:
  WindowAttributes attributes;
  int64_t groups = 1;
  size_t x = kAbsent, w = kAbsent, bias = kAbsent, residual = kAbsent;
  sbk::ActivationParams activation;
  sbk::Layout layout = sbk::Layout::channels_first;
  bool constant_filter = false;
  sbk::ConvChoosing choosing = sbk::ConvChoosing::environment;

  void compute(Context& context) override {
    const auto at = [&](size_t slot) { return slot == kAbsent ? Tensor{} : context.input(slot); };
    ConvCall call{at(x), at(w), at(bias), at(residual), groups, activation, layout, constant_filter, choosing};
    const Shape shape = conv_shape(attributes, call);
    if (!call.residual || call.residual.shape == shape)
      return run_conv(context, attributes, call, filter_, context.output(0, shape));
    // What is added broadcasts: nothing known before the run said that it would not.
    const Tensor addend = std::exchange(call.residual, Tensor{});
    call.activation = {};
    Tensor alone{nullptr, shape, call.x.type};
    alone.data = context.scratch(static_cast<size_t>(alone.bytes()));
    run_conv(context, attributes, call, filter_, alone);
    const Tensor y = context.output(0, broadcast(shape, addend.shape));
    broadcast_add(context.stream(), alone, addend, y);
    activate(context.stream(), y, activation);
  }

 private:
  Filter filter_;
};

}  // namespace

std::optional<Match> match_conv(const NodeView& conv, const Scope& scope) {
  Match match;
  match.nodes = {conv.raw()};
  ValueView y = conv.output(0), residual;
  sbk::ActivationParams activation;
  const auto add = scope.only_reader(y);
  if (add && add->op() == "Add") {
    const ValueView other = other_input(*add, y);
    if (other && alike(y, other)) {
      residual = other;
      match.nodes.push_back(add->raw());
      y = add->output(0);
    }
  }
  const auto next = scope.only_reader(y);
  if (next) {
    if (const auto step = activation_of(*next)) {
      activation = *step;
      match.nodes.push_back(next->raw());
    }
  } else if (const auto silu = find_silu(y, scope)) {
    activation.kind = sbk::Activation::silu;
    match.nodes.insert(match.nodes.end(), silu->nodes.begin(), silu->nodes.end());
  }
  if (match.nodes.size() == 1) return std::nullopt;
  match.make = [=](const Slots& slots) -> std::unique_ptr<Kernel> {
    auto step = std::make_unique<ConvStep>();
    step->attributes = WindowAttributes::read(conv);
    step->groups = conv.integer("group", 1);
    step->x = slots.of(conv.input(0));
    step->w = slots.of(conv.input(1));
    if (conv.input(2)) step->bias = slots.of(conv.input(2));
    if (residual) step->residual = slots.of(residual);
    step->activation = activation;
    step->layout = conv.domain() == kChannelsLast ? sbk::Layout::channels_last : sbk::Layout::channels_first;
    step->constant_filter = conv.input(1).is_constant();
    step->choosing = conv_choice(slots.options());
    return step;
  };
  return match;
}

}  // namespace rk
