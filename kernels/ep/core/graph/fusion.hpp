// Groups of nodes that run as one step. ONNX Runtime makes one node of each group and asks for its compute function.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/kernel/kernel.hpp"
#include "core/ort/options.hpp"

namespace rk {

using Group = std::vector<const OrtNode*>;

// Disjoint groups among `nodes` (all of them ours, in topological order).
std::vector<Group> find_groups(const std::vector<NodeView>& nodes);

OrtNodeComputeInfo* compile_fused(const OrtGraph* graph, const OrtNode* node, const Options& options);
void release_fused(OrtNodeComputeInfo* info);

// What a matcher may still take, and how to walk from there.
class Scope {
 public:
  explicit Scope(const std::vector<NodeView>& nodes) {
    for (const NodeView& node : nodes) free_.insert(node.id());
  }
  bool has(const OrtNode* node) const { return node != nullptr && free_.count(NodeView(node).id()) != 0; }
  void take(const Group& group) {
    for (const OrtNode* node : group) free_.erase(NodeView(node).id());
  }
  // The one node that reads `value`, when it is free to take and nothing else needs the value.
  std::optional<NodeView> only_reader(const ValueView& value) const;
  // The two nodes that read `value`, in any order, when both are free and nothing else needs the value.
  std::optional<std::pair<NodeView, NodeView>> two_readers(const ValueView& value) const;
  // The node that makes `value`, when it is free to take and `value` is read once.
  std::optional<NodeView> only_maker(const ValueView& value) const;

 private:
  std::set<size_t> free_;
};

// Where a step finds the values it named when it was matched: input numbers of the node made of its group; and what the
// session asks for.
class Slots {
 public:
  Slots(const NodeView& node, const Options& options);
  size_t of(const ValueView& value) const;
  const Options& options() const { return options_; }

 private:
  std::map<std::string, size_t> inputs_;
  const Options& options_;
};

struct Match {
  Group nodes;
  std::function<std::unique_ptr<Kernel>(const Slots&)> make;
};

using Matcher = std::optional<Match> (*)(const NodeView& anchor, const Scope& scope);

// What is looked for from each node of the operator `anchor`.
struct FusionRule {
  const char* anchor;
  Matcher match;
};

// In the order in which they are tried: what an earlier rule takes is not there for a later one. Defined by the folder ops/.
const std::vector<FusionRule>& fusion_rules();

// Helpers of matchers.
bool is_op(const std::optional<NodeView>& node, const char* op);  // one of ONNX's own
std::optional<float> scalar(const ValueView& value);  // a constant of one element and at most one axis, float or float16
// Equal rank, and no axis where both extents are known and differ, or one is known to be 1 and the other not. Shapes with
// symbols may still turn out to broadcast: a step that goes by this must look again when it runs.
bool alike(const ValueView& a, const ValueView& b);
bool known_equal(const ValueView& a, int axis_a, const ValueView& b, int axis_b);  // both extents known, and equal
ValueView other_input(const NodeView& node, const ValueView& one);  // of a node of two inputs

}  // namespace rk
