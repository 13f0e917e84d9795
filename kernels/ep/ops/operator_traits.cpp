#include "core/graph/operator_traits.hpp"

#include <set>

namespace rk {

bool reads_shape(const NodeView& node) { return node.op() == "Shape" || node.op() == "Size"; }

// Anything else of a shape (ConstantOfShape, Expand, …) makes data.
bool computes_shapes(const NodeView& node) {
  static const std::set<std::string> ops = {
      "Shape", "Size",   "Gather", "Slice", "Squeeze", "Unsqueeze", "Concat",     "Cast",  "Add",      "Sub",
      "Mul",   "Div",    "Mod",    "Min",   "Max",     "Equal",     "Where",      "Floor", "Identity", "Reshape",
      "Neg",   "Ceil",   "Sqrt",   "Pow",   "Less",    "Greater",   "ReduceProd", "Split", "Not",      "And"};
  return ops.count(node.op()) != 0;
}

// MaxPool with the indices of its maxima.
bool counts_channels_first(const NodeView& node) { return node.op() == "MaxPool" && node.output(1); }

}  // namespace rk
