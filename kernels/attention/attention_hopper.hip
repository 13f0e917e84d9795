// Compiled for sm_90a alone, the one target that has wgmma: cmake/device-library.cmake.
#include "attention/attention_hopper.hpp"

#include <algorithm>

#include "attention/attention_hopper_kernels.hpp"
#include "attention/attention_plan.hpp"
#include "common/hopper_host.hpp"
#include "common/limits.hpp"
#include "common/overlap.hpp"

namespace sbk::attention_detail {
namespace {

// The copy engine's limits. Axes of extent one may have any stride: nothing is multiplied by it.
bool takes_strides(const AttentionStrides& s, int64_t batch, int64_t heads, int64_t rows) {
  const auto takes = [](int64_t extent, int64_t stride) {
    return extent == 1 || (stride > 0 && stride < (int64_t{1} << 39) && extent <= UINT32_MAX);
  };
  return takes(batch, s.batch) && takes(heads, s.head) && takes(rows, s.sequence);
}

template <class Tiles>
Status map_rows(const void* data, const AttentionStrides& s, int64_t batch, int64_t heads, int64_t rows, int64_t columns,
                uint32_t box_rows, CUtensorMap* map) {
  constexpr CUtensorMapSwizzle kSwizzle = Tiles::kRowBytes == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B;
  const cuuint64_t extents[4] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows),
                                 static_cast<cuuint64_t>(heads), static_cast<cuuint64_t>(batch)};
  const int64_t values[3] = {s.sequence, s.head, s.batch};
  cuuint64_t strides[3];
  for (int i = 0; i < 3; ++i) strides[i] = extents[i + 1] > 1 ? static_cast<cuuint64_t>(values[i]) * 2 : kVectorBytes;
  const cuuint32_t box[4] = {Tiles::kColumns, box_rows, 1, 1}, steps[4] = {1, 1, 1, 1};
  const CUresult result = TensorMapMakers::get().make_tiled(
      map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, const_cast<void*>(data), extents, strides, box, steps,
      CU_TENSOR_MAP_INTERLEAVE_NONE, kSwizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? Status{} : Status{Code::device_error, "attention: the driver makes no tensor map for this shape"};
}

template <class Tiles, bool General, bool Split>
Status enqueue(const AttentionParams& p, float scale, const KeyParts& parts, hipStream_t stream) {
  AttentionMaps maps;
  SBK_TRY(map_rows<Tiles>(p.q, p.q_strides, p.batch, p.query_heads, p.query_length, p.head_size, Tiles::kQueries, &maps.q));
  SBK_TRY(map_rows<Tiles>(p.k, p.k_strides, p.batch, p.key_heads, p.key_length, p.head_size, Tiles::kKeys, &maps.k));
  SBK_TRY(map_rows<Tiles>(p.v, p.v_strides, p.batch, p.key_heads, p.key_length, p.value_size, Tiles::kKeys, &maps.v));
  SBK_HIP(hipFuncSetAttribute(reinterpret_cast<const void*>(attention_hopper<Tiles, General, Split>),
                              hipFuncAttributeMaxDynamicSharedMemorySize, Tiles::kShared));
  const int64_t tiles = ceil_div(p.query_length, Tiles::kQueries) * parts.splits;
  const dim3 grid(static_cast<uint32_t>(tiles), static_cast<uint32_t>(p.query_heads), static_cast<uint32_t>(p.batch));
  return launch_overlapped(attention_hopper<Tiles, General, Split>, grid, dim3(Tiles::kBlock), Tiles::kShared, stream, p, scale, maps, parts);
}

template <class Tiles>
Status choose_form(const AttentionParams& p, float scale, hipStream_t stream) {
  return is_general(p, scale) ? enqueue<Tiles, true, false>(p, scale, {}, stream) : enqueue<Tiles, false, false>(p, scale, {}, stream);
}

// Two or three warpgroups that take turns, and one whose blocks are several to a multiprocessor where they are small enough.
template <class ManyQueries, class FewQueries>
struct HopperPair {
  using Many = ManyQueries;
  using Few = FewQueries;
};

constexpr int64_t kMostSize = 256;

// use(pair) of the tiles for heads of this size.
template <class F>
Status with_size(const AttentionParams& p, F use) {
  const int64_t size = std::max(p.head_size, p.value_size);
  if (size > 192) return use(HopperPair<HopperTiles<256, 64, 2, 1, true>, HopperTiles<256, 64, 1, 1, false>>{});
  if (size > 160) return use(HopperPair<HopperTiles<192, 64, 2, 1, true>, HopperTiles<192, 64, 1, 1, false>>{});
  if (size > 128) return use(HopperPair<HopperTiles<160, 64, 2, 1, true>, HopperTiles<160, 64, 1, 2, false>>{});
  if (size > 96) return use(HopperPair<HopperTiles<128, 128, 2, 1, true>, HopperTiles<128, 64, 1, 2, false>>{});
  if (size > 64) return use(HopperPair<HopperTiles<96, 128, 2, 1, true>, HopperTiles<96, 64, 1, 2, false>>{});
  return use(HopperPair<HopperTiles<64, 128, 3, 1, true>, HopperTiles<64, 64, 1, 3, false>>{});
}

// Whether the tiles of many queries are taken: where there are enough to fill the device with, and, of small heads, where each has
// enough keys. Measured on an H200.
template <class Many, class Few>
bool has_many(const AttentionParams& p, int64_t units) {
  constexpr int64_t kLongKeys = Many::kD <= 64 ? 1024 : Many::kD <= 96 ? 768 : 0;
  const int64_t blocks = ceil_div(p.query_length, Many::kQueries) * p.query_heads * p.batch;
  return p.query_length > Few::kQueries && blocks >= units && (p.causal ? p.key_length / 2 : p.key_length) >= kLongKeys;
}

}  // namespace

bool takes_hopper(const AttentionParams& p) {
  return p.dtype == DataType::float16 && p.head_size <= kMostSize && p.value_size <= kMostSize && takes_strides(p.q_strides, p.batch, p.query_heads, p.query_length) &&
         takes_strides(p.k_strides, p.batch, p.key_heads, p.key_length) &&
         takes_strides(p.v_strides, p.batch, p.key_heads, p.key_length) && on_hopper() &&
         TensorMapMakers::get().make_tiled != nullptr;
}

Status run_hopper(const AttentionParams& p, float scale, hipStream_t stream) {
  DeviceFacts device;
  SBK_TRY(device_facts(&device));
  return with_size(p, [&](auto pair) {
    using Many = typename decltype(pair)::Many;
    using Few = typename decltype(pair)::Few;
    if (!has_many<Many, Few>(p, device.units)) return choose_form<Few>(p, scale, stream);
    if constexpr (Many::kGroups > 2) {  // a mask wants registers that three warpgroups do not leave
      return is_general(p, scale) ? choose_form<Few>(p, scale, stream) : enqueue<Many, false, false>(p, scale, {}, stream);
    } else {
      return choose_form<Many>(p, scale, stream);
    }
  });
}

Status run_hopper_parts(const AttentionParams& p, const KeyParts& parts, hipStream_t stream) {
  return with_size(p, [&](auto pair) { return enqueue<typename decltype(pair)::Few, false, true>(p, p.scale, parts, stream); });
}

}  // namespace sbk::attention_detail
