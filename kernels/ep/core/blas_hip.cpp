// Blas on hipBLAS.
#define HIPBLAS_V2 1
#include <hipblas/hipblas.h>

#include "core/blas.hpp"
#include "core/platform.hpp"

namespace rk {
namespace {

void ok(hipblasStatus_t status, const char* what) {
  if (status != HIPBLAS_STATUS_SUCCESS)
    fail(std::string(what) + ": hipBLAS status " + std::to_string(static_cast<int>(status)), ORT_EP_FAIL);
}

}  // namespace

struct Blas::State {
  hipblasHandle_t handle = nullptr;
};

Blas::Blas(void* stream) : state_(new State) {
  ok(hipblasCreate(&state_->handle), "hipblasCreate");
  ok(hipblasSetStream(state_->handle, static_cast<hipStream_t>(stream)), "hipblasSetStream");
}

Blas::~Blas() {
  (void)hipblasDestroy(state_->handle);
  delete state_;
}

// hipBLAS is column-major: the row-major c = a b is the column-major cᵀ = bᵀ aᵀ.
void Blas::gemm(const Gemm& g) {
  const hipDataType type = g.type == kHalf ? HIP_R_16F : HIP_R_32F;
  ok(hipblasGemmStridedBatchedEx(state_->handle, g.transpose_b ? HIPBLAS_OP_T : HIPBLAS_OP_N,
                                 g.transpose_a ? HIPBLAS_OP_T : HIPBLAS_OP_N, static_cast<int>(g.n),
                                 static_cast<int>(g.m), static_cast<int>(g.k), &g.alpha, g.b, type,
                                 static_cast<int>(g.ldb), g.stride_b, g.a, type, static_cast<int>(g.lda), g.stride_a,
                                 &g.beta, g.c, type, static_cast<int>(g.ldc), g.stride_c, static_cast<int>(g.batch),
                                 HIPBLAS_COMPUTE_32F, HIPBLAS_GEMM_DEFAULT),
     "hipblasGemmStridedBatchedEx");
}

bool Blas::gemm_with(const Gemm&, Epilogue, const void*) { return false; }

}  // namespace rk
