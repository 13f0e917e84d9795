// Softmax, LogSoftmax, LayerNormalization, RMSNormalization.
#include "core/copy.hpp"
#include "core/kernel.hpp"
#include "core/launch.hpp"
#include "core/types.hpp"
#include "ops/fused.hpp"

namespace rk {
namespace {

// A row is `length` elements `step` apart; rows of one outer index start next to each other.
template <class T, bool Log>
struct SoftmaxRow {
  const T* x;
  T* y;
  int64_t length;
  int64_t step;

  RK_D void operator()(int64_t row, const Team& team) const {
    const int64_t base = row / step * step * length + row % step;
    float most = -INFINITY;
    for (int64_t i = team.rank; i < length; i += team.size) most = fmaxf(most, load(x[base + i * step]));
    most = team.max(most);
    if (most == -INFINITY) most = 0.0f;  // a row of -inf only: exp gives zeros, not NaN from inf - inf
    float sum = 0;
    for (int64_t i = team.rank; i < length; i += team.size) sum += expf(load(x[base + i * step]) - most);
    sum = team.sum(sum);
    const float log_sum = logf(sum);
    for (int64_t i = team.rank; i < length; i += team.size) {
      const float shifted = load(x[base + i * step]) - most;
      y[base + i * step] = static_cast<T>(Log ? shifted - log_sum : expf(shifted) / sum);
    }
  }
};

template <bool Log>
class Softmax : public Kernel {
 public:
  explicit Softmax(const Info& info)
      : flatten_(info.since_version() < 13), axis_(info.integer("axis", flatten_ ? 1 : -1)) {}

  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const Tensor y = context.output(0, x.shape);
    if (x.size() == 0) return;
    // Before opset 13 the tensor is read as a matrix: everything from `axis` on is one row.
    const int rank = std::max(x.shape.rank(), 1);
    const int axis = flatten_ && axis_ == rank ? rank : axis_in(axis_, rank);
    const int64_t length = flatten_ ? x.shape.product(axis, x.shape.rank()) : (x.shape.rank() == 0 ? 1 : x.shape[axis]);
    const int64_t step = flatten_ ? 1 : x.shape.product(axis + 1, x.shape.rank());
    with_float(x.type, [&](auto zero) {
      using T = decltype(zero);
      for_rows(context.stream(), x.size() / length, length, SoftmaxRow<T, Log>{x.as<T>(), y.as<T>(), length, step});
    });
  }

 private:
  bool flatten_;
  int64_t axis_;
};

template <class T, class V>  // the schemas give scale, bias and y a type of their own
struct LayerNormRow {
  const T* x;
  const V* scale;
  const V* bias;  // or null
  V* y;
  float* mean_out;  // or null
  float* inverse_out;
  int64_t length;
  float epsilon;
  bool centred;  // RMSNormalization does not subtract the mean

  RK_D void operator()(int64_t row, const Team& team) const {
    const T* in = x + row * length;
    float mean = 0;
    if (centred) {
      for (int64_t i = team.rank; i < length; i += team.size) mean += load(in[i]);
      mean = team.sum(mean) / static_cast<float>(length);
    }
    float squares = 0;
    for (int64_t i = team.rank; i < length; i += team.size) {
      const float d = load(in[i]) - mean;
      squares += d * d;
    }
    const float inverse = 1.0f / sqrtf(team.sum(squares) / static_cast<float>(length) + epsilon);
    for (int64_t i = team.rank; i < length; i += team.size) {
      float value = (load(in[i]) - mean) * inverse * load(scale[i]);
      if (bias != nullptr) value += load(bias[i]);
      y[row * length + i] = static_cast<V>(value);
    }
    if (team.rank != 0) return;
    if (mean_out != nullptr) mean_out[row] = mean;
    if (inverse_out != nullptr) inverse_out[row] = inverse;
  }
};

// A scale or bias with a value for each place of the normalized axes; one that broadcasts is written out.
Tensor spread(Context& context, const Tensor& given, const Shape& axes) {
  if (!given || given.shape == axes) return given;
  require(broadcast(given.shape, axes) == axes, "LayerNormalization's scale or bias does not broadcast to the normalized axes");
  if (given.size() == axes.size()) return given;
  Tensor whole{nullptr, axes, given.type};
  whole.data = context.scratch(static_cast<size_t>(whole.bytes()));
  StridedCopy copy;
  copy.shape = axes;
  copy.from = given.data;
  copy.to = whole.data;
  copy.from_strides = broadcast_strides(given.shape, axes);
  copy.to_strides = dense_strides(axes);
  copy.element_bytes = bytes_of(given.type);
  strided_copy(context.stream(), copy);
  return whole;
}

template <bool Centred>
class LayerNorm : public Kernel {
 public:
  explicit LayerNorm(const Info& info) : axis_(info.integer("axis", -1)), epsilon_(info.real("epsilon", 1e-5f)) {}

  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const int axis = axis_in(axis_, x.shape.rank());
    const int64_t length = x.shape.product(axis, x.shape.rank());
    require(length > 0, "a normalization over no elements has no mean");
    const Shape axes(x.shape.begin() + axis, static_cast<size_t>(x.shape.rank() - axis));
    const Tensor scale = spread(context, context.input(1), axes);
    const Tensor bias = Centred ? spread(context, context.input(2), axes) : Tensor{};
    const Tensor y = context.output(0, x.shape);
    Shape statistics = x.shape;
    for (int i = axis; i < statistics.rank(); ++i) statistics[i] = 1;
    const Tensor mean = context.wanted_output(1, statistics);
    const Tensor inverse = context.wanted_output(2, statistics);
    if (x.size() == 0) return;
    if (Centred && !mean && !inverse && scale.type == x.type) {
      AddNorm work;
      work.type = x.type;
      work.x = x.data;
      work.scale = scale.data;
      work.shift = bias.data;
      work.y = y.data;
      work.rows = x.size() / length;
      work.n = length;
      work.epsilon = epsilon_;
      return add_norm(context.stream(), work);
    }
    with_float(x.type, [&](auto zero) {
      with_float(scale.type, [&](auto other) {
        using T = decltype(zero);
        using V = decltype(other);
        for_rows(context.stream(), x.size() / length, length,
                 LayerNormRow<T, V>{x.as<T>(), scale.as<V>(), bias.as<V>(), y.as<V>(), mean.as<float>(), inverse.as<float>(),
                                    length, epsilon_, Centred});
      });
    });
  }

 private:
  int64_t axis_;
  float epsilon_;
};

}  // namespace

void add_normalization(Entries& e) {
  e.push_back({"Softmax", 1, kNewest, {{"T", floats()}}, make<Softmax<false>>});
  e.push_back({"LogSoftmax", 1, kNewest, {{"T", floats()}}, make<Softmax<true>>});
  const std::vector<Type> stats = {kFloat};
  // ONNX Runtime's own schema, which it gives to models before opset 17 and makes of their subgraphs; then ONNX's.
  e.push_back({"LayerNormalization", 1, 16, {{"T", floats()}, {"U", stats}, {"V", floats()}}, make<LayerNorm<true>>});
  e.push_back({"LayerNormalization", 17, kNewest, {{"T", floats()}, {"U", stats}}, make<LayerNorm<true>>});
  e.push_back({"RMSNormalization", 23, kNewest, {{"T", floats()}, {"V", floats()}}, make<LayerNorm<false>>});
}

}  // namespace rk
