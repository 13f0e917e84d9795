// Blas on hipBLAS. The library is opened when the first product is asked for, so that the provider's own library needs
// the HIP runtime alone; the functions' types are those of the headers, and so is the soname's number.
#define HIPBLAS_V2 1
#include <dlfcn.h>
#include <hipblas/hipblas.h>

#include "core/device/blas.hpp"
#include "core/device/platform.hpp"

#define RK_QUOTE(NAME) #NAME
#define RK_NAME(NAME) RK_QUOTE(NAME)  // after macros: hipBLAS 2 renames functions to …_v2

namespace rk {
namespace {

struct Library {
  decltype(&hipblasCreate) create = nullptr;
  decltype(&hipblasDestroy) destroy = nullptr;
  decltype(&hipblasSetStream) set_stream = nullptr;
  decltype(&hipblasGemmStridedBatchedEx) gemm = nullptr;
  decltype(&hipblasGemmBatchedEx) gemm_pointers = nullptr;

  Library() {
    constexpr const char* soname = "libhipblas.so." RK_NAME(hipblasVersionMajor);
    void* handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) fail(std::string("matrix products need hipBLAS: ") + dlerror(), ORT_EP_FAIL);
    find(handle, RK_NAME(hipblasCreate), create);
    find(handle, RK_NAME(hipblasDestroy), destroy);
    find(handle, RK_NAME(hipblasSetStream), set_stream);
    find(handle, RK_NAME(hipblasGemmStridedBatchedEx), gemm);
    find(handle, RK_NAME(hipblasGemmBatchedEx), gemm_pointers);
  }

  template <class F>
  static void find(void* handle, const char* name, F& function) {
    function = reinterpret_cast<F>(dlsym(handle, name));
    if (function == nullptr) fail(std::string("hipBLAS has no ") + name, ORT_EP_FAIL);
  }
};

const Library& library() {
  static const Library instance;
  return instance;
}

void ok(hipblasStatus_t status, const char* what) {
  if (status != HIPBLAS_STATUS_SUCCESS)
    fail(std::string(what) + ": hipBLAS status " + std::to_string(static_cast<int>(status)), ORT_EP_FAIL);
}

}  // namespace

struct Blas::State {
  hipblasHandle_t handle = nullptr;
};

Blas::Blas(void* stream) : state_(new State) {
  ok(library().create(&state_->handle), "hipblasCreate");
  ok(library().set_stream(state_->handle, static_cast<hipStream_t>(stream)), "hipblasSetStream");
}

Blas::~Blas() {
  (void)library().destroy(state_->handle);
  delete state_;
}

// hipBLAS is column-major: the row-major c = a b is the column-major cᵀ = bᵀ aᵀ.
void Blas::gemm(const Gemm& g) {
  require_extents(g);
  const hipDataType type = g.type == kHalf ? HIP_R_16F : HIP_R_32F;
  ok(library().gemm(state_->handle, g.transpose_b ? HIPBLAS_OP_T : HIPBLAS_OP_N,
                    g.transpose_a ? HIPBLAS_OP_T : HIPBLAS_OP_N, static_cast<int>(g.n), static_cast<int>(g.m),
                    static_cast<int>(g.k), &g.alpha, g.b, type, static_cast<int>(g.ldb), g.stride_b, g.a, type,
                    static_cast<int>(g.lda), g.stride_a, &g.beta, g.c, type, static_cast<int>(g.ldc), g.stride_c,
                    static_cast<int>(g.batch), HIPBLAS_COMPUTE_32F, HIPBLAS_GEMM_DEFAULT),
     "hipblasGemmStridedBatchedEx");
}

void Blas::gemm(const Gemm& g, const void* const* a, const void* const* b, void* const* c) {
  require_extents(g);
  const hipDataType type = g.type == kHalf ? HIP_R_16F : HIP_R_32F;
  ok(library().gemm_pointers(state_->handle, g.transpose_b ? HIPBLAS_OP_T : HIPBLAS_OP_N,
                             g.transpose_a ? HIPBLAS_OP_T : HIPBLAS_OP_N, static_cast<int>(g.n), static_cast<int>(g.m),
                             static_cast<int>(g.k), &g.alpha, const_cast<const void**>(b), type,
                             static_cast<int>(g.ldb), const_cast<const void**>(a), type, static_cast<int>(g.lda), &g.beta,
                             const_cast<void**>(c), type, static_cast<int>(g.ldc), static_cast<int>(g.batch),
                             HIPBLAS_COMPUTE_32F, HIPBLAS_GEMM_DEFAULT),
     "hipblasGemmBatchedEx");
}

}  // namespace rk
