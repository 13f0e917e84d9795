// libhipblas.so in plain C: the two products that stackbuild's execution provider opens it for, on the CPU. Others are missing by name.
// Column-major, as BLAS: c = alpha * op(a) * op(b) + beta * c, in float32 whatever the element type.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hip_abi.h"

#define EXPORT __attribute__((visibility("default")))
enum { STATUS_SUCCESS = 0, STATUS_ALLOC_FAILED = 2, STATUS_INVALID_VALUE = 3, STATUS_NOT_SUPPORTED = 7 };
enum { OP_N = 111, OP_T = 112, OP_C = 113 };
enum { R_32F = 0, R_16F = 2, OLD_R_16F = 150, OLD_R_32F = 151 };  // hipDataType; hipblasDatatype_t of hipBLAS 1

hipError_t hipLaunchHostFunc(hipStream_t stream, void (*function)(void *), void *argument);

typedef struct { hipStream_t stream; } *handle_t;
struct product {
  int transpose_a, transpose_b, m, n, k, half_a, half_b, half_c;
  int64_t lda, ldb, ldc, stride_a, stride_b, stride_c;
  int batch;
  float alpha, beta;
  const void *a, *b;
  void *c;
  int are_arrays;  // a, b, c are arrays of pointers, one for each product of the batch
};

static float element(const void *matrix, int half, int64_t at) {
  return half ? (float)((const _Float16 *)matrix)[at] : ((const float *)matrix)[at];
}

static void one(const struct product *p, const void *a, const void *b, void *c) {
  for (int64_t column = 0; column < p->n; ++column)
    for (int64_t row = 0; row < p->m; ++row) {
      float sum = 0;
      for (int64_t i = 0; i < p->k; ++i)
        sum += element(a, p->half_a, p->transpose_a ? row * p->lda + i : i * p->lda + row) *
               element(b, p->half_b, p->transpose_b ? i * p->ldb + column : column * p->ldb + i);
      int64_t at = column * p->ldc + row;
      float value = p->alpha * sum + (p->beta ? p->beta * element(c, p->half_c, at) : 0);
      if (p->half_c) ((_Float16 *)c)[at] = (_Float16)value;
      else ((float *)c)[at] = value;
    }
}

static void multiply(void *argument) {
  const struct product *p = argument;
  for (int64_t i = 0; i < p->batch; ++i) {
    if (p->are_arrays) one(p, ((const void *const *)p->a)[i], ((const void *const *)p->b)[i], ((void *const *)p->c)[i]);
    else one(p, (const char *)p->a + i * p->stride_a * (p->half_a ? 2 : 4), (const char *)p->b + i * p->stride_b * (p->half_b ? 2 : 4),
             (char *)p->c + i * p->stride_c * (p->half_c ? 2 : 4));
  }
}

static int is_half(int type) { return type == R_16F || type == OLD_R_16F ? 1 : type == R_32F || type == OLD_R_32F ? 0 : -1; }

static int submit_product(handle_t handle, const struct product *terms, int type_a, int type_b, int type_c, int op_a, int op_b) {
  struct product *p = malloc(sizeof *p);  // kept: a captured graph runs it again
  if (!p) return STATUS_ALLOC_FAILED;
  *p = *terms;
  p->half_a = is_half(type_a), p->half_b = is_half(type_b), p->half_c = is_half(type_c);
  p->transpose_a = op_a != OP_N, p->transpose_b = op_b != OP_N;
  if (p->half_a < 0 || p->half_b < 0 || p->half_c < 0) {
    fprintf(stderr, "emulated GPU: hipBLAS: element types %d, %d and %d\n", type_a, type_b, type_c);
    free(p);
    return STATUS_NOT_SUPPORTED;
  }
  return hipLaunchHostFunc(handle->stream, multiply, p) == hipSuccess ? STATUS_SUCCESS : STATUS_INVALID_VALUE;
}

EXPORT int hipblasCreate(handle_t *handle) { *handle = calloc(1, sizeof **handle); return *handle ? STATUS_SUCCESS : STATUS_ALLOC_FAILED; }
EXPORT int hipblasDestroy(handle_t handle) { free(handle); return STATUS_SUCCESS; }
EXPORT int hipblasSetStream(handle_t handle, hipStream_t stream) { handle->stream = stream; return STATUS_SUCCESS; }
EXPORT int hipblasGetStream(handle_t handle, hipStream_t *stream) { *stream = handle->stream; return STATUS_SUCCESS; }

// `compute` is a type or a hipblasComputeType_t: all are computed in float32. alpha and beta are float32 in host memory.
EXPORT int hipblasGemmStridedBatchedEx(handle_t handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int type_a,
                                       int lda, long long stride_a, const void *b, int type_b, int ldb, long long stride_b, const void *beta,
                                       void *c, int type_c, int ldc, long long stride_c, int batch, int compute, int algorithm) {
  (void)compute, (void)algorithm;
  struct product p = {.m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc, .stride_a = stride_a, .stride_b = stride_b,
                      .stride_c = stride_c, .batch = batch, .alpha = *(const float *)alpha, .beta = *(const float *)beta, .a = a, .b = b, .c = c};
  return submit_product(handle, &p, type_a, type_b, type_c, op_a, op_b);
}
EXPORT int hipblasGemmBatchedEx(handle_t handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *const *a, int type_a,
                                int lda, const void *const *b, int type_b, int ldb, const void *beta, void *const *c, int type_c, int ldc,
                                int batch, int compute, int algorithm) {
  (void)compute, (void)algorithm;
  struct product p = {.m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc, .batch = batch, .alpha = *(const float *)alpha,
                      .beta = *(const float *)beta, .a = a, .b = b, .c = (void *)c, .are_arrays = 1};
  return submit_product(handle, &p, type_a, type_b, type_c, op_a, op_b);
}
// hipBLAS 2 and later compile the calls above to these names.
int hipblasGemmStridedBatchedEx_v2() __attribute__((alias("hipblasGemmStridedBatchedEx"), visibility("default")));
int hipblasGemmBatchedEx_v2() __attribute__((alias("hipblasGemmBatchedEx"), visibility("default")));
