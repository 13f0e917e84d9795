// Host side of Winograd's convolution: which shapes it takes, what it needs, how it is launched.
#pragma once

#include "conv/conv.hpp"

namespace sbk::conv_detail {

// Variants of the algorithms winograd2 and winograd4.
constexpr int kWinogradPlain = 1;   // as many images at a time as 256 MiB of intermediate values hold
constexpr int kWinogradCached = 2;  // as 32 MiB hold, to stay in a last-level cache
constexpr int kWinogradTiles = 3;   // from here on: the first, and the products with each of the first three tiles
constexpr int kWinogradVariants = 5;

// Bytes of workspace for tiles of `outputs` (2 or 4); 0 where the shape is not taken.
size_t winograd_workspace(const ConvParams& p, int outputs);
// Whether the shape is taken, and its products by the current device.
bool takes_winograd(const ConvParams& p, int outputs);
Status run_winograd(const ConvParams& p, int outputs, const Launch& launch);

}  // namespace sbk::conv_detail
