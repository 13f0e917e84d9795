// Compiled for sm_90a alone, the one target that has wgmma: cmake/device-library.cmake.
#include "attention/attention_hopper.hpp"

#include "attention/attention_hopper_kernels.hpp"
#include "attention/attention_plan.hpp"
#include "common/hopper_host.hpp"
#include "common/limits.hpp"

namespace sbk::attention_detail {
namespace {

// The copy engine's limits. Axes of extent one may have any stride: nothing is multiplied by it.
bool takes_strides(const AttentionStrides& s, int64_t batch, int64_t heads, int64_t rows) {
  const auto takes = [](int64_t extent, int64_t stride) {
    return extent == 1 || (stride > 0 && stride < (int64_t{1} << 39) && extent <= UINT32_MAX);
  };
  return takes(batch, s.batch) && takes(heads, s.head) && takes(rows, s.sequence);
}

Status map_rows(const void* data, const AttentionStrides& s, int64_t batch, int64_t heads, int64_t rows, int64_t columns,
                uint32_t box_rows, CUtensorMap* map) {
  const cuuint64_t extents[4] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows),
                                 static_cast<cuuint64_t>(heads), static_cast<cuuint64_t>(batch)};
  const int64_t values[3] = {s.sequence, s.head, s.batch};
  cuuint64_t strides[3];
  for (int i = 0; i < 3; ++i) strides[i] = extents[i + 1] > 1 ? static_cast<cuuint64_t>(values[i]) * 2 : kVectorBytes;
  const cuuint32_t box[4] = {64, box_rows, 1, 1}, steps[4] = {1, 1, 1, 1};
  const CUresult result = TensorMapMakers::get().tiled(
      map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, const_cast<void*>(data), extents, strides, box, steps,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? Status{} : Status{Code::device_error, "attention: the driver makes no tensor map for this shape"};
}

template <class Tiles, bool General>
Status enqueue(const AttentionParams& p, float scale, hipStream_t stream) {
  AttentionMaps maps;
  SBK_TRY(map_rows(p.q, p.q_strides, p.batch, p.query_heads, p.query_length, p.head_size, Tiles::kQueries, &maps.q));
  SBK_TRY(map_rows(p.k, p.k_strides, p.batch, p.key_heads, p.key_length, p.head_size, Tiles::kKeys, &maps.k));
  SBK_TRY(map_rows(p.v, p.v_strides, p.batch, p.key_heads, p.key_length, p.value_size, Tiles::kKeys, &maps.v));
  SBK_HIP(hipFuncSetAttribute(reinterpret_cast<const void*>(attention_hopper<Tiles, General>),
                              hipFuncAttributeMaxDynamicSharedMemorySize, Tiles::kShared));
  const dim3 grid(static_cast<uint32_t>(ceil_div(p.query_length, Tiles::kQueries)), static_cast<uint32_t>(p.query_heads),
                  static_cast<uint32_t>(p.batch));
  attention_hopper<Tiles, General><<<grid, dim3(Tiles::kBlock), Tiles::kShared, stream>>>(p, scale, maps);
  return check_launch();
}

template <class Tiles>
Status choose_form(const AttentionParams& p, float scale, hipStream_t stream) {
  return is_general(p, scale) ? enqueue<Tiles, true>(p, scale, stream) : enqueue<Tiles, false>(p, scale, stream);
}

}  // namespace

bool takes_hopper(const AttentionParams& p) {
  return p.dtype == DataType::float16 && p.head_size <= 128 && p.value_size <= 128 && takes_strides(p.q_strides, p.batch, p.query_heads, p.query_length) &&
         takes_strides(p.k_strides, p.batch, p.key_heads, p.key_length) &&
         takes_strides(p.v_strides, p.batch, p.key_heads, p.key_length) && on_hopper() &&
         TensorMapMakers::get().tiled != nullptr;
}

// Measured on an H200: three warpgroups that take turns hide most, where there are enough queries to fill them; else small
// blocks, several to a multiprocessor. A mask wants registers that the large tiles do not leave.
Status run_hopper(const AttentionParams& p, float scale, hipStream_t stream) {
  using Large = HopperTiles<64, 128, 3, 1, true>;
  using Small = HopperTiles<64, 64, 1, 3, false>;
  if (p.head_size > 64 || p.value_size > 64) return choose_form<HopperTiles<128, 128, 2, 1, true>>(p, scale, stream);
  DeviceFacts device;
  SBK_TRY(device_facts(&device));
  const int64_t blocks = ceil_div(p.query_length, Large::kQueries) * p.query_heads * p.batch;
  constexpr int64_t kLongQueries = 1024, kRounds = 3;
  const bool large = p.query_length >= kLongQueries && blocks >= kRounds * device.units && !is_general(p, scale);
  return large ? enqueue<Large, false>(p, scale, stream) : choose_form<Small>(p, scale, stream);
}

}  // namespace sbk::attention_detail
