// Host side: what launchers ask of the current device instead of writing it down, and how they cut work up into grids that
// one launch takes.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>

#include "common/platform.hpp"

namespace sbk {

struct DeviceFacts {
  int wave = 0;    // lanes of a wave (warp)
  int units = 0;   // compute units (multiprocessors)
  int shared = 0;  // bytes of shared memory (LDS) that one block may have

  // The least multiple of `step` threads that is whole waves.
  int64_t whole_waves(int64_t step) const { return std::lcm<int64_t>(step, wave); }
};

namespace limits_detail {

inline Status ask(hipDeviceAttribute_t attribute, int device, int* value) {
  return check(hipDeviceGetAttribute(value, attribute, device));
}

inline Status ask_all(int device, DeviceFacts* facts) {
#if SBK_NVIDIA
  constexpr auto kShared = hipDeviceAttributeSharedMemPerBlockOptin;  // more than the other only where a launcher asks for it
#else
  constexpr auto kShared = hipDeviceAttributeMaxSharedMemoryPerBlock;
#endif
  SBK_TRY(ask(hipDeviceAttributeWarpSize, device, &facts->wave));
  SBK_TRY(ask(hipDeviceAttributeMultiprocessorCount, device, &facts->units));
  SBK_TRY(ask(kShared, device, &facts->shared));
  if (facts->wave < kNarrowestWave) return unsupported_status("the device's waves are narrower than this library was built for");
  return {};
}

}  // namespace limits_detail

// Of the current device. Every device is asked once, by whichever thread comes first.
inline Status device_facts(DeviceFacts* facts) {
  static std::mutex lock;
  static std::map<int, DeviceFacts> facts_by_device;
  int device = 0;
  SBK_TRY(check(hipGetDevice(&device)));
  const std::lock_guard<std::mutex> hold(lock);
  auto row = facts_by_device.find(device);
  if (row == facts_by_device.end()) {
    DeviceFacts answer;
    SBK_TRY(limits_detail::ask_all(device, &answer));
    row = facts_by_device.emplace(device, answer).first;
  }
  *facts = row->second;
  return {};
}

// Blocks of `threads` threads, side by side in x, that one launch takes. CUDA counts blocks, in 31 bits. HIP on AMD counts
// threads, fewer than 2^32 (HIP's programming guide); a test may say less, to see grids cut up that fit on a CPU.
inline int64_t most_blocks([[maybe_unused]] int64_t threads) {
#if SBK_NVIDIA
  return INT32_MAX;
#else
#ifndef SBK_GRID_THREADS
#define SBK_GRID_THREADS UINT32_MAX
#endif
  return std::min<int64_t>(INT32_MAX, int64_t{SBK_GRID_THREADS} / threads);
#endif
}

// Blocks in y or in z, on both platforms.
constexpr int64_t kMostBlocksAcross = 65535;

// Calls launch(first, count) for the parts of [0, total), `most` at a time. Ends with the first that is not ok.
template <class F>
Status in_parts(int64_t total, int64_t most, F launch) {
  for (int64_t first = 0; first < total; first += most) SBK_TRY(launch(first, std::min(most, total - first)));
  return {};
}

}  // namespace sbk
