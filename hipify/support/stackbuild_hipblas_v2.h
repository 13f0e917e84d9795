// hipBLAS up to ROCm 6 has two interfaces for data and compute types; HIPIFY's names are those of the newer one.
// And CUDA's *Ex functions take a data type for the compute type as well, which hipBLAS does not.
// Written by `stackbuild hipify`; it comes before the first include of hipblas.h.
#ifndef STACKBUILD_HIPBLAS_V2_H  // two trees may have this file each, which #pragma once takes for two files
#define STACKBUILD_HIPBLAS_V2_H

#include <hip/hip_runtime.h>
#include <hip/hip_version.h>
// hipblasHalf is a number otherwise, and CUDA's is __half.
#ifndef HIPBLAS_USE_HIP_HALF
#define HIPBLAS_USE_HIP_HALF
#endif
#if HIP_VERSION_MAJOR < 7 && !defined(HIPBLAS_V2)
#define HIPBLAS_V2 1
#endif
#if __has_include(<hipblas/hipblas.h>)
#include <hipblas/hipblas.h>
#else
#include <hipblas.h>
#endif

#if HIP_VERSION_MAJOR >= 6
namespace stackbuild_hip {

inline hipblasComputeType_t compute_type(hipDataType type) {
  switch (type) {
    case HIP_R_16F: return HIPBLAS_COMPUTE_16F;
    case HIP_R_64F:
    case HIP_C_64F: return HIPBLAS_COMPUTE_64F;
    case HIP_R_32I: return HIPBLAS_COMPUTE_32I;
    default: return HIPBLAS_COMPUTE_32F;
  }
}

}  // namespace stackbuild_hip

inline hipblasStatus_t hipblasGemmEx(hipblasHandle_t handle, hipblasOperation_t trans_a, hipblasOperation_t trans_b,
                                     int m, int n, int k, const void* alpha, const void* a, hipDataType a_type, int lda,
                                     const void* b, hipDataType b_type, int ldb, const void* beta, void* c,
                                     hipDataType c_type, int ldc, hipDataType compute, hipblasGemmAlgo_t algorithm) {
  return hipblasGemmEx(handle, trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc,
                       stackbuild_hip::compute_type(compute), algorithm);
}

inline hipblasStatus_t hipblasGemmBatchedEx(hipblasHandle_t handle, hipblasOperation_t trans_a,
                                            hipblasOperation_t trans_b, int m, int n, int k, const void* alpha,
                                            const void* const a[], hipDataType a_type, int lda, const void* const b[],
                                            hipDataType b_type, int ldb, const void* beta, void* const c[],
                                            hipDataType c_type, int ldc, int count, hipDataType compute,
                                            hipblasGemmAlgo_t algorithm) {
  return hipblasGemmBatchedEx(handle, trans_a, trans_b, m, n, k, alpha, const_cast<const void**>(a), a_type, lda,
                              const_cast<const void**>(b), b_type, ldb, beta, const_cast<void**>(c), c_type, ldc, count,
                              stackbuild_hip::compute_type(compute), algorithm);
}

// CUDA's declaration is const throughout; hipBLAS's is not.
inline hipblasStatus_t hipblasGemmBatchedEx(hipblasHandle_t handle, hipblasOperation_t trans_a,
                                            hipblasOperation_t trans_b, int m, int n, int k, const void* alpha,
                                            const void* const a[], hipDataType a_type, int lda, const void* const b[],
                                            hipDataType b_type, int ldb, const void* beta, void* const c[],
                                            hipDataType c_type, int ldc, int count, hipblasComputeType_t compute,
                                            hipblasGemmAlgo_t algorithm) {
  return hipblasGemmBatchedEx(handle, trans_a, trans_b, m, n, k, alpha, const_cast<const void**>(a), a_type, lda,
                              const_cast<const void**>(b), b_type, ldb, beta, const_cast<void**>(c), c_type, ldc, count,
                              compute, algorithm);
}

inline hipblasStatus_t hipblasSgetriBatched(hipblasHandle_t handle, int n, const float* const a[], int lda,
                                            const int* pivots, float* const c[], int ldc, int* info, int count) {
  return hipblasSgetriBatched(handle, n, const_cast<float* const*>(a), lda, const_cast<int*>(pivots), c, ldc, info,
                              count);
}
inline hipblasStatus_t hipblasDgetriBatched(hipblasHandle_t handle, int n, const double* const a[], int lda,
                                            const int* pivots, double* const c[], int ldc, int* info, int count) {
  return hipblasDgetriBatched(handle, n, const_cast<double* const*>(a), lda, const_cast<int*>(pivots), c, ldc, info,
                              count);
}

inline hipblasStatus_t hipblasGemmStridedBatchedEx(
    hipblasHandle_t handle, hipblasOperation_t trans_a, hipblasOperation_t trans_b, int m, int n, int k,
    const void* alpha, const void* a, hipDataType a_type, int lda, hipblasStride stride_a, const void* b,
    hipDataType b_type, int ldb, hipblasStride stride_b, const void* beta, void* c, hipDataType c_type, int ldc,
    hipblasStride stride_c, int count, hipDataType compute, hipblasGemmAlgo_t algorithm) {
  return hipblasGemmStridedBatchedEx(handle, trans_a, trans_b, m, n, k, alpha, a, a_type, lda, stride_a, b, b_type, ldb,
                                     stride_b, beta, c, c_type, ldc, stride_c, count,
                                     stackbuild_hip::compute_type(compute), algorithm);
}
#endif
#endif  // STACKBUILD_HIPBLAS_V2_H
