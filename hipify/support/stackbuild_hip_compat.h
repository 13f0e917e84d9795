// What CUDA sources use and HIP lacks, by ROCm version. Written beside converted sources by `stackbuild hipify`.
//
// Functions are reached through macros, so that a HIP that gains one of them does not clash: HIP's headers come first.
// Lane masks are 64 bits wide. Nothing here assumes a wavefront of 32 or of 64 lanes.
#pragma once

#include <hip/hip_runtime.h>
#include <hip/hip_version.h>
#include <hip/hip_fp16.h>
#if __has_include(<hip/hip_bf16.h>)
#include <hip/hip_bf16.h>
#define STACKBUILD_HAS_BF16 1
#endif

namespace stackbuild_hip {

using lanes = unsigned long long;

// A lane mask of CUDA code: 32 ones mean all lanes, also of a wavefront of 64; any other mask names the lanes it names.
template <typename Mask> __host__ __device__ constexpr lanes lane_mask(Mask mask) {
  return sizeof(Mask) > 4 ? static_cast<lanes>(mask)
         : static_cast<unsigned>(mask) == 0xffffffffu ? ~0ull
                                                      : static_cast<lanes>(static_cast<unsigned>(mask));
}

// __syncwarp: the lanes of a wavefront run together, so memory order is what remains to be kept.
__device__ inline void syncwarp(lanes = ~0ull) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

__device__ inline void trap() { __builtin_trap(); }

// __nanosleep: s_sleep counts about 64 clocks; CUDA's argument is a wish as well.
__device__ inline void nanosleep(unsigned) { __builtin_amdgcn_s_sleep(1); }

template <typename T> __device__ inline T load(const T* from) { return *from; }
template <typename T> __device__ inline void store(T* to, T value) { *to = value; }

// __reduce_*_sync over the lanes of a mask, one lane at a time.
template <typename T, typename Op> __device__ inline T reduce(lanes mask, T value, Op op) {
  bool first = true;
  T total{};
  for (int lane = 0; lane < warpSize; ++lane) {
    if (mask >> lane & 1) {
      const T other = __shfl(value, lane);
      total = first ? other : op(total, other);
      first = false;
    }
  }
  return total;
}

// The byte-wise and half-word-wise SIMD functions, part by part.
template <typename Part, typename Op> __device__ inline unsigned simd(unsigned a, unsigned b, Op op) {
  constexpr int bits = 8 * sizeof(Part);
  unsigned result = 0;
  for (int shift = 0; shift < 32; shift += bits) {
    const auto part = static_cast<Part>(op(static_cast<Part>(a >> shift), static_cast<Part>(b >> shift)));
    result |= (static_cast<unsigned>(part) & ((1u << bits) - 1)) << shift;
  }
  return result;
}

template <typename T> __device__ inline T clamped(int value, int low, int high) {
  return static_cast<T>(value < low ? low : value > high ? high : value);
}

// __dp4a: four products of bytes and a sum; the signs are those of the arguments.
template <typename Byte, typename T> __device__ inline T dot(T a, T b, T c) {
  for (int shift = 0; shift < 32; shift += 8)
    c += static_cast<T>(static_cast<Byte>(a >> shift)) * static_cast<T>(static_cast<Byte>(b >> shift));
  return c;
}
__device__ inline int dp4a(int a, int b, int c) { return dot<signed char>(a, b, c); }
__device__ inline unsigned dp4a(unsigned a, unsigned b, unsigned c) { return dot<unsigned char>(a, b, c); }

#ifdef STACKBUILD_HAS_BF16
__host__ __device__ inline __hip_bfloat162 twice(float x) {
  __hip_bfloat162 both;
  both.x = __float2bfloat16(x);
  both.y = both.x;
  return both;
}
__host__ __device__ inline __hip_bfloat162 pair(float x, float y) {
  __hip_bfloat162 both;
  both.x = __float2bfloat16(x);
  both.y = __float2bfloat16(y);
  return both;
}
__host__ __device__ inline __hip_bfloat162 pair_of(__hip_bfloat16 x, __hip_bfloat16 y) {
  __hip_bfloat162 both;
  both.x = x;
  both.y = y;
  return both;
}
#endif

}  // namespace stackbuild_hip

// The *_sync functions: HIP 6 hides its own behind HIP_ENABLE_WARP_SYNC_BUILTINS, earlier ones have none. The masked
// lanes take part in any case, since a wavefront runs together; lanes outside the mask must not be read.
#if HIP_VERSION_MAJOR < 7 && !defined(HIP_ENABLE_WARP_SYNC_BUILTINS)
namespace stackbuild_hip {
template <typename T> __device__ inline lanes match_any(T value) {
  lanes same = 0;
  for (int lane = 0; lane < warpSize; ++lane)
    if (__shfl(value, lane) == value) same |= 1ull << lane;
  return same & __ballot(1);
}
template <typename T> __device__ inline lanes match_all(lanes mask, T value, int* all) {
  const lanes there = __ballot(1) & mask;
  const T first = __shfl(value, __ffsll(static_cast<unsigned long long>(there)) - 1);
  const bool same = (__ballot(!(first == value)) & mask) == 0;
  if (all) *all = same;
  return same ? there : 0;
}
}  // namespace stackbuild_hip
#ifndef __shfl_sync
#define __shfl_sync(mask, ...) __shfl(__VA_ARGS__)
#define __shfl_up_sync(mask, ...) __shfl_up(__VA_ARGS__)
#define __shfl_down_sync(mask, ...) __shfl_down(__VA_ARGS__)
#define __shfl_xor_sync(mask, ...) __shfl_xor(__VA_ARGS__)
#endif
#ifndef __ballot_sync
#define __ballot_sync(mask, predicate) (__ballot(predicate) & stackbuild_hip::lane_mask(mask))
#endif
#ifndef __any_sync
#define __any_sync(mask, predicate) ((__ballot(predicate) & stackbuild_hip::lane_mask(mask)) != 0)
#define __all_sync(mask, predicate) \
  ((__ballot(!(predicate)) & stackbuild_hip::lane_mask(mask)) == 0)
#endif
#ifndef __activemask
#define __activemask() __ballot(1)
#endif
#ifndef __match_any_sync
#define __match_any_sync(mask, value) (stackbuild_hip::match_any(value) & stackbuild_hip::lane_mask(mask))
#endif
#ifndef __match_all_sync
#define __match_all_sync(mask, value, all) stackbuild_hip::match_all(stackbuild_hip::lane_mask(mask), value, all)
#endif
#endif

// Minima and maxima by type. Templates, because code says ::umin too, and a HIP that gains them is then preferred.
template <typename = void> __device__ inline unsigned umin(unsigned a, unsigned b) { return b < a ? b : a; }
template <typename = void> __device__ inline unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }
template <typename = void> __device__ inline long long llmin(long long a, long long b) { return b < a ? b : a; }
template <typename = void> __device__ inline long long llmax(long long a, long long b) { return a < b ? b : a; }
template <typename = void> __device__ inline unsigned long long ullmin(unsigned long long a, unsigned long long b) {
  return b < a ? b : a;
}
template <typename = void> __device__ inline unsigned long long ullmax(unsigned long long a, unsigned long long b) {
  return a < b ? b : a;
}

#define __nv_bswap16(x) __builtin_bswap16(x)
#define __nv_bswap32(x) __builtin_bswap32(x)
#define __nv_bswap64(x) __builtin_bswap64(x)
#define __prof_trigger(counter) static_cast<void>(counter)

// CUDA's _rn forms keep the compiler from fusing a product with a sum; here it may, unless it is told -ffp-contract=off.
#define __hadd_rn(a, b) __hadd(a, b)
#define __hsub_rn(a, b) __hsub(a, b)
#define __hmul_rn(a, b) __hmul(a, b)
#define __hadd2_rn(a, b) __hadd2(a, b)
#define __hsub2_rn(a, b) __hsub2(a, b)
#define __hmul2_rn(a, b) __hmul2(a, b)

#define __syncwarp(...) stackbuild_hip::syncwarp(__VA_ARGS__)
#define __trap() stackbuild_hip::trap()
#define __brkpt() stackbuild_hip::trap()
#define __nanosleep(ns) stackbuild_hip::nanosleep(ns)
#define __dp4a(a, b, c) stackbuild_hip::dp4a(a, b, c)

#define __ldcg(from) stackbuild_hip::load(from)
#define __ldca(from) stackbuild_hip::load(from)
#define __ldcs(from) stackbuild_hip::load(from)
#define __ldlu(from) stackbuild_hip::load(from)
#define __ldcv(from) stackbuild_hip::load(from)
#define __stwb(to, value) stackbuild_hip::store(to, value)
#define __stcg(to, value) stackbuild_hip::store(to, value)
#define __stcs(to, value) stackbuild_hip::store(to, value)
#define __stwt(to, value) stackbuild_hip::store(to, value)

#define __reduce_add_sync(mask, v) stackbuild_hip::reduce(stackbuild_hip::lane_mask(mask), v, [](auto a, auto b) { return a + b; })
#define __reduce_min_sync(mask, v) stackbuild_hip::reduce(stackbuild_hip::lane_mask(mask), v, [](auto a, auto b) { return b < a ? b : a; })
#define __reduce_max_sync(mask, v) stackbuild_hip::reduce(stackbuild_hip::lane_mask(mask), v, [](auto a, auto b) { return a < b ? b : a; })
#define __reduce_and_sync(mask, v) stackbuild_hip::reduce(stackbuild_hip::lane_mask(mask), v, [](auto a, auto b) { return a & b; })
#define __reduce_or_sync(mask, v) stackbuild_hip::reduce(stackbuild_hip::lane_mask(mask), v, [](auto a, auto b) { return a | b; })
#define __reduce_xor_sync(mask, v) stackbuild_hip::reduce(stackbuild_hip::lane_mask(mask), v, [](auto a, auto b) { return a ^ b; })

#define STACKBUILD_SIMD(part, a, b, expression) \
  stackbuild_hip::simd<part>(a, b, [](int x, int y) { return expression; })
#define __vadd4(a, b) STACKBUILD_SIMD(unsigned char, a, b, x + y)
#define __vsub4(a, b) STACKBUILD_SIMD(unsigned char, a, b, x - y)
#define __vadd2(a, b) STACKBUILD_SIMD(unsigned short, a, b, x + y)
#define __vsub2(a, b) STACKBUILD_SIMD(unsigned short, a, b, x - y)
#define __vaddss4(a, b) STACKBUILD_SIMD(signed char, a, b, stackbuild_hip::clamped<signed char>(x + y, -128, 127))
#define __vsubss4(a, b) STACKBUILD_SIMD(signed char, a, b, stackbuild_hip::clamped<signed char>(x - y, -128, 127))
#define __vcmpeq4(a, b) STACKBUILD_SIMD(unsigned char, a, b, x == y ? 0xff : 0)
#define __vcmpne4(a, b) STACKBUILD_SIMD(unsigned char, a, b, x != y ? 0xff : 0)
#define __vcmpeq2(a, b) STACKBUILD_SIMD(unsigned short, a, b, x == y ? 0xffff : 0)
#define __vmins2(a, b) STACKBUILD_SIMD(short, a, b, y < x ? y : x)
#define __vmaxs2(a, b) STACKBUILD_SIMD(short, a, b, x < y ? y : x)
#define __vminu2(a, b) STACKBUILD_SIMD(unsigned short, a, b, y < x ? y : x)
#define __vmaxu2(a, b) STACKBUILD_SIMD(unsigned short, a, b, x < y ? y : x)
#define __vmins4(a, b) STACKBUILD_SIMD(signed char, a, b, y < x ? y : x)
#define __vmaxs4(a, b) STACKBUILD_SIMD(signed char, a, b, x < y ? y : x)
#define __vminu4(a, b) STACKBUILD_SIMD(unsigned char, a, b, y < x ? y : x)
#define __vmaxu4(a, b) STACKBUILD_SIMD(unsigned char, a, b, x < y ? y : x)

#ifdef STACKBUILD_HAS_BF16
#define __float2bfloat162_rn(x) stackbuild_hip::twice(x)
#define __floats2bfloat162_rn(x, y) stackbuild_hip::pair(x, y)
#define __float2bfloat16_rn(x) __float2bfloat16(x)
#define make_bfloat162(x, y) stackbuild_hip::pair_of(x, y)
// A bfloat16 is a float with a shorter fraction, so its conversion to float is exact.
#define __bfloat162int_rn(x) __float2int_rn(__bfloat162float(x))
#define __bfloat162int_rz(x) __float2int_rz(__bfloat162float(x))
#define __bfloat162int_rd(x) __float2int_rd(__bfloat162float(x))
#define __bfloat162int_ru(x) __float2int_ru(__bfloat162float(x))
#define __bfloat162uint_rn(x) __float2uint_rn(__bfloat162float(x))
#define __bfloat162uint_rz(x) __float2uint_rz(__bfloat162float(x))
#define __bfloat162uint_rd(x) __float2uint_rd(__bfloat162float(x))
#define __bfloat162uint_ru(x) __float2uint_ru(__bfloat162float(x))
#endif
