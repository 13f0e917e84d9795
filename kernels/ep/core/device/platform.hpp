// The device language of this folder's kernels, and the few HIP names that kernels/common/hip_on_cuda.hpp does not map
// because only a provider needs them (graphs, PCI identity).
#pragma once

#if !RK_CPU
#include "common/platform.hpp"
#if SBK_NVIDIA
#define hipGraph_t cudaGraph_t
#define hipGraphExec_t cudaGraphExec_t
#define hipGraphInstantiate cudaGraphInstantiate
#define hipGraphLaunch cudaGraphLaunch
#define hipGraphDestroy cudaGraphDestroy
#define hipGraphExecDestroy cudaGraphExecDestroy
#define hipStreamBeginCapture cudaStreamBeginCapture
#define hipStreamEndCapture cudaStreamEndCapture
#define hipStreamCaptureModeThreadLocal cudaStreamCaptureModeThreadLocal
#define hipFuncAttributes cudaFuncAttributes
#define hipFuncGetAttributes cudaFuncGetAttributes
#define hipDeviceGetPCIBusId cudaDeviceGetPCIBusId
#define hipErrorNoDevice cudaErrorNoDevice
#endif
#define RK_HD __host__ __device__
#define RK_D __device__
#define RK_INLINE __device__ __forceinline__  // a call on a device passes its arguments through memory
#else
#define RK_HD
#define RK_D
#define RK_INLINE inline
#endif

namespace rk {

// float16 as the platform spells it. Both convert explicitly to and from float; arithmetic is done in float.
#if RK_CPU
using half_t = _Float16;
#elif SBK_NVIDIA
using half_t = __half;
#else
using half_t = _Float16;
#endif

}  // namespace rk
