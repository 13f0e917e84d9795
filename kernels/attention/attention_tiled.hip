#include "attention/attention_tiled.hpp"

#include <algorithm>

#include "attention/attention_hopper.hpp"
#include "attention/attention_plan.hpp"
#include "attention/attention_tiled_kernels.hpp"
#include "common/limits.hpp"

namespace sbk::attention_detail {
namespace {

bool rows_aligned(const void* data, const AttentionStrides& s, int64_t size, int64_t lanes) {
  return aligned_to(data, kVectorBytes) && s.batch % lanes == 0 && s.head % lanes == 0 && s.sequence % lanes == 0 &&
         size % lanes == 0;
}

template <class T, class Shape, bool General>
Status enqueue(const AttentionParams& p, float scale, hipStream_t stream) {
  SBK_HIP(hipFuncSetAttribute(reinterpret_cast<const void*>(attention_tiled<T, Shape, General>),
                              hipFuncAttributeMaxDynamicSharedMemorySize, Shape::kShared));
  const auto tiles = static_cast<uint32_t>(ceil_div(p.query_length, Shape::kQueries));
  const auto heads = static_cast<uint32_t>(p.query_heads), batch = static_cast<uint32_t>(p.batch);
  // Under a causal mask blocks differ in length by the tile: all heads' longest first, so that the device empties at once.
  const bool tiles_last = p.causal && tiles <= kMostBlocksAcross;
  const dim3 grid = tiles_last ? dim3(heads, batch, tiles) : dim3(tiles, heads, batch);
  attention_tiled<T, Shape, General><<<grid, dim3(Shape::kThreads), Shape::kShared, stream>>>(p, scale, tiles_last);
  return check_launch();
}

template <class T, class Shape>
Status choose_form(const AttentionParams& p, float scale, hipStream_t stream) {
  return is_general(p, scale) ? enqueue<T, Shape, true>(p, scale, stream) : enqueue<T, Shape, false>(p, scale, stream);
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

// The same for the shapes that take `p`, the one that suits it best first.
template <class T, class F>
bool with_shape(const AttentionParams& p, const DeviceFacts& device, F use) {
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
  // Tiles of 128 queries read keys half as often; they need enough of them.
  const bool many = ceil_div(p.query_length, 128) * p.query_heads * p.batch >= device.units;
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

template <class T>
Status run(const AttentionParams& p, float scale, hipStream_t stream) {
  DeviceFacts device;
  SBK_TRY(device_facts(&device));
  Status status;
  const auto enqueue_it = [&](auto shape) { status = choose_form<T, decltype(shape)>(p, scale, stream); };
  if (!with_shape<T>(p, device, enqueue_it)) return unsupported("attention: the device has too little shared memory (LDS) for a tile");
  return status;
}

// Whether the current device has the shared memory for a tile; one that does not answer is left to the launch that follows.
bool has_room(const AttentionParams& p) {
  DeviceFacts device;
  if (!device_facts(&device).ok()) return false;
  const auto nothing = [](auto) {};
  return p.dtype == DataType::float32 ? with_shape<float>(p, device, nothing) : with_shape<__half>(p, device, nothing);
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
