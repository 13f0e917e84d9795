// Matrix products through the platform's BLAS: hipBLAS, cuBLAS on HIP's NVIDIA platform, a loop on the CPU platform.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/tensor/tensor.hpp"

namespace rk {

// For i = 0 … batch-1: c_i = alpha * op(a_i) op(b_i) + beta * c_i. Matrices are row-major: op(a) is m × k, op(b) k × n,
// c m × n; the leading extents are the row lengths in memory; strides are in elements between the batch's matrices.
struct Gemm {
  Type type = kFloat;  // of a, b and c; sums are float
  bool transpose_a = false;
  bool transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  float alpha = 1.0f;
  float beta = 0.0f;
  const void* a = nullptr;
  int64_t lda = 0;
  int64_t stride_a = 0;
  const void* b = nullptr;
  int64_t ldb = 0;
  int64_t stride_b = 0;
  void* c = nullptr;
  int64_t ldc = 0;
  int64_t stride_c = 0;
  int64_t batch = 1;
};

// What the libraries take, on every platform alike. They count in 32 bits: a larger extent would lose its upper half. What
// one does with an extent of 0 is its own affair: kernels answer that themselves.
inline void require_extents(const Gemm& g) {
  for (int64_t extent : {g.m, g.n, g.k, g.lda, g.ldb, g.ldc, g.batch})
    require(extent > 0 && extent <= INT32_MAX, "a matrix product has an extent of 0, or of 2^31 or more");
  require(g.lda >= (g.transpose_a ? g.m : g.k) && g.ldb >= (g.transpose_b ? g.k : g.n) && g.ldc >= g.n,
          "a matrix product's rows overlap in memory");
}

class Blas {
 public:
  explicit Blas(void* stream);  // native; the handle enqueues there for good
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  void gemm(const Gemm& gemm);
  // The same with the batch's matrices anywhere: `a`, `b`, `c` are arrays of gemm.batch pointers in device memory, and
  // the pointers and strides in `gemm` are not used.
  void gemm(const Gemm& gemm, const void* const* a, const void* const* b, void* const* c);

 private:
  struct State;
  State* state_;
};

}  // namespace rk
