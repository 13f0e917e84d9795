// What the provider asks about a node's operator before it claims nodes. Defined by the folder ops/, as entries() is.
#pragma once

#include <string>

#include "core/graph/graph.hpp"

namespace rk {

// Its output is the shape of its input or the number of its elements, whatever the data.
bool reads_shape(const NodeView& node);

// Models use it to compute one shape from others. Its output is data where an input is.
bool computes_shapes(const NodeView& node);

// An output holds positions that are counted with the channels first, whatever the layout.
bool counts_channels_first(const NodeView& node);

// Why the node is of a kind whose kernels were measured to be slow; empty where it is of none. `channels_first`: the node
// keeps that layout.
std::string slow_form(const NodeView& node, bool channels_first);

}  // namespace rk
