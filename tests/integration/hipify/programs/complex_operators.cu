// A source's own operators for CUDA's complex numbers, beside those that HIP's vectors have.
#include <cuComplex.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

typedef cuFloatComplex Number;

namespace own {

__host__ __device__ inline cuDoubleComplex operator*(const cuDoubleComplex a, const cuDoubleComplex b) {
  return make_cuDoubleComplex(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
__host__ __device__ inline cuDoubleComplex operator*(const cuDoubleComplex a, const double s) {
  return make_cuDoubleComplex(a.x * s, a.y * s);
}
__host__ __device__ inline cuDoubleComplex operator+(const cuDoubleComplex a, const cuDoubleComplex b) {
  return make_cuDoubleComplex(a.x + b.x, a.y + b.y);
}
__host__ __device__ inline cuDoubleComplex &operator*=(cuDoubleComplex &a, const cuDoubleComplex b) {
  a = a * b;
  return a;
}
__host__ __device__ inline Number operator/(Number a, Number b) {
  return cuCdivf(a, b);
}

template <typename T>
__global__ void scale(int n, T factor, T *x) {
  __shared__ T kept[32];
  int i = threadIdx.x;
  kept[i] = x[i];
  if (i < n) x[i] = factor * kept[i] + x[i] * factor;
  x[i] *= factor;
}

__global__ void ratio(Number *x) {
  Number one = make_cuComplex(1, 0), other = {2.0f, 0.0f};
  x[0] = threadIdx.x ? one / x[1] : make_cuFloatComplex(0, 0);
  x[1] = cuCmulf(one, other) / cuConjf(one);
  x[2].x = cuCrealf(one) + cuCabsf(other);
}

void launch(cublasHandle_t handle, cuDoubleComplex *x) {
  cuDoubleComplex one = make_cuDoubleComplex(1, 0);
  scale<<<1, 32>>>(32, one * 2.0, x);
  cublasZscal(handle, 32, &one, x, 1);
}

}  // namespace own
