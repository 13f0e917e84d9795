#include "conv/conv.hpp"

#include "conv/conv_direct_kernels.hpp"
#include "conv/conv_gemm.hpp"
#include "conv/conv_plan.hpp"

namespace sbk {
namespace {

using namespace conv_detail;

template <class T>
Status run_direct(const ConvParams& params, hipStream_t stream) {
  DirectPlan d;
  d.p = with_three_axes(params);
  d.x = strides_of(params.layout, params.in_channels, d.p.in);
  d.y = strides_of(params.layout, params.out_channels, d.p.out);
  const Layout filter = params.filter_layout == FilterLayout::channels_first ? Layout::channels_first
                                                                              : Layout::channels_last;
  d.w = strides_of(filter, params.in_channels / params.groups, d.p.kernel);
  d.outputs = output_count(params);
  const int64_t blocks = ceil_div(d.outputs, kDirectThreads);
  const dim3 grid(static_cast<uint32_t>(blocks < (1 << 20) ? blocks : (1 << 20)));
  conv_direct<T><<<grid, dim3(kDirectThreads), 0, stream>>>(d);
  return check_launch();
}

bool takes_gemm(const ConvParams& p) {
  if (p.algorithm == ConvAlgorithm::direct) return false;
  return gemm_needs(p).fits;
}

}  // namespace

size_t conv_workspace_bytes(const ConvParams& p) {
  if (!validate(p).ok() || output_count(p) == 0 || !takes_gemm(p)) return 0;
  const GemmNeeds needs = gemm_needs(p);
  return needs.input + needs.filter + 512;
}

Status gpu::conv(const ConvParams& p, const Launch& launch) {
  SBK_TRY(validate(p));
  if (output_count(p) == 0) return {};
  if (p.x == nullptr || p.w == nullptr || p.y == nullptr) return invalid("conv: a tensor is null");
  if (takes_gemm(p)) return run_gemm(p, launch);
  const auto stream = static_cast<hipStream_t>(launch.stream);
  return p.dtype == DataType::float32 ? run_direct<float>(p, stream) : run_direct<__half>(p, stream);
}

}  // namespace sbk
