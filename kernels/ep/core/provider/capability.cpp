#include "core/provider/capability.hpp"

#include <set>

#include "core/graph/fusion.hpp"
#include "core/graph/operator_traits.hpp"
#include "core/provider/registry.hpp"

namespace rk {
namespace {

// Names of the values that hold shapes, and ids of the nodes that compute them from other shapes.
struct ShapeNodes {
  std::set<std::string> values;
  std::set<size_t> shape_nodes;

  void visit(const NodeView& node) {
    if (!reads_shape(node)) {
      if (!computes_shapes(node) || !small(node) || !of_shapes(node)) return;
      shape_nodes.insert(node.id());
    }
    for (const ValueView& output : node.outputs())
      if (output) values.insert(output.name());
  }

  // Of at most one axis: a shape, an extent, a factor made of one. A table looked up by a shape is data.
  static bool small(const NodeView& node) {
    for (const ValueView& output : node.outputs()) {
      if (!output) continue;
      const auto dims = output.dims();
      const Type type = output.type();
      const bool integer = type == kInt64 || type == kInt32 || type == kBool;
      if (!dims || dims->size() > (integer ? 1 : 0)) return false;
    }
    return true;
  }

  bool of_shapes(const NodeView& node) const {
    bool any = false;
    for (const ValueView& input : node.inputs()) {
      if (!input || input.is_constant()) continue;
      if (values.count(input.name()) == 0) return false;
      any = true;
    }
    return any;
  }
};

bool ranks_fit(const NodeView& node) {
  for (const std::vector<ValueView>* side : {&node.inputs(), &node.outputs()})
    for (const ValueView& value : *side) {
      if (!value) continue;
      const auto dims = value.dims();
      if (dims && dims->size() > static_cast<size_t>(kMaxRank)) return false;
    }
  return true;
}

bool has_kernel(const NodeView& node, OrtEpGraphSupportInfo* info) {
  const OrtKernelDef* definition = nullptr;
  check(api().ep->EpGraphSupportInfo_LookUpKernel(info, node.raw(), &definition));
  if (definition == nullptr || !ranks_fit(node)) return false;
  const Entry* entry = entry_for(node.domain().c_str(), node.op().c_str(), node.since_version());
  return entry != nullptr && (entry->accepts == nullptr || entry->accepts(node));
}

}  // namespace

std::set<std::string> channels_first_ops(const OrtGraph* graph) {
  std::set<std::string> ops;
  for (const NodeView& node : nodes_of(graph))
    if (counts_channels_first(node)) ops.insert(node.op());
  return ops;
}

std::vector<NodeView> claim_nodes(const OrtGraph* graph, OrtEpGraphSupportInfo* info, bool fuse) {
  const std::vector<NodeView> nodes = nodes_of(graph);
  ShapeNodes shapes;
  std::vector<NodeView> ours;
  for (const NodeView& node : nodes) {
    shapes.visit(node);
    if (shapes.shape_nodes.count(node.id()) == 0 && has_kernel(node, info)) ours.push_back(node);
  }
  std::set<size_t> claimed_nodes;
  if (fuse) {
    for (const Group& group : find_groups(ours)) {
      check(api().ep->EpGraphSupportInfo_AddNodesToFuse(info, group.data(), group.size(), nullptr));
      for (const OrtNode* node : group) claimed_nodes.insert(NodeView(node).id());
    }
  }
  for (const NodeView& node : ours)
    if (claimed_nodes.count(node.id()) == 0) check(api().ep->EpGraphSupportInfo_AddSingleNode(info, node.raw()));
  return ours;
}

}  // namespace rk
