#include "core/device/blas.hpp"
#include "core/device/platform.hpp"

namespace rk {

struct Blas::State {};

Blas::Blas(void*) : state_(nullptr) {}
Blas::~Blas() = default;

namespace {

template <class T>
void multiply(const Gemm& g, const T* a, const T* b, T* c) {
  for (int64_t i = 0; i < g.m; ++i)
    for (int64_t j = 0; j < g.n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < g.k; ++l) {
        const T left = g.transpose_a ? a[l * g.lda + i] : a[i * g.lda + l];
        const T right = g.transpose_b ? b[j * g.ldb + l] : b[l * g.ldb + j];
        sum += static_cast<float>(left) * static_cast<float>(right);
      }
      const float before = g.beta == 0.0f ? 0.0f : g.beta * static_cast<float>(c[i * g.ldc + j]);
      c[i * g.ldc + j] = static_cast<T>(g.alpha * sum + before);
    }
}

template <class T>
void all(const Gemm& g) {
  for (int64_t i = 0; i < g.batch; ++i)
    multiply<T>(g, static_cast<const T*>(g.a) + i * g.stride_a, static_cast<const T*>(g.b) + i * g.stride_b,
                static_cast<T*>(g.c) + i * g.stride_c);
}

}  // namespace

void Blas::gemm(const Gemm& g) {
  require_extents(g);
  if (g.type == kHalf) all<half_t>(g);
  else all<float>(g);
}

void Blas::gemm(const Gemm& g, const void* const* a, const void* const* b, void* const* c) {
  for (int64_t i = 0; i < g.batch; ++i) {
    Gemm one = g;
    one.batch = 1;
    one.a = a[i];
    one.b = b[i];
    one.c = c[i];
    gemm(one);
  }
}

}  // namespace rk
