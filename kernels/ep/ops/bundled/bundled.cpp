// Conv, BatchNormalization, LeakyRelu, GroupNormalization.
#include "ops/bundled/bundled.hpp"

#include <tuple>

#include "core/graph/graph.hpp"
#include "core/provider/ep.hpp"
#include "core/tensor/types.hpp"
#include "ops/bundled/conv_options.hpp"
#include "ops/shape/copy.hpp"

namespace rk {

Shape channels_first(const Shape& shape, sbk::Layout layout) {
  if (layout == sbk::Layout::channels_first || shape.rank() < 2) return shape;
  Shape result{shape[0], shape[shape.rank() - 1]};
  for (int i = 1; i + 1 < shape.rank(); ++i) result.push(shape[i]);
  return result;
}

Shape in_layout(const Shape& shape, sbk::Layout layout) {
  if (layout == sbk::Layout::channels_first || shape.rank() < 2) return shape;
  Shape result{shape[0]};
  for (int i = 2; i < shape.rank(); ++i) result.push(shape[i]);
  result.push(shape[1]);
  return result;
}

std::pair<const void*, sbk::FilterLayout> Filter::get(Stream& stream, const Tensor& w, bool constant) {
  const bool pointwise = w.shape.product(2, w.shape.rank()) == 1;  // both orders are the same
  if (!constant || pointwise) return {w.data, sbk::FilterLayout::channels_first};
  const std::lock_guard<std::mutex> hold(lock_);
  if (packed_weights_ != nullptr) return {packed_weights_, sbk::FilterLayout::channels_last};
  void* packed_weights = device::allocate(static_cast<size_t>(w.bytes()));
  if (packed_weights == nullptr) return {w.data, sbk::FilterLayout::channels_first};
  StridedCopy copy;
  copy.shape = in_layout(w.shape, sbk::Layout::channels_last);
  copy.from = w.data;
  copy.to = packed_weights;
  const Strides dense = dense_strides(w.shape);
  copy.from_strides[0] = dense[0];
  for (int i = 2; i < w.shape.rank(); ++i) copy.from_strides[i - 1] = dense[i];
  copy.from_strides[w.shape.rank() - 1] = dense[1];
  copy.to_strides = dense_strides(copy.shape);
  copy.element_bytes = bytes_of(w.type);
  strided_copy(stream, copy);
  stream.synchronize();  // another stream may use it next
  packed_weights_ = packed_weights;
  return {packed_weights_, sbk::FilterLayout::channels_last};
}

Filter::~Filter() {
  device::release(packed_weights_);
  for (const auto& [form, memory] : forms_) device::release(memory);
}

void Filter::place_packed([[maybe_unused]] Stream& stream, [[maybe_unused]] sbk::ConvParams& p) {
#if !RK_CPU  // which packs nothing
  const sbk::ConvFilterForm form = sbk::conv_filter_form(p);
  if (form.form == 0) return;
  const std::lock_guard<std::mutex> hold(lock_);
  auto row = forms_.find(form.form);
  if (row == forms_.end()) {
    void* packed_weights = device::allocate(form.bytes);
    if (packed_weights == nullptr) return;
    row = forms_.emplace(form.form, packed_weights).first;
    check(sbk::gpu::pack_conv_filter(p, packed_weights, {stream.native(), nullptr, 0}));
    stream.synchronize();  // another stream may use it next
  }
  p.packed_weights = row->second;
  p.packed_form = form.form;
#endif
}

namespace {

Window window_of(const WindowAttributes& attributes, const ConvCall& call) {
  const Shape x = channels_first(call.x.shape, call.layout);
  const Shape& w = call.w.shape;
  require(w.rank() == x.rank() && x.rank() >= 3, "Conv's weights do not have the input's rank");
  require(call.groups > 0 && x[1] == w[1] * call.groups && w[0] % call.groups == 0,
          "Conv's channels do not match its weights and groups");
  require(!call.bias || call.bias.size() == w[0], "Conv's bias does not have one value for each output channel");
  const std::vector<int64_t> extents(w.begin() + 2, w.end());
  require(attributes.kernel.empty() || attributes.kernel == extents, "Conv's kernel_shape is not that of its weights");
  return attributes.on(x, extents);
}

}  // namespace

Shape conv_shape(const WindowAttributes& attributes, const ConvCall& call) {
  const Window window = window_of(attributes, call);
  return in_layout(window.output_shape(call.x.shape[0], call.w.shape[0], call.x.shape.rank() - 2), call.layout);
}

void run_conv(Context& context, const WindowAttributes& attributes, const ConvCall& call, Filter& filter, const Tensor& y) {
  if (y.size() == 0) return;
  const Window window = window_of(attributes, call);
  const Shape x = channels_first(call.x.shape, call.layout);
  const Shape& w = call.w.shape;
  const int spatial = x.rank() - 2;
  sbk::ConvParams p;
  p.dtype = data_type(call.x.type);
  p.layout = call.layout;
  p.spatial = spatial;
  p.batch = x[0];
  p.in_channels = x[1];
  p.out_channels = w[0];
  p.groups = call.groups;
  for (int i = 0; i < spatial; ++i) {
    const int at = 3 - spatial + i;
    p.in[i] = window.in[at];
    p.out[i] = window.out[at];
    p.kernel[i] = window.kernel[at];
    p.stride[i] = window.stride[at];
    p.dilation[i] = window.dilation[at];
    p.pad_begin[i] = window.pad_begin[at];
  }
  p.activation = call.activation;
  p.choosing = call.choosing;
  // A sum over nothing is the bias; a tensor without elements may have no address, and is not read.
  if (call.x.size() == 0) p.algorithm = sbk::ConvAlgorithm::direct;
  p.x = call.x.data != nullptr ? call.x.data : y.data;
  std::tie(p.w, p.filter_layout) = filter.get(context.stream(), call.w, call.constant_filter);
  if (p.w == nullptr) p.w = y.data;
  p.bias = call.bias.data;
  p.residual = call.residual.data;
  p.y = y.data;
  if (call.constant_filter) filter.place_packed(context.stream(), p);
  check(backend::conv(p, context.launch(workspace_bytes(p))));
}

namespace {

template <sbk::Layout layout>
class Conv : public Kernel {
 public:
  explicit Conv(const Info& info)
      : attributes_(WindowAttributes::read(info)), groups_(info.integer("group", 1)), constant_(info.is_constant(1)),
        choosing_(conv_choice(Ep::options_of(info.raw()))) {}
  void compute(Context& context) override {
    ConvCall call;
    call.x = context.input(0);
    call.w = context.input(1);
    call.bias = context.input(2);
    call.groups = groups_;
    call.layout = layout;
    call.constant_filter = constant_;
    call.choosing = choosing_;
    run_conv(context, attributes_, call, filter_, context.output(0, conv_shape(attributes_, call)));
  }

 private:
  WindowAttributes attributes_;
  int64_t groups_;
  bool constant_;
  sbk::ConvChoosing choosing_;
  Filter filter_;
};

template <sbk::Layout layout>
class BatchNorm : public Kernel {
 public:
  explicit BatchNorm(const Info& info) : epsilon_(info.real("epsilon", 1e-5f)) {}
  void compute(Context& context) override {
    const Tensor x = context.input(0), scale = context.input(1), mean = context.input(3);
    const Tensor y = context.output(0, x.shape);
    if (y.size() == 0) return;
    sbk::BatchNormParams p;
    p.dtype = data_type(x.type);
    p.scale_dtype = data_type(scale.type);
    p.stats_dtype = data_type(mean.type);
    const Shape extents = channels_first(x.shape, layout);
    p.layout = layout;
    p.batch = extents[0];
    p.channels = extents.rank() > 1 ? extents[1] : 1;
    p.spatial = extents.product(2, extents.rank());
    for (size_t i = 1; i <= 4; ++i)
      require(context.input(i).shape.rank() == 1 && context.input(i).size() == p.channels,
              "BatchNormalization's scale, bias, mean and variance have one axis, with one value for each channel");
    p.epsilon = epsilon_;
    p.x = x.data;
    p.scale = scale.data;
    p.bias = context.input(2).data;
    p.mean = mean.data;
    p.variance = context.input(4).data;
    p.y = y.data;
    check(backend::batch_norm(p, context.launch(workspace_bytes(p))));
  }

 private:
  float epsilon_;
};

bool inference(const NodeView& node) {
  const auto dims = node.input(0).dims();
  if (dims && dims->size() < 2) return false;  // ONNX Runtime's layout transformation stumbles over it
  return node.integer("training_mode", 0) == 0 && node.outputs().size() == 1 && node.integer("spatial", 1) == 1;
}

class LeakyRelu : public Kernel {
 public:
  explicit LeakyRelu(const Info& info) : alpha_(info.real("alpha", 0.01f)) {}
  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const Tensor y = context.output(0, x.shape);
    sbk::LeakyReluParams p;
    p.dtype = data_type(x.type);
    p.count = x.size();
    p.alpha = alpha_;
    p.x = x.data;
    p.y = y.data;
    check(backend::leaky_relu(p, context.launch(workspace_bytes(p))));
  }

 private:
  float alpha_;
};

// GroupNormalization, and InstanceNormalization as the case of one channel a group.
template <bool Instance>
class GroupNorm : public Kernel {
 public:
  explicit GroupNorm(const Info& info) {
    call_.groups = info.integer("num_groups", 0);
    call_.epsilon = info.real("epsilon", 1e-5f);
    call_.per_group = !Instance && info.since_version() < 21;
  }

  void compute(Context& context) override {
    const Tensor x = context.input(0);
    GroupNormCall call = call_;
    if (Instance) call.groups = x.shape.rank() < 2 ? 0 : x.shape[1];
    run_group_norm(context, call, x, context.input(1), context.input(2), context.output(0, x.shape));
  }

 private:
  GroupNormCall call_;
};

bool conv_fits(const NodeView& node) {
  const auto dims = node.input(1) ? node.input(1).dims() : std::nullopt;
  for (int64_t pad : node.integers("pads").value_or(std::vector<int64_t>{}))
    if (pad < 0) return false;
  return dims && dims->size() >= 3 && dims->size() <= 5;
}

}  // namespace

void run_group_norm(Context& context, const GroupNormCall& call, const Tensor& x, const Tensor& scale, const Tensor& bias,
                    const Tensor& y) {
  require(x.shape.rank() >= 2, "the normalization takes batch, channels and more");
  const int64_t values = call.per_group ? call.groups : x.shape[1];
  require(scale.size() == values && bias.size() == values, "the normalization's scale or bias does not have one value for each channel (or group)");
  if (y.size() == 0) return;
  sbk::GroupNormParams p;
  p.dtype = data_type(x.type);
  p.scale_dtype = data_type(scale.type);
  p.batch = x.shape[0];
  p.channels = x.shape[1];
  p.groups = call.groups;
  p.spatial = x.shape.product(2, x.shape.rank());
  p.per_group = call.per_group;
  p.epsilon = call.epsilon;
  p.activation = call.activation;
  p.x = x.data;
  p.scale = scale.data;
  p.bias = bias.data;
  p.y = y.data;
  check(backend::group_norm(p, context.launch(workspace_bytes(p))));
}

namespace {

template <sbk::Layout layout>
void add_conv_and_norm(Entries& e, const char* domain) {
  const std::vector<TypeRule> t = {{"T", floats()}};
  using Norm = BatchNorm<layout>;
  e.push_back({"Conv", 1, kNewest, t, make<Conv<layout>>, {}, {}, false, false, conv_fits, domain});
  e.push_back({"BatchNormalization", 7, 13, t, make<Norm>, {}, {}, false, false, inference, domain});
  e.push_back({"BatchNormalization", 14, 14, {{"T", floats()}, {"U", floats()}}, make<Norm>, {}, {}, false, false, inference, domain});
  e.push_back({"BatchNormalization", 15, kNewest, {{"T", floats()}, {"T1", floats()}, {"T2", floats()}}, make<Norm>, {}, {}, false,
               false, inference, domain});
}

}  // namespace

void add_bundled(Entries& e) {
  const std::vector<TypeRule> t = {{"T", floats()}};
  add_conv_and_norm<sbk::Layout::channels_first>(e, "");
  add_conv_and_norm<sbk::Layout::channels_last>(e, kChannelsLast);
  e.push_back({"LeakyRelu", 6, kNewest, t, make<LeakyRelu>, {}, {}, false, true});
  e.push_back({"GroupNormalization", 18, kNewest, t, make<GroupNorm<false>>});
  e.push_back({"InstanceNormalization", 6, kNewest, t, make<GroupNorm<true>>});
}

}  // namespace rk
