#include "core/graph/operator_traits.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

namespace rk {
namespace {

using Dims = std::optional<std::vector<int64_t>>;

Dims dims_of(const ValueView& value) { return value ? value.dims() : std::nullopt; }

// The kinds of docs/kernels.md, "Many shapes, and the ten worst": at least one of each took over 1.25 times as long as
// PyTorch's best on an H200.
std::string slow_conv(const NodeView& node, bool channels_first) {
  const Dims filter = dims_of(node.input(1));
  if (!filter || filter->size() < 3) return "";
  if (filter->size() == 5) return "its window has three axes";
  if (node.integer("group", 1) > 1 && (*filter)[1] > 1) return "its groups have several channels each";
  const bool is_pointwise = std::all_of(filter->begin() + 2, filter->end(), [](int64_t extent) { return extent == 1; });
  if (channels_first && !is_pointwise && node.input(0).type() == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16)
    return "float16 with the channels first is packed before each run";
  return "";
}

// 0 where it is not known.
int64_t head_size(const NodeView& node) {
  const Dims query = dims_of(node.input(0));
  if (!query) return 0;
  if (query->size() != 3) return query->size() < 4 ? 0 : query->back();
  const int64_t heads = node.integer("num_heads", node.integer("q_num_heads", 0));
  return heads > 0 ? query->back() / heads : 0;
}

}  // namespace

std::string slow_form(const NodeView& node, bool channels_first) {
  if (node.op() == "Conv") return slow_conv(node, channels_first);
  const bool is_attention = node.op() == "Attention" || node.op() == "MultiHeadAttention";
  return is_attention && head_size(node) > 128 ? "its heads have more than 128 values" : "";
}

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
