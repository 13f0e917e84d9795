// Host side of the Hopper kernels: none where they are not compiled in or the device is another.
#pragma once

#include "conv/conv_gemm.hpp"

namespace sbk::conv_detail {

#if SBK_HOPPER
// The tiles that take `g`, into an array with room for kMaxGemmTiles; returns how many.
int wgmma_tiles(const GemmConv& g, GemmTile* tiles);
// Whether those tiles are fed by the copy engine, which takes pixels that overlap.
bool takes_copy_engine(const GemmConv& g);
Status launch_wgmma(const GemmConv& g, int64_t groups, int index, hipStream_t stream);
#else
inline int wgmma_tiles(const GemmConv&, GemmTile*) { return 0; }
inline bool takes_copy_engine(const GemmConv&) { return false; }
inline Status launch_wgmma(const GemmConv&, int64_t, int, hipStream_t) { return unsupported_status("conv: no wgmma in this build"); }
#endif

}  // namespace sbk::conv_detail
