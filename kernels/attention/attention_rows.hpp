// Host side of attention by rows (attention_rows_kernels.hpp): which shapes it takes, and how their keys are split.
#pragma once

#include "attention/attention.hpp"
#include "attention/attention_parts.hpp"
#include "common/platform.hpp"

namespace sbk::attention_detail {

// Heads of up to 256 values, at any address.
bool takes_rows(const AttentionParams& p);
// Whether it is the better form although a tile takes the shape: few queries, whose tiles would leave a device idle.
bool prefers_rows(const AttentionParams& p);
// Bytes of the parts' sums; 0 where keys are not split. A function of the shape and the device.
size_t rows_workspace(const AttentionParams& p);
Status run_rows(const AttentionParams& p, const Launch& launch);

// The outputs, from the sums of several parts.
Status merge_parts(const AttentionParams& p, const KeyParts& parts, hipStream_t stream);

}  // namespace sbk::attention_detail
