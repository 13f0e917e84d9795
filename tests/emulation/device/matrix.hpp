// The matrix instructions that the kernels use, by the lane layouts that AMD documents (README.md names the sources). A[i][k]
// and B[k][j] are the operands of D[i][j] = C[i][j] + sum over k.
#pragma once

#include <cmath>
#include <cstring>

#include "lanes.hpp"

typedef _Float16 emulated_half4 __attribute__((vector_size(8)));
typedef _Float16 emulated_half8 __attribute__((vector_size(16)));
typedef _Float16 emulated_half16 __attribute__((vector_size(32)));
typedef float emulated_float4 __attribute__((vector_size(16)));
typedef float emulated_float8 __attribute__((vector_size(32)));
typedef int emulated_int2 __attribute__((vector_size(8)));
typedef int emulated_int4 __attribute__((vector_size(16)));
typedef int emulated_int8 __attribute__((vector_size(32)));

namespace emulation {

// gfx90a's matrix units take subnormal float16 inputs for zeros.
inline float matrix_input(_Float16 x) {
#ifdef __gfx90a__
  uint16_t bits;
  memcpy(&bits, &x, sizeof bits);
  if ((bits & 0x7c00) == 0) return 0.0f;
#endif
  return static_cast<float>(x);
}

template <class V>
struct Operands {
  V a, b;
};

template <class V>
Gathered matrix_inputs(Operation operation, const Operands<V>& mine) {
  const Gathered all = gather(operation, &mine, sizeof mine);
  for (int i = 0; i < kWave; ++i) {
    if (!all.has(i)) {
      complain("a matrix instruction runs with lanes switched off");
      break;
    }
  }
  return all;
}

// CDNA, waves of 64: lane l, value j: A[l % 16][4 (l / 16) + j], B[4 (l / 16) + j][l % 16]; D: value i: [4 (l / 16) + i][l % 16].
inline emulated_float4 mfma_16x16x16(emulated_half4 a, emulated_half4 b, emulated_float4 c) {
  using In = Operands<emulated_half4>;
  const In mine{a, b};
  const Gathered all = matrix_inputs(Operation::mfma, mine);
  const int l = wave_lane();
  for (int i = 0; i < 4; ++i) {
    float sum = 0.0f;
    for (int k = 0; k < 16; ++k) {
      sum += matrix_input(all.of<In>(4 * (l / 16) + i + 16 * (k / 4)).a[k % 4]) *
             matrix_input(all.of<In>(l % 16 + 16 * (k / 4)).b[k % 4]);
    }
    c[i] += sum;
  }
  return c;
}

// CDNA: lane l: A[l % 16][l / 16], B[l / 16][l % 16]; D as above.
inline emulated_float4 mfma_16x16x4(float a, float b, emulated_float4 c) {
  using In = Operands<float>;
  const In mine{a, b};
  const Gathered all = matrix_inputs(Operation::mfma, mine);
  const int l = wave_lane();
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 4; ++k) {
      c[i] = fmaf(all.of<In>(4 * (l / 16) + i + 16 * k).a, all.of<In>(l % 16 + 16 * k).b, c[i]);
    }
  }
  return c;
}

// RDNA3, waves of 32: lane l: A[l % 16][0 … 15], B[0 … 15][l % 16], the same in both halves of the wave; D: value i:
// [2 i + l / 16][l % 16].
inline emulated_float8 wmma_gfx11(emulated_half16 a, emulated_half16 b, emulated_float8 c) {
  using In = Operands<emulated_half16>;
  const In mine{a, b};
  const Gathered all = matrix_inputs(Operation::wmma, mine);
  const int l = wave_lane();
  if (memcmp(all.data + l * all.bytes, all.data + (l ^ 16) * all.bytes, all.bytes) != 0) {
    complain("wmma: the halves of the wave hold different operands");
  }
  for (int i = 0; i < 8; ++i) {
    const emulated_half16 x = all.of<In>(2 * i + l / 16).a, y = all.of<In>(l % 16).b;
    float sum = 0.0f;
    for (int k = 0; k < 16; ++k) sum += static_cast<float>(x[k]) * static_cast<float>(y[k]);
    c[i] += sum;
  }
  return c;
}

// RDNA4, waves of 32: lane l, value j: A[l % 16][8 (l / 16) + j], B[8 (l / 16) + j][l % 16]; D: value i: [8 (l / 16) + i][l % 16].
inline emulated_float8 wmma_gfx12(emulated_half8 a, emulated_half8 b, emulated_float8 c) {
  using In = Operands<emulated_half8>;
  const In mine{a, b};
  const Gathered all = matrix_inputs(Operation::wmma, mine);
  const int l = wave_lane();
  for (int i = 0; i < 8; ++i) {
    float sum = 0.0f;
    for (int k = 0; k < 16; ++k) {
      sum += static_cast<float>(all.of<In>(8 * (l / 16) + i + 16 * (k / 8)).a[k % 8]) *
             static_cast<float>(all.of<In>(l % 16 + 16 * (k / 8)).b[k % 8]);
    }
    c[i] += sum;
  }
  return c;
}

// Of 8-bit integers. CDNA: lane l, byte j of B: A[l % 16][B (l / 16) + j], B[B (l / 16) + j][l % 16]; D as above.
template <class V>
emulated_int4 mfma_bytes(V a, V b, emulated_int4 c) {
  using In = Operands<V>;
  constexpr int kBytes = sizeof(V);
  const In mine{a, b};
  const Gathered all = matrix_inputs(Operation::mfma, mine);
  const int l = wave_lane();
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 4 * kBytes; ++k) {
      const auto x = static_cast<int8_t>(all.of<In>(4 * (l / 16) + i + 16 * (k / kBytes)).a >> k % kBytes * 8);
      const auto y = static_cast<int8_t>(all.of<In>(l % 16 + 16 * (k / kBytes)).b >> k % kBytes * 8);
      c[i] = static_cast<int>(static_cast<uint32_t>(c[i]) + static_cast<uint32_t>(x * y));
    }
  }
  return c;
}

// One byte of a vector of words, as the instruction reads it.
template <class V>
int wmma_byte(const V& words, int k, bool is_signed) {
  const auto byte = static_cast<uint8_t>(static_cast<uint32_t>(words[k / 4]) >> k % 4 * 8);
  return is_signed ? static_cast<int8_t>(byte) : byte;
}

// RDNA3: lane l: A[l % 16][0 … 15], B[0 … 15][l % 16], the same in both halves of the wave; D as of float16.
inline emulated_int8 wmma_bytes_gfx11(bool signed_a, emulated_int4 a, bool signed_b, emulated_int4 b, emulated_int8 c, bool clamp) {
  using In = Operands<emulated_int4>;
  const In mine{a, b};
  const Gathered all = matrix_inputs(Operation::wmma, mine);
  const int l = wave_lane();
  if (clamp) complain("wmma: sums that saturate are not emulated");
  if (memcmp(all.data + l * all.bytes, all.data + (l ^ 16) * all.bytes, all.bytes) != 0) {
    complain("wmma: the halves of the wave hold different operands");
  }
  for (int i = 0; i < 8; ++i) {
    const emulated_int4 x = all.of<In>(2 * i + l / 16).a, y = all.of<In>(l % 16).b;
    for (int k = 0; k < 16; ++k) {
      c[i] = static_cast<int>(static_cast<uint32_t>(c[i]) + static_cast<uint32_t>(wmma_byte(x, k, signed_a) * wmma_byte(y, k, signed_b)));
    }
  }
  return c;
}

// RDNA4: lane l, byte j: A[l % 16][8 (l / 16) + j], B[8 (l / 16) + j][l % 16]; D as of float16.
inline emulated_int8 wmma_bytes_gfx12(bool signed_a, emulated_int2 a, bool signed_b, emulated_int2 b, emulated_int8 c, bool clamp) {
  using In = Operands<emulated_int2>;
  const In mine{a, b};
  const Gathered all = matrix_inputs(Operation::wmma, mine);
  const int l = wave_lane();
  if (clamp) complain("wmma: sums that saturate are not emulated");
  for (int i = 0; i < 8; ++i) {
    for (int k = 0; k < 16; ++k) {
      const emulated_int2 x = all.of<In>(8 * (l / 16) + i + 16 * (k / 8)).a, y = all.of<In>(l % 16 + 16 * (k / 8)).b;
      c[i] = static_cast<int>(static_cast<uint32_t>(c[i]) + static_cast<uint32_t>(wmma_byte(x, k % 8, signed_a) * wmma_byte(y, k % 8, signed_b)));
    }
  }
  return c;
}

}  // namespace emulation

#define __builtin_amdgcn_mfma_i32_16x16x16i8(a, b, c, x, y, z) ::emulation::mfma_bytes<int>(a, b, c)
#define __builtin_amdgcn_mfma_i32_16x16x32_i8(a, b, c, x, y, z) ::emulation::mfma_bytes<int64_t>(a, b, c)
#define __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(...) ::emulation::wmma_bytes_gfx11(__VA_ARGS__)
#define __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(...) ::emulation::wmma_bytes_gfx12(__VA_ARGS__)
#define __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, x, y, z) ::emulation::mfma_16x16x16(a, b, c)
#define __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, c, x, y, z) ::emulation::mfma_16x16x4(a, b, c)
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c) ::emulation::wmma_gfx11(a, b, c)
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c) ::emulation::wmma_gfx12(a, b, c)
