// Cooperative groups with their votes (any, all, ballot, match_any, match_all), which HIP 6 hides behind a macro. That macro
// hides other functions too, which stackbuild_hip_compat.h has; so it is defined for this one header.
// Written by `stackbuild hipify`.
#ifndef STACKBUILD_HIP_GROUPS_H  // two trees may have this file each, which #pragma once takes for two files
#define STACKBUILD_HIP_GROUPS_H

#include "stackbuild_hip_compat.h"
#if HIP_VERSION_MAJOR == 6 && !defined(HIP_ENABLE_WARP_SYNC_BUILTINS)
#define HIP_ENABLE_WARP_SYNC_BUILTINS
#include <hip/hip_cooperative_groups.h>
#undef HIP_ENABLE_WARP_SYNC_BUILTINS
#else
#include <hip/hip_cooperative_groups.h>
#endif

#endif  // STACKBUILD_HIP_GROUPS_H
