// Resize: the nearest element, or the linear mean of neighbours along up to three axes.
#include <algorithm>
#include <cmath>

#include "core/graph/graph.hpp"
#include "core/kernel/kernel.hpp"
#include "core/kernel/parallel_for.hpp"
#include "core/tensor/strides.hpp"
#include "core/tensor/types.hpp"

namespace rk {
namespace {

// ONNX's coordinate_transformation_mode and nearest_mode.
enum class Coordinates { half_pixel, half_pixel_symmetric, pytorch_half_pixel, asymmetric, align_corners, half_pixel_nearest };
enum class Rounding { prefer_floor, prefer_ceil, floor, ceil };

constexpr int kMostLinear = 3;  // axes

struct ResizeAxis {
  int extent;      // of x
  int new_extent;  // of y
  int64_t stride;  // of x
  float scale;
  bool changes;
  Divisor by_new_extent;

  // Where in x the place `at` of y lies. Each form is as ONNX Runtime's CPU provider has it, in its order of operations and its types, so
  // that both take the same element.
  RK_HD float coordinate(int at, Coordinates form) const {
    const float place = static_cast<float>(at);
    switch (form) {
      case Coordinates::asymmetric: return place / scale;
      case Coordinates::align_corners:
        return new_extent == 1 ? 0.0f : place * static_cast<float>(extent - 1) / static_cast<float>(new_extent - 1);
      case Coordinates::half_pixel_nearest: return (place + 0.5f) / scale;
      case Coordinates::pytorch_half_pixel: return new_extent == 1 ? 0.0f : (place + 0.5f) / scale - 0.5f;
      case Coordinates::half_pixel_symmetric: {
        const float adjustment = static_cast<float>(new_extent) / (scale * static_cast<float>(extent));
        const float center = static_cast<float>(extent) / 2.0f;
        const double middle = static_cast<double>(center * (1.0f - adjustment)) + (static_cast<double>(place) + 0.5) / static_cast<double>(scale);
        return static_cast<float>(middle - 0.5);
      }
      default: return (place + 0.5f) / scale - 0.5f;
    }
  }
};

struct ResizeWork {
  ResizeAxis axes[kMaxRank];
  int rank;
  Coordinates form;
  Rounding rounding;
};

// What divides to a tie may miss it by an error of rounding: the CPU provider takes so much as one.
RK_HD inline int nearest(float at, Rounding rounding, int extent) {
  constexpr float kTie = 1e-6f;
  const float below = floorf(at);
  const bool tie = fabsf(at - below - 0.5f) < kTie;
  float place = below;
  if (rounding == Rounding::ceil) place = ceilf(at);
  else if (rounding == Rounding::prefer_floor) place = tie ? below : roundf(at);
  else if (rounding == Rounding::prefer_ceil) place = tie ? below + 1.0f : roundf(at);
  const int index = static_cast<int>(place);
  return index < 0 ? 0 : (index >= extent ? extent - 1 : index);
}

// How far in x the element is that y has at place `at` of an axis.
RK_HD inline int64_t nearest_offset(const ResizeWork& work, const ResizeAxis& axis, int at) {
  return (axis.changes ? nearest(axis.coordinate(at, work.form), work.rounding, axis.extent) : at) * axis.stride;
}

// The same over the first axes of y, `rest` being the place among all of theirs.
RK_HD inline int64_t nearest_offset(const ResizeWork& work, int axes, uint32_t rest) {
  int64_t offset = 0;
  for (int i = axes - 1; i >= 0; --i) {
    const ResizeAxis& axis = work.axes[i];
    const uint32_t next = axis.by_new_extent.divide(rest);
    offset += nearest_offset(work, axis, static_cast<int>(rest - next * axis.by_new_extent.value()));
    rest = next;
  }
  return offset;
}

template <class T>
struct NearestElement {
  const T* x;
  T* y;
  ResizeWork work;

  RK_D void operator()(int64_t index) const {
    y[index] = x[nearest_offset(work, work.rank, static_cast<uint32_t>(index))];
  }
};

// N neighbours of a line of y, whose whole packs a thread makes one by one.
template <class T, int N>
struct NearestPack {
  const T* x;
  Pack<T, N>* y;
  Divisor by_packs;  // of a line
  ResizeWork work;

  RK_D void operator()(int64_t index) const {
    const uint32_t rest = by_packs.divide(static_cast<uint32_t>(index));
    const int first = static_cast<int>(static_cast<uint32_t>(index) - rest * by_packs.value()) * N;
    const T* const from = x + nearest_offset(work, work.rank - 1, rest);
    Pack<T, N> values;
    for (int j = 0; j < N; ++j) values.v[j] = from[nearest_offset(work, work.axes[work.rank - 1], first + j)];
    y[index] = values;
  }
};

template <class T>
struct LinearElement {
  const T* x;
  T* y;
  ResizeWork work;

  RK_D void operator()(int64_t index) const {
    auto rest = static_cast<uint32_t>(index);
    int64_t offset = 0, step[kMostLinear] = {};
    float weight[kMostLinear] = {};  // of the upper neighbour
    int linear = 0;
    for (int i = work.rank - 1; i >= 0; --i) {
      const ResizeAxis& axis = work.axes[i];
      const uint32_t next = axis.by_new_extent.divide(rest);
      int at = static_cast<int>(rest - next * axis.by_new_extent.value());
      rest = next;
      if (axis.changes) {
        const float last = static_cast<float>(axis.extent - 1);
        const float place = fminf(fmaxf(axis.coordinate(at, work.form), 0.0f), last);
        at = static_cast<int>(place);
        step[linear] = at + 1 < axis.extent ? axis.stride : 0;
        weight[linear++] = place - static_cast<float>(at);
      }
      offset += at * axis.stride;
    }
    float sum = 0.0f;
    for (int corner = 0; corner < 1 << linear; ++corner) {
      int64_t from = offset;
      float share = 1.0f;
      for (int i = 0; i < linear; ++i) {
        const bool upper = (corner >> i & 1) != 0;
        from += upper ? step[i] : 0;
        share *= upper ? weight[i] : 1.0f - weight[i];
      }
      if (share != 0.0f) sum += share * load(x[from]);  // an infinity that has no share makes no NaN
    }
    y[index] = static_cast<T>(sum);
  }
};

Coordinates coordinates_of(const std::string& mode) {
  if (mode == "half_pixel_symmetric") return Coordinates::half_pixel_symmetric;
  if (mode == "pytorch_half_pixel") return Coordinates::pytorch_half_pixel;
  if (mode == "asymmetric") return Coordinates::asymmetric;
  if (mode == "align_corners") return Coordinates::align_corners;
  return mode == "tf_half_pixel_for_nn" ? Coordinates::half_pixel_nearest : Coordinates::half_pixel;
}

Rounding rounding_of(const std::string& mode) {
  if (mode == "floor") return Rounding::floor;
  if (mode == "ceil") return Rounding::ceil;
  return mode == "round_prefer_ceil" ? Rounding::prefer_ceil : Rounding::prefer_floor;
}

class Resize : public Kernel {
 public:
  explicit Resize(const Info& info)
      : linear_(info.text("mode", "nearest") == "linear"), form_(coordinates_of(info.text("coordinate_transformation_mode", "half_pixel"))),
        rounding_(rounding_of(info.text("nearest_mode", "round_prefer_floor"))), axes_(info.integers("axes")) {}

  void compute(Context& context) override {
    const Tensor x = context.input(0);
    float scales[kMaxRank];
    const Tensor y = context.output(0, new_shape(x.shape, context.input(2), context.input(3), scales));
    if (y.size() == 0) return;
    require(x.size() > 0, "Resize has nothing to resize: the input is empty");
    require(x.size() < INT32_MAX && y.size() < INT32_MAX, "Resize of 2^31 elements or more");
    const ResizeWork work = work_of(x.shape, y.shape, scales);
    if (linear_) {
      with_float(x.type, [&](auto zero) {
        using T = decltype(zero);
        for_each(context.stream(), y.size(), LinearElement<T>{x.as<T>(), y.as<T>(), work});
      });
    } else {
      with_bytes(bytes_of(x.type), [&](auto zero) {
        using T = decltype(zero);
        constexpr int N = 16 / sizeof(T);
        const int line = work.rank > 0 ? work.axes[work.rank - 1].new_extent : 1;
        if (N > 1 && line % N == 0 && aligned16(y.data)) {
          using P = Pack<T, N>;
          return for_each(context.stream(), y.size() / N, NearestPack<T, N>{x.as<T>(), reinterpret_cast<P*>(y.data), Divisor(line / N), work});
        }
        for_each(context.stream(), y.size(), NearestElement<T>{x.as<T>(), y.as<T>(), work});
      });
    }
  }

 private:
  // Fills in the scale of each axis. Exactly one of `scales` and `sizes` has elements.
  Shape new_shape(const Shape& x, const Tensor& scales, const Tensor& sizes, float* scale) const {
    std::vector<int64_t> axes = axes_.value_or(std::vector<int64_t>{});
    for (int i = 0; !axes_ && i < x.rank(); ++i) axes.push_back(i);
    const bool has_scales = scales && scales.size() > 0, has_sizes = sizes && sizes.size() > 0;
    require(has_scales != has_sizes, "Resize takes either scales or sizes");
    require((has_scales ? scales : sizes).size() == static_cast<int64_t>(axes.size()), "Resize's scales or sizes do not match its axes");
    const std::vector<int64_t> extents = has_sizes ? integers(sizes) : std::vector<int64_t>(axes.size());
    Shape shape = x;
    for (int i = 0; i < x.rank(); ++i) scale[i] = 1.0f;
    for (size_t i = 0; i < axes.size(); ++i) {
      const int axis = axis_in(axes[i], x.rank());
      if (has_sizes) {
        require(extents[i] > 0, "Resize to a size that is not positive");
        shape[axis] = extents[i];
        scale[axis] = x[axis] == 0 ? 1.0f : static_cast<float>(extents[i]) / static_cast<float>(x[axis]);
      } else {
        scale[axis] = scales.as<float>()[i];
        require(scale[axis] > 0.0f && std::isfinite(scale[axis]), "Resize by a scale that is not positive");
        shape[axis] = static_cast<int64_t>(std::floor(static_cast<float>(x[axis]) * scale[axis]));
      }
    }
    return shape;
  }

  // Neighbouring axes that stay as they are become one.
  ResizeWork work_of(const Shape& x, const Shape& y, const float* scales) const {
    ResizeWork work{{}, 0, form_, rounding_};
    const Strides strides = dense_strides(x);
    int linear = 0;
    for (int i = 0; i < x.rank(); ++i) {
      const bool changes = scales[i] != 1.0f;
      linear += changes ? 1 : 0;
      if (!changes && work.rank > 0 && !work.axes[work.rank - 1].changes) {
        ResizeAxis& last = work.axes[work.rank - 1];
        last.extent = last.new_extent = static_cast<int>(last.extent * x[i]);
        last.stride = strides[i];
      } else {
        work.axes[work.rank++] = {static_cast<int>(x[i]), static_cast<int>(y[i]), strides[i], scales[i], changes, Divisor()};
      }
    }
    require(!linear_ || linear <= kMostLinear, "Resize is linear along at most three axes here; run the node on the CPU provider");
    for (int i = 0; i < work.rank; ++i) work.axes[i].by_new_extent = Divisor(work.axes[i].new_extent);
    return work;
  }

  bool linear_;
  Coordinates form_;
  Rounding rounding_;
  std::optional<std::vector<int64_t>> axes_;
};

// align_corners divides by the length of the new axis less one: with scales ONNX's reference takes that length before it is
// rounded, and ONNX Runtime's CPU provider after. They agree on sizes, and on constant scales that are whole numbers.
bool corners_are_clear(const NodeView& node) {
  if (node.input(3)) return true;
  const Tensor scales = node.input(2) && node.input(2).is_constant() ? node.input(2).constant() : Tensor();
  if (!scales || scales.type != kFloat) return false;
  const float* values = scales.as<float>();
  return std::all_of(values, values + scales.size(), [](float scale) { return scale == std::floor(scale); });
}

// Cubic, crops, antialiasing and sizes that keep the ratio are left to another provider, and so is linear of integers.
bool is_nearest_or_linear(const NodeView& node) {
  const std::string mode = node.text("mode", "nearest");
  const std::string form = node.text("coordinate_transformation_mode", "half_pixel");
  const Type type = node.input(0).type();
  const bool computes = type == kFloat || type == kHalf;
  return (mode == "nearest" || (mode == "linear" && computes)) && node.integer("antialias", 0) == 0 &&
         form != "tf_crop_and_resize" && (form != "align_corners" || corners_are_clear(node)) &&
         node.text("keep_aspect_ratio_policy", "stretch") == "stretch";
}

}  // namespace

void add_resize(Entries& e) {
  std::vector<Type> types = any_storage();
  types.erase(std::find(types.begin(), types.end(), kBool));  // no other provider has it: nothing to compare with
  const std::vector<TypeRule> t = {{"T1", types}, {"T2", {kFloat, kHalf, kDouble}}};
  e.push_back({"Resize", 11, kNewest, t, make<Resize>, {1, 2, 3}, {}, false, false, is_nearest_or_linear});
}

}  // namespace rk
