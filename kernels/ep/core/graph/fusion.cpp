#include "core/graph/fusion.hpp"

#include "common/half.hpp"

namespace rk {

std::optional<NodeView> Scope::only_reader(const ValueView& value) const {
  if (!value || value.is_graph_output()) return std::nullopt;
  const std::vector<const OrtNode*> readers = value.consumers();
  if (readers.size() != 1 || !has(readers[0])) return std::nullopt;
  return NodeView(readers[0]);
}

std::optional<std::pair<NodeView, NodeView>> Scope::two_readers(const ValueView& value) const {
  if (!value || value.is_graph_output()) return std::nullopt;
  const std::vector<const OrtNode*> readers = value.consumers();
  if (readers.size() != 2 || readers[0] == readers[1] || !has(readers[0]) || !has(readers[1])) return std::nullopt;
  return std::make_pair(NodeView(readers[0]), NodeView(readers[1]));
}

std::optional<NodeView> Scope::only_maker(const ValueView& value) const {
  if (!value || value.is_graph_output() || value.consumers().size() != 1) return std::nullopt;
  const OrtNode* maker = value.producer();
  if (!has(maker)) return std::nullopt;
  return NodeView(maker);
}

Slots::Slots(const NodeView& node, const Options& options) : options_(options) {
  for (size_t i = 0; i < node.inputs().size(); ++i)
    if (node.inputs()[i]) inputs_.emplace(node.inputs()[i].name(), i);
}

size_t Slots::of(const ValueView& value) const {
  const auto place = inputs_.find(value.name());
  if (place == inputs_.end()) fail("the fused node does not have the input " + value.name(), ORT_EP_FAIL);
  return place->second;
}

bool is_op(const std::optional<NodeView>& node, const char* op) { return node && node->op() == op && node->domain().empty(); }

std::optional<float> scalar(const ValueView& value) {
  const Tensor constant = value ? value.constant() : Tensor{};
  if (!constant || constant.size() != 1 || constant.shape.rank() > 1) return std::nullopt;  // more axes would reach the result
  if (constant.type == kFloat) return *constant.as<float>();
  if (constant.type == kHalf) return sbk::to_float(*constant.as<sbk::Half>());
  return std::nullopt;
}

bool known_equal(const ValueView& a, int axis_a, const ValueView& b, int axis_b) {
  const auto p = a.dims(), q = b.dims();
  if (!p || !q || axis_a >= static_cast<int>(p->size()) || axis_b >= static_cast<int>(q->size())) return false;
  const int64_t m = (*p)[static_cast<size_t>(axis_a)], n = (*q)[static_cast<size_t>(axis_b)];
  return m >= 0 && m == n;
}

bool alike(const ValueView& a, const ValueView& b) {
  const auto p = a.dims(), q = b.dims();
  if (!p || !q || p->size() != q->size()) return false;
  for (size_t i = 0; i < p->size(); ++i) {
    const int64_t m = (*p)[i], n = (*q)[i];
    if (m != n && (m == 1 || n == 1 || (m >= 0 && n >= 0))) return false;
  }
  return true;
}

ValueView other_input(const NodeView& node, const ValueView& one) {
  if (node.inputs().size() != 2) return {};
  return node.input(0) == one ? node.input(1) : node.input(0);
}

namespace {

std::optional<Match> match_any(const NodeView& node, const FusionRule& rule, const Scope& scope) {
  if (node.op() != rule.anchor || !scope.has(node.raw())) return std::nullopt;
  return rule.match(node, scope);
}

// Whether something outside the group needs what it makes. ONNX Runtime gives the node of one that nothing needs no outputs.
bool is_needed(const Group& group) {
  std::set<size_t> inside;
  for (const OrtNode* node : group) inside.insert(NodeView(node).id());
  for (const OrtNode* raw : group) {
    const NodeView node(raw);
    for (const ValueView& value : node.outputs()) {
      if (!value) continue;
      if (value.is_graph_output()) return true;
      for (const OrtNode* reader : value.consumers())
        if (inside.count(NodeView(reader).id()) == 0) return true;
    }
  }
  return false;
}

// ONNX Runtime's view of one fused step.
class FusedNode : public OrtNodeComputeInfo {
 public:
  explicit FusedNode(std::unique_ptr<Kernel> kernel) : OrtNodeComputeInfo{}, kernel_(std::move(kernel)) {
    ort_version_supported = api().version;
    CreateState = [](OrtNodeComputeInfo* base, OrtNodeComputeContext*, void** state) noexcept -> OrtStatus* {
      *state = base;
      return nullptr;
    };
    ReleaseState = [](OrtNodeComputeInfo*, void*) noexcept {};
    Compute = [](OrtNodeComputeInfo*, void* state, OrtKernelContext* raw) noexcept {
      return guard([&] {
        Context context(raw);
        static_cast<FusedNode*>(state)->kernel_->compute(context);
      });
    };
  }

 private:
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace

std::vector<Group> find_groups(const std::vector<NodeView>& nodes) {
  std::vector<Group> groups;
  Scope scope(nodes);
  for (const FusionRule& rule : fusion_rules())
    for (const NodeView& node : nodes)
      if (const auto match = match_any(node, rule, scope); match && is_needed(match->nodes)) {
        scope.take(match->nodes);
        groups.push_back(match->nodes);
      }
  return groups;
}

OrtNodeComputeInfo* compile_fused(const OrtGraph* graph, const OrtNode* node, const Options& options) {
  const std::vector<NodeView> nodes = nodes_of(graph);
  const Scope scope(nodes);
  const Slots slots(NodeView(node), options);
  for (const FusionRule& rule : fusion_rules())
    for (const NodeView& first : nodes)
      if (const auto match = match_any(first, rule, scope); match && match->nodes.size() == nodes.size())
        return new FusedNode(match->make(slots));
  fail("a fused group of " + std::to_string(nodes.size()) + " nodes is not one that was claimed", ORT_EP_FAIL);
}

void release_fused(OrtNodeComputeInfo* info) { delete static_cast<FusedNode*>(info); }

}  // namespace rk
