// Functions by other names, as older CUDA trees have them; none of it is meant to be run.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdlib>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>
#define SET_ATTRIBUTE cudaFuncSetAttribute
#define SET_AGAIN SET_ATTRIBUTE
#define CHECK(x) do { cudaError_t e = (x); if (e) abort(); } while (0)
#define TO_SYMBOL(...) CHECK(cudaMemcpyToSymbol(__VA_ARGS__))
#define FROM_SYMBOL(to, rest...) CHECK(cudaMemcpyFromSymbol(to, rest))
#define CALL(function, ...) CHECK(function(__VA_ARGS__))
#define CALL_LIST(function, list) CHECK(function list)
#define PINNED cudaMallocHost
#define SHFL_DOWN(...) __shfl_down_sync(__VA_ARGS__)
#define SHFL_XOR(mask, rest...) __shfl_xor_sync(mask, rest)
#define shfl __shfl_sync
#define FULL 0xffffffff
__constant__ float table[4];
using namespace thrust;
template <int A, int B> __global__ void kernel(float* p, int v) {
  p[0] = SHFL_DOWN(0xffffffff, p[1], A) + SHFL_XOR(FULL, p[2], B) + shfl(0xffffffff, p[3], 4);
  p[1] = __all_sync(0xffffffff, v) + __all_sync(FULL, v) + __any_sync((1ull << warpSize) - 1, v) + __all_sync(__activemask(), v);
}
int main() {
  float* h;
  SET_ATTRIBUTE(kernel<1, 2>, cudaFuncAttributeMaxDynamicSharedMemorySize, 1000);
  SET_AGAIN(kernel<1, 2>, cudaFuncAttributeMaxDynamicSharedMemorySize, 1000);
  PINNED(&h, 16);
  PINNED((void**)&h, 16);
  TO_SYMBOL(table, h, sizeof(table));
  FROM_SYMBOL(h, table, sizeof(table));
  CALL(cudaMemcpyToSymbol, table, h, 16);
  CALL(cudaFuncSetAttribute, kernel<1, 2>, cudaFuncAttributeMaxDynamicSharedMemorySize, 1000);
  CALL_LIST(cudaMemcpyToSymbol, (table, h, 16));
  device_vector<int> v(4);
  sort(cuda::par, v.begin(), v.end());
  sort(thrust::cuda::par, v.begin(), v.end());
}
