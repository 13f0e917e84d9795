// Functions that a CUDA source defines itself and HIP's headers have too; a header of Thrust that CUDA's brings.
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <thrust/device_vector.h>

#include <cstdint>

#include "own_types.h"

inline __host__ __device__ float4 operator*(float4 a, float4 b) {
  return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w);
}
inline __host__ __device__ float2 operator/(const float2 &a, const float2 &b) { return make_float2(a.x / b.x, a.y / b.y); }
inline __host__ __device__ void operator+=(float3 &a, float3 b) { a.x += b.x; a.y += b.y; a.z += b.z; }
inline __host__ __device__ void operator-=(float2 &a, float2 b) { a.x -= b.x; a.y -= b.y; }
inline __host__ __device__ float4 operator+(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
inline __host__ __device__ float4 operator*(float4 a, float s) { return make_float4(a.x * s, a.y * s, a.z * s, a.w * s); }

__device__ __forceinline__ double atomicMax(double *address, double value) {
  unsigned long long *bits = (unsigned long long *)address, old = *bits;
  while (value > __longlong_as_double(old)) old = atomicCAS(bits, old, __double_as_longlong(value));
  return __longlong_as_double(old);
}

#ifdef __NVCC__
template <typename T>
__global__ void twice(T *p) { p[threadIdx.x] = p[threadIdx.x] * T(2); }
#endif

__global__ void kernel(float4 *a, float2 *b, float3 *c, double *top) {
  a[0] = a[0] * a[1] + a[2] * 2.0f;
  b[0] = b[0] / b[1];
  b[0] -= b[1];
  c[0] += c[1];
  atomicMax(top, 1.0);
}

struct Pair {
  float sum;
  double top;
};

__device__ Pair joined(Pair a, Pair b) { return {a.sum + b.sum, a.top > b.top ? a.top : b.top}; }

__global__ void pairs(Pair *p, uint64_t mask, long long other) {
  auto tile = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());
  p[0] = cooperative_groups::reduce(tile, p[threadIdx.x], joined);
  p[0].sum += __ffsll(mask) + __ffsll(other);
}

void host(float *p) {
  thrust::device_vector<int> order(32);
  thrust::sequence(order.begin(), order.end());
  twice<<<1, 32>>>(p);
  SET_ATTRIBUTE(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 15);
  Kind kind = Kind::cudaMemcpyHostToDevice;
  own::cuda::cudaFree(p);
  (void)kind;
}
