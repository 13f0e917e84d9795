// Quantized numbers of 8 bits, signed or not, as int.
#pragma once

#include <cstdint>

#include "core/kernel/kernel.hpp"
#include "core/kernel/parallel_for.hpp"

namespace rk {

constexpr Type kInt8 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8;
constexpr Type kUint8 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;

inline std::vector<Type> bytes() { return {kInt8, kUint8}; }

// A byte read as int8 or uint8: (byte ^ flip) - flip.
struct ByteReader {
  int32_t flip = 0;

  static ByteReader of(Type type) { return {type == kInt8 ? 0x80 : 0}; }
  RK_HD int operator()(uint8_t byte) const { return (byte ^ flip) - flip; }

  // As a signed byte a number is itself, or 128 less: what its byte, or four, are XORed with, and what it is less.
  RK_HD uint8_t flip_byte() const { return static_cast<uint8_t>(flip ^ 0x80); }
  RK_HD uint32_t flip_to_signed() const { return flip_byte() * 0x01010101u; }
  RK_HD int32_t less_when_signed() const { return flip_byte(); }
};

// `value` rounded to the nearest integer, even where two are as near, plus `zero`, in [low, high]. A NaN becomes `low`.
RK_INLINE int32_t saturate(float value, int32_t zero, int32_t low, int32_t high) {
  const float whole = rintf(value) + static_cast<float>(zero);
  if (!(whole > static_cast<float>(low))) return low;
  return whole < static_cast<float>(high) ? static_cast<int32_t>(whole) : high;
}

// Which of `count` numbers a line has: of one the first, else line modulo their number. Lines are fewer than 2^31.
class Period {
 public:
  Period() = default;
  explicit Period(int64_t count) : count_(static_cast<uint32_t>(count < 1 ? 1 : count)), divisor_(count_) {}
  RK_INLINE uint32_t operator()(uint32_t line) const { return count_ == 1 ? 0 : line - divisor_.divide(line) * count_; }

 private:
  uint32_t count_ = 1;
  Divisor divisor_;
};

// Scales, float32 or float16.
struct Scales {
  const void* data = nullptr;
  bool half = false;
  Period period;

  static Scales of(const Tensor& tensor) { return {tensor.data, tensor.type == kHalf, Period(tensor.size())}; }
  RK_INLINE float operator()(uint32_t line) const {
    const uint32_t at = period(line);
    return half ? static_cast<float>(static_cast<const half_t*>(data)[at]) : static_cast<const float*>(data)[at];
  }
};

// Zero points of 8 bits; none: 0.
struct ZeroPoints {
  const uint8_t* data = nullptr;
  ByteReader reader;
  Period period;

  static ZeroPoints of(const Tensor& tensor) {
    if (!tensor) return {};
    return {tensor.as<const uint8_t>(), ByteReader::of(tensor.type), Period(tensor.size())};
  }
  RK_INLINE int32_t operator()(uint32_t line) const { return data == nullptr ? 0 : reader(data[period(line)]); }
};

}  // namespace rk
