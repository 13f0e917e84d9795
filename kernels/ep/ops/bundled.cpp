// Conv, BatchNormalization, LeakyRelu, GroupNormalization.
#include "ops/bundled.hpp"

#include "core/graph.hpp"
#include "core/types.hpp"

namespace rk {

void run_conv(Context& context, const WindowAttributes& attributes, const ConvCall& call) {
  const Shape& x = call.x.shape;
  const Shape& w = call.w.shape;
  require(w.rank() == x.rank() && x.rank() >= 3, "Conv's weights do not have the input's rank");
  require(x[1] == w[1] * call.groups && w[0] % call.groups == 0, "Conv's channels do not match its weights and groups");
  std::vector<int64_t> extents(w.begin() + 2, w.end());
  const Window window = attributes.on(x, extents);
  const int spatial = x.rank() - 2;
  const Shape out = window.output_shape(x[0], w[0], spatial);
  require(!call.residual || call.residual.shape == out, "Conv's residual does not have the output's shape");
  const Tensor y = context.output(0, out);
  if (y.size() == 0) return;
  sbk::ConvParams p;
  p.dtype = data_type(call.x.type);
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
  p.x = call.x.data;
  p.w = call.w.data;
  p.bias = call.bias.data;
  p.residual = call.residual.data;
  p.y = y.data;
  check(backend::conv(p, context.launch(workspace_bytes(p))));
}

namespace {

class Conv : public Kernel {
 public:
  explicit Conv(const Info& info) : attributes_(WindowAttributes::read(info)), groups_(info.integer("group", 1)) {}
  void compute(Context& context) override {
    run_conv(context, attributes_, {context.input(0), context.input(1), context.input(2), {}, groups_, {}});
  }

 private:
  WindowAttributes attributes_;
  int64_t groups_;
};

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
    p.batch = x.shape[0];
    p.channels = x.shape.rank() > 1 ? x.shape[1] : 1;
    p.spatial = x.shape.product(2, x.shape.rank());
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
  explicit GroupNorm(const Info& info)
      : groups_(info.integer("num_groups", 0)), epsilon_(info.real("epsilon", 1e-5f)),
        per_group_(!Instance && info.since_version() < 21) {}

  void compute(Context& context) override {
    const Tensor x = context.input(0), scale = context.input(1);
    const Tensor y = context.output(0, x.shape);
    if (y.size() == 0) return;
    sbk::GroupNormParams p;
    p.dtype = data_type(x.type);
    p.scale_dtype = data_type(scale.type);
    p.batch = x.shape[0];
    p.channels = x.shape[1];
    p.groups = Instance ? p.channels : groups_;
    p.spatial = x.shape.product(2, x.shape.rank());
    p.per_group = per_group_;
    p.epsilon = epsilon_;
    p.x = x.data;
    p.scale = scale.data;
    p.bias = context.input(2).data;
    p.y = y.data;
    check(backend::group_norm(p, context.launch(workspace_bytes(p))));
  }

 private:
  int64_t groups_;
  float epsilon_;
  bool per_group_;
};

bool spatial_up_to_three(const NodeView& node) {
  const auto dims = node.input(1) ? node.input(1).dims() : std::nullopt;
  return dims && dims->size() >= 3 && dims->size() <= 5;
}

}  // namespace

void add_bundled(Entries& e) {
  const std::vector<TypeRule> t = {{"T", floats()}};
  e.push_back({"Conv", 1, kNewest, t, make<Conv>, {}, {}, false, false, spatial_up_to_three});
  e.push_back({"BatchNormalization", 9, 13, t, make<BatchNorm>, {}, {}, false, false, inference});
  e.push_back({"BatchNormalization", 14, 14, {{"T", floats()}, {"U", floats()}}, make<BatchNorm>, {}, {}, false, false, inference});
  e.push_back({"BatchNormalization", 15, kNewest, {{"T", floats()}, {"T1", floats()}, {"T2", floats()}}, make<BatchNorm>, {},
               {}, false, false, inference});
  e.push_back({"LeakyRelu", 6, kNewest, t, make<LeakyRelu>, {}, {}, false, true});
  e.push_back({"GroupNormalization", 18, kNewest, t, make<GroupNorm<false>>});
  e.push_back({"InstanceNormalization", 6, kNewest, t, make<GroupNorm<true>>});
}

}  // namespace rk
