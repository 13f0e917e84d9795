// The tiles of attention, and which of them suits a shape. Host code.
#pragma once

#include <algorithm>

#include "attention/attention_tiled_kernels.hpp"
#include "common/limits.hpp"

namespace sbk::attention_detail {

// Tiles of 128 queries read keys half as often; they need enough of them.
inline bool has_many_queries(const AttentionParams& p, const DeviceFacts& device) {
  return ceil_div(p.query_length, 128) * p.query_heads * p.batch >= device.units;
}

// Calls use(shape) with the first of the shapes that the device has the shared memory for. False: it has for none.
template <class First, class... Rest, class F>
bool first_that_fits(const DeviceFacts& device, F use) {
  if (First::kShared <= device.shared) {
    use(First{});
    return true;
  }
  if constexpr (sizeof...(Rest) > 0) return first_that_fits<Rest...>(device, use);
  return false;
}

// The same for the shapes that take `p`, the one that suits it best first. `many`: also those of 128 queries.
template <class T, class F>
bool with_shape(const AttentionParams& p, const DeviceFacts& device, [[maybe_unused]] bool many, F use) {
  constexpr bool kSingle = sizeof(T) == 4;
  const int64_t size = std::max(p.head_size, p.value_size);
#if SBK_NVIDIA
  using WideMany = TiledShape<T, 128, 128, kSingle ? 16 : 32>;
  using Wide = TiledShape<T, 128, 64, kSingle ? 16 : 64>;
  using Many = TiledShape<T, 64, 128, kSingle ? 32 : 64>;
  using Few = TiledShape<T, 64, 64, 64>;
  using Medium = TiledShape<T, 96, 64, 32>;
  using Wider = TiledShape<T, 160, 64, kSingle ? 16 : 32>;
  using Widest = TiledShape<T, 256, 64, kSingle ? 16 : 32>;
  if (size > 160) return first_that_fits<Widest>(device, use);
  if (size > 128) return first_that_fits<Wider>(device, use);
  if (size > 96) return many ? first_that_fits<WideMany, Wide>(device, use) : first_that_fits<Wide>(device, use);
  if (size > 64) return first_that_fits<Medium>(device, use);
  return many ? first_that_fits<Many, Few>(device, use) : first_that_fits<Few>(device, use);
#else
  // Longer heads are more than RDNA's registers hold, and of float32 more than the LDS does: attention by rows takes them, and
  // in the provider hipBLAS.
  if constexpr (kSingle) {
    if (size > 128) return false;
  } else {
    if (size > 192) return false;
    if (size > 160) return first_that_fits<TiledShape<T, 192, 64, 16>>(device, use);
    if (size > 128) return first_that_fits<TiledShape<T, 160, 64, 32>>(device, use);
  }
  if (size > 96) return first_that_fits<TiledShape<T, 128, 64, kSingle ? 16 : 32>>(device, use);
  if (size > 64) return first_that_fits<TiledShape<T, 96, 64, kSingle ? 16 : 32>>(device, use);
  return first_that_fits<TiledShape<T, 64, 64, 32>>(device, use);
#endif
}

}  // namespace sbk::attention_detail
