// Launches with what CUDA has from compute capability 9.0 on; elsewhere they are ordinary ones.
// Overlapped: blocks may come onto the device while the kernel before them in the stream is still at work, so that the gap
// between two kernels is hidden (CUDA programming guide, "Programmatic Dependent Launch"). A kernel launched so calls
// wait_for_previous() before it touches memory. Clusters: blocks that run at the same time and reach each other's memory.
#pragma once

#include "common/limits.hpp"
#include "common/platform.hpp"

#if SBK_NVIDIA && defined(__CUDA_ARCH_LIST__)
#define SBK_OVERLAP 1
#else
#define SBK_OVERLAP 0
#endif

namespace sbk {

#if SBK_OVERLAP
// Whether all code of this build has the waiting instruction: code for older targets may run on newer devices.
constexpr int kTargets[] = {__CUDA_ARCH_LIST__};
constexpr bool kOverlaps = kTargets[0] >= 900;  // the list is in ascending order
#endif

// The next kernel may be brought onto the device.
__device__ __forceinline__ void let_next_start() {
#if SBK_OVERLAP && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Until every kernel before this one has ended and what it wrote can be seen.
__device__ __forceinline__ void wait_for_previous() {
#if SBK_OVERLAP && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#if SBK_OVERLAP
// What cudaLaunchKernelEx wants of one launch with one attribute.
class LaunchConfig {
 public:
  LaunchConfig(dim3 grid, dim3 block, size_t shared, hipStream_t stream) {
    config_.gridDim = grid;
    config_.blockDim = block;
    config_.dynamicSmemBytes = shared;
    config_.stream = stream;
    config_.attrs = attributes_;
  }
  LaunchConfig(const LaunchConfig&) = delete;  // config_ points into it

  const cudaLaunchConfig_t* with_overlap() {
    cudaLaunchAttribute& attribute = attributes_[config_.numAttrs++];
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    return &config_;
  }
  const cudaLaunchConfig_t* clusters(int blocks) {
    cudaLaunchAttribute& attribute = attributes_[config_.numAttrs++];
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {static_cast<uint32_t>(blocks), 1, 1};
    return &config_;
  }

 private:
  cudaLaunchConfig_t config_{};
  cudaLaunchAttribute attributes_[2]{};
};
#endif

// `cluster` neighbours in x run at the same time and reach each other's shared memory; more than one where has_clusters.
template <class... Parameters, class... Arguments>
Status launch_overlapped_cluster(void (*kernel)(Parameters...), dim3 grid, dim3 block, [[maybe_unused]] int cluster, size_t shared,
                                 hipStream_t stream, const Arguments&... arguments) {
  if (grid.x > most_blocks(block.x)) return unsupported_status("a grid is larger than one launch takes");
#if SBK_OVERLAP
  if constexpr (kOverlaps) {
    LaunchConfig config(grid, block, shared, stream);
    if (cluster > 1) config.clusters(cluster);
    return check(cudaLaunchKernelEx(config.with_overlap(), kernel, arguments...));
  }
#endif
  kernel<<<grid, block, static_cast<uint32_t>(shared), stream>>>(arguments...);
  return check_launch();
}

template <class... Parameters, class... Arguments>
Status launch_overlapped(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared, hipStream_t stream,
                         const Arguments&... arguments) {
  return launch_overlapped_cluster(kernel, grid, block, 1, shared, stream, arguments...);
}

// Whether launch_cluster takes more than one block of this much shared memory to a cluster on the current device.
inline bool has_clusters([[maybe_unused]] int shared) {
#if SBK_OVERLAP
  int device = 0, major = 0;
  DeviceFacts facts;
  return kOverlaps && hipGetDevice(&device) == hipSuccess &&
         hipDeviceGetAttribute(&major, hipDeviceAttributeComputeCapabilityMajor, device) == hipSuccess && major >= 9 &&
         device_facts(&facts).ok() && shared <= facts.shared;
#else
  return false;
#endif
}

// Each `blocks` neighbours in x run at the same time and reach each other's shared memory.
template <class... Parameters, class... Arguments>
Status launch_cluster(void (*kernel)(Parameters...), dim3 grid, dim3 block, [[maybe_unused]] int blocks, size_t shared,
                      hipStream_t stream, const Arguments&... arguments) {
#if SBK_OVERLAP
  if (blocks > 1) return check(cudaLaunchKernelEx(LaunchConfig(grid, block, shared, stream).clusters(blocks), kernel, arguments...));
#endif
  kernel<<<grid, block, static_cast<uint32_t>(shared), stream>>>(arguments...);
  return check_launch();
}

}  // namespace sbk
