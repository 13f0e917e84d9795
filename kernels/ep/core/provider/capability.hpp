// Which nodes of a graph the provider takes.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/graph/graph.hpp"

namespace rk {

// The operators of which some node counts positions with the channels first. ONNX Runtime asks for a layout by operator,
// not by node, so all nodes of these operators keep it.
std::set<std::string> channels_first_ops(const OrtGraph* graph);

// Claims every node that has a kernel, except arithmetic on shapes, which is left to the CPU: such a node's every
// input comes from Shape or Size (through other such nodes) or is a constant, so its data is already on the host, and
// on the device each use would cost a copy and a wait. `fuse` also claims groups of nodes that run as one step.
// Returns the claimed nodes.
std::vector<NodeView> claim_nodes(const OrtGraph* graph, OrtEpGraphSupportInfo* info, bool fuse);

}  // namespace rk
