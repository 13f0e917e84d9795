// Host side of the tiled attention whose keys are shared out over blocks.
#pragma once

#include "attention/attention.hpp"
#include "common/platform.hpp"

namespace sbk::attention_detail {

// Whether it is the best form for the shape, on the current device.
// Whether keys are so few that sharing them out costs more than it gains, whatever the queries. Measured on an H200.
bool prefers_whole(const AttentionParams& p);
Status run_whole(const AttentionParams& p, hipStream_t stream);
bool prefers_split(const AttentionParams& p);
// Bytes of the parts' sums; 0 where it is not the form. A function of the shape and the device.
size_t split_workspace(const AttentionParams& p);
Status run_split(const AttentionParams& p, const Launch& launch);

}  // namespace sbk::attention_detail
