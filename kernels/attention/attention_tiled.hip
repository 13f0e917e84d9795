#include "attention/attention_tiled.hpp"

#include <algorithm>

#include "attention/attention_hopper.hpp"
#include "attention/attention_plan.hpp"
#include "attention/attention_tiled_kernels.hpp"
#include "attention/attention_tiled_shapes.hpp"
#include "common/limits.hpp"

namespace sbk::attention_detail {
namespace {

bool rows_aligned(const void* data, const AttentionStrides& s, int64_t size, int64_t lanes) {
  return aligned_to(data, kVectorBytes) && s.batch % lanes == 0 && s.head % lanes == 0 && s.sequence % lanes == 0 &&
         size % lanes == 0;
}

template <class T, class Shape, bool General>
Status enqueue(const AttentionParams& p, float scale, const DeviceFacts& device, hipStream_t stream) {
  SBK_HIP(hipFuncSetAttribute(reinterpret_cast<const void*>(attention_tiled<T, Shape, General, false>),
                              hipFuncAttributeMaxDynamicSharedMemorySize, Shape::kShared));
  const auto tiles = static_cast<uint32_t>(ceil_div(p.query_length, Shape::kQueries));
  const auto heads = static_cast<uint32_t>(p.query_heads), batch = static_cast<uint32_t>(p.batch);
  // Under a causal mask blocks differ in length by the tile: all heads' longest first, so that the device empties at once.
  const bool tiles_last = p.causal && tiles <= kMostBlocksAcross;
  const dim3 grid = tiles_last ? dim3(heads, batch, tiles) : dim3(tiles, heads, batch);
  const dim3 threads(static_cast<uint32_t>(Shape::threads(device.wave)));
  attention_tiled<T, Shape, General, false><<<grid, threads, Shape::kShared, stream>>>(p, scale, tiles_last, KeyParts{});
  return check_launch();
}

template <class T, class Shape>
Status choose_form(const AttentionParams& p, float scale, const DeviceFacts& device, hipStream_t stream) {
  return is_general(p, scale) ? enqueue<T, Shape, true>(p, scale, device, stream) : enqueue<T, Shape, false>(p, scale, device, stream);
}

template <class T>
Status run(const AttentionParams& p, float scale, hipStream_t stream) {
  DeviceFacts device;
  SBK_TRY(device_facts(&device));
  Status status;
  const auto enqueue_it = [&](auto shape) { status = choose_form<T, decltype(shape)>(p, scale, device, stream); };
  if (!with_shape<T>(p, device, has_many_queries(p, device), enqueue_it)) return unsupported_status("attention: the device has too little shared memory (LDS) for a tile");
  return status;
}

// Whether the current device has the shared memory for a tile; one that does not answer is left to the launch that follows.
bool has_room(const AttentionParams& p) {
  DeviceFacts device;
  if (!device_facts(&device).ok()) return false;
  const auto nothing = [](auto) {};
  return p.dtype == DataType::float32 ? with_shape<float>(p, device, false, nothing) : with_shape<__half>(p, device, false, nothing);
}

}  // namespace

bool takes_tiles(const AttentionParams& p) {
  const int64_t lanes = kVectorBytes / static_cast<int64_t>(size_of(p.dtype));
  if (p.head_size > 256 || p.value_size > 256 || p.head_size == 0 || p.key_length == 0) return false;
  if (p.mask_query_stride < 0 || p.mask_query_stride > INT32_MAX) return false;
  if (p.query_heads > kMostBlocksAcross || p.batch > kMostBlocksAcross || p.query_length > INT32_MAX / 2 || p.key_length > INT32_MAX / 2) {
    return false;
  }
  return has_room(p) && rows_aligned(p.q, p.q_strides, p.head_size, lanes) && rows_aligned(p.k, p.k_strides, p.head_size, lanes) &&
         rows_aligned(p.v, p.v_strides, p.value_size, lanes) && rows_aligned(p.y, p.y_strides, p.value_size, lanes);
}

Status run_tiled(const AttentionParams& p, float scale, hipStream_t stream) {
  if (takes_hopper(p)) return run_hopper(p, scale, stream);
  return p.dtype == DataType::float32 ? run<float>(p, scale, stream) : run<__half>(p, scale, stream);
}

}  // namespace sbk::attention_detail
