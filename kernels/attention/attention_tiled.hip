#include "attention/attention_tiled.hpp"

#include "attention/attention_hopper.hpp"
#include "attention/attention_plan.hpp"
#include "attention/attention_tiled_kernels.hpp"

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
  const bool tiles_last = p.causal && tiles <= 65535;
  const dim3 grid = tiles_last ? dim3(heads, batch, tiles) : dim3(tiles, heads, batch);
  attention_tiled<T, Shape, General><<<grid, dim3(kTiledThreads), Shape::kShared, stream>>>(p, scale, tiles_last);
  return check_launch();
}

template <class T, class Shape>
Status choose_form(const AttentionParams& p, float scale, hipStream_t stream) {
  return is_general(p, scale) ? enqueue<T, Shape, true>(p, scale, stream) : enqueue<T, Shape, false>(p, scale, stream);
}

#if SBK_NVIDIA
template <class T>
Status choose_shape(const AttentionParams& p, float scale, hipStream_t stream) {
  constexpr bool kSingle = sizeof(T) == 4;
  int64_t units = 0;
  SBK_TRY(multiprocessors(&units));
  // Tiles of 128 queries read keys half as often; they need enough of them.
  const bool many = ceil_div(p.query_length, 128) * p.query_heads * p.batch >= units;
  if (p.head_size > 64 || p.value_size > 64) {
    if (many) return choose_form<T, TiledShape<T, 128, 128, kSingle ? 16 : 32>>(p, scale, stream);
    return choose_form<T, TiledShape<T, 128, 64, kSingle ? 16 : 64>>(p, scale, stream);
  }
  if (many) return choose_form<T, TiledShape<T, 64, 128, kSingle ? 32 : 64>>(p, scale, stream);
  return choose_form<T, TiledShape<T, 64, 64, 64>>(p, scale, stream);
}
#else
template <class T>
Status choose_shape(const AttentionParams& p, float scale, hipStream_t stream) {
  constexpr bool kSingle = sizeof(T) == 4;
  if (p.head_size > 64 || p.value_size > 64) {
    return choose_form<T, TiledShape<T, 128, 64, kSingle ? 16 : 32>>(p, scale, stream);
  }
  return choose_form<T, TiledShape<T, 64, 64, 32>>(p, scale, stream);
}
#endif

}  // namespace

bool takes_tiles(const AttentionParams& p) {
  const int64_t lanes = kVectorBytes / static_cast<int64_t>(size_of(p.dtype));
  if (p.head_size > 128 || p.value_size > 128 || p.head_size == 0 || p.key_length == 0) return false;
  if (p.mask_query_stride < 0 || p.mask_query_stride > INT32_MAX) return false;
  if (p.query_heads > 65535 || p.batch > 65535 || p.query_length > INT32_MAX / 2 || p.key_length > INT32_MAX / 2) {
    return false;
  }
  return rows_aligned(p.q, p.q_strides, p.head_size, lanes) && rows_aligned(p.k, p.k_strides, p.head_size, lanes) &&
         rows_aligned(p.v, p.v_strides, p.value_size, lanes) && rows_aligned(p.y, p.y_strides, p.value_size, lanes);
}

Status run_tiled(const AttentionParams& p, float scale, hipStream_t stream) {
  if (takes_hopper(p)) return run_hopper(p, scale, stream);
  return p.dtype == DataType::float32 ? choose_shape<float>(p, scale, stream)
                                      : choose_shape<__half>(p, scale, stream);
}

}  // namespace sbk::attention_detail
