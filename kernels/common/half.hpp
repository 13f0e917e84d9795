// float16 on the host, for the CPU implementations: IEEE 754 binary16, rounded to nearest even.
#pragma once

#include <cstdint>
#include <cstring>

namespace sbk {

struct Half {
  uint16_t bits;
};

inline float to_float(float value) { return value; }

inline float to_float(Half half) {
  const uint32_t sign = static_cast<uint32_t>(half.bits & 0x8000u) << 16;
  const uint32_t rest = static_cast<uint32_t>(half.bits & 0x7fffu) << 13;
  // Shifted into float32's fields the exponent is 112 too small: a product by 2^112 mends it, subnormals included.
  uint32_t bits = rest;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  value *= 5.192296858534828e33f;
  std::memcpy(&bits, &value, sizeof bits);
  if ((half.bits & 0x7c00u) == 0x7c00u) bits = 0x7f800000u | (rest & 0x007fffffu);
  bits |= sign;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T>
T from_float(float value);

template <>
inline float from_float<float>(float value) { return value; }

template <>
inline Half from_float<Half>(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  bits &= 0x7fffffffu;
  if (bits > 0x7f800000u) return {static_cast<uint16_t>(sign | 0x7e00u)};   // NaN
  if (bits >= 0x477ff000u) return {static_cast<uint16_t>(sign | 0x7c00u)};  // rounds past 65504, or infinite
  if (bits < 0x38800000u) {  // subnormal: adding 0.5 leaves the value, rounded to 2^-24, in the low bits
    float magnitude;
    std::memcpy(&magnitude, &bits, sizeof bits);
    magnitude += 0.5f;
    std::memcpy(&bits, &magnitude, sizeof bits);
    return {static_cast<uint16_t>(sign | (bits - 0x3f000000u))};
  }
  const uint32_t odd = (bits >> 13) & 1u;
  bits += 0xfffu + odd;
  return {static_cast<uint16_t>(sign | ((bits - 0x38000000u) >> 13))};
}

}  // namespace sbk
