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
// Before ROCm 6 the complex numbers are classes of hipBLAS's own without this.
#if HIP_VERSION_MAJOR < 6 && !defined(ROCM_MATHLIBS_API_USE_HIP_COMPLEX)
#define ROCM_MATHLIBS_API_USE_HIP_COMPLEX
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

#if HIP_VERSION_MAJOR < 6
// hipBLAS of ROCm 5 has types of its own for data, and no compute types: a number's type stands for both.
enum hipblasComputeType_t {
  HIPBLAS_COMPUTE_16F,
  HIPBLAS_COMPUTE_16F_PEDANTIC,
  HIPBLAS_COMPUTE_32F,
  HIPBLAS_COMPUTE_32F_PEDANTIC,
  HIPBLAS_COMPUTE_32F_FAST_16F,
  HIPBLAS_COMPUTE_32F_FAST_16BF,
  HIPBLAS_COMPUTE_32F_FAST_TF32,
  HIPBLAS_COMPUTE_64F,
  HIPBLAS_COMPUTE_64F_PEDANTIC,
  HIPBLAS_COMPUTE_32I,
  HIPBLAS_COMPUTE_32I_PEDANTIC
};
// The mode is a hint: what ROCm 5 computes with is decided by rocBLAS.
enum hipblasMath_t {
  HIPBLAS_DEFAULT_MATH,
  HIPBLAS_TENSOR_OP_MATH,
  HIPBLAS_PEDANTIC_MATH,
  HIPBLAS_TF32_TENSOR_OP_MATH
};
inline hipblasStatus_t hipblasSetMathMode(hipblasHandle_t, hipblasMath_t) { return HIPBLAS_STATUS_SUCCESS; }
inline hipblasStatus_t hipblasGetMathMode(hipblasHandle_t, hipblasMath_t* mode) {
  *mode = HIPBLAS_DEFAULT_MATH;
  return HIPBLAS_STATUS_SUCCESS;
}

namespace stackbuild_hip {

inline hipblasDatatype_t data_type(hipDataType type) {
  switch (type) {
    case HIP_R_16F: return HIPBLAS_R_16F;
    case HIP_R_32F: return HIPBLAS_R_32F;
    case HIP_R_64F: return HIPBLAS_R_64F;
    case HIP_C_16F: return HIPBLAS_C_16F;
    case HIP_C_32F: return HIPBLAS_C_32F;
    case HIP_C_64F: return HIPBLAS_C_64F;
    case HIP_R_8I: return HIPBLAS_R_8I;
    case HIP_R_8U: return HIPBLAS_R_8U;
    case HIP_R_32I: return HIPBLAS_R_32I;
    case HIP_R_16BF: return HIPBLAS_R_16B;
    case HIP_C_16BF: return HIPBLAS_C_16B;
    default: return HIPBLAS_DATATYPE_INVALID;
  }
}
inline hipblasDatatype_t compute_type(hipDataType type, hipDataType) { return data_type(type); }
inline hipblasDatatype_t compute_type(hipblasComputeType_t type, hipDataType result) {
  const bool is_complex = result == HIP_C_32F || result == HIP_C_64F;
  switch (type) {
    case HIPBLAS_COMPUTE_16F:
    case HIPBLAS_COMPUTE_16F_PEDANTIC: return HIPBLAS_R_16F;
    case HIPBLAS_COMPUTE_64F:
    case HIPBLAS_COMPUTE_64F_PEDANTIC: return is_complex ? HIPBLAS_C_64F : HIPBLAS_R_64F;
    case HIPBLAS_COMPUTE_32I:
    case HIPBLAS_COMPUTE_32I_PEDANTIC: return HIPBLAS_R_32I;
    default: return is_complex ? HIPBLAS_C_32F : HIPBLAS_R_32F;
  }
}

}  // namespace stackbuild_hip

template <class Compute>  // hipDataType or hipblasComputeType_t
inline hipblasStatus_t hipblasGemmEx(hipblasHandle_t handle, hipblasOperation_t trans_a, hipblasOperation_t trans_b,
                                     int m, int n, int k, const void* alpha, const void* a, hipDataType a_type, int lda,
                                     const void* b, hipDataType b_type, int ldb, const void* beta, void* c,
                                     hipDataType c_type, int ldc, Compute compute, hipblasGemmAlgo_t algorithm) {
  return hipblasGemmEx(handle, trans_a, trans_b, m, n, k, alpha, a, stackbuild_hip::data_type(a_type), lda, b,
                       stackbuild_hip::data_type(b_type), ldb, beta, c, stackbuild_hip::data_type(c_type), ldc,
                       stackbuild_hip::compute_type(compute, c_type), algorithm);
}

template <class Compute>
inline hipblasStatus_t hipblasGemmBatchedEx(hipblasHandle_t handle, hipblasOperation_t trans_a,
                                            hipblasOperation_t trans_b, int m, int n, int k, const void* alpha,
                                            const void* const a[], hipDataType a_type, int lda, const void* const b[],
                                            hipDataType b_type, int ldb, const void* beta, void* const c[],
                                            hipDataType c_type, int ldc, int count, Compute compute,
                                            hipblasGemmAlgo_t algorithm) {
  return hipblasGemmBatchedEx(handle, trans_a, trans_b, m, n, k, alpha, const_cast<const void**>(a),
                              stackbuild_hip::data_type(a_type), lda, const_cast<const void**>(b),
                              stackbuild_hip::data_type(b_type), ldb, beta, const_cast<void**>(c),
                              stackbuild_hip::data_type(c_type), ldc, count,
                              stackbuild_hip::compute_type(compute, c_type), algorithm);
}

template <class Compute>
inline hipblasStatus_t hipblasGemmStridedBatchedEx(
    hipblasHandle_t handle, hipblasOperation_t trans_a, hipblasOperation_t trans_b, int m, int n, int k,
    const void* alpha, const void* a, hipDataType a_type, int lda, hipblasStride stride_a, const void* b,
    hipDataType b_type, int ldb, hipblasStride stride_b, const void* beta, void* c, hipDataType c_type, int ldc,
    hipblasStride stride_c, int count, Compute compute, hipblasGemmAlgo_t algorithm) {
  return hipblasGemmStridedBatchedEx(handle, trans_a, trans_b, m, n, k, alpha, a, stackbuild_hip::data_type(a_type),
                                     lda, stride_a, b, stackbuild_hip::data_type(b_type), ldb, stride_b, beta, c,
                                     stackbuild_hip::data_type(c_type), ldc, stride_c, count,
                                     stackbuild_hip::compute_type(compute, c_type), algorithm);
}

inline hipblasStatus_t hipblasAxpyEx(hipblasHandle_t handle, int n, const void* alpha, hipDataType alpha_type,
                                     const void* x, hipDataType x_type, int x_step, void* y, hipDataType y_type,
                                     int y_step, hipDataType compute) {
  return hipblasAxpyEx(handle, n, alpha, stackbuild_hip::data_type(alpha_type), x, stackbuild_hip::data_type(x_type),
                       x_step, y, stackbuild_hip::data_type(y_type), y_step, stackbuild_hip::data_type(compute));
}

inline hipblasStatus_t hipblasDotEx(hipblasHandle_t handle, int n, const void* x, hipDataType x_type, int x_step,
                                    const void* y, hipDataType y_type, int y_step, void* result,
                                    hipDataType result_type, hipDataType compute) {
  return hipblasDotEx(handle, n, x, stackbuild_hip::data_type(x_type), x_step, y, stackbuild_hip::data_type(y_type),
                      y_step, result, stackbuild_hip::data_type(result_type), stackbuild_hip::data_type(compute));
}

inline hipblasStatus_t hipblasDotcEx(hipblasHandle_t handle, int n, const void* x, hipDataType x_type, int x_step,
                                     const void* y, hipDataType y_type, int y_step, void* result,
                                     hipDataType result_type, hipDataType compute) {
  return hipblasDotcEx(handle, n, x, stackbuild_hip::data_type(x_type), x_step, y, stackbuild_hip::data_type(y_type),
                       y_step, result, stackbuild_hip::data_type(result_type), stackbuild_hip::data_type(compute));
}

inline hipblasStatus_t hipblasNrm2Ex(hipblasHandle_t handle, int n, const void* x, hipDataType x_type, int x_step,
                                     void* result, hipDataType result_type, hipDataType compute) {
  return hipblasNrm2Ex(handle, n, x, stackbuild_hip::data_type(x_type), x_step, result,
                       stackbuild_hip::data_type(result_type), stackbuild_hip::data_type(compute));
}

inline hipblasStatus_t hipblasRotEx(hipblasHandle_t handle, int n, void* x, hipDataType x_type, int x_step, void* y,
                                    hipDataType y_type, int y_step, const void* c, const void* s, hipDataType cs_type,
                                    hipDataType compute) {
  return hipblasRotEx(handle, n, x, stackbuild_hip::data_type(x_type), x_step, y, stackbuild_hip::data_type(y_type),
                      y_step, c, s, stackbuild_hip::data_type(cs_type), stackbuild_hip::data_type(compute));
}

inline hipblasStatus_t hipblasScalEx(hipblasHandle_t handle, int n, const void* alpha, hipDataType alpha_type, void* x,
                                     hipDataType x_type, int x_step, hipDataType compute) {
  return hipblasScalEx(handle, n, alpha, stackbuild_hip::data_type(alpha_type), x, stackbuild_hip::data_type(x_type),
                       x_step, stackbuild_hip::data_type(compute));
}
#endif
#endif  // STACKBUILD_HIPBLAS_V2_H
