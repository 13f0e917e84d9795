// What a project's header declares and own_overloads.cu means.
#pragma once

#include <cuda_runtime.h>

using Kind = cudaMemcpyKind;
#define SET_ATTRIBUTE(...) (void)cudaFuncSetAttribute(__VA_ARGS__)

namespace own {
namespace cuda {
inline cudaError_t cudaFree(void *p) { return p ? ::cudaFree(p) : cudaSuccess; }
}  // namespace cuda
}  // namespace own
