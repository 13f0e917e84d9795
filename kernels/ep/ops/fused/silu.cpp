#include "ops/fused/matchers.hpp"

namespace rk {

std::optional<Silu> find_silu(const ValueView& y, const Scope& scope) {
  const auto readers = scope.two_readers(y);
  if (!readers) return std::nullopt;
  const bool swapped = readers->first.op() != "Sigmoid";
  const NodeView& gate = swapped ? readers->second : readers->first;
  const NodeView& product = swapped ? readers->first : readers->second;
  if (gate.op() != "Sigmoid" || product.op() != "Mul" || !(other_input(product, y) == gate.output(0))) return std::nullopt;
  const auto reader = scope.only_reader(gate.output(0));
  if (!reader || reader->raw() != product.raw()) return std::nullopt;
  return Silu{{gate.raw(), product.raw()}, product.output(0)};
}

}  // namespace rk
