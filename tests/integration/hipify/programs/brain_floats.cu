// What CUDA's bfloat16 can be used for, and the shuffles of it.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <type_traits>

static_assert(std::is_trivially_copyable<__nv_bfloat16>::value, "copied by memcpy");

template <typename T>
__device__ T half_of(T value) {
  return static_cast<T>(value * static_cast<T>(0.5f));
}

__global__ void arithmetic(__nv_bfloat16 *out, const nv_bfloat16 *in, float scale, int n) {
  __shared__ nv_bfloat16 kept[32];
  int i = threadIdx.x;
  __nv_bfloat16 a = in[i], b = (__nv_bfloat16)2, c(scale), d = __float2bfloat16(0.5);
  a = a + b * c - d / b;
  a += scale;
  a = -a;
  if (a > b || a == c || float(a) < 1.0f) a = half_of(a);
  kept[i] = float(a) * 2.0f;
  float sum = float(a) + scale;
  double wide = static_cast<double>(b);
  int whole = static_cast<int>(c);
  out[i] = __hadd(kept[i], d) * b;
  out[i] = static_cast<nv_bfloat16>(sum + wide + whole);
  out[i] = __shfl_down_sync(0xffffffff, a, 1);
}

__global__ void pairs(__nv_bfloat162 *out, float *sums) {
  __nv_bfloat162 both = out[threadIdx.x];
  both.x = both.y * both.x;
  both = __hadd2(both, both);
  out[0] = both;
  sums[0] = __bfloat162float(both.x) + float(both.y);
}

void host(float *values, nv_bfloat16 *out, int n) {
  for (int i = 0; i < n; i++) out[i] = __float2bfloat16(values[i]);
  for (int i = 0; i < n; i++) values[i] = __bfloat162float(out[i]) + (float)out[i];
}
