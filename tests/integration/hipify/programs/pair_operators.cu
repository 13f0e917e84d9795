// A source's own operators for vectors, beside those of HIP's vectors and of HIP 5.7's complex numbers.
#include <cufft.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

__host__ __device__ inline float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__host__ __device__ inline float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__host__ __device__ inline float2 operator*(float2 a, float2 b) { return make_float2(a.x * b.x, a.y * b.y); }
__host__ __device__ inline float2 operator*(float2 a, float b) { return make_float2(a.x * b, a.y * b); }
__host__ __device__ inline float2 operator*(float b, float2 a) { return make_float2(a.x * b, a.y * b); }
__host__ __device__ inline float2 operator-(float2 &a) { return make_float2(-a.x, -a.y); }
__host__ __device__ inline bool operator==(float2 a, float2 b) { return a.x == b.x && a.y == b.y; }
__host__ __device__ inline void operator+=(double2 &a, double2 b) {
  a.x += b.x;
  a.y += b.y;
}
__host__ __device__ inline float3 operator*(float3 &a, float s) { return make_float3(a.x * s, a.y * s, a.z * s); }
__host__ __device__ inline float3 operator/(float3 &a, float3 &b) {
  return make_float3(a.x / b.x, a.y / b.y, a.z / b.z);
}

__global__ void mix(float2 *x, float2 *y, double2 *z, float3 *w, float t) {
  int i = threadIdx.x;
  float2 a = x[i], b = y[i];
  y[i] = a + t * (b - a) * a;
  if (y[i] == a) y[i] = -b;
  z[i] += z[i + 1];
  w[i] = w[i + 1] * 2;
  w[i] = w[i] / w[i + 1];
  cufftComplex c = cuCmulf(a, b);
  x[i] = c;
}
