// Blas on cuBLAS, for HIP's NVIDIA platform. The library is opened when the first product is asked for, by its soname:
// it is then the same one whether the process has PyTorch's, a toolkit's or a system's.
#include <dlfcn.h>

#include "core/device/blas.hpp"
#include "core/device/device.hpp"
#include "core/device/platform.hpp"

namespace rk {
namespace {

// cuBLAS's C interface as far as it is used; the numbers are those of cublas_api.h and library_types.h (CUDA 12, 13).
using Handle = void*;
constexpr int kNoTranspose = 0, kTranspose = 1;
constexpr int kReal32 = 0, kReal16 = 2;
constexpr int kCompute32 = 68;
constexpr int kDefaultAlgorithm = -1;
constexpr size_t kWorkspaceBytes = size_t{32} << 20;  // what cuBLAS's documentation asks for on Hopper

struct Library {
  int (*create)(Handle*) = nullptr;
  int (*destroy)(Handle) = nullptr;
  int (*set_stream)(Handle, void*) = nullptr;
  int (*set_workspace)(Handle, void*, size_t) = nullptr;
  int (*gemm)(Handle, int, int, int, int, int, const void*, const void*, int, int, long long, const void*, int, int,
              long long, const void*, void*, int, int, long long, int, int, int) = nullptr;
  int (*gemm_pointers)(Handle, int, int, int, int, int, const void*, const void* const*, int, int, const void* const*, int,
                       int, const void*, void* const*, int, int, int, int, int) = nullptr;

  Library() {
    void* handle = nullptr;
    for (const char* name : {"libcublas.so.13", "libcublas.so.12"})
      if (handle == nullptr) handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) fail(std::string("matrix products need cuBLAS: ") + dlerror(), ORT_EP_FAIL);
    find(handle, "cublasCreate_v2", create);
    find(handle, "cublasDestroy_v2", destroy);
    find(handle, "cublasSetStream_v2", set_stream);
    find(handle, "cublasSetWorkspace_v2", set_workspace);
    find(handle, "cublasGemmStridedBatchedEx", gemm);
    find(handle, "cublasGemmBatchedEx", gemm_pointers);
  }

  template <class F>
  static void find(void* handle, const char* name, F& function) {
    function = reinterpret_cast<F>(dlsym(handle, name));
    if (function == nullptr) fail(std::string("cuBLAS has no ") + name, ORT_EP_FAIL);
  }
};

const Library& library() {
  static const Library instance;
  return instance;
}

void ok(int status, const char* what) {
  if (status != 0) fail(std::string(what) + ": cuBLAS status " + std::to_string(status), ORT_EP_FAIL);
}

}  // namespace

struct Blas::State {
  Handle handle = nullptr;
  void* workspace = nullptr;
};

Blas::Blas(void* stream) : state_(new State) {
  ok(library().create(&state_->handle), "cublasCreate");
  ok(library().set_stream(state_->handle, stream), "cublasSetStream");
  state_->workspace = device::allocate(kWorkspaceBytes);
  if (state_->workspace != nullptr)
    ok(library().set_workspace(state_->handle, state_->workspace, kWorkspaceBytes), "cublasSetWorkspace");
}

Blas::~Blas() {
  (void)library().destroy(state_->handle);
  device::release(state_->workspace);
  delete state_;
}

// cuBLAS is column-major: the row-major c = a b is the column-major cᵀ = bᵀ aᵀ.
void Blas::gemm(const Gemm& g) {
  require_extents(g);
  const int type = g.type == kHalf ? kReal16 : kReal32;
  ok(library().gemm(state_->handle, g.transpose_b ? kTranspose : kNoTranspose,
                    g.transpose_a ? kTranspose : kNoTranspose, static_cast<int>(g.n), static_cast<int>(g.m),
                    static_cast<int>(g.k), &g.alpha, g.b, type, static_cast<int>(g.ldb), g.stride_b, g.a, type,
                    static_cast<int>(g.lda), g.stride_a, &g.beta, g.c, type, static_cast<int>(g.ldc), g.stride_c,
                    static_cast<int>(g.batch), kCompute32, kDefaultAlgorithm),
     "cublasGemmStridedBatchedEx");
}

void Blas::gemm(const Gemm& g, const void* const* a, const void* const* b, void* const* c) {
  require_extents(g);
  const int type = g.type == kHalf ? kReal16 : kReal32;
  ok(library().gemm_pointers(state_->handle, g.transpose_b ? kTranspose : kNoTranspose,
                             g.transpose_a ? kTranspose : kNoTranspose, static_cast<int>(g.n), static_cast<int>(g.m),
                             static_cast<int>(g.k), &g.alpha, b, type, static_cast<int>(g.ldb), a, type,
                             static_cast<int>(g.lda), &g.beta, c, type, static_cast<int>(g.ldc),
                             static_cast<int>(g.batch), kCompute32, kDefaultAlgorithm),
     "cublasGemmBatchedEx");
}

}  // namespace rk
