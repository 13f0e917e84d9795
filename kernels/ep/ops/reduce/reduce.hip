// ReduceMean, ReduceSum, ReduceMax, … and the global pools.
#include "core/kernel/broadcast.hpp"
#include "core/kernel/kernel.hpp"
#include "core/tensor/types.hpp"

namespace rk {
namespace {

enum class Kind { sum, mean, most, least, squares, absolute, root_squares, log_sum_exp, log_sum };

template <class T, Kind kind>
struct ReduceRow {
  const T* x;
  T* y;
  Walk<1> rows;
  Walk<1> columns;

  RK_D float before(float value, float most) const {
    if (kind == Kind::squares || kind == Kind::root_squares) return value * value;
    if (kind == Kind::absolute) return fabsf(value);
    if (kind == Kind::log_sum_exp) return expf(value - most);
    return value;
  }
  RK_D float after(float sum, float most) const {
    if (kind == Kind::mean) return sum / static_cast<float>(columns.count());
    if (kind == Kind::root_squares) return sqrtf(sum);
    if (kind == Kind::log_sum_exp) return logf(sum) + most;
    if (kind == Kind::log_sum) return logf(sum);
    return sum;
  }
  // The largest of sign · x; `nans` counts what is not a number, which the maximum passes over.
  RK_D float extreme(int64_t base, const Team& team, float sign, float& nans) const {
    float most = -INFINITY;
    for (int64_t i = team.rank; i < columns.count(); i += team.size) {
      int64_t at[1];
      columns.offsets(i, at);
      const float value = load(x[base + at[0]]);
      if (value != value) nans += 1.0f;
      most = fmaxf(most, sign * value);
    }
    return team.max(most);
  }

  RK_D void operator()(int64_t row, const Team& team) const {
    int64_t base[1];
    rows.offsets(row, base);
    float result, nans = 0;
    if (kind == Kind::most || kind == Kind::least) {
      const float sign = kind == Kind::most ? 1.0f : -1.0f;
      result = sign * extreme(base[0], team, sign, nans);
      if (team.sum(nans) > 0) result = NAN;
    } else {
      float most = kind == Kind::log_sum_exp ? extreme(base[0], team, 1.0f, nans) : 0.0f;  // the sum keeps a NaN
      if (most == -INFINITY || most == INFINITY) most = 0.0f;
      float sum = 0;
      for (int64_t i = team.rank; i < columns.count(); i += team.size) {
        int64_t at[1];
        columns.offsets(i, at);
        sum += before(load(x[base[0] + at[0]]), most);
      }
      result = after(team.sum(sum), most);
    }
    if (team.rank == 0) y[row] = static_cast<T>(result);
  }
};

struct Axes {
  Shape rows, columns, out;
  Strides row_strides{}, column_strides{};
};

Axes split_axes(const Shape& x, const std::vector<int64_t>& axes, bool keep) {
  bool chosen[kMaxRank] = {};
  for (int64_t axis : axes) chosen[axis_in(axis, x.rank())] = true;
  const Strides dense = dense_strides(x);
  Axes result;
  for (int i = 0; i < x.rank(); ++i) {
    if (chosen[i]) {
      result.column_strides[result.columns.rank()] = dense[i];
      result.columns.push(x[i]);
      if (keep) result.out.push(1);
    } else {
      result.row_strides[result.rows.rank()] = dense[i];
      result.rows.push(x[i]);
      result.out.push(x[i]);
    }
  }
  return result;
}

template <Kind kind>
void reduce(Stream& stream, const Tensor& x, const Tensor& y, const Axes& axes) {
  if (y.size() == 0) return;
  const Walk<1> rows(axes.rows, {axes.row_strides});
  const Walk<1> columns(axes.columns, {axes.column_strides});
  with_float(x.type, [&](auto zero) {
    using T = decltype(zero);
    for_rows(stream, rows.count(), columns.count(), ReduceRow<T, kind>{x.as<T>(), y.as<T>(), rows, columns});
  });
}

template <Kind kind>
class Reduce : public Kernel {
 public:
  explicit Reduce(const Info& info)
      : keep_(info.integer("keepdims", 1) != 0), nothing_without_axes_(info.integer("noop_with_empty_axes", 0) != 0),
        axes_(info.integers("axes").value_or(std::vector<int64_t>{})) {}

  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const Tensor axes_input = context.input(1);  // axes, since opset 13 or 18; in host memory
    std::vector<int64_t> axes = axes_input ? integers(axes_input) : axes_;
    if (axes.empty() && nothing_without_axes_) {
      const Tensor y = context.output(0, x.shape);
      return reduce<kind == Kind::mean ? Kind::sum : kind>(context.stream(), x, y, split_axes(x.shape, {}, true));
    }
    if (axes.empty())
      for (int i = 0; i < x.shape.rank(); ++i) axes.push_back(i);
    const Axes split = split_axes(x.shape, axes, keep_);
    reduce<kind>(context.stream(), x, context.output(0, split.out), split);
  }

 private:
  bool keep_;
  bool nothing_without_axes_;
  std::vector<int64_t> axes_;
};

template <Kind kind>
class GlobalPool : public Kernel {
 public:
  explicit GlobalPool(const Info&) {}
  void compute(Context& context) override {
    const Tensor x = context.input(0);
    require(x.shape.rank() >= 2, "a global pool needs batch and channel axes");
    std::vector<int64_t> axes;
    for (int i = 2; i < x.shape.rank(); ++i) axes.push_back(i);
    const Axes split = split_axes(x.shape, axes, true);
    const Tensor y = context.output(0, split.out);
    require(y.size() == 0 || x.size() > 0, "a pool over no elements has no value");
    reduce<kind>(context.stream(), x, y, split);
  }
};

void add(Entries& entries, const char* op, MakeKernel make) {
  entries.push_back({op, 1, kNewest, {{"T", floats()}}, make, {1}});
}

}  // namespace

void add_reduce(Entries& e) {
  add(e, "ReduceMean", make<Reduce<Kind::mean>>);
  add(e, "ReduceSum", make<Reduce<Kind::sum>>);
  add(e, "ReduceMax", make<Reduce<Kind::most>>);
  add(e, "ReduceMin", make<Reduce<Kind::least>>);
  add(e, "ReduceL1", make<Reduce<Kind::absolute>>);
  add(e, "ReduceL2", make<Reduce<Kind::root_squares>>);
  add(e, "ReduceSumSquare", make<Reduce<Kind::squares>>);
  add(e, "ReduceLogSum", make<Reduce<Kind::log_sum>>);
  add(e, "ReduceLogSumExp", make<Reduce<Kind::log_sum_exp>>);
  e.push_back({"GlobalAveragePool", 1, kNewest, {{"T", floats()}}, make<GlobalPool<Kind::mean>>});
  e.push_back({"GlobalMaxPool", 1, kNewest, {{"T", floats()}}, make<GlobalPool<Kind::most>>});
}

}  // namespace rk
