// NVIDIA's Hopper (sm_90a) as the kernels use it: wgmma, which reads its operands from shared memory itself, four waves
// to an instruction, and barriers that count the bytes of the tensor copy engine.
// Facts about wgmma, its descriptors and its register layout: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"
// and "mbarrier"; for an operand whose K is not dense, CUTLASS's canonical layouts (cute/arch/mma_sm90_desc.hpp).
#pragma once

#include "common/device.hpp"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

namespace sbk::wgmma {

__device__ __forceinline__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int Running>
__device__ __forceinline__ void wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Running) : "memory");
}
// What this thread wrote to shared memory, wgmma sees after the next barrier.
__device__ __forceinline__ void publish() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Sums that wgmma may still be writing are not touched before this point, nor after it while it writes.
template <int N>
__device__ __forceinline__ void pin(float (&sums)[N]) {
#pragma unroll
  for (int i = 0; i < N; i += 8) {
#pragma unroll
    for (int j = i; j < i + 8; ++j) asm volatile("" : "+f"(sums[j])::"memory");
  }
}

// Of rows of 128 bytes with K dense, swizzled (vector v of row r lies in place v ^ (r % 8)), eight rows to 1024 bytes; or of
// 64 bytes (v ^ (r / 2 % 4)). 32 bytes further along K is 2 more in the address field. Where K runs down the rows instead, the
// columns behind a row's last lie `further` bytes on.
template <int RowBytes = 128>
__device__ __forceinline__ uint64_t descriptor(const char* tile, int further = 16) {
  static_assert(RowBytes == 128 || RowBytes == 64);
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(tile));
  constexpr uint64_t kSwizzle = uint64_t{RowBytes == 128 ? 1 : 2} << 62, kEightRows = uint64_t{8 * RowBytes >> 4} << 32;
  return kSwizzle | kEightRows | static_cast<uint64_t>(further >> 4) << 16 | ((address & 0x3ffff) >> 4);
}

#define SBK_R4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SBK_R16(d, i) SBK_R4(d, i), SBK_R4(d, i + 4), SBK_R4(d, i + 8), SBK_R4(d, i + 12)
#define SBK_R32(d, i) SBK_R16(d, i), SBK_R16(d, i + 16)
#define SBK_R64(d, i) SBK_R32(d, i), SBK_R32(d, i + 32)
#define SBK_TEXT16 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
#define SBK_TEXT32                                                                                                    \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29," \
  "%30,%31"
#define SBK_TEXT48 SBK_TEXT32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47"
#define SBK_TEXT64 SBK_TEXT48 ",%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define SBK_TEXT80 SBK_TEXT64 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79"
#define SBK_TEXT96 SBK_TEXT80 ",%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define SBK_TEXT128                                                                                                  \
  SBK_TEXT96                                                                                                         \
  ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118," \
  "%119,%120,%121,%122,%123,%124,%125,%126,%127"

// d = a bᵀ, added to d where Add: 64 rows of a, N rows of b (d has N / 2 values a thread), 16 values of K.
template <bool Add = true>
__device__ __forceinline__ void multiply(float (&d)[16], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 " SBK_TEXT16 "}, %16, %17, %18, 1, 1, 0, 0;"
               : SBK_R16(d, 0)
               : "l"(a), "l"(b), "n"(Add ? 1 : 0));
}
template <bool Add = true>
__device__ __forceinline__ void multiply(float (&d)[32], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " SBK_TEXT32 "}, %32, %33, %34, 1, 1, 0, 0;"
               : SBK_R32(d, 0)
               : "l"(a), "l"(b), "n"(Add ? 1 : 0));
}
template <bool Add = true>
__device__ __forceinline__ void multiply(float (&d)[64], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " SBK_TEXT64 "}, %64, %65, %66, 1, 1, 0, 0;"
               : SBK_R64(d, 0)
               : "l"(a), "l"(b), "n"(Add ? 1 : 0));
}
template <bool Add = true>
__device__ __forceinline__ void multiply(float (&d)[128], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 " SBK_TEXT128 "}, %128, %129, %130, 1, 1, 0, 0;"
               : SBK_R64(d, 0), SBK_R64(d, 64)
               : "l"(a), "l"(b), "n"(Add ? 1 : 0));
}

// d += a b: `a` in registers, laid out as two neighbouring 8-column pieces of sums are; the K of b runs down its rows.
__device__ __forceinline__ void multiply_down(float (&d)[32], const uint32_t* a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " SBK_TEXT32 "}, {%32,%33,%34,%35}, %36, 1, 1, 1, 1;"
               : SBK_R32(d, 0)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
__device__ __forceinline__ void multiply_down(float (&d)[48], const uint32_t* a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n96k16.f32.f16.f16 " SBK_TEXT48 "}, {%48,%49,%50,%51}, %52, 1, 1, 1, 1;"
               : SBK_R32(d, 0), SBK_R16(d, 32)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
__device__ __forceinline__ void multiply_down(float (&d)[64], const uint32_t* a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " SBK_TEXT64 "}, {%64,%65,%66,%67}, %68, 1, 1, 1, 1;"
               : SBK_R64(d, 0)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
__device__ __forceinline__ void multiply_down(float (&d)[80], const uint32_t* a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n160k16.f32.f16.f16 " SBK_TEXT80 "}, {%80,%81,%82,%83}, %84, 1, 1, 1, 1;"
               : SBK_R64(d, 0), SBK_R16(d, 64)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
__device__ __forceinline__ void multiply_down(float (&d)[96], const uint32_t* a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n192k16.f32.f16.f16 " SBK_TEXT96 "}, {%96,%97,%98,%99}, %100, 1, 1, 1, 1;"
               : SBK_R64(d, 0), SBK_R32(d, 64)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
__device__ __forceinline__ void multiply_down(float (&d)[128], const uint32_t* a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 " SBK_TEXT128 "}, {%128,%129,%130,%131}, %132, 1, 1, 1, 1;"
               : SBK_R64(d, 0), SBK_R64(d, 64)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

#undef SBK_TEXT128
#undef SBK_TEXT96
#undef SBK_TEXT80
#undef SBK_TEXT64
#undef SBK_TEXT48
#undef SBK_TEXT32
#undef SBK_TEXT16
#undef SBK_R64
#undef SBK_R32
#undef SBK_R16
#undef SBK_R4

}  // namespace sbk::wgmma

namespace sbk {

// A barrier in shared memory for arrivals and bytes. Its phase's parity flips each time all have come.
class Barrier {
 public:
  __device__ __forceinline__ void init(uint32_t arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(arrivals) : "memory");
  }
  __device__ __forceinline__ void arrive() {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory");
  }
  __device__ __forceinline__ void arrive_expecting(uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address()), "r"(bytes) : "memory");
  }
  __device__ __forceinline__ void wait(uint32_t parity) {
    asm volatile(
        "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@done bra over;\n"
        "bra again;\nover:\n}" ::"r"(address()),
        "r"(parity)
        : "memory");
  }
  __device__ __forceinline__ uint32_t address() const { return static_cast<uint32_t>(__cvta_generic_to_shared(&state_)); }

 private:
  uint64_t state_;
};

// Threads of some of a block's waves: barrier `id` (1 to 15), as many threads as come to it.
__device__ __forceinline__ void sync_some(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ void arrive_some(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Of all threads of a cluster's blocks that have not ended.
__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// The address of this block's `place` in the shared memory of another block of the cluster, and what is there.
__device__ __forceinline__ uint32_t shared_of(int block, const void* place) {
  uint32_t there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(place))), "r"(block));
  return there;
}
__device__ __forceinline__ float load_there(uint32_t address) {
  float value;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");
  return value;
}

}  // namespace sbk

#endif  // sm_90a
