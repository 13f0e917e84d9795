// Host side of convolutions without a window and with few output channels.
#pragma once

#include "conv/conv.hpp"

namespace sbk::conv_detail {

bool takes_pointwise(const ConvParams& p);
// Whether it is the faster way of a shape that it takes.
bool prefers_pointwise(const ConvParams& p);
Status run_pointwise(const ConvParams& p, const Launch& launch);

}  // namespace sbk::conv_detail
