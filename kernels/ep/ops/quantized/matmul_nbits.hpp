// com.microsoft's MatMulNBits: y = a bᵀ + bias with b [n, k] of 2, 4 or 8 bits a value, in blocks along k that have a scale and
// a zero point each: b = (code - zero point) · scale. In float16 the scale is taken out of a block's sum, which is float32:
// scale · Σ a (code - zero point). So b neither overflows nor becomes a subnormal number. In float32 that sum could overflow
// itself, and b is made as it is defined.
#pragma once

#include "core/kernel/parallel_for.hpp"

namespace rk {

template <class T>
constexpr bool kScaleOfSums = sizeof(T) == 2;

// A scale that is not finite makes its block's every product NaN: an infinity times a difference of zero is one, and
// infinities of both signs add up to one.
RK_INLINE float checked_scale(float scale) { return fmaf(0.0f, scale, scale); }

// What all forms read. A column of b is `blocks` blocks of 2^shift codes, low bits first, whole bytes a block.
template <class T>
struct NBits {
  const T* a;           // [m, k]
  const uint8_t* b;     // [n, blocks, 2^shift * bits / 8]
  const T* scales;      // [n, blocks]
  const uint8_t* packed_zeros;  // [n, zero_bytes], packed as b is; null: none of these
  const T* zeros;       // [n, blocks]; null: none of these
  const T* bias;        // [n], or null
  T* y;                 // [m, n]
  int64_t m, n, k;
  int64_t blocks, zero_bytes;
  int32_t bits, shift;
  bool vectors;         // rows of a begin on whole vectors

  RK_HD int64_t column_bytes() const { return (blocks << shift) * bits / 8; }
  RK_INLINE float zero(int64_t column, int64_t block) const {
    if (packed_zeros != nullptr) {
      const int64_t bit = block * bits;
      return static_cast<float>(packed_zeros[column * zero_bytes + bit / 8] >> (bit % 8) & ((1 << bits) - 1));
    }
    if (zeros != nullptr) return static_cast<float>(zeros[column * blocks + block]);
    return static_cast<float>(1 << (bits - 1));
  }
};

}  // namespace rk
