// As much of HIP as the kernels use, for g++: the runtime's functions are in runtime.cpp, lanes in lanes.hpp.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <type_traits>

#include "lanes.hpp"
#include "matrix.hpp"

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#define __restrict__ __restrict

using hipStream_t = void*;
struct EmulatedEvent {
  double at;  // seconds
};
using hipEvent_t = EmulatedEvent*;
enum hipError_t {
  hipSuccess = 0,
  hipErrorInvalidValue = 1,
  hipErrorOutOfMemory = 2,
  hipErrorInvalidConfiguration = 9,
  hipErrorInvalidDeviceFunction = 98,
  hipErrorNoDevice = 100,
  hipErrorInvalidDevice = 101,
  hipErrorNoBinaryForGpu = 209,
  hipErrorNotReady = 600,
  hipErrorLaunchFailure = 719,
};
enum hipMemcpyKind { hipMemcpyHostToHost, hipMemcpyHostToDevice, hipMemcpyDeviceToHost, hipMemcpyDeviceToDevice, hipMemcpyDefault };
enum hipDeviceAttribute_t {
  hipDeviceAttributeMultiprocessorCount,
  hipDeviceAttributeMaxSharedMemoryPerBlock,
  hipDeviceAttributeSharedMemPerBlockOptin,
  hipDeviceAttributeWarpSize,
  hipDeviceAttributeComputeCapabilityMajor,
  hipDeviceAttributeComputeCapabilityMinor,
  hipDeviceAttributeMaxThreadsPerBlock,
};
enum hipFuncAttribute { hipFuncAttributeMaxDynamicSharedMemorySize };
enum hipStreamCaptureStatus { hipStreamCaptureStatusNone };
enum hipStreamCaptureMode { hipStreamCaptureModeThreadLocal };
struct hipDeviceProp_t {
  char name[256];
  char gcnArchName[256];
  size_t totalGlobalMem;
  int warpSize, multiProcessorCount, major, minor, pciBusID;
};
struct hipFuncAttributes {
  int numRegs;
};
using hipGraph_t = void*;
using hipGraphExec_t = void*;
constexpr unsigned hipEventDisableTiming = 2, hipStreamNonBlocking = 1, hipHostMallocDefault = 0;

namespace emulation {
hipError_t told(hipError_t);
}
hipError_t hipGetDeviceCount(int*);
hipError_t hipGetDevice(int*);
hipError_t hipSetDevice(int);
hipError_t hipGetDeviceProperties(hipDeviceProp_t*, int);
hipError_t hipDeviceGetAttribute(int*, hipDeviceAttribute_t, int);
hipError_t hipDeviceGetPCIBusId(char*, int, int);
hipError_t hipDeviceSynchronize();
hipError_t hipRuntimeGetVersion(int*);
hipError_t hipDriverGetVersion(int*);
hipError_t hipMalloc(void**, size_t);
template <class T>
hipError_t hipMalloc(T** p, size_t n) {
  return hipMalloc(reinterpret_cast<void**>(p), n);
}
hipError_t hipFree(void*);
hipError_t hipMemGetInfo(size_t*, size_t*);
hipError_t hipHostMalloc(void**, size_t, unsigned = 0);
hipError_t hipHostFree(void*);
hipError_t hipMemcpy(void*, const void*, size_t, hipMemcpyKind);
hipError_t hipMemcpyAsync(void*, const void*, size_t, hipMemcpyKind, hipStream_t = nullptr);
inline hipError_t hipMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, hipMemcpyKind kind,
                                   hipStream_t stream = nullptr) {
  if (to_pitch < width || from_pitch < width) return emulation::told(hipErrorInvalidValue);
  for (size_t i = 0; i < height; ++i) {
    hipMemcpyAsync(static_cast<char*>(to) + i * to_pitch, static_cast<const char*>(from) + i * from_pitch, width, kind, stream);
  }
  return emulation::told(hipSuccess);
}
hipError_t hipMemset(void*, int, size_t);
hipError_t hipMemsetAsync(void*, int, size_t, hipStream_t = nullptr);
hipError_t hipStreamCreate(hipStream_t*);
hipError_t hipStreamCreateWithFlags(hipStream_t*, unsigned);
hipError_t hipStreamDestroy(hipStream_t);
hipError_t hipStreamSynchronize(hipStream_t);
hipError_t hipStreamQuery(hipStream_t);
hipError_t hipStreamIsCapturing(hipStream_t, hipStreamCaptureStatus*);
hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t, unsigned = 0);
hipError_t hipStreamBeginCapture(hipStream_t, hipStreamCaptureMode);
hipError_t hipStreamEndCapture(hipStream_t, hipGraph_t*);
hipError_t hipGraphInstantiate(hipGraphExec_t*, hipGraph_t, void*, char*, size_t);
hipError_t hipGraphLaunch(hipGraphExec_t, hipStream_t);
hipError_t hipGraphDestroy(hipGraph_t);
hipError_t hipGraphExecDestroy(hipGraphExec_t);
hipError_t hipEventCreate(hipEvent_t*);
hipError_t hipEventCreateWithFlags(hipEvent_t*, unsigned);
hipError_t hipEventDestroy(hipEvent_t);
hipError_t hipEventRecord(hipEvent_t, hipStream_t = nullptr);
hipError_t hipEventSynchronize(hipEvent_t);
hipError_t hipEventQuery(hipEvent_t);
hipError_t hipEventElapsedTime(float*, hipEvent_t, hipEvent_t);
hipError_t hipGetLastError();
hipError_t hipPeekAtLastError();
const char* hipGetErrorString(hipError_t);
hipError_t hipFuncSetAttribute(const void*, hipFuncAttribute, int);
hipError_t hipFuncGetAttributes(hipFuncAttributes*, const void*);

inline void __syncthreads() { ::emulation::block_barrier(); }
template <class T>
T __shfl_xor(T value, int mask, int width = EMULATED_WAVE) {
  const int self = ::emulation::wave_lane(), other = self ^ mask;
  return ::emulation::from_lane(value, other >= ((self + width) & ~(width - 1)) ? self : other);
}
template <class T>
T __shfl(T value, int source, int width = EMULATED_WAVE) {
  return ::emulation::from_lane(value, (source & (width - 1)) + (::emulation::wave_lane() & ~(width - 1)));
}
template <class T>
T __shfl_down(T value, unsigned delta, int width = EMULATED_WAVE) {
  const int self = ::emulation::wave_lane(), step = static_cast<int>(delta);
  return ::emulation::from_lane(value, (self & (width - 1)) + step >= width ? self : self + step);
}
inline int __any(int value) {
  const auto all = ::emulation::gather(::emulation::Operation::vote, &value, sizeof value);
  for (int i = 0; i < EMULATED_WAVE; ++i) {
    if (all.has(i) && all.of<int>(i) != 0) return 1;
  }
  return 0;
}
// Lanes run one at a time.
inline int atomicAdd(int* to, int value) {
  const int before = *to;
  *to = static_cast<int>(static_cast<uint32_t>(before) + static_cast<uint32_t>(value));
  return before;
}
inline void __builtin_amdgcn_fence(int, const char*) {}
inline void __builtin_amdgcn_wave_barrier() { ::emulation::gather(::emulation::Operation::barrier, nullptr, 0); }
inline float __builtin_amdgcn_exp2f(float x) { return exp2f(x); }
inline float __builtin_amdgcn_rcpf(float x) { return 1.0f / x; }

inline uint32_t __umulhi(uint32_t a, uint32_t b) { return static_cast<uint32_t>(uint64_t{a} * b >> 32); }
inline uint32_t __float_as_uint(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline float __uint_as_float(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline float __expf(float x) { return expf(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1.0f / a; }
template <class A, class B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  using C = std::common_type_t<A, B>;
  return C(b) < C(a) ? C(b) : C(a);
}
template <class A, class B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  using C = std::common_type_t<A, B>;
  return C(a) < C(b) ? C(b) : C(a);
}
