// GroupNormalization with the SiLU after it, as one step: the block of diffusion models.
#include "ops/bundled/bundled.hpp"
#include "ops/fused/matchers.hpp"

namespace rk {
namespace {

class GroupNormStep : public Kernel {
 public:
  GroupNormCall call;
  size_t x = 0, scale = 0, bias = 0;

  void compute(Context& context) override {
    const Tensor in = context.input(x);
    run_group_norm(context, call, in, context.input(scale), context.input(bias), context.output(0, in.shape));
  }
};

}  // namespace

std::optional<Match> match_group_norm(const NodeView& norm, const Scope& scope) {
  const auto silu = find_silu(norm.output(0), scope);
  if (!silu) return std::nullopt;
  Match match;
  match.nodes = {norm.raw()};
  match.nodes.insert(match.nodes.end(), silu->nodes.begin(), silu->nodes.end());
  match.make = [=](const Slots& slots) -> std::unique_ptr<Kernel> {
    auto step = std::make_unique<GroupNormStep>();
    step->call.groups = norm.integer("num_groups", 0);
    step->call.epsilon = norm.real("epsilon", 1e-5f);
    step->call.per_group = norm.since_version() < 21;
    step->call.activation.kind = sbk::Activation::silu;
    step->x = slots.of(norm.input(0));
    step->scale = slots.of(norm.input(1));
    step->bias = slots.of(norm.input(2));
    return step;
  };
  return match;
}

}  // namespace rk
