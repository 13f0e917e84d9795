// One include for every device source: HIP on AMD (hipcc, or clang++ -x hip) and HIP on NVIDIA (nvcc).
#pragma once

#if defined(__HIP__) || defined(__HIP_PLATFORM_AMD__)
#define SBK_AMD 1
#define SBK_NVIDIA 0
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#elif defined(__CUDACC__) || defined(SBK_CUDA_HOST)
#define SBK_AMD 0
#define SBK_NVIDIA 1
#include "common/hip_on_cuda.hpp"
#else
#error "device sources are for hipcc or nvcc; the CPU implementations are in the *_cpu.cpp files"
#endif

#include "common/status.hpp"

namespace sbk {

inline Status check(hipError_t error) {
  if (error == hipSuccess) return {};
  (void)hipGetLastError();  // told here; else the next launch in this thread would be blamed for it
  return {Code::device_error, hipGetErrorString(error)};
}

// The error of the launch just made in this thread, cleared. To be asked after each one: before ROCm 7.0 a call that succeeds,
// the next launch for one, takes the place of the error before it.
inline Status check_launch() { return check(hipGetLastError()); }

// What has a place for each wave of a block, or is counted in waves before the target is known, goes by the narrowest wave
// of any target (CUDA, RDNA). Device code goes by kWaveSize below, host code by DeviceFacts::wave (common/limits.hpp).
constexpr int kNarrowestWave = 32;
constexpr int kMostThreads = 1024;  // of a block, on every target

// Lanes of one wavefront (warp), from the compiler where it knows: it differs by target (gfx9: 64, gfx10+: 32 in this
// build), and host code has to ask the device.
#if SBK_NVIDIA
__device__ constexpr int kWaveSize = kNarrowestWave;  // every CUDA target: CUDA's programming guide fixes warpSize
#elif defined(__AMDGCN_WAVEFRONT_SIZE__)
// clang 21 announces that this macro will go; until then it is the only width that a constant expression can have.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-pragma"
__device__ constexpr int kWaveSize = __AMDGCN_WAVEFRONT_SIZE__;
#pragma clang diagnostic pop
#elif defined(__AMDGCN__)
__device__ constexpr int kWaveSize = __builtin_amdgcn_wavefrontsize();
#endif
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
static_assert(kWaveSize % kNarrowestWave == 0 && kMostThreads % kWaveSize == 0);
#endif

}  // namespace sbk

#define SBK_HIP(expression) SBK_TRY(::sbk::check(expression))
