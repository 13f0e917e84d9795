#pragma once

#include <cstdint>

struct __half {
  _Float16 v;
  __half() = default;
  __half(float x) : v(static_cast<_Float16>(x)) {}
  operator float() const { return static_cast<float>(v); }
};
struct __half2 {
  __half x, y;
};
inline float __half2float(__half x) { return static_cast<float>(x.v); }
inline __half __float2half(float x) { return __half(x); }
inline __half __float2half_rn(float x) { return __half(x); }
