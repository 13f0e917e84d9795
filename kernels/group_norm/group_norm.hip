#include "group_norm/group_norm.hpp"

#include "common/overlap.hpp"
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

// Threads that cover `vectors` vectors, R each: whole waves of 64, the widest there is.
uint32_t threads_for(int64_t vectors, int R) {
  const int64_t threads = ceil_div(ceil_div(vectors, R), 64) * 64;
  return static_cast<uint32_t>(threads < kMaxThreads ? threads : kMaxThreads);
}

template <class T, int N, int R>
Status enqueue_held(const GroupNormParams& p, hipStream_t stream) {
  const int64_t count = group_count(p);
  const dim3 grid(static_cast<uint32_t>(p.batch * p.groups)), block(threads_for(count / N, R));
  const FastDivisor spatial(static_cast<uint32_t>(p.spatial));
  const bool plain = N > 1 && p.spatial % N == 0 && p.activation.kind == Activation::none;
  if (plain) group_norm_held<T, N, R, (N > 1)><<<grid, block, 0, stream>>>(p, spatial, count);
  else group_norm_held<T, N, R, false><<<grid, block, 0, stream>>>(p, spatial, count);
  return check_launch();
}

template <class T, int N>
Status enqueue_chunks(const GroupNormParams& p, const Launch& launch, hipStream_t stream) {
  const int64_t count = group_count(p);
  const int64_t chunks = ceil_div(count, chunk_values(N));
  const int64_t blocks = chunks * p.batch * p.groups;
  if (blocks > INT32_MAX) return unsupported("group_norm: more than 2^31 chunks");
  if (launch.workspace_bytes < blocks * sizeof(Moments) || launch.workspace == nullptr) {
    return {Code::workspace_too_small, "group_norm: workspace is smaller than group_norm_workspace_bytes"};
  }
  auto* partial = static_cast<Moments*>(launch.workspace);
  const dim3 grid(static_cast<uint32_t>(blocks)), block(kChunkThreads);
  const FastDivisor spatial(static_cast<uint32_t>(p.spatial));
  const int n = static_cast<int>(chunks);
  group_norm_partial<T, N, kChunkVectors><<<grid, block, 0, stream>>>(p, count, n, partial);
  group_norm_apply<T, N, kChunkVectors><<<grid, block, 0, stream>>>(p, spatial, count, n, partial);
  return check_launch();
}

// Small blocks, several to a multiprocessor: while one waits for its sum, others load.
template <class T, int N>
Status run(const GroupNormParams& p, const Launch& launch) {
  const auto stream = static_cast<hipStream_t>(launch.stream);
  const int64_t vectors = group_count(p) / N;
  if (vectors <= 256) return enqueue_held<T, N, 1>(p, stream);
  if (vectors <= 512) return enqueue_held<T, N, 2>(p, stream);
  if (vectors <= 1024) return enqueue_held<T, N, 4>(p, stream);
  if (vectors <= kMaxThreads * 8) return enqueue_held<T, N, 8>(p, stream);
  return enqueue_chunks<T, N>(p, launch, stream);
}

template <class T, int N, int R, int Parts, bool Plain>
Status launch_strip(const GroupNormParams& p, const StripPlan& plan, hipStream_t stream) {
  const dim3 grid(static_cast<uint32_t>(p.channels / N / plan.lanes * plan.blocks), static_cast<uint32_t>(p.batch));
  const dim3 block(threads_for(static_cast<int64_t>(plan.lanes) * plan.row_threads, 1));
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
  int64_t units = 0;
  SBK_TRY(multiprocessors(&units));
  const StripPlan plan = strip_plan<N>(p, units);
  const int64_t rows = plan.lanes > 0 ? ceil_div(plan.rows, plan.row_threads) : 0;
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
  auto* partial = static_cast<Moments*>(launch.workspace);
  Moments* merged = partial + p.batch * plan.chunks * p.channels;
  const dim3 grid(static_cast<uint32_t>(plan.chunks), static_cast<uint32_t>(plan.strips),
                  static_cast<uint32_t>(p.batch));
  const dim3 block(kLastThreads);
  group_norm_last_partial<T, N><<<grid, block, 0, stream>>>(p, plan, partial);
  constexpr int kMergeShare = 4;  // of groups to a block, on the widest wave: one a wave
  const int64_t merging = ceil_div(p.batch * p.groups, kMergeShare);
  group_norm_last_merge<<<dim3(static_cast<uint32_t>(merging)), block, 0, stream>>>(p, plan, partial, merged);
  const bool plain = N > 1 && p.activation.kind == Activation::none;
  if (plain) group_norm_last_apply<T, N, (N > 1)><<<grid, block, 0, stream>>>(p, plan, merged);
  else group_norm_last_apply<T, N, false><<<grid, block, 0, stream>>>(p, plan, merged);
  return check_launch();
}

bool is_last(const GroupNormParams& p) { return p.layout == Layout::channels_last && p.spatial > 1; }

Status validate(const GroupNormParams& p) {
  if (p.batch < 0 || p.channels < 0 || p.spatial < 0) return invalid("group_norm: a size is negative");
  if (p.groups <= 0 || p.channels % p.groups != 0) return invalid("group_norm: groups does not divide channels");
  if (group_count(p) >= INT32_MAX || p.batch * p.groups > INT32_MAX) return unsupported("group_norm: group too large");
  if (is_last(p) && (p.batch > 65535 || p.channels > 65535 * int64_t{kLastThreads})) {
    return unsupported("group_norm: batch or channels too large for channels_last");
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
    if (p.dtype == DataType::float32) return vectors ? run_last<float, 4>(p, launch) : run_last<float, 1>(p, launch);
    return vectors ? run_last<__half, 8>(p, launch) : run_last<__half, 1>(p, launch);
  }
  const bool whole = vector_lanes(p) > 1;
  if (p.dtype == DataType::float32) return whole ? run<float, 4>(p, launch) : run<float, 1>(p, launch);
  return whole ? run<__half, 8>(p, launch) : run<__half, 1>(p, launch);
}

}  // namespace sbk
