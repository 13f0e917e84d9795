#include "conv/conv.hpp"

#include <algorithm>

#include "common/limits.hpp"
#include "common/overlap.hpp"
#include "conv/conv_choice.hpp"
#include "conv/conv_depthwise.hpp"
#include "conv/conv_direct_kernels.hpp"
#include "conv/conv_gemm.hpp"
#include "conv/conv_plan.hpp"
#include "conv/conv_pointwise.hpp"
#include "conv/conv_winograd.hpp"

namespace sbk {
namespace conv_detail {
namespace {

template <class T>
Status run_direct(const ConvParams& params, const int32_t* only_if, hipStream_t stream) {
  DirectPlan d;
  d.only_if = only_if;
  d.p = with_three_axes(params);
  d.x = strides_of(params.layout, params.in_channels, d.p.in);
  d.y = strides_of(params.layout, params.out_channels, d.p.out);
  const Layout filter = params.filter_layout == FilterLayout::channels_first ? Layout::channels_first
                                                                              : Layout::channels_last;
  d.w = strides_of(filter, params.in_channels / params.groups, d.p.kernel);
  d.outputs = output_count(params);
  const int64_t blocks = ceil_div(d.outputs, kDirectThreads);
  // They take further outputs in turn. Where there is mostly nothing to do, the blocks themselves are what it costs.
  const int64_t enough = only_if == nullptr ? 1 << 20 : 1 << 9;
  const dim3 grid(static_cast<uint32_t>(std::min({blocks, enough, most_blocks(kDirectThreads)})));
  return launch_overlapped(conv_direct<T>, grid, dim3(kDirectThreads), 0, stream, d);
}

ConvParams as(const ConvParams& p, const Choice& choice) {
  ConvParams q = p;
  q.algorithm = choice.algorithm;
  q.variant = choice.variant;
  return q;
}

bool takes(const ConvParams& p) {
  if (sums_nothing(p)) return p.algorithm == ConvAlgorithm::direct;
  switch (p.algorithm) {
    case ConvAlgorithm::implicit_gemm: return takes_gemm(p);
    case ConvAlgorithm::winograd2: return takes_winograd(p, 2);
    case ConvAlgorithm::winograd4: return takes_winograd(p, 4);
    case ConvAlgorithm::depthwise: return takes_depthwise(p);
    case ConvAlgorithm::pointwise: return takes_pointwise(p);
    default: return true;
  }
}

// Winograd's products spare multiplications, its transforms move memory; with tiles of 4 both more so, and few of them do
// not fill a device. Measured on an H200 with tools/conv_ways.py.
ConvAlgorithm winograd_of(const ConvParams& p) {
  constexpr int64_t kFew = 32, kFull = 32768;
  const int64_t channels = std::max(p.in_channels, p.out_channels);
  if (p.in_channels < kFew || p.out_channels < kFew) return ConvAlgorithm::implicit_gemm;
  const int64_t tiles = p.batch * ceil_div(p.out[0], 4) * ceil_div(p.out[1], 4);
  return tiles * channels >= kFull ? ConvAlgorithm::winograd4 : ConvAlgorithm::winograd2;
}

// Next to no arithmetic and no window: what a kernel takes to begin is most of the time, and packing the image is one more.
// Measured on an H200.
bool prefers_direct(const ConvParams& p) {
  constexpr int64_t kChannels = 8, kOutputs = 1 << 16, kFewOutputs = 1 << 13;
  if (!SBK_NVIDIA || p.in_channels / p.groups > kChannels || output_count(p) > kOutputs) return false;
  for (int i = 0; i < p.spatial; ++i) {
    if (p.kernel[i] != 1) return false;
  }
  return output_count(p) <= kFewOutputs || gemm_needs(p).input > 0;
}

int variants_of(const ConvParams& p) {
  switch (p.algorithm) {
    case ConvAlgorithm::implicit_gemm: return gemm_variants(p);
    case ConvAlgorithm::winograd2:
    case ConvAlgorithm::winograd4: return kWinogradVariants;
    default: return 1;
  }
}

bool avoids_winograd(const ConvParams& p) {
  return p.choosing == ConvChoosing::no_winograd || (p.choosing == ConvChoosing::environment && environment_avoids_winograd());
}

// Not one that the caller wants to avoid.
bool may_take(const ConvParams& p, ConvAlgorithm algorithm) {
  const bool winograd = algorithm == ConvAlgorithm::winograd2 || algorithm == ConvAlgorithm::winograd4;
  return !(winograd && avoids_winograd(p));
}

// Whether it is one of the ways of this shape, wherever its tensors start.
bool is_way(const ConvParams& p, const Choice& choice) {
  ConvParams q = as(p, choice);
  q.x = q.w = q.residual = q.y = nullptr;
  q.choosing = ConvChoosing::rule;
  return choice.variant <= variants_of(q) && takes(q);
}

// As asked for, where that takes the shape; else as known, else by rule.
ConvParams with_choice(const ConvParams& p) {
  if (p.algorithm != ConvAlgorithm::automatic) return takes(p) ? p : as(p, {ConvAlgorithm::direct, 0});
  Choice choice;
  if (known_choice(p, &choice) == Knowledge::yes && may_take(p, choice.algorithm) && takes(as(p, choice))) return as(p, choice);
  return as(p, ruled_choice(p));
}

}  // namespace

Choice ruled_choice(const ConvParams& p) {
  const auto fits = [&](ConvAlgorithm algorithm) { return takes(as(p, {algorithm, 0})); };
  if (p.groups > 1 && fits(ConvAlgorithm::depthwise)) return {ConvAlgorithm::depthwise, 0};
  if (prefers_pointwise(p) && fits(ConvAlgorithm::pointwise)) return {ConvAlgorithm::pointwise, 0};
  if (prefers_direct(p)) return {ConvAlgorithm::direct, 0};
  if (const ConvAlgorithm winograd = winograd_of(p); may_take(p, winograd) && fits(winograd)) return {winograd, 0};
  if (fits(ConvAlgorithm::implicit_gemm)) return {ConvAlgorithm::implicit_gemm, 0};
  return {ConvAlgorithm::direct, 0};
}

size_t workspace_for(const ConvParams& p) {
  if (p.algorithm == ConvAlgorithm::winograd2) return winograd_workspace(p, 2);
  if (p.algorithm == ConvAlgorithm::winograd4) return winograd_workspace(p, 4);
  if (p.algorithm != ConvAlgorithm::implicit_gemm) return 0;
  const GemmNeeds needs = gemm_needs(p);
  return needs.fits ? needs.bytes() : 0;
}

Status run_as_told(const ConvParams& p, const Launch& launch) {
  const int32_t* only_if = nullptr;
  switch (p.algorithm) {
    case ConvAlgorithm::implicit_gemm:
      SBK_TRY(run_gemm(p, launch));
      only_if = gemm_flag(p, launch);
      if (only_if == nullptr) return {};
      break;
    case ConvAlgorithm::winograd2: return run_winograd(p, 2, launch);
    case ConvAlgorithm::winograd4: return run_winograd(p, 4, launch);
    case ConvAlgorithm::depthwise: return run_depthwise(p, launch);
    case ConvAlgorithm::pointwise: return run_pointwise(p, launch);
    default: break;
  }
  const auto stream = static_cast<hipStream_t>(launch.stream);
  return p.dtype == DataType::float32 ? run_direct<float>(p, only_if, stream) : run_direct<__half>(p, only_if, stream);
}

}  // namespace conv_detail

using namespace conv_detail;

int conv_choices(const ConvParams& p, ConvChoice (&choices)[kConvMaxChoices]) {
  constexpr ConvAlgorithm kAll[] = {ConvAlgorithm::implicit_gemm, ConvAlgorithm::winograd2, ConvAlgorithm::winograd4,
                                    ConvAlgorithm::depthwise, ConvAlgorithm::pointwise, ConvAlgorithm::direct};
  if (!validate(p).ok() || output_count(p) == 0) return 0;
  int count = 0;
  for (const ConvAlgorithm algorithm : kAll) {
    // The direct form can take seconds, and where another takes the shape it is the fastest for next to no arithmetic alone.
    if (algorithm == ConvAlgorithm::direct && count > 0 && !prefers_direct(p)) break;
    if (!may_take(p, algorithm)) continue;
    for (int variant = 1; variant <= variants_of(as(p, {algorithm, 0})) && count < kConvMaxChoices; ++variant) {
      if (takes(as(p, {algorithm, variant}))) choices[count++] = {algorithm, variant};
    }
  }
  return count;
}

size_t conv_workspace_bytes(const ConvParams& p) {
  if (!validate(p).ok() || output_count(p) == 0) return 0;
  Choice choice;
  if (p.algorithm != ConvAlgorithm::automatic || known_choice(p, &choice) != Knowledge::must_measure) {
    return workspace_for(with_choice(p));
  }
  ConvChoice choices[kConvMaxChoices];
  size_t most = workspace_for(as(p, ruled_choice(p)));
  for (int i = 0, count = conv_choices(p, choices); i < count; ++i) most = std::max(most, workspace_for(as(p, choices[i])));
  return most;
}

ConvFilterForm conv_filter_form(const ConvParams& params) {
  if (!validate(params).ok() || output_count(params) == 0) return {};
  const ConvParams p = with_choice(params);
  if (p.algorithm != ConvAlgorithm::implicit_gemm) return {};
  const GemmNeeds needs = gemm_needs(p);
  return {needs.form, needs.packed_filter};
}

Status gpu::pack_conv_filter(const ConvParams& p, void* to, const Launch& launch) {
  if (conv_filter_form(p).form == 0) return invalid("conv: this way reads its filters as they are");
  if (p.w == nullptr || to == nullptr) return invalid("conv: a tensor is null");
  return pack_filter(with_choice(p), to, static_cast<hipStream_t>(launch.stream));
}

Status gpu::conv(const ConvParams& p, const Launch& launch) {
  SBK_TRY(validate(p));
  if (output_count(p) == 0) return {};
  if (p.y == nullptr || (!sums_nothing(p) && (p.x == nullptr || p.w == nullptr))) return invalid("conv: a tensor is null");
  if (p.algorithm == ConvAlgorithm::automatic) {
    SBK_TRY(choosing_status());
    Choice choice;
    bool done = false;
    const Knowledge answer = known_choice(p, &choice);
    if (answer == Knowledge::yes && !is_way(p, choice)) return invalid("conv: the file of choices has a way that does not take its shape: delete the file");
    if (answer == Knowledge::must_measure) SBK_TRY(measure_choice(p, launch, &choice, &done));
    if (done) return run_as_told(as(p, choice), launch);
  }
  return run_as_told(with_choice(p), launch);
}

}  // namespace sbk
