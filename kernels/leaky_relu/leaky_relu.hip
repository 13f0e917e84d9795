#include "leaky_relu/leaky_relu.hpp"

#include "common/limits.hpp"
#include "leaky_relu/leaky_relu_kernels.hpp"

namespace sbk {

size_t leaky_relu_workspace_bytes(const LeakyReluParams&) { return 0; }

namespace {

using namespace leaky_relu_detail;

template <class T, int N>
Status enqueue(const T* x, T* y, int64_t count, float alpha, hipStream_t stream) {
  const auto* from = reinterpret_cast<const Vec<T, N>*>(x);
  auto* to = reinterpret_cast<Vec<T, N>*>(y);
  constexpr int64_t kOfBlock = kThreads * kVectorsPerThread;
  return in_parts(count / N, most_blocks(kThreads) * kOfBlock, [&](int64_t first, int64_t vectors) {
    const dim3 grid(static_cast<uint32_t>(ceil_div(vectors, kOfBlock)));
    leaky_relu_vectors<T, N><<<grid, dim3(kThreads), 0, stream>>>(from + first, to + first, vectors, alpha);
    return check_launch();
  });
}

// Whole vectors first, then the elements left over (fewer than one vector, or all where a pointer is not aligned).
template <class T>
Status run(const LeakyReluParams& p, hipStream_t stream) {
  constexpr int N = lanes_of<T>();
  const T* x = static_cast<const T*>(p.x);
  T* y = static_cast<T*>(p.y);
  int64_t in_vectors = 0;
  if (aligned_to(x, kVectorBytes) && aligned_to(y, kVectorBytes)) {
    SBK_TRY((enqueue<T, N>(x, y, p.count, p.alpha, stream)));
    in_vectors = p.count / N * N;
  }
  return enqueue<T, 1>(x + in_vectors, y + in_vectors, p.count - in_vectors, p.alpha, stream);
}

}  // namespace

Status gpu::leaky_relu(const LeakyReluParams& p, const Launch& launch) {
  if (p.count < 0) return invalid("leaky_relu: count is negative");
  if (p.count == 0) return {};
  if (p.x == nullptr || p.y == nullptr) return invalid("leaky_relu: x or y is null");
  const auto stream = static_cast<hipStream_t>(launch.stream);
  return p.dtype == DataType::float32 ? run<float>(p, stream) : run<__half>(p, stream);
}

}  // namespace sbk
