// Gather and GatherElements.
#include "core/kernel/kernel.hpp"
#include "core/kernel/parallel_for.hpp"
#include "core/tensor/types.hpp"

namespace rk {
namespace {

// y[o, p, i] = x[o, indices[p], i]; `inner` counts T's, which may be packs of elements.
template <class T, class I>
struct GatherElement {
  const T* x;
  const I* indices;
  T* y;
  int64_t extent;  // of x along the axis
  int64_t count;   // of indices
  int64_t inner;

  RK_HD void operator()(int64_t at) const {
    const int64_t i = at % inner;
    const int64_t p = at / inner % count;
    const int64_t o = at / inner / count;
    int64_t from = static_cast<int64_t>(indices[p]);
    if (from < 0) from += extent;
    // An index outside the axis is an error in ONNX; on a device it must at least not read elsewhere.
    y[at] = from < 0 || from >= extent ? T{} : x[(o * extent + from) * inner + i];
  }
};

class Gather : public Kernel {
 public:
  explicit Gather(const Info& info) : axis_(info.integer("axis", 0)) {}

  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const Tensor indices = context.input(1);
    const int axis = axis_in(axis_, x.shape.rank());
    Shape shape;
    for (int i = 0; i < axis; ++i) shape.push(x.shape[i]);
    for (int64_t extent : indices.shape) shape.push(extent);
    for (int i = axis + 1; i < x.shape.rank(); ++i) shape.push(x.shape[i]);
    const Tensor y = context.output(0, shape);
    if (y.size() == 0) return;
    const int64_t row = x.shape.product(axis + 1, x.shape.rank()) * bytes_of(x.type);
    int64_t unit = bytes_of(x.type);
    while (unit < 16 && row % (unit * 2) == 0 && address(x) % (unit * 2) == 0 && address(y) % (unit * 2) == 0) unit *= 2;
    with_bytes(unit, [&](auto zero) {
      using T = decltype(zero);
      const int64_t total = y.bytes() / unit;
      if (indices.type == kInt32) run<T, int32_t>(context, x, indices, y, x.shape[axis], row / unit, total);
      else run<T, int64_t>(context, x, indices, y, x.shape[axis], row / unit, total);
    });
  }

 private:
  static int64_t address(const Tensor& tensor) { return static_cast<int64_t>(reinterpret_cast<uintptr_t>(tensor.data)); }

  template <class T, class I>
  static void run(Context& context, const Tensor& x, const Tensor& indices, const Tensor& y, int64_t extent,
                  int64_t inner, int64_t total) {
    for_each(context.stream(), total,
             GatherElement<T, I>{x.as<T>(), indices.as<I>(), y.as<T>(), extent, indices.size(), inner});
  }

  int64_t axis_;
};

template <class T, class I>
struct PickElement {
  const T* x;
  const I* indices;
  T* y;
  int rank;
  int axis;
  int64_t in[kMaxRank];
  int64_t out[kMaxRank];

  RK_HD void operator()(int64_t at) const {
    int64_t rest = at, offset = 0, step = 1;
    for (int i = rank - 1; i >= 0; --i) {
      int64_t position = rest % out[i];
      rest /= out[i];
      if (i == axis) {
        position = static_cast<int64_t>(indices[at]);
        if (position < 0) position += in[i];
        if (position < 0 || position >= in[i]) return void(y[at] = T{});
      }
      offset += position * step;
      step *= in[i];
    }
    y[at] = x[offset];
  }
};

class GatherElements : public Kernel {
 public:
  explicit GatherElements(const Info& info) : axis_(info.integer("axis", 0)) {}

  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const Tensor indices = context.input(1);
    const int axis = axis_in(axis_, x.shape.rank());
    require(indices.shape.rank() == x.shape.rank(), "GatherElements' indices do not have the input's rank");
    for (int i = 0; i < x.shape.rank(); ++i)
      require(i == axis || indices.shape[i] <= x.shape[i], "GatherElements' indices are larger than the input");
    const Tensor y = context.output(0, indices.shape);
    with_bytes(bytes_of(x.type), [&](auto zero) {
      using T = decltype(zero);
      if (indices.type == kInt32) run<T, int32_t>(context, x, indices, y);
      else run<T, int64_t>(context, x, indices, y);
    });
  }

 private:
  template <class T, class I>
  void run(Context& context, const Tensor& x, const Tensor& indices, const Tensor& y) const {
    const int rank = x.shape.rank();
    PickElement<T, I> element{x.as<T>(), indices.as<I>(), y.as<T>(), rank, axis_in(axis_, rank), {}, {}};
    for (int i = 0; i < rank; ++i) {
      element.in[i] = x.shape[i];
      element.out[i] = indices.shape[i];
    }
    for_each(context.stream(), y.size(), element);
  }

  int64_t axis_;
};

}  // namespace

void add_gather(Entries& e) {
  e.push_back({"Gather", 1, kNewest, {{"T", any_storage()}, {"Tind", indices()}}, make<Gather>});
  e.push_back({"GatherElements", 11, kNewest, {{"T", any_storage()}, {"Tind", indices()}}, make<GatherElements>});
}

}  // namespace rk
