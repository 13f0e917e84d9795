// Host side of the attention for NVIDIA's Hopper: none where it is not compiled in or the device is another.
#pragma once

#include "attention/attention.hpp"
#include "attention/attention_parts.hpp"
#include "common/platform.hpp"

namespace sbk::attention_detail {

#if SBK_HOPPER
// Among those that the tiled attention takes.
bool takes_hopper(const AttentionParams& p);
Status run_hopper(const AttentionParams& p, float scale, hipStream_t stream);
// The parts' sums, for merge_parts; keys in parts of whole tiles of 64, nothing that is_general.
Status run_hopper_parts(const AttentionParams& p, const KeyParts& parts, hipStream_t stream);
#else
inline bool takes_hopper(const AttentionParams&) { return false; }
inline Status run_hopper(const AttentionParams&, float, hipStream_t) { return unsupported_status("attention: no wgmma in this build"); }
inline Status run_hopper_parts(const AttentionParams&, const KeyParts&, hipStream_t) { return unsupported_status("attention: no wgmma in this build"); }
#endif

}  // namespace sbk::attention_detail
