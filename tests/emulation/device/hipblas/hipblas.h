// As much of hipBLAS as the execution provider uses; hipblas.cpp has it.
#pragma once

#include "hip/hip_fp16.h"
#include "hip/hip_runtime.h"

#define hipblasVersionMajor 2
typedef void* hipblasHandle_t;
enum hipblasStatus_t { HIPBLAS_STATUS_SUCCESS = 0 };
enum hipblasOperation_t { HIPBLAS_OP_N = 111, HIPBLAS_OP_T = 112 };
enum hipDataType { HIP_R_32F = 0, HIP_R_16F = 2 };
enum hipblasComputeType_t { HIPBLAS_COMPUTE_32F = 2 };
enum hipblasGemmAlgo_t { HIPBLAS_GEMM_DEFAULT = 160 };
extern "C" {
hipblasStatus_t hipblasCreate(hipblasHandle_t*);
hipblasStatus_t hipblasDestroy(hipblasHandle_t);
hipblasStatus_t hipblasSetStream(hipblasHandle_t, hipStream_t);
hipblasStatus_t hipblasGemmStridedBatchedEx(hipblasHandle_t, hipblasOperation_t, hipblasOperation_t, int m, int n, int k,
                                            const void* alpha, const void* a, hipDataType, int lda, long long a_step,
                                            const void* b, hipDataType, int ldb, long long b_step, const void* beta, void* c,
                                            hipDataType, int ldc, long long c_step, int count, hipblasComputeType_t,
                                            hipblasGemmAlgo_t);
hipblasStatus_t hipblasGemmBatchedEx(hipblasHandle_t, hipblasOperation_t, hipblasOperation_t, int m, int n, int k,
                                     const void* alpha, const void* a[], hipDataType, int lda, const void* b[], hipDataType,
                                     int ldb, const void* beta, void* c[], hipDataType, int ldc, int count,
                                     hipblasComputeType_t, hipblasGemmAlgo_t);
}
