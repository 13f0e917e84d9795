// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear: one scale for all, for each place of an axis, or for each block of one.
#include <limits>

#include "core/graph/graph.hpp"
#include "core/tensor/types.hpp"
#include "ops/quantized/integers.hpp"

namespace rk {
namespace {

constexpr Type kInt16 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16;
constexpr Type kUint16 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16;

// Which scale an element has: element = (outer, i, inner) with i on the axis.
struct ScalePlaces {
  int64_t extent = 1, inner = 1, block = 1;  // of the axis; elements behind it; places of the axis that share a scale
  int64_t outer_stride = 0, axis_stride = 0, inner_stride = 0;
  bool single = true;

  RK_D int64_t operator()(int64_t element) const {
    if (single) return 0;
    const int64_t behind = element % inner, rest = element / inner;
    return rest / extent * outer_stride + rest % extent / block * axis_stride + behind * inner_stride;
  }
};

// Fails where x, scale and zero point do not belong together.
ScalePlaces places_of(const Shape& x, const Tensor& scale, const Tensor& zero, int64_t axis_given, int64_t block) {
  require(!zero || zero.shape == scale.shape || (zero.size() == 1 && scale.size() == 1), "the zero point is not of the scale's shape");
  ScalePlaces places;
  if (scale.shape.rank() == 0 || (scale.shape.rank() == 1 && scale.size() == 1 && block == 0)) return places;
  const int axis = axis_in(axis_given, x.rank());
  places.single = false;
  places.extent = x[axis];
  places.inner = x.product(axis + 1, x.rank());
  if (block == 0) {
    require(scale.shape.rank() == 1 && scale.size() == places.extent, "the scale is neither one number nor one for each place of the axis");
    places.axis_stride = 1;
    return places;
  }
  Shape shape_of_scale = x;
  shape_of_scale[axis] = (places.extent + block - 1) / block;
  require(scale.shape == shape_of_scale, "the scale is not of the input's shape with a place for each block of the axis");
  places.block = block;
  places.outer_stride = shape_of_scale[axis] * places.inner;
  places.axis_stride = places.inner;
  places.inner_stride = 1;
  return places;
}

template <class T, class Q>
struct Quantize {
  const T* x;
  const void* scales;
  bool half_scales;
  const Q* zeros;  // or null
  Q* y;
  ScalePlaces places;
  int32_t low, high;

  RK_D void operator()(int64_t i) const {
    const int64_t at = places(i);
    const float scale = half_scales ? load(static_cast<const half_t*>(scales)[at]) : static_cast<const float*>(scales)[at];
    y[i] = static_cast<Q>(saturate(load(x[i]) / scale, zeros != nullptr ? static_cast<int32_t>(zeros[at]) : 0, low, high));
  }
};

template <class Q, class T>
struct Dequantize {
  const Q* x;
  const void* scales;
  bool half_scales;
  const Q* zeros;  // or null
  T* y;
  ScalePlaces places;

  RK_D void operator()(int64_t i) const {
    const int64_t at = places(i);
    const float scale = half_scales ? load(static_cast<const half_t*>(scales)[at]) : static_cast<const float*>(scales)[at];
    const int64_t whole = static_cast<int64_t>(x[i]) - (zeros != nullptr ? static_cast<int64_t>(zeros[at]) : 0);
    y[i] = static_cast<T>(static_cast<float>(whole) * scale);
  }
};

template <class F>
void with_quantized(Type type, F f) {
  switch (type) {
    case kInt8: return f(int8_t{});
    case kUint8: return f(uint8_t{});
    case kInt16: return f(int16_t{});
    case kUint16: return f(uint16_t{});
    case kInt32: return f(int32_t{});
    default: fail("the element type is not one of int8, uint8, int16, uint16, int32");
  }
}

class Scaling : public Kernel {
 protected:
  explicit Scaling(const Info& info) : axis_(info.integer("axis", 1)), block_(info.integer("block_size", 0)) {}
  ScalePlaces places(const Tensor& x, const Tensor& scale, const Tensor& zero) const { return places_of(x.shape, scale, zero, axis_, block_); }

 private:
  int64_t axis_, block_;
};

class QuantizeLinear : public Scaling {
 public:
  explicit QuantizeLinear(const Info& info) : Scaling(info) {}
  void compute(Context& context) override {
    const Tensor x = context.input(0), scale = context.input(1), zero = context.input(2);
    const ScalePlaces at = places(x, scale, zero);
    const Tensor y = context.output(0, x.shape);
    with_float(x.type, [&](auto from) {
      with_quantized(y.type, [&](auto to) {
        using T = decltype(from);
        using Q = decltype(to);
        if constexpr (sizeof(Q) < 4)
          for_each(context.stream(), x.size(),
                   Quantize<T, Q>{x.as<const T>(), scale.data, scale.type == kHalf, zero ? zero.as<const Q>() : nullptr, y.as<Q>(), at,
                                  std::numeric_limits<Q>::min(), std::numeric_limits<Q>::max()});
      });
    });
  }
};

class DequantizeLinear : public Scaling {
 public:
  explicit DequantizeLinear(const Info& info) : Scaling(info) {}
  void compute(Context& context) override {
    const Tensor x = context.input(0), scale = context.input(1), zero = context.input(2);
    const ScalePlaces at = places(x, scale, zero);
    const Tensor y = context.output(0, x.shape);
    with_quantized(x.type, [&](auto from) {
      with_float(y.type, [&](auto to) {
        using Q = decltype(from);
        using T = decltype(to);
        for_each(context.stream(), x.size(),
                 Dequantize<Q, T>{x.as<const Q>(), scale.data, scale.type == kHalf, zero ? zero.as<const Q>() : nullptr, y.as<T>(), at});
      });
    });
  }
};

// The least and the greatest of a part of x, and of 0.
struct RangeOfPart {
  const float* x;
  int64_t size, part;
  float* least;
  float* greatest;

  RK_D void operator()(int64_t row, const Team& team) const {
    const int64_t end = (row + 1) * part < size ? (row + 1) * part : size;
    float low = 0.0f, high = 0.0f;
    for (int64_t i = row * part + team.rank; i < end; i += team.size) {
      low = fminf(low, x[i]);
      high = fmaxf(high, x[i]);
    }
    low = -team.max(-low);
    high = team.max(high);
    if (team.rank != 0) return;
    least[row] = low;
    greatest[row] = high;
  }
};

// Scale and zero point by ONNX's definition of DynamicQuantizeLinear, from the parts' ranges.
struct RangeToScale {
  const float* least;
  const float* greatest;
  int64_t parts;
  float* scale;
  uint8_t* zero;

  RK_D void operator()(int64_t, const Team& team) const {
    float low = 0.0f, high = 0.0f;
    for (int64_t i = team.rank; i < parts; i += team.size) {
      low = fminf(low, least[i]);
      high = fmaxf(high, greatest[i]);
    }
    low = -team.max(-low);
    high = team.max(high);
    if (team.rank != 0) return;
    const float step = high == low ? 1.0f : (high - low) / 255.0f;
    *scale = step;
    *zero = static_cast<uint8_t>(saturate(0.0f - low / step, 0, 0, 255));
  }
};

class DynamicQuantizeLinear : public Kernel {
 public:
  explicit DynamicQuantizeLinear(const Info&) {}
  void compute(Context& context) override {
    constexpr int64_t kPart = 16384, kMostParts = 1024;
    const Tensor x = context.input(0);
    const Tensor y = context.output(0, x.shape), scale = context.output(1, Shape{}), zero = context.output(2, Shape{});
    const int64_t part = std::max(kPart, (x.size() + kMostParts - 1) / kMostParts), parts = (x.size() + part - 1) / part;
    auto* ranges = static_cast<float*>(context.scratch(static_cast<size_t>(2 * std::max<int64_t>(parts, 1)) * sizeof(float)));
    for_rows(context.stream(), parts, part, RangeOfPart{x.as<const float>(), x.size(), part, ranges, ranges + parts});
    for_rows(context.stream(), 1, parts, RangeToScale{ranges, ranges + parts, parts, scale.as<float>(), zero.as<uint8_t>()});
    for_each(context.stream(), x.size(),
             Quantize<float, uint8_t>{x.as<const float>(), scale.data, false, zero.as<const uint8_t>(), y.as<uint8_t>(), {}, 0, 255});
  }
};

// precision: the type of the quotient, float32 where nothing is said.
bool divides_in_float(const NodeView& node) {
  const int64_t precision = node.integer("precision", 0);
  return precision == 0 || precision == kFloat;
}

std::vector<Type> shorts() { return {kInt8, kUint8, kInt16, kUint16}; }

std::vector<Type> with_int32(std::vector<Type> types) {
  types.push_back(kInt32);
  return types;
}

}  // namespace

void add_quantize_linear(Entries& e) {
  const std::vector<Type> wide = {kFloat};
  e.push_back({"QuantizeLinear", 10, 18, {{"T1", wide}, {"T2", bytes()}}, make<QuantizeLinear>});
  e.push_back({"QuantizeLinear", 19, 20, {{"T1", floats()}, {"T2", bytes()}}, make<QuantizeLinear>});
  e.push_back({"QuantizeLinear", 21, 22, {{"T1", floats()}, {"T2", shorts()}}, make<QuantizeLinear>});
  e.push_back({"QuantizeLinear", 23, kNewest, {{"T1", floats()}, {"T2", floats()}, {"T3", shorts()}}, make<QuantizeLinear>, {}, {}, false, false,
               divides_in_float});
  e.push_back({"DequantizeLinear", 10, 18, {{"T", with_int32(bytes())}}, make<DequantizeLinear>});
  e.push_back({"DequantizeLinear", 19, 20, {{"T1", with_int32(bytes())}, {"T2", floats()}}, make<DequantizeLinear>});
  e.push_back({"DequantizeLinear", 21, 22, {{"T1", with_int32(shorts())}, {"T2", floats()}}, make<DequantizeLinear>});
  e.push_back({"DequantizeLinear", 23, kNewest, {{"T1", with_int32(shorts())}, {"T2", floats()}, {"T3", floats()}}, make<DequantizeLinear>});
  e.push_back({"DynamicQuantizeLinear", 11, kNewest, {{"T1", wide}, {"T2", {kUint8}}}, make<DynamicQuantizeLinear>});
}

}  // namespace rk
