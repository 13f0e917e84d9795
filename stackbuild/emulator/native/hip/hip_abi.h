// The part of HIP's C interface that the stand-in serves: types, numbers and layouts as HIP 5.7 and 6.4 have them.
// tests/integration/emulator/test_hip_abi.py compares the numbers with the headers of Debian 13's libamdhip64-dev (5.7). The offsets
// of R0600 were printed by a program with the headers of 6.4.
#ifndef STACKBUILD_HIP_ABI_H
#define STACKBUILD_HIP_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int hipError_t;
typedef struct { uint32_t x, y, z; } dim3;
typedef struct stream *hipStream_t;
typedef struct event *hipEvent_t;
typedef struct graph *hipGraph_t;
typedef struct graph_exec *hipGraphExec_t;
typedef struct module *hipModule_t;
typedef struct function *hipFunction_t;
typedef int hipDevice_t;

#define HIP_ERRORS(E) \
  E(hipSuccess, 0) E(hipErrorInvalidValue, 1) E(hipErrorOutOfMemory, 2) E(hipErrorNotInitialized, 3) \
  E(hipErrorInvalidConfiguration, 9) E(hipErrorInvalidPitchValue, 12) E(hipErrorInvalidSymbol, 13) \
  E(hipErrorInvalidDevicePointer, 17) E(hipErrorInvalidMemcpyDirection, 21) E(hipErrorInvalidDeviceFunction, 98) \
  E(hipErrorNoDevice, 100) E(hipErrorInvalidDevice, 101) E(hipErrorInvalidImage, 200) E(hipErrorInvalidContext, 201) \
  E(hipErrorNoBinaryForGpu, 209) E(hipErrorSharedObjectInitFailed, 303) E(hipErrorInvalidHandle, 400) \
  E(hipErrorIllegalState, 401) E(hipErrorNotFound, 500) E(hipErrorNotReady, 600) E(hipErrorIllegalAddress, 700) \
  E(hipErrorLaunchOutOfResources, 701) E(hipErrorPeerAccessAlreadyEnabled, 704) E(hipErrorLaunchFailure, 719) \
  E(hipErrorNotSupported, 801) E(hipErrorStreamCaptureUnsupported, 900) E(hipErrorStreamCaptureInvalidated, 901) \
  E(hipErrorStreamCaptureImplicit, 906) E(hipErrorUnknown, 999)
#define HIP_ENUMERATOR(NAME, VALUE) NAME = VALUE,
enum { HIP_ERRORS(HIP_ENUMERATOR) };

// hipDeviceAttribute_t: name, value, and which of the device's numbers answers it (device.c).
#define HIP_ATTRIBUTES(A) \
  A(CanMapHostMemory, 3, 1) A(ClockRate, 5, 0) A(ComputeMode, 6, 0) A(ConcurrentKernels, 8, 1) \
  A(ConcurrentManagedAccess, 9, 0) A(CooperativeLaunch, 10, 0) A(CooperativeMultiDeviceLaunch, 11, 0) \
  A(Integrated, 16, 0) A(L2CacheSize, 19, d->l2_bytes) A(ComputeCapabilityMajor, 23, d->major) A(ManagedMemory, 24, 0) \
  A(MaxBlocksPerMultiProcessor, 25, d->workgroups_per_unit) A(MaxBlockDimX, 26, 1024) A(MaxBlockDimY, 27, 1024) \
  A(MaxBlockDimZ, 28, 1024) A(MaxGridDimX, 29, 2147483647) A(MaxGridDimY, 30, 65536) A(MaxGridDimZ, 31, 65536) \
  A(MaxThreadsPerBlock, 56, 1024) A(MaxThreadsPerMultiProcessor, 57, d->threads_per_unit) A(MemoryBusWidth, 59, 0) \
  A(MemoryClockRate, 60, 0) A(ComputeCapabilityMinor, 61, d->minor) A(MultiprocessorCount, 63, d->units) \
  A(PageableMemoryAccess, 65, 0) A(PciBusId, 67, number + 1) A(PciDeviceId, 68, 0) A(PciDomainID, 69, 0) \
  A(MaxRegistersPerBlock, 71, 65536) A(MaxRegistersPerMultiprocessor, 72, 65536) \
  A(MaxSharedMemoryPerBlock, 74, d->lds_bytes) A(SharedMemPerBlockOptin, 75, d->lds_bytes) \
  A(StreamPrioritiesSupported, 78, 0) A(TotalConstantMemory, 83, 2147483647) A(TotalGlobalMem, 84, 2147483647) \
  A(UnifiedAddressing, 85, 1) A(WarpSize, 87, d->wave) A(MemoryPoolsSupported, 88, 0) \
  A(MaxSharedMemoryPerMultiprocessor, 10002, d->lds_bytes) A(PhysicalMultiProcessorCount, 10015, d->units)

// hipDeviceProp_t: field, offset in bytes in HIP 5 (R0000), offset in HIP 6 and 7 (R0600; -1: not there), size, value.
enum { PROPERTIES_R0000 = 792, PROPERTIES_R0600 = 1472, NAME_BYTES = 256 };
#define HIP_PROPERTIES(P) \
  P(totalGlobalMem, 256, 288, 8, d->memory) P(sharedMemPerBlock, 264, 296, 8, d->lds_bytes) \
  P(regsPerBlock, 272, 304, 4, 65536) P(warpSize, 276, 308, 4, d->wave) P(memPitch, 712, 312, 8, 2147483647) \
  P(maxThreadsPerBlock, 280, 320, 4, 1024) P(clockRate, 308, 348, 4, 0) P(totalConstMem, 320, 352, 8, 2147483647) \
  P(major, 328, 360, 4, d->major) P(minor, 332, 364, 4, d->minor) P(textureAlignment, 720, 368, 8, 256) \
  P(multiProcessorCount, 336, 388, 4, d->units) P(integrated, 652, 396, 4, 0) P(canMapHostMemory, 388, 400, 4, 1) \
  P(concurrentKernels, 360, 576, 4, 1) P(pciBusID, 368, 584, 4, number + 1) P(pciDeviceID, 372, 588, 4, 0) \
  P(pciDomainID, 364, 592, 4, 0) P(l2CacheSize, 340, 616, 4, d->l2_bytes) \
  P(maxThreadsPerMultiProcessor, 344, 624, 4, d->threads_per_unit) \
  P(maxSharedMemoryPerMultiProcessor, 376, 1416, 8, d->lds_bytes) P(cooperativeLaunch, 656, 688, 4, 0) \
  P(managedMemory, 772, 652, 4, 0)
enum { GCN_ARCH_R0000 = 396, GCN_ARCH_R0600 = 1160 };
enum { MAX_THREADS_DIM_R0000 = 284, MAX_THREADS_DIM_R0600 = 324, MAX_GRID_R0000 = 296, MAX_GRID_R0600 = 336 };

// hipPointerAttribute_t: the same layout in all; the numbers of the kinds of memory differ.
typedef struct {
  int type, device;
  void *device_pointer, *host_pointer;
  int is_managed;
  unsigned flags;
} hipPointerAttribute_t;
#if HIP_MAJOR >= 6
enum { MEMORY_UNREGISTERED = 0, MEMORY_HOST = 1, MEMORY_DEVICE = 2, MEMORY_MANAGED = 3 };
#else
enum { MEMORY_HOST = 0, MEMORY_DEVICE = 1, MEMORY_MANAGED = 4 };
#endif

typedef struct {
  int binary_version, cache_mode;
  size_t const_bytes, local_bytes;
  int max_dynamic_shared_bytes, max_threads, registers, carveout, ptx_version;
  size_t shared_bytes;
} hipFuncAttributes;

typedef enum { COPY_HOST_TO_HOST, COPY_HOST_TO_DEVICE, COPY_DEVICE_TO_HOST, COPY_DEVICE_TO_DEVICE, COPY_DEFAULT } hipMemcpyKind;

// What hipcc puts into `.hipFatBinSegment`, and the header of the bundles behind it.
typedef struct { uint32_t magic, version; const void *binary, *reserve; } fat_binary_wrapper;
enum { FAT_BINARY_MAGIC = 0x48495046 };

#endif
