// The tiled attention with its keys shared out over blocks: where tiles of queries are too few for a device, and for the
// query heads of one position that share a key head, which then are the rows of one tile.
#include "attention/attention_split.hpp"

#include <algorithm>

#include "attention/attention_hopper.hpp"
#include "attention/attention_plan.hpp"
#include "attention/attention_rows.hpp"
#include "attention/attention_tiled.hpp"
#include "attention/attention_tiled_shapes.hpp"

namespace sbk::attention_detail {
namespace {

constexpr int64_t kTileQueries = 64;  // of every shape but those for many queries

// One query of each head: heads that share a key head become rows.
AttentionParams folded_params(const AttentionParams& p) {
  const bool sees_all = !p.causal || p.causal_offset + 1 >= p.key_length;
  if (p.query_length != 1 || p.query_heads == p.key_heads || !sees_all || is_general(p, p.scale)) return p;
  AttentionParams q = p;
  q.query_heads = p.key_heads;
  q.query_length = p.query_heads / p.key_heads;
  q.causal = false;
  for (auto strides : {&AttentionParams::q_strides, &AttentionParams::y_strides}) {
    (q.*strides).sequence = (p.*strides).head;
    (q.*strides).head = (p.*strides).head * q.query_length;
  }
  return q;
}

constexpr int64_t kLeastKeys = 256;  // of a block, where many are busy


// Of the tiles of one multiprocessor: long heads leave room for one.
int64_t blocks_of_unit(const AttentionParams& p) { return takes_hopper(p) && std::max(p.head_size, p.value_size) > 160 ? 1 : 2; }

int64_t blocks_of(const AttentionParams& p) { return ceil_div(p.query_length, kTileQueries) * p.query_heads * p.batch; }

// Keys of a block. Where tiles leave most of a device idle, as few as one tile: joining the parts costs less than the tiles that a block
// would take one after the other. Those of long heads take longest. Hopper's form begins later.
int64_t least_keys(const AttentionParams& p, const DeviceFacts& device) {
  const int64_t idle = std::max(p.head_size, p.value_size) > 128 ? 2 : 8;
  return idle * blocks_of(p) <= device.units && !takes_hopper(p) ? kTileQueries : kLeastKeys;
}

// Parts of the keys: enough blocks for a device, and enough keys for a block.
int64_t parts_of(const AttentionParams& p, const DeviceFacts& device) {
  return std::clamp<int64_t>(std::min(device.units * blocks_of_unit(p) / blocks_of(p), p.key_length / least_keys(p, device)), 1, kMostKeyParts);
}

template <class T, class Shape>
Status enqueue(const AttentionParams& p, const DeviceFacts& device, const KeyParts& parts, hipStream_t stream) {
  SBK_HIP(hipFuncSetAttribute(reinterpret_cast<const void*>(attention_tiled<T, Shape, false, true>),
                              hipFuncAttributeMaxDynamicSharedMemorySize, Shape::kShared));
  const int64_t tiles = ceil_div(p.query_length, Shape::kQueries);
  const dim3 grid(static_cast<uint32_t>(tiles * parts.splits), static_cast<uint32_t>(p.query_heads), static_cast<uint32_t>(p.batch));
  const dim3 threads(static_cast<uint32_t>(Shape::threads(device.wave)));
  attention_tiled<T, Shape, false, true><<<grid, threads, Shape::kShared, stream>>>(p, p.scale, false, parts);
  return check_launch();
}

template <class T>
Status run(const AttentionParams& p, const DeviceFacts& device, const KeyParts& parts, hipStream_t stream) {
  Status status;
  const auto enqueue_it = [&](auto shape) { status = enqueue<T, decltype(shape)>(p, device, parts, stream); };
  if (!with_shape<T>(p, device, false, enqueue_it)) return unsupported_status("attention: the device has too little shared memory (LDS) for a tile");
  SBK_TRY(status);
  return merge_parts(p, parts, stream);
}

}  // namespace

bool prefers_whole(const AttentionParams& whole) {
  constexpr int64_t kFewKeys = 1024, kSomeKeys = 2048;
  DeviceFacts device;
  if (whole.key_length >= kSomeKeys || is_general(whole, whole.scale) || !device_facts(&device).ok()) return false;
  const AttentionParams p = folded_params(whole);
  return takes_tiles(p) && takes_hopper(p) && (p.key_length < kFewKeys || 2 * blocks_of(p) > device.units);
}

Status run_whole(const AttentionParams& whole, hipStream_t stream) {
  const AttentionParams p = folded_params(whole);
  return run_tiled(p, p.scale, stream);
}

bool prefers_split(const AttentionParams& whole) {
  DeviceFacts device;
  if (!device_facts(&device).ok()) return false;
  const AttentionParams p = folded_params(whole);
  const int64_t fewest = std::min(2 * kLeastKeys, 4 * least_keys(p, device));  // 256 where little of the device has a tile
  if (is_general(p, p.scale) || p.key_length < fewest || !takes_tiles(p) || prefers_whole(whole)) return false;
  // Attention by rows multiplies without matrix units; whether that is slower on AMD has not been measured.
  if (prefers_rows(whole)) return SBK_NVIDIA && p.dtype == DataType::float16;
  return 2 * blocks_of(p) <= device.units;
}

size_t split_workspace(const AttentionParams& whole) {
  DeviceFacts device;
  if (!prefers_split(whole) || !device_facts(&device).ok()) return 0;
  const AttentionParams p = folded_params(whole);
  return partial_bytes(p, parts_of(p, device));
}

Status run_split(const AttentionParams& whole, const Launch& launch) {
  DeviceFacts device;
  SBK_TRY(device_facts(&device));
  const AttentionParams p = folded_params(whole);
  KeyParts parts;
  parts.splits = static_cast<int32_t>(parts_of(p, device));
  parts.keys = ceil_div(ceil_div(p.key_length, parts.splits), kTileQueries) * kTileQueries;  // whole tiles of any shape
  parts.splits = static_cast<int32_t>(ceil_div(p.key_length, parts.keys));
  if (launch.workspace == nullptr || launch.workspace_bytes < partial_bytes(p, parts.splits)) {
    return {Code::workspace_too_small, "attention: workspace is smaller than attention_workspace_bytes"};
  }
  parts.partial = static_cast<float*>(launch.workspace);
  const auto stream = static_cast<hipStream_t>(launch.stream);
  if (takes_hopper(p)) {
    SBK_TRY(run_hopper_parts(p, parts, stream));
    return merge_parts(p, parts, stream);
  }
  return p.dtype == DataType::float32 ? run<float>(p, device, parts, stream) : run<__half>(p, device, parts, stream);
}

}  // namespace sbk::attention_detail
