// Operators that leave the data as it is (Reshape, Flatten, Squeeze, …) or make data of a shape.
#include <memory>

#include "core/graph/graph.hpp"
#include "core/kernel/kernel.hpp"
#include "core/kernel/parallel_for.hpp"
#include "core/tensor/types.hpp"
#include "ops/shape/reshape.hpp"
#include "ops/shape/zero_fill.hpp"

namespace rk {
namespace {

// The output is the input's memory where ONNX Runtime could arrange it, else a copy.
void same_data(Context& context, const Tensor& x, const Shape& shape) {
  const Tensor y = context.output(0, shape);
  if (y.data != x.data && x.bytes() != 0)
    device::copy(y.data, x.data, static_cast<size_t>(x.bytes()), device::Copy::on_device, context.stream().native());
}

class Reshape : public Kernel {
 public:
  explicit Reshape(const Info& info) : zero_is_zero_(info.integer("allowzero", 0) != 0) {}

  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const Reshaping reshaping{integers(context.input(1)), zero_is_zero_};
    same_data(context, x, reshaping.of(x.shape));
  }

 private:
  bool zero_is_zero_;
};

class Flatten : public Kernel {
 public:
  explicit Flatten(const Info& info) : axis_(info.integer("axis", 1)) {}
  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const int rank = x.shape.rank();
    const int axis = axis_ == rank ? rank : axis_in(axis_, std::max(rank, 1));
    same_data(context, x, Shape{x.shape.product(0, axis), x.shape.product(axis, rank)});
  }

 private:
  int64_t axis_;
};

class Identity : public Kernel {
 public:
  explicit Identity(const Info&) {}
  void compute(Context& context) override {
    const Tensor x = context.input(0);
    same_data(context, x, x.shape);
  }
};

struct Fill {
  bool* y;
  RK_HD void operator()(int64_t i) const { y[i] = true; }
};

// In inference the input passes through, and the mask, where asked for, is all true.
class Dropout : public Kernel {
 public:
  explicit Dropout(const Info&) {}
  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const Tensor training = context.input(2);
    require(!training || !*training.as<bool>(), "Dropout in training mode is not supported; export the model for inference");
    same_data(context, x, x.shape);
    const Tensor mask = context.wanted_output(1, x.shape);
    if (mask) for_each(context.stream(), mask.size(), Fill{mask.as<bool>()});
  }
};

// Axes from the attribute (before opset 13) or the second input.
std::vector<int64_t> axes_of(const Context& context, const std::optional<std::vector<int64_t>>& attribute) {
  if (attribute) return *attribute;
  const Tensor input = context.input(1);
  return input ? integers(input) : std::vector<int64_t>{};
}

class Squeeze : public Kernel {
 public:
  explicit Squeeze(const Info& info) : axes_(info.integers("axes")) {}
  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const std::vector<int64_t> axes = axes_of(context, axes_);
    bool drop[kMaxRank] = {};
    for (int64_t axis : axes) {
      const int i = axis_in(axis, x.shape.rank());
      require(x.shape[i] == 1, "Squeeze drops an axis whose extent is not 1");
      drop[i] = true;
    }
    Shape shape;
    for (int i = 0; i < x.shape.rank(); ++i)
      if (axes.empty() ? x.shape[i] != 1 : !drop[i]) shape.push(x.shape[i]);
    same_data(context, x, shape);
  }

 private:
  std::optional<std::vector<int64_t>> axes_;
};

class Unsqueeze : public Kernel {
 public:
  explicit Unsqueeze(const Info& info) : axes_(info.integers("axes")) {}
  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const std::vector<int64_t> axes = axes_of(context, axes_);
    const int rank = x.shape.rank() + static_cast<int>(axes.size());
    require(rank <= kMaxRank, "Unsqueeze makes a rank above 8");
    bool fresh[kMaxRank] = {};
    for (int64_t axis : axes) {
      const int i = axis_in(axis, rank);
      require(!fresh[i], "Unsqueeze names an axis twice");
      fresh[i] = true;
    }
    Shape shape;
    for (int i = 0, next = 0; i < rank; ++i) shape.push(fresh[i] ? 1 : x.shape[next++]);
    same_data(context, x, shape);
  }

 private:
  std::optional<std::vector<int64_t>> axes_;
};

class ShapeOf : public Kernel {
 public:
  explicit ShapeOf(const Info& info) : start_(info.integer("start", 0)), end_(info.integer("end")) {}
  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const int64_t rank = x.shape.rank();
    const auto clamp = [rank](int64_t at) { return std::min(std::max<int64_t>(at < 0 ? at + rank : at, 0), rank); };
    const int64_t start = clamp(start_), end = clamp(end_.value_or(rank));
    const Tensor y = context.output(0, Shape{std::max<int64_t>(end - start, 0)});
    for (int64_t i = start; i < end; ++i) y.as<int64_t>()[i - start] = x.shape[static_cast<int>(i)];
  }

 private:
  int64_t start_;
  std::optional<int64_t> end_;
};

class SizeOf : public Kernel {
 public:
  explicit SizeOf(const Info&) {}
  void compute(Context& context) override {
    const int64_t size = context.input(0).size();
    *context.output(0, Shape{}).as<int64_t>() = size;
  }
};

template <class T>
struct Constant {
  T* y;
  T value;
  RK_HD void operator()(int64_t i) const { y[i] = value; }
};

class ConstantOfShape : public Kernel {
 public:
  explicit ConstantOfShape(const Info& info) {
    OrtAllocator* allocator = nullptr;
    check(api().ort->GetAllocatorWithDefaultOptions(&allocator));
    OrtValue* value = nullptr;
    OrtStatus* status = api().ort->KernelInfoGetAttribute_tensor(info.raw(), "value", allocator, &value);
    if (status != nullptr) {  // absent: float zero
      api().ort->ReleaseStatus(status);
      return;
    }
    const std::unique_ptr<OrtValue, void (*)(OrtValue*)> owner(value, [](OrtValue* v) { api().ort->ReleaseValue(v); });
    const Tensor tensor = view(value);
    require(tensor.size() == 1, "ConstantOfShape's value must be one element");
    bytes_ = bytes_of(tensor.type);
    std::copy_n(tensor.as<char>(), bytes_, pattern_);
  }

  void compute(Context& context) override {
    const Tensor y = context.output(0, Shape(integers(context.input(0))));
    with_bytes(bytes_, [&](auto zero) {
      using T = decltype(zero);
      T value;
      std::copy_n(pattern_, sizeof value, reinterpret_cast<char*>(&value));
      for_each(context.stream(), y.size(), Constant<T>{y.as<T>(), value});
    });
  }

 private:
  int64_t bytes_ = 4;
  char pattern_[16] = {};
};

// The nodes ONNX Runtime puts between providers. Without kernels of ours it runs the CPU provider's, which copy from host
// to host and leave a host pointer in our hands.
template <device::Copy kind>
class Memcpy : public Kernel {
 public:
  explicit Memcpy(const Info&) {}
  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const Tensor y = context.output(0, x.shape);
    device::copy(y.data, x.data, static_cast<size_t>(x.bytes()), kind, context.stream().native());
    if (kind == device::Copy::to_host) context.stream().synchronize();  // the reader is a CPU kernel: it waits for nobody
  }
};

bool not_training(const NodeView& node) {
  const ValueView training = node.input(2);
  if (!training) return true;
  const Tensor value = training.constant();
  return value && !*value.as<bool>();
}

bool no_mask(const NodeView& node) { return !node.output(1); }  // of the data's type before opset 10

void add_view(Entries& entries, const char* op, int first, MakeKernel make, std::vector<size_t> host_inputs = {}) {
  entries.push_back({op, first, kNewest, {{"T", any_storage()}}, make, std::move(host_inputs), {}, true});
}

}  // namespace

void zero_fill(Stream& stream, const Tensor& tensor) {
  for_each(stream, tensor.bytes(), Constant<char>{tensor.as<char>(), 0});
}

void add_shape(Entries& e) {
  add_view(e, "Reshape", 5, make<Reshape>, {1});
  add_view(e, "Flatten", 1, make<Flatten>);
  add_view(e, "Squeeze", 1, make<Squeeze>, {1});
  add_view(e, "Unsqueeze", 1, make<Unsqueeze>, {1});
  e.push_back({"Identity", 1, 13, {{"T", any_storage()}}, make<Identity>, {}, {}, true});
  e.push_back({"Identity", 14, kNewest, {{"V", any_storage()}}, make<Identity>, {}, {}, true});
  e.push_back({"Dropout", 7, 9, {{"T", floats()}}, make<Dropout>, {}, {}, true, false, no_mask});
  e.push_back({"Dropout", 10, 11, {{"T", floats()}, {"T1", bools()}}, make<Dropout>, {}, {}, true});
  e.push_back({"Dropout", 12, kNewest, {{"T", floats()}, {"T1", any_storage()}, {"T2", bools()}}, make<Dropout>, {1, 2}, {}, true, false, not_training});
  e.push_back({"Shape", 1, kNewest, {{"T", any_storage()}, {"T1", int64s()}}, make<ShapeOf>, {}, {0}});
  e.push_back({"Size", 1, kNewest, {{"T", any_storage()}, {"T1", int64s()}}, make<SizeOf>, {}, {0}});
  e.push_back({"MemcpyFromHost", 1, 1, {{"T", any_storage()}}, make<Memcpy<device::Copy::to_device>>, {0}});
  e.push_back({"MemcpyToHost", 1, 1, {{"T", any_storage()}}, make<Memcpy<device::Copy::to_host>>, {}, {0}});
  e.push_back({"ConstantOfShape", 9, kNewest, {{"T1", int64s()}, {"T2", everything()}}, make<ConstantOfShape>, {0}});
}

}  // namespace rk
