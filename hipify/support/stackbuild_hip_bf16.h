// CUDA's bfloat16 for HIP before 6.0, whose __hip_bfloat16 is a struct of bits without conversions and operators: the same
// bits with both, and what takes or gives HIP's own takes or gives these. Written by `stackbuild hipify`.
#ifndef STACKBUILD_HIP_BF16_H  // two trees may have this file each, which #pragma once takes for two files
#define STACKBUILD_HIP_BF16_H

#include <hip/hip_runtime.h>

#include <hip/hip_bf16.h>

struct stackbuild_hip_bfloat16 : __hip_bfloat16 {
  stackbuild_hip_bfloat16() = default;
  __host__ __device__ stackbuild_hip_bfloat16(__hip_bfloat16 value) : __hip_bfloat16(value) {}
  __host__ __device__ stackbuild_hip_bfloat16(float value) : __hip_bfloat16(__float2bfloat16(value)) {}
  __host__ __device__ operator float() const { return __bfloat162float(*this); }
  __host__ __device__ stackbuild_hip_bfloat16& operator+=(float other) { return *this = float(*this) + other; }
  __host__ __device__ stackbuild_hip_bfloat16& operator-=(float other) { return *this = float(*this) - other; }
  __host__ __device__ stackbuild_hip_bfloat16& operator*=(float other) { return *this = float(*this) * other; }
  __host__ __device__ stackbuild_hip_bfloat16& operator/=(float other) { return *this = float(*this) / other; }
  __host__ __device__ stackbuild_hip_bfloat16& operator++() { return *this += 1.0f; }
  __host__ __device__ stackbuild_hip_bfloat16& operator--() { return *this -= 1.0f; }
  __host__ __device__ stackbuild_hip_bfloat16 operator++(int) { const stackbuild_hip_bfloat16 before = *this; *this += 1.0f; return before; }
  __host__ __device__ stackbuild_hip_bfloat16 operator--(int) { const stackbuild_hip_bfloat16 before = *this; *this -= 1.0f; return before; }
};

struct stackbuild_hip_bfloat162 {
  stackbuild_hip_bfloat16 x, y;

  stackbuild_hip_bfloat162() = default;
  __host__ __device__ stackbuild_hip_bfloat162(stackbuild_hip_bfloat16 x, stackbuild_hip_bfloat16 y) : x(x), y(y) {}
  __host__ __device__ stackbuild_hip_bfloat162(__hip_bfloat162 both) : x(both.x), y(both.y) {}
  __host__ __device__ operator __hip_bfloat162() const {
    __hip_bfloat162 both;
    both.x = x;
    both.y = y;
    return both;
  }
};

// Sums and products are made in 32 bits and rounded once, as CUDA's are; of two values they are bfloat16 again.
__host__ __device__ inline stackbuild_hip_bfloat16 operator+(__hip_bfloat16 a, __hip_bfloat16 b) { return __bfloat162float(a) + __bfloat162float(b); }
__host__ __device__ inline stackbuild_hip_bfloat16 operator-(__hip_bfloat16 a, __hip_bfloat16 b) { return __bfloat162float(a) - __bfloat162float(b); }
__host__ __device__ inline stackbuild_hip_bfloat16 operator*(__hip_bfloat16 a, __hip_bfloat16 b) { return __bfloat162float(a) * __bfloat162float(b); }
__host__ __device__ inline stackbuild_hip_bfloat16 operator/(__hip_bfloat16 a, __hip_bfloat16 b) { return __bfloat162float(a) / __bfloat162float(b); }
__host__ __device__ inline stackbuild_hip_bfloat16 operator-(__hip_bfloat16 a) { return -__bfloat162float(a); }
__host__ __device__ inline bool operator==(__hip_bfloat16 a, __hip_bfloat16 b) { return __bfloat162float(a) == __bfloat162float(b); }
__host__ __device__ inline bool operator!=(__hip_bfloat16 a, __hip_bfloat16 b) { return __bfloat162float(a) != __bfloat162float(b); }
__host__ __device__ inline bool operator<(__hip_bfloat16 a, __hip_bfloat16 b) { return __bfloat162float(a) < __bfloat162float(b); }
__host__ __device__ inline bool operator>(__hip_bfloat16 a, __hip_bfloat16 b) { return __bfloat162float(a) > __bfloat162float(b); }
__host__ __device__ inline bool operator<=(__hip_bfloat16 a, __hip_bfloat16 b) { return __bfloat162float(a) <= __bfloat162float(b); }
__host__ __device__ inline bool operator>=(__hip_bfloat16 a, __hip_bfloat16 b) { return __bfloat162float(a) >= __bfloat162float(b); }

// Pairs work by parts; a comparison of pairs holds where it holds for both.
__host__ __device__ inline stackbuild_hip_bfloat162 operator+(stackbuild_hip_bfloat162 a, stackbuild_hip_bfloat162 b) { return {a.x + b.x, a.y + b.y}; }
__host__ __device__ inline stackbuild_hip_bfloat162 operator-(stackbuild_hip_bfloat162 a, stackbuild_hip_bfloat162 b) { return {a.x - b.x, a.y - b.y}; }
__host__ __device__ inline stackbuild_hip_bfloat162 operator*(stackbuild_hip_bfloat162 a, stackbuild_hip_bfloat162 b) { return {a.x * b.x, a.y * b.y}; }
__host__ __device__ inline stackbuild_hip_bfloat162 operator/(stackbuild_hip_bfloat162 a, stackbuild_hip_bfloat162 b) { return {a.x / b.x, a.y / b.y}; }
__host__ __device__ inline stackbuild_hip_bfloat162& operator+=(stackbuild_hip_bfloat162& a, stackbuild_hip_bfloat162 b) { return a = a + b; }
__host__ __device__ inline stackbuild_hip_bfloat162& operator-=(stackbuild_hip_bfloat162& a, stackbuild_hip_bfloat162 b) { return a = a - b; }
__host__ __device__ inline stackbuild_hip_bfloat162& operator*=(stackbuild_hip_bfloat162& a, stackbuild_hip_bfloat162 b) { return a = a * b; }
__host__ __device__ inline stackbuild_hip_bfloat162& operator/=(stackbuild_hip_bfloat162& a, stackbuild_hip_bfloat162 b) { return a = a / b; }
__host__ __device__ inline bool operator==(stackbuild_hip_bfloat162 a, stackbuild_hip_bfloat162 b) { return a.x == b.x && a.y == b.y; }
__host__ __device__ inline bool operator!=(stackbuild_hip_bfloat162 a, stackbuild_hip_bfloat162 b) { return a.x != b.x && a.y != b.y; }
__host__ __device__ inline bool operator<(stackbuild_hip_bfloat162 a, stackbuild_hip_bfloat162 b) { return a.x < b.x && a.y < b.y; }
__host__ __device__ inline bool operator>(stackbuild_hip_bfloat162 a, stackbuild_hip_bfloat162 b) { return a.x > b.x && a.y > b.y; }
__host__ __device__ inline bool operator<=(stackbuild_hip_bfloat162 a, stackbuild_hip_bfloat162 b) { return a.x <= b.x && a.y <= b.y; }
__host__ __device__ inline bool operator>=(stackbuild_hip_bfloat162 a, stackbuild_hip_bfloat162 b) { return a.x >= b.x && a.y >= b.y; }
__host__ __device__ inline stackbuild_hip_bfloat162 operator-(stackbuild_hip_bfloat162 a) { return {-a.x, -a.y}; }
__host__ __device__ inline stackbuild_hip_bfloat162 operator+(stackbuild_hip_bfloat162 a) { return a; }
__host__ __device__ inline stackbuild_hip_bfloat162& operator++(stackbuild_hip_bfloat162& a) { ++a.x; ++a.y; return a; }
__host__ __device__ inline stackbuild_hip_bfloat162 operator++(stackbuild_hip_bfloat162& a, int) { const stackbuild_hip_bfloat162 before = a; ++a; return before; }
__host__ __device__ inline stackbuild_hip_bfloat162& operator--(stackbuild_hip_bfloat162& a) { --a.x; --a.y; return a; }
__host__ __device__ inline stackbuild_hip_bfloat162 operator--(stackbuild_hip_bfloat162& a, int) { const stackbuild_hip_bfloat162 before = a; --a; return before; }
#endif  // STACKBUILD_HIP_BF16_H
