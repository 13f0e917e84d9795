// Calls of CUDA's libraries whose types HIP's libraries have by other names, which differ by version.
#include <cuComplex.h>
#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cufft.h>
#include <cusolverDn.h>
#include <cusparse.h>

void complex_numbers(cublasHandle_t blas, cuDoubleComplex *a, cuComplex *c) {
  cuDoubleComplex one = make_cuDoubleComplex(1, 0);
  cuComplex half = make_cuComplex(0.5f, 0);
  cublasZgemm(blas, CUBLAS_OP_N, CUBLAS_OP_C, 4, 4, 4, &one, a, 4, a, 4, &one, a, 4);
  cublasCgemm(blas, CUBLAS_OP_N, CUBLAS_OP_T, 4, 4, 4, &half, c, 4, c, 4, &half, c, 4);
  cublasZscal(blas, 4, &one, a, 1);
  cublasCaxpy(blas, 4, &half, c, 1, c, 1);
  cublasZdotc(blas, 4, a, 1, a, 1, &one);
}

void data_types(cublasHandle_t blas, __half *a, cuComplex *c, float *sum) {
  __half one = __float2half(1.0f);
  float scale = 1.0f;
  cuComplex half = make_cuComplex(0.5f, 0);
  cudaDataType_t type = CUDA_R_16F;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cublasMath_t mode = CUBLAS_DEFAULT_MATH;
  cublasSetMathMode(blas, mode);
  cublasSetMathMode(blas, CUBLAS_TENSOR_OP_MATH);
  cublasGetMathMode(blas, &mode);
  cublasHgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, a, 4, a, 4, &one, a, 4);
  cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &scale, a, type, 4, a, type, 4, &scale, a, type, 4, compute,
               CUBLAS_GEMM_DEFAULT);
  cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &half, c, CUDA_C_32F, 4, c, CUDA_C_32F, 4, &half, c, CUDA_C_32F,
               4, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT_TENSOR_OP);
  cublasGemmStridedBatchedEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &scale, a, type, 4, 16, a, type, 4, 16, &scale, a,
                             type, 4, 16, 2, CUDA_R_32F, CUBLAS_GEMM_DEFAULT);
  cublasNrm2Ex(blas, 4, a, type, 1, sum, CUDA_R_32F, CUDA_R_32F);
  cublasDotEx(blas, 4, a, type, 1, a, type, 1, sum, CUDA_R_32F, CUDA_R_32F);
  cublasAxpyEx(blas, 4, &scale, CUDA_R_32F, a, type, 1, a, type, 1, CUDA_R_32F);
  cublasScalEx(blas, 4, &scale, CUDA_R_32F, a, type, 1, CUDA_R_32F);
}

void solvers(cusolverDnHandle_t solver, cuDoubleComplex *a, cuComplex *c, double *values, int *pivots, int size) {
  cusolverDnZgetrf_bufferSize(solver, 4, 4, a, 4, &size);
  cusolverDnZgetrf(solver, 4, 4, a, 4, a, pivots, pivots);
  cusolverDnCgetrs(solver, CUBLAS_OP_C, 4, 1, c, 4, pivots, c, 4, pivots);
  cusolverDnZheevd(solver, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, 4, a, 4, values, a, size, pivots);
  cusolverDnZunmqr(solver, CUBLAS_SIDE_LEFT, CUBLAS_OP_C, 4, 4, 4, a, 4, a, a, 4, a, size, pivots);
  cusolverDnDpotrf(solver, CUBLAS_FILL_MODE_UPPER, 4, values, 4, values, size, pivots);
}

void sparse(cusparseHandle_t handle, cuDoubleComplex *a, int *rows, size_t *size) {
  cuDoubleComplex one = make_cuDoubleComplex(1, 0);
  cusparseSpMatDescr_t matrix;
  cusparseDnVecDescr_t vector;
  cusparseCreateCsr(&matrix, 4, 4, 4, rows, rows, a, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                    CUDA_C_64F);
  cusparseCreateDnVec(&vector, 4, a, CUDA_C_64F);
  cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, vector, &one, vector, CUDA_C_64F,
                          CUSPARSE_SPMV_ALG_DEFAULT, size);
}

void transforms(cufftHandle plan, cuDoubleComplex *a, cuComplex *c, float *values) {
  cufftExecZ2Z(plan, a, a, CUFFT_FORWARD);
  cufftExecC2R(plan, c, values);
}
