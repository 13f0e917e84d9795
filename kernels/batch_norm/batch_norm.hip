#include "batch_norm/batch_norm.hpp"

#include "batch_norm/batch_norm_kernels.hpp"
#include "common/limits.hpp"

namespace sbk {

size_t batch_norm_workspace_bytes(const BatchNormParams&) { return 0; }

namespace {

using namespace batch_norm_detail;

constexpr int64_t kVectorsOfBlock = kThreads * kVectorsPerThread;

// The vectors [first, end).
template <class T, int N>
Status launch_planes(const BatchNormParams& p, int64_t first, int64_t end, hipStream_t stream) {
  const int64_t count = p.batch * p.channels * p.spatial;
  const dim3 grid(static_cast<uint32_t>(ceil_div(end - first, kVectorsOfBlock))), block(kThreads);
  if (count < INT32_MAX) {
    const Narrow index{FastDivisor(static_cast<uint32_t>(p.spatial)), FastDivisor(static_cast<uint32_t>(p.channels))};
    const bool plain = N > 1 && p.spatial % N == 0 && p.activation.kind == Activation::none;
    if (plain) batch_norm_planes<T, N, Narrow, (N > 1)><<<grid, block, 0, stream>>>(p, index, end, first);
    else batch_norm_planes<T, N, Narrow, false><<<grid, block, 0, stream>>>(p, index, end, first);
  } else {
    const Wide index{p.spatial, p.channels};
    batch_norm_planes<T, N, Wide, false><<<grid, block, 0, stream>>>(p, index, end, first);
  }
  return check_launch();
}

template <class T, int N>
Status enqueue_planes(const BatchNormParams& p, int64_t first, int64_t end, hipStream_t stream) {
  return in_parts(end - first, most_blocks(kThreads) * kVectorsOfBlock, [&](int64_t part, int64_t vectors) {
    return launch_planes<T, N>(p, first + part, first + part + vectors, stream);
  });
}

// `rows` pixels from `first` on.
template <class T, int N>
Status launch_rows(BatchNormParams p, int64_t first, int64_t rows, hipStream_t stream) {
  p.x = static_cast<const T*>(p.x) + first * p.channels;
  p.y = static_cast<T*>(p.y) + first * p.channels;
  const int64_t channel_vectors = p.channels / N;
  const int lanes = static_cast<int>(channel_vectors < kThreads ? channel_vectors : kThreads);
  const int64_t rows_per_block = kThreads / lanes * int64_t{kRowsHeld<N>};
  const dim3 grid(static_cast<uint32_t>(ceil_div(rows, rows_per_block)),
                  static_cast<uint32_t>(ceil_div(channel_vectors, lanes)));
  if (grid.y > kMostBlocksAcross) return unsupported_status("batch_norm: too many channels");
  const auto shared = static_cast<uint32_t>(lanes * N * sizeof(Affine));
  DeviceFacts device;
  SBK_TRY(device_facts(&device));
  if (shared > static_cast<uint32_t>(device.shared)) {
    return unsupported_status("batch_norm: the device has too little shared memory (LDS) for channels_last");
  }
  const bool plain = N > 1 && p.activation.kind == Activation::none;
  if (plain) batch_norm_rows<T, N, (N > 1)><<<grid, dim3(kThreads), shared, stream>>>(p, rows, lanes);
  else batch_norm_rows<T, N, false><<<grid, dim3(kThreads), shared, stream>>>(p, rows, lanes);
  return check_launch();
}

template <class T, int N>
Status enqueue_rows(const BatchNormParams& p, hipStream_t stream) {
  return in_parts(p.batch * p.spatial, most_blocks(kThreads) * kRowsHeld<N>,
                  [&](int64_t first, int64_t rows) { return launch_rows<T, N>(p, first, rows, stream); });
}

template <class T>
Status run(const BatchNormParams& p, hipStream_t stream) {
  constexpr int N = lanes_of<T>();
  const bool aligned = aligned_to(p.x, kVectorBytes) && aligned_to(p.y, kVectorBytes);
  if (p.layout == Layout::channels_last && p.spatial > 1) {
    return aligned && p.channels % N == 0 ? enqueue_rows<T, N>(p, stream) : enqueue_rows<T, 1>(p, stream);
  }
  const int64_t count = p.batch * p.channels * p.spatial;
  int64_t in_vectors = 0;
  if (aligned) {
    SBK_TRY((enqueue_planes<T, N>(p, 0, count / N, stream)));
    in_vectors = count / N * N;
  }
  return enqueue_planes<T, 1>(p, in_vectors, count, stream);
}

}  // namespace

Status gpu::batch_norm(const BatchNormParams& p, const Launch& launch) {
  if (p.batch < 0 || p.channels < 0 || p.spatial < 0) return invalid("batch_norm: a size is negative");
  if (p.batch == 0 || p.channels == 0 || p.spatial == 0) return {};
  if (!p.x || !p.y || !p.scale || !p.bias || !p.mean || !p.variance) return invalid("batch_norm: a tensor is null");
  const auto stream = static_cast<hipStream_t>(launch.stream);
  return p.dtype == DataType::float32 ? run<float>(p, stream) : run<__half>(p, stream);
}

}  // namespace sbk
