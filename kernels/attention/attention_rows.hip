#include "attention/attention_rows.hpp"

#include <algorithm>

#include "attention/attention_rows_kernels.hpp"
#include "common/limits.hpp"
#include "common/overlap.hpp"

namespace sbk::attention_detail {
namespace {

constexpr int64_t kMostSize = 256;
constexpr int64_t kFewQueries = 16;

// Vectors of 16 bytes that a lane has of a row: 1, 2 or 4.
int64_t chunks_of(const AttentionParams& p) {
  const int64_t columns = std::max(p.head_size, p.value_size);
  const int64_t chunks = ceil_div(columns, kRowLanes * kVectorBytes / static_cast<int64_t>(size_of(p.dtype)));
  return chunks <= 2 ? chunks : 4;
}

int64_t rows_of_key_head(const AttentionParams& p) { return p.query_heads / p.key_heads * p.query_length; }

// Queries of a block: more of them read keys less often, and take more registers.
int64_t rows_of_block(const AttentionParams& p) {
  if (rows_of_key_head(p) == 1) return 1;
  const int64_t values = chunks_of(p) * kVectorBytes / static_cast<int64_t>(size_of(p.dtype));
  return values > 8 ? 2 : 4;
}

// Parts of the keys: enough blocks for a device, and enough keys for a block.
int64_t splits_of(const AttentionParams& p, int64_t units) {
  constexpr int64_t kBlocksPerUnit = 8, kLeastKeys = 256;
  const int64_t blocks = ceil_div(rows_of_key_head(p), rows_of_block(p)) * p.batch * p.key_heads;
  return std::clamp<int64_t>(std::min(units * kBlocksPerUnit / blocks, p.key_length / kLeastKeys), 1, kMostKeyParts);
}

bool on_vectors(const void* data, const AttentionStrides& s, int64_t size, int64_t lanes) {
  return aligned_to(data, kVectorBytes) && s.batch % lanes == 0 && s.head % lanes == 0 && s.sequence % lanes == 0 && size % lanes == 0;
}

template <class Shape>
Status enqueue(const AttentionParams& p, const KeyParts& plan, hipStream_t stream) {
  using T = typename Shape::Type;
  const dim3 grid(static_cast<uint32_t>(ceil_div(rows_of_key_head(p), Shape::kRows)), static_cast<uint32_t>(p.batch * p.key_heads),
                  static_cast<uint32_t>(plan.splits));
  attention_rows<Shape><<<grid, dim3(kRowsThreads), 0, stream>>>(p, plan);
  SBK_TRY(check_launch());
  return plan.splits == 1 ? Status{} : merge_parts(p, plan, stream);
}

template <class T, int C, bool Whole>
Status with_rows(const AttentionParams& p, const KeyParts& plan, hipStream_t stream) {
  if (rows_of_block(p) == 1) return enqueue<RowsShape<T, C, 1, Whole>>(p, plan, stream);
  constexpr int kRows = C * lanes_of<T>() > 8 ? 2 : 4;
  return enqueue<RowsShape<T, C, kRows, Whole>>(p, plan, stream);
}

template <class T, bool Whole>
Status with_chunks(const AttentionParams& p, const KeyParts& plan, hipStream_t stream) {
  const int64_t chunks = chunks_of(p);
  if (chunks == 1) return with_rows<T, 1, Whole>(p, plan, stream);
  if (chunks == 2) return with_rows<T, 2, Whole>(p, plan, stream);
  if constexpr (sizeof(T) == 4) return with_rows<T, 4, Whole>(p, plan, stream);
  return unsupported_status("attention: the heads are too long for the kernel by rows");  // takes_rows has refused them
}

template <class T>
Status run(const AttentionParams& p, const KeyParts& plan, hipStream_t stream) {
  const int64_t lanes = lanes_of<T>();
  const bool whole = on_vectors(p.q, p.q_strides, p.head_size, lanes) && on_vectors(p.k, p.k_strides, p.head_size, lanes) &&
                     on_vectors(p.v, p.v_strides, p.value_size, lanes);
  return whole ? with_chunks<T, true>(p, plan, stream) : with_chunks<T, false>(p, plan, stream);
}

}  // namespace

Status merge_parts(const AttentionParams& p, const KeyParts& parts, hipStream_t stream) {
  const int64_t rows = p.batch * p.query_heads * p.query_length;
  const dim3 blocks(static_cast<uint32_t>(std::min(rows, most_blocks(kMergeThreads))));
  const auto kernel = p.dtype == DataType::float32 ? attention_merge<float> : attention_merge<__half>;
  return launch_overlapped(kernel, blocks, dim3(kMergeThreads), 0, stream, p, parts, rows);
}

bool takes_rows(const AttentionParams& p) {
  return p.head_size > 0 && p.head_size <= kMostSize && p.value_size <= kMostSize && p.key_length > 0 &&
         p.batch * p.key_heads <= kMostBlocksAcross &&
         ceil_div(rows_of_key_head(p), rows_of_block(p)) <= most_blocks(kRowsThreads);
}

bool prefers_rows(const AttentionParams& p) {
  constexpr int64_t kManyKeys = 512;
  if (!takes_rows(p) || p.query_length > kFewQueries) return false;
  return p.query_length == 1 || (p.query_length <= 4 && p.key_length >= kManyKeys) || p.key_length >= 4 * kManyKeys;
}

size_t rows_workspace(const AttentionParams& p) {
  DeviceFacts device;
  if (!takes_rows(p) || !device_facts(&device).ok()) return 0;  // the launch that follows says why
  const int64_t splits = splits_of(p, device.units);
  return splits > 1 ? partial_bytes(p, splits) : 0;
}

Status run_rows(const AttentionParams& p, const Launch& launch) {
  DeviceFacts device;
  SBK_TRY(device_facts(&device));
  KeyParts plan{};
  plan.splits = static_cast<int32_t>(splits_of(p, device.units));
  plan.keys = ceil_div(p.key_length, plan.splits);
  if (plan.splits > 1) {
    if (launch.workspace == nullptr || launch.workspace_bytes < partial_bytes(p, plan.splits)) {
      return {Code::workspace_too_small, "attention: workspace is smaller than attention_workspace_bytes"};
    }
    plan.partial = static_cast<float*>(launch.workspace);
  }
  const auto stream = static_cast<hipStream_t>(launch.stream);
  return p.dtype == DataType::float32 ? run<float>(p, plan, stream) : run<__half>(p, plan, stream);
}

}  // namespace sbk::attention_detail
