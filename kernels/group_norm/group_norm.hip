#include "group_norm/group_norm.hpp"

#include <algorithm>

#include "common/limits.hpp"
#include "common/overlap.hpp"
#include "group_norm/group_norm_hopper_kernels.hpp"
#include "group_norm/group_norm_kernels.hpp"
#include "group_norm/group_norm_last_kernels.hpp"
#include "group_norm/group_norm_strip_kernels.hpp"

namespace sbk {
namespace {

using namespace group_norm_detail;

constexpr int kChunkVectors = 4;  // vectors a thread holds of a chunk

int64_t group_count(const GroupNormParams& p) { return p.channels / p.groups * p.spatial; }

// Values per vector: a whole 16 bytes, or one where the groups do not start on vectors.
int vector_lanes(const GroupNormParams& p) {
  const int lanes = kVectorBytes / static_cast<int>(size_of(p.dtype));
  const bool aligned = aligned_to(p.x, kVectorBytes) && aligned_to(p.y, kVectorBytes);
  return aligned && group_count(p) % lanes == 0 ? lanes : 1;
}

int64_t chunk_values(int lanes) { return static_cast<int64_t>(kChunkThreads) * kChunkVectors * lanes; }

// Images [image, image + images), and of those the groups [group, group + groups): some of them only where images are 1.
GroupNormParams slice(const GroupNormParams& p, int64_t image, int64_t images, int64_t group, int64_t groups) {
  const auto at = [](const void* data, DataType type, int64_t i) { return static_cast<const char*>(data) + i * static_cast<int64_t>(size_of(type)); };
  const int64_t channels = p.channels / p.groups, values = (image * p.groups + group) * group_count(p);
  const int64_t parameter = p.per_group ? group : group * channels;
  GroupNormParams q = p;
  q.batch = images;
  q.groups = groups;
  q.channels = groups * channels;
  q.x = at(p.x, p.dtype, values);
  q.y = const_cast<char*>(at(p.y, p.dtype, values));
  q.scale = at(p.scale, p.scale_dtype, parameter);
  q.bias = at(p.bias, p.scale_dtype, parameter);
  return q;
}

// channels_first: calls launch(slice) for parts of `most` groups or fewer, whole images where one is no more than that.
template <class F>
Status in_slices(const GroupNormParams& p, int64_t most, F launch) {
  if (p.groups <= most) {
    return in_parts(p.batch, most / p.groups,
                    [&](int64_t image, int64_t images) { return launch(slice(p, image, images, 0, p.groups)); });
  }
  for (int64_t image = 0; image < p.batch; ++image) {
    SBK_TRY(in_parts(p.groups, most, [&](int64_t group, int64_t groups) { return launch(slice(p, image, 1, group, groups)); }));
  }
  return {};
}

// Threads that cover `vectors` vectors, R each: whole waves of the device, however wide, in the steps that were measured.
Status threads_for(int64_t vectors, int R, int64_t* threads) {
  constexpr int64_t kMeasuredStep = 64;
  DeviceFacts device;
  SBK_TRY(device_facts(&device));
  const int64_t step = device.whole_waves(kMeasuredStep);
  *threads = std::min<int64_t>(ceil_div(ceil_div(vectors, R), step) * step, kMostThreads);
  return {};
}

template <class T, int N, int R>
Status launch_held(const GroupNormParams& p, int64_t threads, hipStream_t stream) {
  const int64_t count = group_count(p);
  const dim3 grid(static_cast<uint32_t>(p.batch * p.groups)), block(static_cast<uint32_t>(threads));
  const FastDivisor spatial(static_cast<uint32_t>(p.spatial));
  const bool plain = N > 1 && p.spatial % N == 0 && p.activation.kind == Activation::none;
#if SBK_NVIDIA
  // Measured on an H200: with fewer values a thread the two passes are the faster.
  if constexpr (sizeof(T) == 4 && R == 8) {
    if (plain) group_norm_joined<T, N, R, (N > 1)><<<grid, block, 0, stream>>>(p, spatial, count);
    else group_norm_joined<T, N, R, false><<<grid, block, 0, stream>>>(p, spatial, count);
    return check_launch();
  }
#endif
  if (plain) group_norm_held<T, N, R, (N > 1)><<<grid, block, 0, stream>>>(p, spatial, count);
  else group_norm_held<T, N, R, false><<<grid, block, 0, stream>>>(p, spatial, count);
  return check_launch();
}

template <class T, int N, int R>
Status enqueue_held(const GroupNormParams& p, hipStream_t stream) {
  int64_t threads = 0;
  SBK_TRY(threads_for(group_count(p) / N, R, &threads));
  return in_slices(p, most_blocks(threads), [&](const GroupNormParams& q) { return launch_held<T, N, R>(q, threads, stream); });
}

template <class T, int N>
Status launch_chunks(const GroupNormParams& p, int64_t chunks, Moments* partial, hipStream_t stream) {
  const int64_t count = group_count(p);
  const dim3 grid(static_cast<uint32_t>(chunks * p.batch * p.groups)), block(kChunkThreads);
  const FastDivisor spatial(static_cast<uint32_t>(p.spatial));
  const int n = static_cast<int>(chunks);
  group_norm_partial<T, N, kChunkVectors><<<grid, block, 0, stream>>>(p, count, n, partial);
  SBK_TRY(check_launch());
  group_norm_apply<T, N, kChunkVectors><<<grid, block, 0, stream>>>(p, spatial, count, n, partial);
  return check_launch();
}

template <class T, int N>
Status enqueue_chunks(const GroupNormParams& p, const Launch& launch, hipStream_t stream) {
  const int64_t chunks = ceil_div(group_count(p), chunk_values(N));
  if (launch.workspace_bytes < chunks * p.batch * p.groups * sizeof(Moments) || launch.workspace == nullptr) {
    return {Code::workspace_too_small, "group_norm: workspace is smaller than group_norm_workspace_bytes"};
  }
  const int64_t most = most_blocks(kChunkThreads) / chunks;
  if (most == 0) return unsupported_status("group_norm: group too large");
  // Slices run one behind the other, so that the next may write its moments where the last had its own.
  auto* partial = static_cast<Moments*>(launch.workspace);
  return in_slices(p, most, [&](const GroupNormParams& q) { return launch_chunks<T, N>(q, chunks, partial, stream); });
}

#if SBK_NVIDIA
// Measured on an H200.
template <class T, int N>
bool takes_resident(const GroupNormParams& p) {
  constexpr int64_t kFewest = 4096;
  const int64_t vectors = group_count(p) / N;
  DeviceFacts device;
  return N > 1 && vectors > kFewest && vectors <= kResidentVectors && p.batch * p.groups < INT32_MAX && device_facts(&device).ok() &&
         kResidentShared < device.shared;
}

template <class T, int N, bool Plain>
Status launch_groups(const GroupNormParams& p, hipStream_t stream) {
  const auto kernel = group_norm_resident<T, N, Plain>;
  DeviceFacts device;
  SBK_TRY(device_facts(&device));
  SBK_HIP(hipFuncSetAttribute(reinterpret_cast<const void*>(kernel), hipFuncAttributeMaxDynamicSharedMemorySize, kResidentShared));
  const int64_t count = group_count(p);
  const dim3 grid(static_cast<uint32_t>(std::min<int64_t>(p.batch * p.groups, device.units)));
  kernel<<<grid, dim3(kResidentThreads), static_cast<size_t>(2 * count * static_cast<int64_t>(sizeof(T))), stream>>>(
      p, FastDivisor(static_cast<uint32_t>(p.spatial)), static_cast<int>(count));
  return check_launch();
}

template <class T, int N>
Status enqueue_groups(const GroupNormParams& p, hipStream_t stream) {
  const bool plain = p.spatial % N == 0 && p.activation.kind == Activation::none;
  return plain ? launch_groups<T, N, true>(p, stream) : launch_groups<T, N, false>(p, stream);
}
#endif

// Small blocks, several to a multiprocessor: while one waits for its sum, others load.
template <class T, int N>
Status run(const GroupNormParams& p, const Launch& launch) {
  const auto stream = static_cast<hipStream_t>(launch.stream);
  const int64_t vectors = group_count(p) / N;
#if SBK_NVIDIA
  if constexpr (N > 1) {
    if (takes_resident<T, N>(p)) return enqueue_groups<T, N>(p, stream);
  }
#endif
  if (vectors <= 256) return enqueue_held<T, N, 1>(p, stream);
  if (vectors <= 512) return enqueue_held<T, N, 2>(p, stream);
  if (vectors <= 1024) return enqueue_held<T, N, 4>(p, stream);
  if (vectors <= kMostThreads * 8) return enqueue_held<T, N, 8>(p, stream);
  return enqueue_chunks<T, N>(p, launch, stream);
}

template <class T, int N, int R, int Parts, bool Plain>
Status launch_strip(const GroupNormParams& p, const StripPlan& plan, hipStream_t stream) {
  const dim3 grid(static_cast<uint32_t>(p.channels / N / plan.lanes * plan.blocks), static_cast<uint32_t>(p.batch));
  int64_t threads = 0;
  SBK_TRY(threads_for(static_cast<int64_t>(plan.lanes) * plan.row_threads, 1, &threads));
  const dim3 block(static_cast<uint32_t>(threads));
  if constexpr (R > 0) {
    group_norm_strip<T, N, R, Parts, Plain><<<grid, block, 0, stream>>>(p, plan);
    return check_launch();
  } else {
    const auto shared = static_cast<uint32_t>(ceil_div(plan.rows, plan.row_threads) * block.x * kVectorBytes);
    // The same for all shapes: another thread's launch goes by it, too.
    SBK_HIP(hipFuncSetAttribute(reinterpret_cast<const void*>(group_norm_strip<T, N, R, Parts, Plain>),
                                hipFuncAttributeMaxDynamicSharedMemorySize, kClusterMost));
    return launch_cluster(group_norm_strip<T, N, R, Parts, Plain>, grid, block, plan.blocks, shared, stream, p, plan);
  }
}

template <class T, int N, int R, int Parts>
Status enqueue_strip(const GroupNormParams& p, const StripPlan& plan, hipStream_t stream) {
  return p.activation.kind == Activation::none ? launch_strip<T, N, R, Parts, true>(p, plan, stream)
                                               : launch_strip<T, N, R, Parts, false>(p, plan, stream);
}

template <class T, int N, int R>
Status choose_parts(const GroupNormParams& p, const StripPlan& plan, hipStream_t stream) {
  const int parts = plan.group_lanes > 0 ? 1 : N / static_cast<int>(p.channels / p.groups);
  if (parts == 1) return enqueue_strip<T, N, R, 1>(p, plan, stream);
  if (parts == 2) return enqueue_strip<T, N, R, 2>(p, plan, stream);
  if constexpr (N == 8) return enqueue_strip<T, N, R, 4>(p, plan, stream);
  return invalid("group_norm: a vector does not hold whole groups");
}

// In one pass, where a plan for that is found.
template <class T, int N>
Status run_strip(const GroupNormParams& p, hipStream_t stream, bool* done) {
  DeviceFacts device;
  SBK_TRY(device_facts(&device));
  const StripPlan plan = strip_plan<N>(p, device.units);
  const int64_t strips = plan.lanes > 0 ? p.channels / N / plan.lanes : 0;
  const int64_t rows = strips > 0 && strips <= most_blocks(kStripThreads) ? ceil_div(plan.rows, plan.row_threads) : 0;
  *done = true;
  if (rows > 0 && rows <= 7) return choose_parts<T, N, 7>(p, plan, stream);
#if SBK_NVIDIA
  const StripPlan cluster = has_clusters(kClusterShared) ? cluster_plan<N>(p) : StripPlan{};
  if (cluster.lanes > plan.lanes) return choose_parts<T, N, 0>(p, cluster, stream);
#endif
  if (rows > 0) return choose_parts<T, N, kStripRows>(p, plan, stream);
  *done = false;
  return {};
}

// channels_last: rows of one image in chunks; moments per channel, merged per group, then applied.
template <class T, int N>
Status run_last(const GroupNormParams& p, const Launch& launch) {
  const auto stream = static_cast<hipStream_t>(launch.stream);
  if constexpr (N > 1) {
    bool done = false;
    SBK_TRY((run_strip<T, N>(p, stream, &done)));
    if (done) return {};
  }
  const LastPlan plan = last_plan(p, N);
  if (launch.workspace == nullptr || launch.workspace_bytes < last_workspace(p, plan)) {
    return {Code::workspace_too_small, "group_norm: workspace is smaller than group_norm_workspace_bytes"};
  }
  if (plan.chunks > most_blocks(kLastThreads)) return unsupported_status("group_norm: images too large for channels_last");
  DeviceFacts device;
  SBK_TRY(device_facts(&device));
  auto* partial = static_cast<Moments*>(launch.workspace);
  Moments* merged_moments = partial + p.batch * plan.chunks * p.channels;
  const dim3 grid(static_cast<uint32_t>(plan.chunks), static_cast<uint32_t>(plan.strips),
                  static_cast<uint32_t>(p.batch));
  const dim3 block(kLastThreads);
  group_norm_last_partial<T, N><<<grid, block, 0, stream>>>(p, plan, partial);
  SBK_TRY(check_launch());
  // A group to a wave; blocks take more where there are more than fit in a grid.
  const int64_t merging = std::min(ceil_div(p.batch * p.groups, kLastThreads / device.wave), most_blocks(kLastThreads));
  group_norm_last_merge<<<dim3(static_cast<uint32_t>(merging)), block, 0, stream>>>(p, plan, partial, merged_moments);
  SBK_TRY(check_launch());
  const bool plain = N > 1 && p.activation.kind == Activation::none;
  if (plain) group_norm_last_apply<T, N, (N > 1)><<<grid, block, 0, stream>>>(p, plan, merged_moments);
  else group_norm_last_apply<T, N, false><<<grid, block, 0, stream>>>(p, plan, merged_moments);
  return check_launch();
}

bool is_last(const GroupNormParams& p) { return p.layout == Layout::channels_last && p.spatial > 1; }

Status validate(const GroupNormParams& p) {
  if (p.batch < 0 || p.channels < 0 || p.spatial < 0) return invalid("group_norm: a size is negative");
  if (p.groups <= 0 || p.channels % p.groups != 0) return invalid("group_norm: groups does not divide channels");
  if (group_count(p) >= INT32_MAX) return unsupported_status("group_norm: group too large");
  if (is_last(p) && p.channels > kMostBlocksAcross * kLastThreads) {
    return unsupported_status("group_norm: channels too large for channels_last");
  }
  return {};
}

}  // namespace

// The pointers decide the vector width; where they are not known yet the larger need is answered.
size_t group_norm_workspace_bytes(const GroupNormParams& p) {
  if (!validate(p).ok()) return 0;
  if (p.channels == 0) return 0;
  if (is_last(p)) return last_workspace(p, last_plan(p, 1));
  return static_cast<size_t>(ceil_div(group_count(p), chunk_values(1)) * p.batch * p.groups) * sizeof(Moments);
}

Status gpu::group_norm(const GroupNormParams& p, const Launch& launch) {
  SBK_TRY(validate(p));
  if (p.batch == 0 || p.channels == 0 || p.spatial == 0) return {};
  if (!p.x || !p.y || !p.scale || !p.bias) return invalid("group_norm: a tensor is null");
  if (is_last(p)) {
    const bool vectors = aligned_to(p.x, kVectorBytes) && aligned_to(p.y, kVectorBytes) &&
                         p.channels % (kVectorBytes / static_cast<int64_t>(size_of(p.dtype))) == 0;
    return in_parts(p.batch, kMostBlocksAcross, [&](int64_t image, int64_t images) {
      const GroupNormParams q = slice(p, image, images, 0, p.groups);
      if (q.dtype == DataType::float32) return vectors ? run_last<float, 4>(q, launch) : run_last<float, 1>(q, launch);
      return vectors ? run_last<__half, 8>(q, launch) : run_last<__half, 1>(q, launch);
    });
  }
  const bool whole = vector_lanes(p) > 1;
  if (p.dtype == DataType::float32) return whole ? run<float, 4>(p, launch) : run<float, 1>(p, launch);
  return whole ? run<__half, 8>(p, launch) : run<__half, 1>(p, launch);
}

}  // namespace sbk
