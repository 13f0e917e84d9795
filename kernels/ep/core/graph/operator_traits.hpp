// What the provider asks about a node's operator before it claims nodes. Defined by the folder ops/, as entries() is.
#pragma once

#include "core/graph/graph.hpp"

namespace rk {

// Its output is the shape of its input or the number of its elements, whatever the data.
bool reads_shape(const NodeView& node);

// Models use it to compute one shape from others. Its output is data where an input is.
bool computes_shapes(const NodeView& node);

// An output holds positions that are counted with the channels first, whatever the layout.
bool counts_channels_first(const NodeView& node);

}  // namespace rk
