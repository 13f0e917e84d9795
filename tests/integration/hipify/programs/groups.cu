// The votes of cooperative groups, and a reduction of CUDA's second header.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

__global__ void votes(int *out, float *sums, int x) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  auto group = cg::coalesced_threads();
  int same = 0;
  out[threadIdx.x] = tile.any(x) + tile.all(x) + __popc(tile.ballot(x)) + tile.shfl_down(x, 1);
  out[threadIdx.x] += __popc(tile.match_any(x)) + __popc(tile.match_all(x, same)) + same;
  out[threadIdx.x] += group.any(x) + group.all(x);
  out[threadIdx.x] += __any_sync(0xffffffff, x) + __shfl_sync(0xffffffff, x, 0);
  sums[threadIdx.x] = cg::reduce(tile, sums[threadIdx.x], cg::plus<float>());
  block.sync();
}
