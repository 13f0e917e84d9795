#include "attention/attention.hpp"

#include <algorithm>

#include "attention/attention_direct_kernels.hpp"
#include "attention/attention_hopper.hpp"
#include "attention/attention_plan.hpp"
#include "attention/attention_rows.hpp"
#include "attention/attention_split.hpp"
#include "attention/attention_tiled.hpp"
#include "common/limits.hpp"

namespace sbk {
namespace {

using namespace attention_detail;

template <class T>
Status run_direct(const AttentionParams& p, hipStream_t stream) {
  const int64_t rows = p.batch * p.query_heads * p.query_length;
  constexpr int64_t kEnoughBlocks = 1 << 22;  // they take further rows in turn
  const int64_t blocks = std::min({rows, kEnoughBlocks, most_blocks(kDirectThreads)});
  const int64_t chunks = ceil_div(p.value_size, kDirectChunk);
  if (chunks > kMostBlocksAcross) return unsupported_status("attention: value_size is too large");
  const dim3 grid(static_cast<uint32_t>(blocks), 1, static_cast<uint32_t>(chunks));
  attention_direct<T><<<grid, dim3(kDirectThreads), 0, stream>>>(p, rows);
  return check_launch();
}

}  // namespace

size_t attention_workspace_bytes(const AttentionParams& p) {
  return validate(p).ok() && !is_empty(p) ? std::max(rows_workspace(p), split_workspace(p)) : 0;
}

bool gpu::attention_is_fast(const AttentionParams& p) {
  if (!validate(p).ok() || is_empty(p)) return false;
  return (p.dtype == DataType::float16 && prefers_split(p)) || prefers_rows(p) || (takes_tiles(p) && takes_hopper(p));
}

Status gpu::attention(const AttentionParams& p, const Launch& launch) {
  SBK_TRY(validate(p));
  if (is_empty(p)) return {};
  const auto stream = static_cast<hipStream_t>(launch.stream);
  if (prefers_whole(p)) return run_whole(p, stream);
  if (prefers_split(p)) return run_split(p, launch);
  if (prefers_rows(p)) return run_rows(p, launch);
  if (takes_tiles(p)) return run_tiled(p, p.scale, stream);
  if (takes_rows(p)) return run_rows(p, launch);
  return p.dtype == DataType::float32 ? run_direct<float>(p, stream) : run_direct<__half>(p, stream);
}

}  // namespace sbk
