#include <algorithm>
#include <cstdint>

#include "customop/ops.hpp"

namespace sbk::customop {
namespace {

std::vector<int64_t> or_else(std::vector<int64_t> values, size_t count, int64_t otherwise, const char* name) {
  if (values.empty()) return std::vector<int64_t>(count, otherwise);
  if (values.size() != count) throw std::runtime_error(std::string("Conv: ") + name + " has the wrong length");
  return values;
}

// Larger strides, dilations, paddings and windows are refused, so that no sum or product here leaves int64.
constexpr int64_t kMost = INT32_MAX;

void check_range(const std::vector<int64_t>& values, int64_t least, const char* name) {
  for (const int64_t value : values) {
    if (value < least || value > kMost) {
      throw std::runtime_error(std::string("Conv: ") + name + " must be " + std::to_string(least) + " to 2147483647");
    }
  }
}

// Elements from a filter's first tap to its last.
int64_t window_of(int64_t taps, int64_t dilation) {
  if (taps > 1 && dilation > kMost / (taps - 1)) throw std::runtime_error("Conv: the dilated filter is too large");
  return (taps - 1) * dilation + 1;
}

// Padding before one axis, and the output's extent, as ONNX's Conv defines auto_pad.
struct Axis {
  int64_t before, out;
};

Axis place(const std::string& auto_pad, int64_t in, int64_t window, int64_t stride, int64_t before, int64_t after) {
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    const int64_t out = (in + stride - 1) / stride;
    const int64_t total = std::max<int64_t>((out - 1) * stride + window - in, 0);
    return {auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2, out};
  }
  const int64_t room = in + before + after - window;
  if (room < 0) {
    throw std::runtime_error("Conv: a filter that reaches over " + std::to_string(window) + " elements does not fit into " +
                             std::to_string(in + before + after) + ", padding included");
  }
  return {before, room / stride + 1};
}

}  // namespace

ConvOp::ConvOp(const Attributes& attributes)
    : groups_(attributes.integer("group", 1)), auto_pad_(attributes.text("auto_pad", "NOTSET")),
      kernel_(attributes.integers("kernel_shape")), strides_(attributes.integers("strides")),
      dilations_(attributes.integers("dilations")), pads_(attributes.integers("pads")),
      activation_(activation_of(attributes)) {
  if (auto_pad_ != "NOTSET" && auto_pad_ != "VALID" && auto_pad_ != "SAME_UPPER" && auto_pad_ != "SAME_LOWER") {
    throw std::runtime_error("Conv: unknown auto_pad " + auto_pad_);
  }
  if (auto_pad_ != "NOTSET" && !pads_.empty()) throw std::runtime_error("Conv: pads and auto_pad exclude each other");
  check_range(strides_, 1, "strides");
  check_range(dilations_, 1, "dilations");
  check_range(pads_, 0, "pads");
}

ConvParams ConvOp::geometry(const Tensor& x, const Tensor& w) const {
  const size_t axes = x.shape.size() - 2;
  if (axes > kConvMaxSpatial || w.shape.size() != x.shape.size()) {
    throw std::runtime_error("Conv: X and W must have the same rank, 3 to 5");
  }
  const auto strides = or_else(strides_, axes, 1, "strides"), dilations = or_else(dilations_, axes, 1, "dilations");
  const auto pads = or_else(pads_, 2 * axes, 0, "pads");
  ConvParams p;
  p.spatial = static_cast<int32_t>(axes);
  p.batch = x.shape[0];
  p.in_channels = x.shape[1];
  p.out_channels = w.shape[0];
  p.groups = groups_;
  if (groups_ <= 0 || w.shape[1] * groups_ != p.in_channels) {
    throw std::runtime_error("Conv: W's second axis must be X's channels / group");
  }
  for (size_t i = 0; i < axes; ++i) {
    p.in[i] = x.shape[2 + i];
    p.kernel[i] = w.shape[2 + i];
    p.stride[i] = strides[i];
    p.dilation[i] = dilations[i];
    if (!kernel_.empty() && (kernel_.size() != axes || kernel_[i] != p.kernel[i])) {
      throw std::runtime_error("Conv: kernel_shape and W disagree");
    }
    const int64_t window = window_of(p.kernel[i], p.dilation[i]);
    const Axis axis = place(auto_pad_, p.in[i], window, p.stride[i], pads[i], pads[axes + i]);
    p.pad_begin[i] = axis.before;
    p.out[i] = axis.out;
  }
  return p;
}

void ConvOp::compute(const Call& call, Where where) const {
  const Tensor x = call.required_input(0, "X", 3), w = call.required_input(1, "W", 3);
  const Tensor bias = call.input(2), residual = call.input(3);
  ConvParams p = geometry(x, w);
  p.dtype = floating(x, "X");
  p.activation = activation_;
  if (bias.present && bias.shape != std::vector<int64_t>{p.out_channels}) {
    throw std::runtime_error("Conv: B must have one axis, with a value for each of W's filters");
  }
  std::vector<int64_t> shape{p.batch, p.out_channels};
  shape.insert(shape.end(), p.out, p.out + p.spatial);
  if (residual.present && residual.shape != shape) throw std::runtime_error("Conv: the residual must be like Y");
  p.x = x.data;
  p.w = w.data;
  p.bias = bias.data;
  p.residual = residual.data;
  p.y = call.output(shape);
  size_t out_bytes = size_of(p.dtype);
  for (const int64_t d : shape) out_bytes *= static_cast<size_t>(d);
  const auto bytes = [&](const Tensor& t) { return t.present ? static_cast<size_t>(t.count()) * size_of(p.dtype) : 0; };
  static constexpr Launchers launchers{run_untyped<ConvParams, cpu::conv>, &GpuLibrary::conv, &GpuLibrary::conv_workspace};
  run(where, launchers, &p,
      {{&p.x, bytes(x)}, {&p.w, bytes(w)}, {&p.bias, bytes(bias)}, {&p.residual, bytes(residual)},
       {const_cast<const void**>(&p.y), out_bytes, true}},
      call);
}

}  // namespace sbk::customop
