// Products of column-major matrices, as hipBLAS has them, by three loops; float16 inputs as the target's matrix units take them.
#include "hipblas/hipblas.h"

namespace {

struct Product {
  bool ta, tb;
  int m, n, k, lda, ldb, ldc;
  float alpha, beta;

  template <class T>
  static float read(T x) {
    if constexpr (sizeof(T) == 2) return emulation::matrix_input(x);
    else return x;
  }
  template <class T>
  void make(const void* a_data, const void* b_data, void* c_data) const {
    const T *a = static_cast<const T*>(a_data), *b = static_cast<const T*>(b_data);
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < m; ++i) {
        float sum = 0.0f;
        for (int p = 0; p < k; ++p) {
          sum += read(ta ? a[p + size_t(i) * lda] : a[i + size_t(p) * lda]) * read(tb ? b[j + size_t(p) * ldb] : b[p + size_t(j) * ldb]);
        }
        T& to = static_cast<T*>(c_data)[i + size_t(j) * ldc];
        to = static_cast<T>(alpha * sum + (beta == 0.0f ? 0.0f : beta * static_cast<float>(to)));
      }
    }
  }
  void operator()(hipDataType type, const void* a, const void* b, void* c) const {
    if (type == HIP_R_16F) make<_Float16>(a, b, c);
    else make<float>(a, b, c);
  }
};

float number(const void* p) { return *static_cast<const float*>(p); }

}  // namespace

#define OUT extern "C" __attribute__((visibility("default")))
OUT hipblasStatus_t hipblasCreate(hipblasHandle_t* h) { return *h = malloc(1), HIPBLAS_STATUS_SUCCESS; }
OUT hipblasStatus_t hipblasDestroy(hipblasHandle_t h) { return free(h), HIPBLAS_STATUS_SUCCESS; }
OUT hipblasStatus_t hipblasSetStream(hipblasHandle_t, hipStream_t) { return HIPBLAS_STATUS_SUCCESS; }
OUT hipblasStatus_t hipblasGemmStridedBatchedEx(hipblasHandle_t, hipblasOperation_t ta, hipblasOperation_t tb, int m, int n, int k,
                                                const void* alpha, const void* a, hipDataType type, int lda, long long a_step,
                                                const void* b, hipDataType, int ldb, long long b_step, const void* beta, void* c,
                                                hipDataType, int ldc, long long c_step, int count, hipblasComputeType_t,
                                                hipblasGemmAlgo_t) {
  const Product product{ta == HIPBLAS_OP_T, tb == HIPBLAS_OP_T, m, n, k, lda, ldb, ldc, number(alpha), number(beta)};
  const long long bytes = type == HIP_R_16F ? 2 : 4;
  for (int i = 0; i < count; ++i) {
    product(type, static_cast<const char*>(a) + i * a_step * bytes, static_cast<const char*>(b) + i * b_step * bytes,
            static_cast<char*>(c) + i * c_step * bytes);
  }
  return HIPBLAS_STATUS_SUCCESS;
}
OUT hipblasStatus_t hipblasGemmBatchedEx(hipblasHandle_t, hipblasOperation_t ta, hipblasOperation_t tb, int m, int n, int k,
                                         const void* alpha, const void* a[], hipDataType type, int lda, const void* b[], hipDataType,
                                         int ldb, const void* beta, void* c[], hipDataType, int ldc, int count, hipblasComputeType_t,
                                         hipblasGemmAlgo_t) {
  const Product product{ta == HIPBLAS_OP_T, tb == HIPBLAS_OP_T, m, n, k, lda, ldb, ldc, number(alpha), number(beta)};
  for (int i = 0; i < count; ++i) product(type, a[i], b[i], c[i]);
  return HIPBLAS_STATUS_SUCCESS;
}
