// Copies from device memory to shared memory that overlap with arithmetic: cp.async on NVIDIA; on AMD, loads into
// registers when the copy begins and stores to LDS when it finishes.
#pragma once

#include "common/device.hpp"

namespace sbk {

// Buffers in shared memory that a pipelined loop needs.
#if SBK_NVIDIA
constexpr int kStages = 4;
#else
constexpr int kStages = 2;
#endif

// N vectors a thread per stage. Call order for stage s: begin(i, …) for each i, commit(); then, after the arithmetic
// of the running stage, finish(); before reading the stage, wait().
template <int N, int Bytes = kVectorBytes>
class Copies {
 public:
  // Copies `Bytes` bytes, or writes zeros where `valid` is false; `from` is then not read.
  __device__ __forceinline__ void begin([[maybe_unused]] int i, void* to, const void* from, bool valid) {
#if SBK_NVIDIA
    const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
    if constexpr (Bytes == 16) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(valid ? 16 : 0));
    } else {
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(from), "n"(Bytes),
                   "r"(valid ? Bytes : 0));
    }
#else
    to_[i] = in_lds(to);
    HeldWords value = {};  // a vector type, not a structure: a structure's copy would live in scratch memory
    if (valid) value = *static_cast<const HeldWords*>(from);
    packs_[i] = value;
#endif
  }

  __device__ __forceinline__ void commit() {
#if SBK_NVIDIA
    asm volatile("cp.async.commit_group;");
#endif
  }

  __device__ __forceinline__ void finish() {
#if !SBK_NVIDIA
#pragma unroll
    for (int i = 0; i < N; ++i) *to_[i] = packs_[i];
#endif
  }

  // Until at most `Running` of the committed stages are unfinished; a barrier must follow.
  template <int Running>
  __device__ __forceinline__ static void wait() {
#if SBK_NVIDIA
    asm volatile("cp.async.wait_group %0;" ::"n"(Running));
#endif
  }

#if !SBK_NVIDIA
  // What begin(i, …) loaded, for a store of one's own in place of finish().
  template <class T>
  __device__ __forceinline__ Vec<T, Bytes / static_cast<int>(sizeof(T))> words_of(int i) const {
    Vec<T, Bytes / static_cast<int>(sizeof(T))> values;
    __builtin_memcpy(&values, &packs_[i], sizeof values);
    return values;
  }
#endif

 private:
#if !SBK_NVIDIA
  typedef uint32_t HeldWords __attribute__((ext_vector_type(Bytes / 4)));
#if defined(__AMDGCN__)
  // A pointer kept in a member loses its address space, and stores through it become FLAT instructions, which ask for every
  // address whether it is LDS and count as memory loads too.
  typedef __attribute__((address_space(3))) HeldWords LdsHeld;
#else
  typedef HeldWords LdsHeld;
#endif
  __device__ __forceinline__ static LdsHeld* in_lds(void* to) { return (LdsHeld*)to; }

  HeldWords packs_[N];
  LdsHeld* to_[N];
#endif
};

}  // namespace sbk
