// Groups of nodes that run as one step. ONNX Runtime makes one node of each group and asks for its compute function.
#pragma once

#include <vector>

#include "core/graph.hpp"

namespace rk {

using Group = std::vector<const OrtNode*>;

// Disjoint groups among `nodes` (all of them ours, in topological order).
std::vector<Group> find_groups(const std::vector<NodeView>& nodes);

OrtNodeComputeInfo* compile_fused(const OrtGraph* graph, const OrtNode* fused);
void release_fused(OrtNodeComputeInfo* info);

}  // namespace rk
