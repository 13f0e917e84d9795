// Host side of the Hopper kernels: whether the current device is one, and the driver's makers of tensor maps. No library is
// linked for them: the runtime finds them in the driver.
#pragma once

#include <cuda.h>

#include "common/platform.hpp"

namespace sbk {

// sm_90a code runs on compute capability 9.0 and on no other, not even a later one.
inline bool on_hopper() {
  int device = 0, major = 0, minor = 0;
  return hipGetDevice(&device) == hipSuccess &&
         hipDeviceGetAttribute(&major, hipDeviceAttributeComputeCapabilityMajor, device) == hipSuccess &&
         hipDeviceGetAttribute(&minor, hipDeviceAttributeComputeCapabilityMinor, device) == hipSuccess && major == 9 &&
         minor == 0;
}

// The driver's makers of tensor maps; null where the driver has none.
struct TensorMapMakers {
  decltype(&cuTensorMapEncodeIm2col) im2col = nullptr;
  decltype(&cuTensorMapEncodeTiled) make_tiled = nullptr;

  static const TensorMapMakers& get() {
    static const TensorMapMakers makers = [] {
      TensorMapMakers m;
      m.im2col = reinterpret_cast<decltype(m.im2col)>(find("cuTensorMapEncodeIm2col"));
      m.make_tiled = reinterpret_cast<decltype(m.make_tiled)>(find("cuTensorMapEncodeTiled"));
      return m;
    }();
    return makers;
  }

 private:
  static void* find(const char* name) {
    void* entry_point = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
    const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &entry_point, 12000, cudaEnableDefault, &result);
    return error == cudaSuccess && result == cudaDriverEntryPointSuccess ? entry_point : nullptr;
  }
};

}  // namespace sbk
