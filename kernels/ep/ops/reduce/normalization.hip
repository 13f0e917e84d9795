// Softmax, LogSoftmax, LayerNormalization, RMSNormalization.
#include "core/kernel/kernel.hpp"
#include "core/kernel/parallel_for.hpp"
#include "core/tensor/types.hpp"
#include "ops/fused/fused.hpp"
#include "ops/shape/copy.hpp"

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
      const float difference = load(x[base + i * step]) - most;
      y[base + i * step] = static_cast<T>(Log ? difference - log_sum : expf(difference) / sum);
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
  int64_t scale_step, bias_step;  // from a row to the next: 0 where all have the same
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
      float value = (load(in[i]) - mean) * inverse * load(scale[row * scale_step + i]);
      if (bias != nullptr) value += load(bias[row * bias_step + i]);
      y[row * length + i] = static_cast<V>(value);
    }
    if (team.rank != 0) return;
    if (mean_out != nullptr) mean_out[row] = mean;
    if (inverse_out != nullptr) inverse_out[row] = inverse;
  }
};

bool broadcasts_to(const Shape& from, const Shape& to) {
  const int ahead = to.rank() - from.rank();
  for (int i = 0; i < from.rank(); ++i)
    if (ahead < 0 || (from[i] != 1 && from[i] != to[ahead + i])) return false;
  return true;
}

// A scale or bias as rows are multiplied with it.
struct Factors {
  Tensor values;
  int64_t step = 0;  // from a row to the next: 0 where one row is all's
};

// It broadcasts to x. One with a value for each place of the normalized axes, or fewer, is one row; another is written out for all.
Factors factors(Context& context, const Tensor& factor, const Shape& x, int axis, const char* op) {
  if (!factor) return {};
  const Shape axes(x.begin() + axis, static_cast<size_t>(x.rank() - axis));
  Shape own = factor.shape;
  while (own.rank() > axes.rank() && own[0] == 1) own = Shape(own.begin() + 1, static_cast<size_t>(own.rank() - 1));
  const bool row = broadcasts_to(own, axes) && factor.shape.rank() <= x.rank();
  if (row && own.size() == axes.size()) return {factor};
  if (!row && !broadcasts_to(factor.shape, x)) fail(std::string(op) + "'s scale or bias does not broadcast to its input");
  const Shape& shape = row ? axes : x;
  Tensor whole{nullptr, shape, factor.type};
  whole.data = context.scratch(static_cast<size_t>(whole.bytes()));
  StridedCopy copy;
  copy.shape = shape;
  copy.from = factor.data;
  copy.to = whole.data;
  copy.from_strides = broadcast_strides(row ? own : factor.shape, shape);
  copy.to_strides = dense_strides(shape);
  copy.element_bytes = bytes_of(factor.type);
  strided_copy(context.stream(), copy);
  return {whole, row ? 0 : axes.size()};
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
    const char* op = Centred ? "LayerNormalization" : "RMSNormalization";
    const Factors scales = factors(context, context.input(1), x.shape, axis, op);
    const Factors biases = Centred ? factors(context, context.input(2), x.shape, axis, op) : Factors{};
    const Tensor &scale = scales.values, &bias = biases.values;
    const Tensor y = context.output(0, x.shape);
    Shape statistics = x.shape;
    for (int i = axis; i < statistics.rank(); ++i) statistics[i] = 1;
    const Tensor mean = context.wanted_output(1, statistics);
    const Tensor inverse = context.wanted_output(2, statistics);
    if (x.size() == 0) return;
    if (Centred && !mean && !inverse && scale.type == x.type && scales.step == 0 && biases.step == 0) {
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
                                    length, scales.step, biases.step, epsilon_, Centred});
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
