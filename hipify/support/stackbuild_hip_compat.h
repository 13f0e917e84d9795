// What CUDA sources use and HIP lacks, by ROCm version. Written beside converted sources by `stackbuild hipify`.
//
// All are functions and templates, never function-like macros: a source may define a function of the same name, under a
// test of CUDA's version say, and a macro would rewrite that definition. Each is a worse match than what HIP or a source
// has by that name (a template with an empty pack of its own), so it gives way where there is another.
// Lane masks are 64 bits wide. Nothing here assumes a wavefront of 32 or of 64 lanes.
#ifndef STACKBUILD_HIP_COMPAT_H  // two trees may have this file each, which #pragma once takes for two files
#define STACKBUILD_HIP_COMPAT_H

#include <hip/hip_runtime.h>
#include <hip/hip_version.h>
#include <hip/hip_fp16.h>
#if __has_include(<hip/hip_bf16.h>)
#include <hip/hip_bf16.h>
#define STACKBUILD_HAS_BF16 1
#endif

namespace stackbuild_hip {

using lanes = unsigned long long;

// A lane mask of CUDA code. CUDA's parameter has 32 bits, so 32 ones of whatever width mean all lanes, also of a wavefront
// of 64, and so do 64 ones; any other mask names the lanes it names. At run time "all" are those that are there: HIP 7's own __all_sync
// compares with the mask, and a block may have fewer lanes than a wavefront.
template <typename Mask> __host__ __device__ constexpr lanes lane_mask(Mask mask) {
  const lanes wide = sizeof(Mask) > 4 ? static_cast<lanes>(mask) : static_cast<lanes>(static_cast<unsigned>(mask));
  if (wide != 0xffffffffull && wide != ~0ull) return wide;
#ifdef __HIP_DEVICE_COMPILE__
  if (!__builtin_is_constant_evaluated()) return __ballot(1);
#endif
  return ~0ull;
}

// __syncwarp: the lanes of a wavefront run together, so memory order is what remains to be kept.
__device__ inline void syncwarp(lanes = ~0ull) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

// __reduce_*_sync over the lanes of a mask that are there, one lane at a time.
template <typename T, typename Op> __device__ inline T reduce(lanes mask, T value, Op op) {
  const lanes there = __ballot(1) & mask;
  bool first = true;
  T total{};
  for (int lane = 0; lane < warpSize; ++lane) {
    const T other = __shfl(value, lane);
    if (there >> lane & 1) {
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
template <typename Packed> __device__ inline unsigned bits(Packed packed) {
  unsigned word = 0;
  __builtin_memcpy(&word, &packed, sizeof(packed));
  return word;
}

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

// Attributes and calling conventions of CUDA's that mean nothing here.
#ifndef CUDAAPI
#define CUDAAPI
#endif
#ifndef CUDARTAPI
#define CUDARTAPI
#endif
#ifndef CUDART_CB
#define CUDART_CB
#endif
#ifndef __grid_constant__
#define __grid_constant__
#endif
#ifndef __nv_pure__
#define __nv_pure__ __attribute__((pure))
#endif

// The *_sync functions: HIP 6 hides its own behind HIP_ENABLE_WARP_SYNC_BUILTINS, earlier ones have none. The masked
// lanes take part in any case, since a wavefront runs together; lanes outside the mask must not be read.
#if HIP_VERSION_MAJOR < 6 || (HIP_VERSION_MAJOR < 7 && !defined(HIP_ENABLE_WARP_SYNC_BUILTINS))
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
// Numbers. What is a class may have a function of the source's own, which is then the better match for each number.
namespace stackbuild_hip {
template <bool> struct when {};
template <> struct when<true> { using type = int; };
template <typename T> constexpr bool is_number = __is_arithmetic(T) || __is_enum(T);
struct any {
  int value;
  template <typename From> __device__ any(From from) : value(static_cast<int>(from)) {}
};
}  // namespace stackbuild_hip
template <typename Mask, typename T, typename... Rest, typename stackbuild_hip::when<stackbuild_hip::is_number<T>>::type = 0>
__device__ inline auto __shfl_sync(Mask, T value, Rest... rest) -> decltype(__shfl(value, rest...)) {
  return __shfl(value, rest...);
}
template <typename T, typename stackbuild_hip::when<!stackbuild_hip::is_number<T>>::type = 0>
__device__ inline auto __shfl_sync(stackbuild_hip::any, T value, stackbuild_hip::any lane, stackbuild_hip::any width = warpSize)
    -> decltype(__shfl(value, 1, 1)) {
  return __shfl(value, lane.value, width.value);
}
template <typename Mask, typename T, typename... Rest, typename stackbuild_hip::when<stackbuild_hip::is_number<T>>::type = 0>
__device__ inline auto __shfl_up_sync(Mask, T value, Rest... rest) -> decltype(__shfl_up(value, rest...)) {
  return __shfl_up(value, rest...);
}
template <typename T, typename stackbuild_hip::when<!stackbuild_hip::is_number<T>>::type = 0>
__device__ inline auto __shfl_up_sync(stackbuild_hip::any, T value, stackbuild_hip::any lane, stackbuild_hip::any width = warpSize)
    -> decltype(__shfl_up(value, 1, 1)) {
  return __shfl_up(value, lane.value, width.value);
}
template <typename Mask, typename T, typename... Rest, typename stackbuild_hip::when<stackbuild_hip::is_number<T>>::type = 0>
__device__ inline auto __shfl_down_sync(Mask, T value, Rest... rest) -> decltype(__shfl_down(value, rest...)) {
  return __shfl_down(value, rest...);
}
template <typename T, typename stackbuild_hip::when<!stackbuild_hip::is_number<T>>::type = 0>
__device__ inline auto __shfl_down_sync(stackbuild_hip::any, T value, stackbuild_hip::any lane, stackbuild_hip::any width = warpSize)
    -> decltype(__shfl_down(value, 1, 1)) {
  return __shfl_down(value, lane.value, width.value);
}
template <typename Mask, typename T, typename... Rest, typename stackbuild_hip::when<stackbuild_hip::is_number<T>>::type = 0>
__device__ inline auto __shfl_xor_sync(Mask, T value, Rest... rest) -> decltype(__shfl_xor(value, rest...)) {
  return __shfl_xor(value, rest...);
}
template <typename T, typename stackbuild_hip::when<!stackbuild_hip::is_number<T>>::type = 0>
__device__ inline auto __shfl_xor_sync(stackbuild_hip::any, T value, stackbuild_hip::any lane, stackbuild_hip::any width = warpSize)
    -> decltype(__shfl_xor(value, 1, 1)) {
  return __shfl_xor(value, lane.value, width.value);
}
#ifdef STACKBUILD_HAS_BF16
namespace stackbuild_hip {
template <typename T> __device__ inline T of_bits(unsigned word) {
  T value;
  __builtin_memcpy(static_cast<void*>(&value), &word, sizeof(value));
  return value;
}
}  // namespace stackbuild_hip
template <typename = void>
__device__ inline __hip_bfloat16 __shfl_sync(stackbuild_hip::any, __hip_bfloat16 value, stackbuild_hip::any lane, stackbuild_hip::any width = warpSize) {
  return stackbuild_hip::of_bits<__hip_bfloat16>(__shfl(stackbuild_hip::bits(value), lane.value, width.value));
}
template <typename = void>
__device__ inline __hip_bfloat162 __shfl_sync(stackbuild_hip::any, __hip_bfloat162 value, stackbuild_hip::any lane, stackbuild_hip::any width = warpSize) {
  return stackbuild_hip::of_bits<__hip_bfloat162>(__shfl(stackbuild_hip::bits(value), lane.value, width.value));
}
template <typename = void>
__device__ inline __hip_bfloat16 __shfl_up_sync(stackbuild_hip::any, __hip_bfloat16 value, stackbuild_hip::any lane, stackbuild_hip::any width = warpSize) {
  return stackbuild_hip::of_bits<__hip_bfloat16>(__shfl_up(stackbuild_hip::bits(value), lane.value, width.value));
}
template <typename = void>
__device__ inline __hip_bfloat162 __shfl_up_sync(stackbuild_hip::any, __hip_bfloat162 value, stackbuild_hip::any lane, stackbuild_hip::any width = warpSize) {
  return stackbuild_hip::of_bits<__hip_bfloat162>(__shfl_up(stackbuild_hip::bits(value), lane.value, width.value));
}
template <typename = void>
__device__ inline __hip_bfloat16 __shfl_down_sync(stackbuild_hip::any, __hip_bfloat16 value, stackbuild_hip::any lane, stackbuild_hip::any width = warpSize) {
  return stackbuild_hip::of_bits<__hip_bfloat16>(__shfl_down(stackbuild_hip::bits(value), lane.value, width.value));
}
template <typename = void>
__device__ inline __hip_bfloat162 __shfl_down_sync(stackbuild_hip::any, __hip_bfloat162 value, stackbuild_hip::any lane, stackbuild_hip::any width = warpSize) {
  return stackbuild_hip::of_bits<__hip_bfloat162>(__shfl_down(stackbuild_hip::bits(value), lane.value, width.value));
}
template <typename = void>
__device__ inline __hip_bfloat16 __shfl_xor_sync(stackbuild_hip::any, __hip_bfloat16 value, stackbuild_hip::any lane, stackbuild_hip::any width = warpSize) {
  return stackbuild_hip::of_bits<__hip_bfloat16>(__shfl_xor(stackbuild_hip::bits(value), lane.value, width.value));
}
template <typename = void>
__device__ inline __hip_bfloat162 __shfl_xor_sync(stackbuild_hip::any, __hip_bfloat162 value, stackbuild_hip::any lane, stackbuild_hip::any width = warpSize) {
  return stackbuild_hip::of_bits<__hip_bfloat162>(__shfl_xor(stackbuild_hip::bits(value), lane.value, width.value));
}
#endif
#endif
#ifndef __ballot_sync
template <typename Mask> __device__ inline stackbuild_hip::lanes __ballot_sync(Mask mask, int predicate) {
  return __ballot(predicate) & stackbuild_hip::lane_mask(mask);
}
#endif
#ifndef __any_sync
template <typename Mask> __device__ inline int __any_sync(Mask mask, int predicate) {
  return (__ballot(predicate) & stackbuild_hip::lane_mask(mask)) != 0;
}
template <typename Mask> __device__ inline int __all_sync(Mask mask, int predicate) {
  return (__ballot(!predicate) & stackbuild_hip::lane_mask(mask)) == 0;
}
#endif
#ifndef __activemask
template <typename = void> __device__ inline stackbuild_hip::lanes __activemask() { return __ballot(1); }
#endif
#ifndef __match_any_sync
template <typename Mask, typename T> __device__ inline stackbuild_hip::lanes __match_any_sync(Mask mask, T value) {
  return stackbuild_hip::match_any(value) & stackbuild_hip::lane_mask(mask);
}
#endif
#ifndef __match_all_sync
template <typename Mask, typename T>
__device__ inline stackbuild_hip::lanes __match_all_sync(Mask mask, T value, int* all) {
  return stackbuild_hip::match_all(stackbuild_hip::lane_mask(mask), value, all);
}
#endif
#endif

// CUDA 13 takes a place with a kind and flags where HIP takes a device's number.
template <typename = void>
inline hipError_t hipMemPrefetchAsync(const void* from, size_t bytes, hipMemLocation place, unsigned, hipStream_t stream = nullptr) {
  return hipMemPrefetchAsync(from, bytes, place.type == hipMemLocationTypeDevice ? place.id : hipCpuDeviceId, stream);
}
template <typename = void>
inline hipError_t hipMemAdvise(const void* from, size_t bytes, hipMemoryAdvise advice, hipMemLocation place) {
  return hipMemAdvise(from, bytes, advice, place.type == hipMemLocationTypeDevice ? place.id : hipCpuDeviceId);
}

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

template <typename = void> __host__ __device__ constexpr unsigned short __nv_bswap16(unsigned short x) {
  return __builtin_bswap16(x);
}
template <typename = void> __host__ __device__ constexpr unsigned __nv_bswap32(unsigned x) { return __builtin_bswap32(x); }
template <typename = void> __host__ __device__ constexpr unsigned long long __nv_bswap64(unsigned long long x) { return __builtin_bswap64(x); }
template <typename = void> __device__ inline void __prof_trigger(int) {}

// CUDA's _rn forms keep the compiler from fusing a product with a sum; here it may, unless it is told -ffp-contract=off.
template <typename T, typename... None> __host__ __device__ inline T __hadd_rn(T a, T b, None...) { return __hadd(a, b); }
template <typename T, typename... None> __host__ __device__ inline T __hadd2_rn(T a, T b, None...) { return __hadd2(a, b); }
template <typename T, typename... None> __host__ __device__ inline T __hsub_rn(T a, T b, None...) { return __hsub(a, b); }
template <typename T, typename... None> __host__ __device__ inline T __hsub2_rn(T a, T b, None...) { return __hsub2(a, b); }
template <typename T, typename... None> __host__ __device__ inline T __hmul_rn(T a, T b, None...) { return __hmul(a, b); }
template <typename T, typename... None> __host__ __device__ inline T __hmul2_rn(T a, T b, None...) { return __hmul2(a, b); }

// HIP up to 7.2 has these of pairs of bfloat16 alone. A NaN gives way to a number, as in fmaxf and fminf.
template <typename... None> __device__ inline __half2 __hmax2(__half2 a, __half2 b, None...) {
  return __floats2half2_rn(fmaxf(__low2float(a), __low2float(b)), fmaxf(__high2float(a), __high2float(b)));
}
template <typename... None> __device__ inline __half2 __hmin2(__half2 a, __half2 b, None...) {
  return __floats2half2_rn(fminf(__low2float(a), __low2float(b)), fminf(__high2float(a), __high2float(b)));
}

#ifndef __syncwarp
template <typename... None> __device__ inline void __syncwarp(stackbuild_hip::lanes mask = ~0ull, None...) {
  stackbuild_hip::syncwarp(mask);
}
#endif
template <typename = void> __device__ inline void __trap() { __builtin_trap(); }
template <typename = void> __device__ inline void __brkpt() { __builtin_trap(); }
// s_sleep counts about 64 clocks; CUDA's argument is a wish as well.
template <typename = void> __device__ inline void __nanosleep(unsigned) { __builtin_amdgcn_s_sleep(1); }
template <typename = void> __device__ inline int __dp4a(int a, int b, int c) { return stackbuild_hip::dot<signed char>(a, b, c); }
template <typename = void> __device__ inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) { return stackbuild_hip::dot<unsigned char>(a, b, c); }
template <typename = void> __device__ inline int __dp4a(char4 a, char4 b, int c) {
  return stackbuild_hip::dot<signed char>(static_cast<int>(stackbuild_hip::bits(a)), static_cast<int>(stackbuild_hip::bits(b)), c);
}
template <typename = void> __device__ inline unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) {
  return stackbuild_hip::dot<unsigned char>(static_cast<unsigned>(stackbuild_hip::bits(a)), static_cast<unsigned>(stackbuild_hip::bits(b)), c);
}

#ifndef __ldcg
template <typename T, typename... None> __device__ inline T __ldcg(const T* from, None...) { return *from; }
template <typename T, typename... None> __device__ inline T __ldca(const T* from, None...) { return *from; }
template <typename T, typename... None> __device__ inline T __ldcs(const T* from, None...) { return *from; }
template <typename T, typename... None> __device__ inline T __ldlu(const T* from, None...) { return *from; }
template <typename T, typename... None> __device__ inline T __ldcv(const T* from, None...) { return *from; }
template <typename T, typename From, typename... None> __device__ inline void __stwb(T* to, From value, None...) { *to = value; }
template <typename T, typename From, typename... None> __device__ inline void __stcg(T* to, From value, None...) { *to = value; }
template <typename T, typename From, typename... None> __device__ inline void __stcs(T* to, From value, None...) { *to = value; }
template <typename T, typename From, typename... None> __device__ inline void __stwt(T* to, From value, None...) { *to = value; }
#endif

template <typename Mask, typename T, typename... None> __device__ inline T __reduce_add_sync(Mask mask, T value, None...) {
  return stackbuild_hip::reduce(stackbuild_hip::lane_mask(mask), value, [](T a, T b) -> T { return a + b; });
}
template <typename Mask, typename T, typename... None> __device__ inline T __reduce_min_sync(Mask mask, T value, None...) {
  return stackbuild_hip::reduce(stackbuild_hip::lane_mask(mask), value, [](T a, T b) -> T { return b < a ? b : a; });
}
template <typename Mask, typename T, typename... None> __device__ inline T __reduce_max_sync(Mask mask, T value, None...) {
  return stackbuild_hip::reduce(stackbuild_hip::lane_mask(mask), value, [](T a, T b) -> T { return a < b ? b : a; });
}
template <typename Mask, typename T, typename... None> __device__ inline T __reduce_and_sync(Mask mask, T value, None...) {
  return stackbuild_hip::reduce(stackbuild_hip::lane_mask(mask), value, [](T a, T b) -> T { return a & b; });
}
template <typename Mask, typename T, typename... None> __device__ inline T __reduce_or_sync(Mask mask, T value, None...) {
  return stackbuild_hip::reduce(stackbuild_hip::lane_mask(mask), value, [](T a, T b) -> T { return a | b; });
}
template <typename Mask, typename T, typename... None> __device__ inline T __reduce_xor_sync(Mask mask, T value, None...) {
  return stackbuild_hip::reduce(stackbuild_hip::lane_mask(mask), value, [](T a, T b) -> T { return a ^ b; });
}

template <typename = void> __device__ inline unsigned __vadd4(unsigned a, unsigned b) {
  return stackbuild_hip::simd<unsigned char>(a, b, [](int x, int y) { return x + y; });
}
template <typename = void> __device__ inline unsigned __vsub4(unsigned a, unsigned b) {
  return stackbuild_hip::simd<unsigned char>(a, b, [](int x, int y) { return x - y; });
}
template <typename = void> __device__ inline unsigned __vadd2(unsigned a, unsigned b) {
  return stackbuild_hip::simd<unsigned short>(a, b, [](int x, int y) { return x + y; });
}
template <typename = void> __device__ inline unsigned __vsub2(unsigned a, unsigned b) {
  return stackbuild_hip::simd<unsigned short>(a, b, [](int x, int y) { return x - y; });
}
template <typename = void> __device__ inline unsigned __vaddss4(unsigned a, unsigned b) {
  return stackbuild_hip::simd<signed char>(a, b, [](int x, int y) { return stackbuild_hip::clamped<signed char>(x + y, -128, 127); });
}
template <typename = void> __device__ inline unsigned __vsubss4(unsigned a, unsigned b) {
  return stackbuild_hip::simd<signed char>(a, b, [](int x, int y) { return stackbuild_hip::clamped<signed char>(x - y, -128, 127); });
}
template <typename = void> __device__ inline unsigned __vcmpeq4(unsigned a, unsigned b) {
  return stackbuild_hip::simd<unsigned char>(a, b, [](int x, int y) { return x == y ? 0xff : 0; });
}
template <typename = void> __device__ inline unsigned __vcmpne4(unsigned a, unsigned b) {
  return stackbuild_hip::simd<unsigned char>(a, b, [](int x, int y) { return x != y ? 0xff : 0; });
}
template <typename = void> __device__ inline unsigned __vcmpeq2(unsigned a, unsigned b) {
  return stackbuild_hip::simd<unsigned short>(a, b, [](int x, int y) { return x == y ? 0xffff : 0; });
}
template <typename = void> __device__ inline unsigned __vmins2(unsigned a, unsigned b) {
  return stackbuild_hip::simd<short>(a, b, [](int x, int y) { return y < x ? y : x; });
}
template <typename = void> __device__ inline unsigned __vmaxs2(unsigned a, unsigned b) {
  return stackbuild_hip::simd<short>(a, b, [](int x, int y) { return x < y ? y : x; });
}
template <typename = void> __device__ inline unsigned __vminu2(unsigned a, unsigned b) {
  return stackbuild_hip::simd<unsigned short>(a, b, [](int x, int y) { return y < x ? y : x; });
}
template <typename = void> __device__ inline unsigned __vmaxu2(unsigned a, unsigned b) {
  return stackbuild_hip::simd<unsigned short>(a, b, [](int x, int y) { return x < y ? y : x; });
}
template <typename = void> __device__ inline unsigned __vmins4(unsigned a, unsigned b) {
  return stackbuild_hip::simd<signed char>(a, b, [](int x, int y) { return y < x ? y : x; });
}
template <typename = void> __device__ inline unsigned __vmaxs4(unsigned a, unsigned b) {
  return stackbuild_hip::simd<signed char>(a, b, [](int x, int y) { return x < y ? y : x; });
}
template <typename = void> __device__ inline unsigned __vminu4(unsigned a, unsigned b) {
  return stackbuild_hip::simd<unsigned char>(a, b, [](int x, int y) { return y < x ? y : x; });
}
template <typename = void> __device__ inline unsigned __vmaxu4(unsigned a, unsigned b) {
  return stackbuild_hip::simd<unsigned char>(a, b, [](int x, int y) { return x < y ? y : x; });
}

#ifdef STACKBUILD_HAS_BF16
template <typename = void> __host__ __device__ inline __hip_bfloat162 __float2bfloat162_rn(float x) { return stackbuild_hip::twice(x); }
template <typename = void> __host__ __device__ inline __hip_bfloat162 __floats2bfloat162_rn(float x, float y) { return stackbuild_hip::pair(x, y); }
template <typename = void> __host__ __device__ inline __hip_bfloat16 __float2bfloat16_rn(float x) { return __float2bfloat16(x); }
template <typename = void> __host__ __device__ inline __hip_bfloat162 make_bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) { return stackbuild_hip::pair_of(x, y); }
// A bfloat16 is a float with a shorter fraction, so its conversion to float is exact.
template <typename = void> __device__ inline int __bfloat162int_rn(__hip_bfloat16 x) { return __float2int_rn(__bfloat162float(x)); }
template <typename = void> __device__ inline int __bfloat162int_rz(__hip_bfloat16 x) { return __float2int_rz(__bfloat162float(x)); }
template <typename = void> __device__ inline int __bfloat162int_rd(__hip_bfloat16 x) { return __float2int_rd(__bfloat162float(x)); }
template <typename = void> __device__ inline int __bfloat162int_ru(__hip_bfloat16 x) { return __float2int_ru(__bfloat162float(x)); }
template <typename = void> __device__ inline unsigned __bfloat162uint_rn(__hip_bfloat16 x) { return __float2uint_rn(__bfloat162float(x)); }
template <typename = void> __device__ inline unsigned __bfloat162uint_rz(__hip_bfloat16 x) { return __float2uint_rz(__bfloat162float(x)); }
template <typename = void> __device__ inline unsigned __bfloat162uint_rd(__hip_bfloat16 x) { return __float2uint_rd(__bfloat162float(x)); }
template <typename = void> __device__ inline unsigned __bfloat162uint_ru(__hip_bfloat16 x) { return __float2uint_ru(__bfloat162float(x)); }
#endif
#endif  // STACKBUILD_HIP_COMPAT_H
