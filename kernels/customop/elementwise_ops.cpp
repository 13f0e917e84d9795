#include "customop/ops.hpp"

namespace sbk::customop {

ActivationParams activation_of(const Attributes& attributes) {
  const std::string kind = attributes.text("activation", "none");
  ActivationParams a;
  a.alpha = attributes.number("activation_alpha", 0.01f);
  if (kind == "none") a.kind = Activation::none;
  else if (kind == "relu") a.kind = Activation::relu;
  else if (kind == "leaky_relu") a.kind = Activation::leaky_relu;
  else if (kind == "silu") a.kind = Activation::silu;
  else throw std::runtime_error("activation must be none, relu, leaky_relu or silu, not " + kind);
  return a;
}

namespace {

int64_t spatial_of(const std::vector<int64_t>& shape) {
  int64_t spatial = 1;
  for (size_t i = 2; i < shape.size(); ++i) spatial *= shape[i];
  return spatial;
}

DataType parameter(const Tensor& tensor, int64_t count, const char* name) {
  if (tensor.shape != std::vector<int64_t>{count}) {
    throw std::runtime_error(std::string(name) + " must have one axis, of " + std::to_string(count) + " values");
  }
  return floating(tensor, name);
}

size_t bytes_of(const Tensor& tensor) {
  return tensor.present ? static_cast<size_t>(tensor.count()) * element_bytes(tensor.type) : 0;
}

}  // namespace

LeakyReluOp::LeakyReluOp(const Attributes& attributes) : alpha_(attributes.number("alpha", 0.01f)) {}

void LeakyReluOp::compute(const Call& call, Where where) const {
  const Tensor x = call.required_input(0, "X");
  LeakyReluParams p;
  p.dtype = floating(x, "X");
  p.count = x.count();
  p.alpha = alpha_;
  p.x = x.data;
  p.y = call.output(x.shape);
  static constexpr Launchers launchers{run_untyped<LeakyReluParams, cpu::leaky_relu>, &GpuLibrary::leaky_relu, nullptr};
  run(where, launchers, &p, {{&p.x, bytes_of(x)}, {const_cast<const void**>(&p.y), bytes_of(x), true}}, call);
}

BatchNormalizationOp::BatchNormalizationOp(const Attributes& attributes)
    : epsilon_(attributes.number("epsilon", 1e-5f)) {
  if (attributes.integer("training_mode", 0) != 0) throw std::runtime_error("BatchNormalization: inference only");
}

void BatchNormalizationOp::compute(const Call& call, Where where) const {
  const Tensor x = call.required_input(0, "X", 1);
  const Tensor scale = call.required_input(1, "scale"), bias = call.required_input(2, "B");
  const Tensor mean = call.required_input(3, "input_mean"), variance = call.required_input(4, "input_var");
  BatchNormParams p;
  p.dtype = floating(x, "X");
  p.batch = x.shape[0];
  p.channels = x.shape.size() > 1 ? x.shape[1] : 1;
  p.spatial = spatial_of(x.shape);
  p.epsilon = epsilon_;
  p.scale_dtype = parameter(scale, p.channels, "scale");
  p.stats_dtype = parameter(mean, p.channels, "input_mean");
  if (parameter(bias, p.channels, "B") != p.scale_dtype) throw std::runtime_error("scale and B differ in type");
  if (parameter(variance, p.channels, "input_var") != p.stats_dtype) {
    throw std::runtime_error("input_mean and input_var differ in type");
  }
  p.x = x.data;
  p.scale = scale.data;
  p.bias = bias.data;
  p.mean = mean.data;
  p.variance = variance.data;
  p.y = call.output(x.shape);
  static constexpr Launchers launchers{run_untyped<BatchNormParams, cpu::batch_norm>, &GpuLibrary::batch_norm, nullptr};
  run(where, launchers, &p,
      {{&p.x, bytes_of(x)}, {&p.scale, bytes_of(scale)}, {&p.bias, bytes_of(bias)}, {&p.mean, bytes_of(mean)},
       {&p.variance, bytes_of(variance)}, {const_cast<const void**>(&p.y), bytes_of(x), true}},
      call);
}

GroupNormalizationOp::GroupNormalizationOp(const Attributes& attributes)
    : groups_(attributes.integer("num_groups", 0)), epsilon_(attributes.number("epsilon", 1e-5f)),
      activation_(activation_of(attributes)) {
  if (groups_ <= 0) throw std::runtime_error("GroupNormalization: num_groups must be positive");
}

void GroupNormalizationOp::compute(const Call& call, Where where) const {
  const Tensor x = call.required_input(0, "X", 2);
  const Tensor scale = call.required_input(1, "scale"), bias = call.required_input(2, "bias");
  GroupNormParams p;
  p.dtype = floating(x, "X");
  p.batch = x.shape[0];
  p.channels = x.shape[1];
  p.groups = groups_;
  p.spatial = spatial_of(x.shape);
  p.epsilon = epsilon_;
  p.activation = activation_;
  p.per_group = scale.count() != p.channels;  // opset 18; where both agree the two readings are the same
  const int64_t values = p.per_group ? p.groups : p.channels;
  p.scale_dtype = parameter(scale, values, "scale");
  if (parameter(bias, values, "bias") != p.scale_dtype) throw std::runtime_error("scale and bias differ in type");
  p.x = x.data;
  p.scale = scale.data;
  p.bias = bias.data;
  p.y = call.output(x.shape);
  static constexpr Launchers launchers{run_untyped<GroupNormParams, cpu::group_norm>, &GpuLibrary::group_norm,
                                       &GpuLibrary::group_norm_workspace};
  run(where, launchers, &p,
      {{&p.x, bytes_of(x)}, {&p.scale, bytes_of(scale)}, {&p.bias, bytes_of(bias)},
       {const_cast<const void**>(&p.y), bytes_of(x), true}},
      call);
}

}  // namespace sbk::customop
