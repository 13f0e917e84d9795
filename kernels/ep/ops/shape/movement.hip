// Operators that put data elsewhere: Transpose, Concat, Split, Slice, Expand, Tile, Pad, DepthToSpace, SpaceToDepth.
#include <utility>

#include "core/graph/graph.hpp"
#include "core/kernel/broadcast.hpp"
#include "core/kernel/kernel.hpp"
#include "core/tensor/types.hpp"
#include "ops/shape/copy.hpp"

namespace rk {
namespace {

StridedCopy dense_copy(const Tensor& from, const Tensor& to) {
  StridedCopy copy;
  copy.from = from.data;
  copy.to = to.data;
  copy.from_strides = dense_strides(from.shape);
  copy.to_strides = dense_strides(to.shape);
  copy.element_bytes = bytes_of(from.type);
  return copy;
}

class Transpose : public Kernel {
 public:
  explicit Transpose(const Info& info) : permutation_(info.integers("perm")) {}
  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const int rank = x.shape.rank();
    Shape shape;
    Strides strides{};
    const Strides dense = dense_strides(x.shape);
    require(!permutation_ || permutation_->size() == static_cast<size_t>(rank), "Transpose's perm does not have the input's rank");
    bool taken[kMaxRank] = {};
    for (int i = 0; i < rank; ++i) {
      const int from = permutation_ ? axis_in((*permutation_)[static_cast<size_t>(i)], rank) : rank - 1 - i;
      require(!std::exchange(taken[from], true), "Transpose's perm names an axis twice");
      shape.push(x.shape[from]);
      strides[i] = dense[from];
    }
    const Tensor y = context.output(0, shape);
    StridedCopy copy = dense_copy(x, y);
    copy.shape = shape;
    copy.from_strides = strides;
    strided_copy(context.stream(), copy);
  }

 private:
  std::optional<std::vector<int64_t>> permutation_;
};

class Concat : public Kernel {
 public:
  explicit Concat(const Info& info) : axis_(info.integer("axis", 1)) {}
  void compute(Context& context) override {
    const Tensor first = context.input(0);
    const int axis = axis_in(axis_, first.shape.rank());
    Shape shape = first.shape;
    shape[axis] = 0;
    for (size_t i = 0; i < context.inputs(); ++i) {
      const Shape part = context.input(i).shape;
      require(part.rank() == shape.rank(), "Concat's inputs have different ranks");
      for (int k = 0; k < part.rank(); ++k)
        require(k == axis || part[k] == shape[k], "Concat's inputs differ in an axis other than the one they are joined along");
      shape[axis] += part[axis];
    }
    const Tensor y = context.output(0, shape);
    int64_t at = 0;
    for (size_t i = 0; i < context.inputs(); ++i) {
      const Tensor x = context.input(i);
      StridedCopy copy = dense_copy(x, y);
      copy.shape = x.shape;
      copy.to_offset = at * copy.to_strides[axis];
      strided_copy(context.stream(), copy);
      at += x.shape[axis];
    }
  }

 private:
  int64_t axis_;
};

class Split : public Kernel {
 public:
  explicit Split(const Info& info)
      : axis_(info.integer("axis", 0)), sizes_(info.integers("split")), outputs_(info.outputs()) {}

  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const int axis = axis_in(axis_, x.shape.rank());
    const Tensor splits = context.input(1);
    const std::vector<int64_t> sizes = sizes_ ? *sizes_ : (splits ? integers(splits) : even(x.shape[axis]));
    require(sizes.size() == outputs_, "Split names another number of parts than it has outputs");
    int64_t at = 0;
    for (size_t i = 0; i < outputs_; ++i) {
      Shape shape = x.shape;
      shape[axis] = sizes[i];
      require(sizes[i] >= 0 && at + sizes[i] <= x.shape[axis], "Split's parts do not fit the axis");
      const Tensor y = context.wanted_output(i, shape);
      if (y) {
        StridedCopy copy = dense_copy(x, y);
        copy.shape = shape;
        copy.from_offset = at * copy.from_strides[axis];
        strided_copy(context.stream(), copy);
      }
      at += sizes[i];
    }
    require(at == x.shape[axis], "Split's parts do not add up to the axis");
  }

 private:
  std::vector<int64_t> even(int64_t extent) const {
    const int64_t parts = static_cast<int64_t>(outputs_);
    const int64_t size = (extent + parts - 1) / parts;
    std::vector<int64_t> sizes(outputs_, size);
    sizes.back() = extent - size * (parts - 1);
    return sizes;
  }

  int64_t axis_;
  std::optional<std::vector<int64_t>> sizes_;
  size_t outputs_;
};

class Slice : public Kernel {
 public:
  explicit Slice(const Info& info)
      : starts_(info.integers("starts")), ends_(info.integers("ends")), axes_(info.integers("axes")) {}

  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const std::vector<int64_t> starts = starts_ ? *starts_ : integers(context.input(1));
    const std::vector<int64_t> ends = ends_ ? *ends_ : integers(context.input(2));
    std::vector<int64_t> axes = axes_ ? *axes_ : optional(context, 3);
    const std::vector<int64_t> steps = starts_ ? std::vector<int64_t>{} : optional(context, 4);
    if (axes.empty())
      for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
    require(ends.size() == starts.size() && axes.size() == starts.size() && (steps.empty() || steps.size() == starts.size()),
            "Slice's starts, ends, axes and steps differ in length");
    const Strides dense = dense_strides(x.shape);
    Strides strides = dense;
    Shape shape = x.shape;
    int64_t offset = 0;
    bool taken[kMaxRank] = {};
    for (size_t i = 0; i < axes.size(); ++i) {
      const int axis = axis_in(axes[i], x.shape.rank());
      require(!std::exchange(taken[axis], true), "Slice names an axis twice");
      require(steps.empty() || steps[i] != 0, "Slice's step is 0");
      const int64_t reach = x.shape[axis] + 1;  // a step beyond the axis takes one element, however large it is
      const int64_t step = steps.empty() ? 1 : std::min(std::max(steps[i], -reach), reach);
      const Range range = clamp(starts[i], ends[i], step, x.shape[axis]);
      shape[axis] = range.count;
      offset += range.start * dense[axis];
      strides[axis] = dense[axis] * step;
    }
    const Tensor y = context.output(0, shape);
    StridedCopy copy = dense_copy(x, y);
    copy.shape = shape;
    copy.from_strides = strides;
    copy.from_offset = shape.size() == 0 ? 0 : offset;
    strided_copy(context.stream(), copy);
  }

 private:
  struct Range {
    int64_t start;
    int64_t count;
  };
  static std::vector<int64_t> optional(const Context& context, size_t index) {
    const Tensor input = context.input(index);
    return input ? integers(input) : std::vector<int64_t>{};
  }
  static Range clamp(int64_t start, int64_t end, int64_t step, int64_t extent) {
    if (start < 0) start += extent;
    if (end < 0) end = end < -extent ? -1 : end + extent;
    else if (end > extent) end = extent;
    if (step > 0) {
      start = std::min(std::max<int64_t>(start, 0), extent);
      end = std::max<int64_t>(end, 0);
      return {start, std::max<int64_t>(0, (end - start + step - 1) / step)};
    }
    start = std::min(std::max<int64_t>(start, 0), extent - 1);  // ONNX's clamp; NumPy's is to -1
    return {start, start < 0 ? 0 : std::max<int64_t>(0, (start - end - step - 1) / -step)};
  }

  std::optional<std::vector<int64_t>> starts_, ends_, axes_;  // attributes before opset 10
};

void repeat(Context& context, const Tensor& x, const Shape& shape) {
  const Tensor y = context.output(0, shape);
  StridedCopy copy = dense_copy(x, y);
  copy.shape = shape;
  copy.from_strides = broadcast_strides(x.shape, shape);
  strided_copy(context.stream(), copy);
}

class Expand : public Kernel {
 public:
  explicit Expand(const Info&) {}
  void compute(Context& context) override {
    const Tensor x = context.input(0);
    repeat(context, x, broadcast(x.shape, Shape(integers(context.input(1)))));
  }
};

// One copy an axis whose repeats are not 1, each from what is there so far… as one: axes are split in (repeat, extent).
class Tile : public Kernel {
 public:
  explicit Tile(const Info&) {}
  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const std::vector<int64_t> repeats = integers(context.input(1));
    Shape shape = x.shape;
    require(repeats.size() == static_cast<size_t>(shape.rank()), "Tile's repeats do not have the input's rank");
    for (int i = 0; i < shape.rank(); ++i) {
      require(repeats[static_cast<size_t>(i)] >= 0, "Tile repeats an axis a negative number of times");
      shape[i] *= repeats[static_cast<size_t>(i)];
    }
    const Tensor y = context.output(0, shape);
    const Strides from = dense_strides(x.shape), to = dense_strides(shape);
    StridedCopy copy = dense_copy(x, y);
    copy.from_strides = copy.to_strides = Strides{};
    for (int i = 0; i < x.shape.rank(); ++i) {
      if (repeats[static_cast<size_t>(i)] != 1) {
        copy.to_strides[copy.shape.rank()] = to[i] * x.shape[i];
        copy.shape.push(repeats[static_cast<size_t>(i)]);
      }
      copy.from_strides[copy.shape.rank()] = from[i];
      copy.to_strides[copy.shape.rank()] = to[i];
      copy.shape.push(x.shape[i]);
    }
    strided_copy(context.stream(), copy);
  }
};

bool at_most_four(const NodeView& node) {  // Tile splits each axis in two
  const auto dims = node.input(0) ? node.input(0).dims() : std::nullopt;
  return dims && dims->size() <= kMaxRank / 2;
}

class DepthSpace : public Kernel {
 public:
  DepthSpace(const Info& info, bool to_space)
      : to_space_(to_space), block_(info.integer("blocksize", 1)), column_first_(info.text("mode", "DCR") == "CRD") {}

  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const Shape& s = x.shape;
    require(s.rank() == 4 && block_ > 0, "the operator takes [N, C, H, W] and a positive block size");
    const int64_t b = block_;
    require(to_space_ ? s[1] % (b * b) == 0 : s[2] % b == 0 && s[3] % b == 0, "the block size does not divide the input");
    const Shape shape = to_space_ ? Shape{s[0], s[1] / (b * b), s[2] * b, s[3] * b}
                                  : Shape{s[0], s[1] * b * b, s[2] / b, s[3] / b};
    const Tensor y = context.output(0, shape);
    StridedCopy copy = dense_copy(x, y);
    const Shape& wide = to_space_ ? y.shape : s;  // the side with large H and W
    const Strides w = dense_strides(wide), d = dense_strides(to_space_ ? s : y.shape);
    // Index space: N, C', H', bh, W', bw, where the deep side has channels of C' × bh × bw.
    const int64_t channels = wide[1];
    copy.shape = Shape{s[0], channels, wide[2] / b, b, wide[3] / b, b};
    const Strides in_wide = {w[0], w[1], w[2] * b, w[2], w[3] * b, w[3]};
    const int64_t c = column_first_ ? b * b : 1, q = column_first_ ? 1 : channels;
    const Strides in_deep = {d[0], d[1] * c, d[2], d[1] * b * q, d[3], d[1] * q};
    copy.from_strides = to_space_ ? in_deep : in_wide;
    copy.to_strides = to_space_ ? in_wide : in_deep;
    strided_copy(context.stream(), copy);
  }

 private:
  bool to_space_;
  int64_t block_;
  bool column_first_;
};

std::unique_ptr<Kernel> make_depth_to_space(const Info& info) { return std::make_unique<DepthSpace>(info, true); }
std::unique_ptr<Kernel> make_space_to_depth(const Info& info) { return std::make_unique<DepthSpace>(info, false); }

enum class Border { constant, reflect, edge, wrap };

template <class T>
struct PadElement {
  const T* x;
  T* y;
  const T* value;  // on the device, or null for zero
  Border border;
  int rank;
  int64_t whole[kMaxRank];  // x's extents
  int64_t skip[kMaxRank];   // what a negative pad cuts off x's beginning
  int64_t in[kMaxRank];     // what is left of x
  int64_t out[kMaxRank];
  int64_t begin[kMaxRank];

  static RK_HD int64_t fold(int64_t at, int64_t extent, Border border) {
    if (border == Border::edge) return at < 0 ? 0 : (at >= extent ? extent - 1 : at);
    if (border == Border::wrap) return (at % extent + extent) % extent;
    if (extent == 1) return 0;
    const int64_t period = 2 * (extent - 1);
    at = (at % period + period) % period;
    return at < extent ? at : period - at;
  }
  RK_HD void operator()(int64_t index) const {
    int64_t rest = index, offset = 0, step = 1;
    bool outside = false;
    for (int i = rank - 1; i >= 0; --i) {
      int64_t at = rest % out[i] - begin[i];
      rest /= out[i];
      if (at < 0 || at >= in[i]) {
        if (border == Border::constant) outside = true;
        else at = fold(at, in[i], border);
      }
      offset += (at + skip[i]) * step;
      step *= whole[i];
    }
    y[index] = outside ? (value == nullptr ? T{} : *value) : x[offset];
  }
};

class Pad : public Kernel {
 public:
  explicit Pad(const Info& info) : border_(border(info.text("mode", "constant"))) {}

  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const std::vector<int64_t> pads = integers(context.input(1));
    const Tensor value = context.input(2);
    const Tensor axes_input = context.input(3);
    std::vector<int64_t> axes = axes_input ? integers(axes_input) : std::vector<int64_t>{};
    const int rank = x.shape.rank();
    if (!axes_input)
      for (int i = 0; i < rank; ++i) axes.push_back(i);
    require(pads.size() == 2 * axes.size(), "Pad's pads do not match its axes");
    Shape in = x.shape, shape = x.shape;
    int64_t begin[kMaxRank] = {}, skip[kMaxRank] = {};
    bool taken[kMaxRank] = {};
    for (size_t i = 0; i < axes.size(); ++i) {
      const int axis = axis_in(axes[i], rank);
      require(!std::exchange(taken[axis], true), "Pad names an axis twice");
      const int64_t before = pads[i], after = pads[i + axes.size()];
      shape[axis] += before + after;
      begin[axis] = std::max<int64_t>(before, 0);
      skip[axis] = std::max<int64_t>(-before, 0);
      in[axis] -= skip[axis] + std::max<int64_t>(-after, 0);
      require(border_ == Border::constant || in[axis] > 0 || shape[axis] <= 0, "Pad has nothing to repeat: the axis is empty");
    }
    require(!value || value.size() == 1, "Pad's constant must be one element");
    const Tensor y = context.output(0, shape);
    with_bytes(bytes_of(x.type), [&](auto zero) {
      using T = decltype(zero);
      PadElement<T> element{x.as<T>(), y.as<T>(), value.as<T>(), border_, rank, {}, {}, {}, {}, {}};
      for (int i = 0; i < rank; ++i) {
        element.whole[i] = x.shape[i];
        element.skip[i] = skip[i];
        element.in[i] = in[i];
        element.out[i] = shape[i];
        element.begin[i] = begin[i];
      }
      for_each(context.stream(), y.size(), element);
    });
  }

 private:
  static Border border(const std::string& mode) {
    if (mode == "reflect") return Border::reflect;
    if (mode == "edge") return Border::edge;
    return mode == "wrap" ? Border::wrap : Border::constant;
  }
  Border border_;
};

}  // namespace

void add_movement(Entries& e) {
  const std::vector<TypeRule> t = {{"T", any_storage()}};
  const std::vector<TypeRule> index_rules = {{"T", any_storage()}, {"Tind", indices()}};
  e.push_back({"Transpose", 1, kNewest, t, make<Transpose>});
  e.push_back({"Concat", 4, kNewest, t, make<Concat>});
  e.push_back({"Split", 2, kNewest, t, make<Split>, {1}});
  e.push_back({"Slice", 1, 9, t, make<Slice>});
  e.push_back({"Slice", 10, kNewest, index_rules, make<Slice>, {1, 2, 3, 4}});
  e.push_back({"Expand", 8, kNewest, t, make<Expand>, {1}});
  e.push_back({"Tile", 6, kNewest, {{"T", any_storage()}, {"T1", int64s()}}, make<Tile>, {1}, {}, false, false, at_most_four});
  e.push_back({"Pad", 11, 17, t, make<Pad>, {1}});
  e.push_back({"Pad", 18, kNewest, index_rules, make<Pad>, {1, 3}});
  e.push_back({"DepthToSpace", 1, kNewest, t, make_depth_to_space});
  e.push_back({"SpaceToDepth", 1, kNewest, t, make_space_to_depth});
}

}  // namespace rk
