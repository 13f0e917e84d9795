// Host side of the implicit GEMM: which shapes it takes, what it needs, how it is launched.
#pragma once

#include "conv/conv_gemm_kernels.hpp"
#include "conv/conv_plan.hpp"

namespace sbk::conv_detail {

// Bytes of the packed copies; 0 for a tensor that is used as it is.
struct GemmNeeds {
  bool fits = false;
  size_t input = 0, filter = 0;
};

GemmNeeds gemm_needs(const ConvParams& p);
Status run_gemm(const ConvParams& p, const Launch& launch);

}  // namespace sbk::conv_detail
