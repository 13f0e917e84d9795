// Host side of the tiled attention: which shapes it takes and how it is launched.
#pragma once

#include "attention/attention.hpp"
#include "common/platform.hpp"

namespace sbk::attention_detail {

// Head sizes up to 256 (as far as the device's shared memory goes), rows that start on whole vectors, a grid that fits.
bool takes_tiles(const AttentionParams& p);
Status run_tiled(const AttentionParams& p, float scale, hipStream_t stream);

}  // namespace sbk::attention_detail
