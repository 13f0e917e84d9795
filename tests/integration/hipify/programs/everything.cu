// A little of everything that CUDA programs use, none of it meant to be run.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>
#include <cuda.h>
#include <device_launch_parameters.h>
#include <cublas_v2.h>
#include <curand.h>
#include <curand_kernel.h>
#include <cufft.h>
#include <cusparse.h>
#include <cusolverDn.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cub/cub.cuh>
#include <cub/block/block_reduce.cuh>
#include <thrust/device_vector.h>
#include <thrust/sort.h>
#include <thrust/execution_policy.h>
#include <thrust/system/cuda/execution_policy.h>
#include <math_constants.h>
#include <nvtx3/nvToolsExt.h>
#include <cuda_profiler_api.h>
#include <vector_functions.h>
namespace cg = cooperative_groups;
#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { printf("%s\n", cudaGetErrorString(e)); exit(1);} } while (0)
#define FULL_MASK 0xffffffff
__constant__ float table[16];
__device__ float sym;
template <typename T, int N> __global__ void __launch_bounds__(256) kern(T* p, int tex) {
  extern __shared__ unsigned char raw[];
  T* s = reinterpret_cast<T*>(raw);
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  T v = p[threadIdx.x] + table[N];
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(FULL_MASK, v, o);
  v += __shfl_xor_sync(0xffffffff, v, 1);
  unsigned b = __ballot_sync(__activemask(), v > 0);
  v += cg::reduce(tile, v, cg::plus<T>());
  __syncwarp();
  typedef cub::BlockReduce<T, 256> BR;
  __shared__ typename BR::TempStorage st;
  v = BR(st).Sum(v);
  atomicAdd(&p[0], v + __popc(b));
  s[0] = v;
  if (v == CUDART_INF_F) __trap();
  curandState rs; curand_init(1, 2, 3, &rs); v += curand_uniform(&rs);
  __half h = __float2half(1.f); __nv_bfloat16 bf = __float2bfloat16(2.f); p[1] = __half2float(h) + __bfloat162float(bf) + __ldg(p);
  float4 f4 = make_float4(1,2,3,4); p[2] = f4.x + rsqrtf(2.f) + __expf(1.f) + __fdividef(1.f,2.f);
  block.sync();
}
int main() {
  int dev; CHECK(cudaGetDevice(&dev)); cudaDeviceProp prop; CHECK(cudaGetDeviceProperties(&prop, dev)); printf("%s %d %d\n", prop.name, prop.multiProcessorCount, prop.warpSize);
  float *p, *h; CHECK(cudaMalloc(&p, 1024)); CHECK(cudaMallocHost(&h, 1024)); CHECK(cudaMallocManaged((void**)&h, 1024)); CHECK(cudaMallocAsync((void**)&p, 1024, 0));
  cudaStream_t st; CHECK(cudaStreamCreateWithFlags(&st, cudaStreamNonBlocking)); cudaEvent_t ev; CHECK(cudaEventCreate(&ev));
  CHECK(cudaMemcpyToSymbol(table, h, 64)); CHECK(cudaMemcpyFromSymbol(h, sym, sizeof(float))); void* a; CHECK(cudaGetSymbolAddress(&a, sym));
  CHECK(cudaFuncSetAttribute(kern<float, 4>, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024));
  cudaFuncAttributes fa; CHECK(cudaFuncGetAttributes(&fa, kern<float, 4>));
  int nb; CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&nb, kern<float, 4>, 256, 0));
  kern<float, 4><<<dim3(2, 1), 256, 1024, st>>>(p, 0);
  int tex = 0; void* args[] = {&p, &tex}; CHECK(cudaLaunchKernel(kern<float, 4>, dim3(1), dim3(256), args, 0, st)); CHECK(cudaLaunchCooperativeKernel(kern<float, 4>, dim3(1), dim3(256), args, 0, st));
  cudaGraph_t g; cudaGraphExec_t ge; CHECK(cudaStreamBeginCapture(st, cudaStreamCaptureModeGlobal)); CHECK(cudaStreamEndCapture(st, &g)); CHECK(cudaGraphInstantiate(&ge, g, 0)); CHECK(cudaGraphInstantiate(&ge, g, NULL, NULL, 0)); CHECK(cudaGraphLaunch(ge, st));
  cublasHandle_t ch; cublasCreate(&ch); float al = 1, be = 0; cublasSgemm(ch, CUBLAS_OP_N, CUBLAS_OP_T, 1, 1, 1, &al, p, 1, p, 1, &be, p, 1); cublasSetMathMode(ch, CUBLAS_TENSOR_OP_MATH);
  cublasGemmEx(ch, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &al, p, CUDA_R_16F, 1, p, CUDA_R_16F, 1, &be, p, CUDA_R_16F, 1, CUDA_R_32F, CUBLAS_GEMM_DEFAULT_TENSOR_OP);
  printf("%s", cublasGetStatusString(CUBLAS_STATUS_SUCCESS));
  curandGenerator_t gen; curandCreateGenerator(&gen, CURAND_RNG_PSEUDO_DEFAULT); curandGenerateUniform(gen, p, 16);
  cufftHandle plan; cufftPlan1d(&plan, 16, CUFFT_C2C, 1); cufftExecC2C(plan, (cufftComplex*)p, (cufftComplex*)p, CUFFT_FORWARD);
  cusparseHandle_t sh; cusparseCreate(&sh); cusolverDnHandle_t sdn; cusolverDnCreate(&sdn);
  thrust::device_vector<float> dv(10); thrust::sort(thrust::cuda::par.on(st), dv.begin(), dv.end());
  size_t n = 0; cub::DeviceReduce::Sum(nullptr, n, p, p, 10, st);
  nvtxRangePushA("x"); nvtxRangePop(); cudaProfilerStart();
  CHECK(cudaMemPrefetchAsync(p, 16, dev, st)); CHECK(cudaMemAdvise(p, 16, cudaMemAdviseSetReadMostly, dev)); CHECK(cudaStreamSynchronize(st)); CHECK(cudaDeviceSynchronize());
  cudaPointerAttributes pa; CHECK(cudaPointerGetAttributes(&pa, p)); printf("%d", (int)pa.type);
  CHECK(cudaHostRegister(h, 16, cudaHostRegisterDefault)); CHECK(cudaFreeHost(h)); CHECK(cudaFree(p)); CHECK(cudaEventDestroy(ev));
}
