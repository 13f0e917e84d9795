// Sliding windows of Conv and the pools: attributes, auto_pad, output extents.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/kernel/kernel.hpp"

namespace rk {

// One window over 3 spatial axes; models' 1 or 2 axes are the last ones, the others have extent 1.
struct Window {
  int64_t in[3] = {1, 1, 1};
  int64_t out[3] = {1, 1, 1};
  int64_t kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1};
  int64_t dilation[3] = {1, 1, 1};
  int64_t pad_begin[3] = {0, 0, 0};
  int64_t pad_end[3] = {0, 0, 0};

  Shape output_shape(int64_t batch, int64_t channels, int spatial) const {
    Shape shape{batch, channels};
    for (int i = 3 - spatial; i < 3; ++i) shape.push(out[i]);
    return shape;
  }
};

struct WindowAttributes {
  std::vector<int64_t> kernel, stride, dilation, pads;
  std::string auto_pad;

  template <class Source>  // Info, or NodeView
  static WindowAttributes read(const Source& source) {
    WindowAttributes result;
    result.kernel = source.integers("kernel_shape").value_or(std::vector<int64_t>{});
    result.stride = source.integers("strides").value_or(std::vector<int64_t>{});
    result.dilation = source.integers("dilations").value_or(std::vector<int64_t>{});
    result.pads = source.integers("pads").value_or(std::vector<int64_t>{});
    result.auto_pad = source.text("auto_pad", "NOTSET");
    return result;
  }

  bool pads_itself() const { return auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER"; }

  // Windows at the input's end: whole ones only, and at least one (Conv); whole ones only (pools); one in part (ceil_mode).
  enum class End { whole, floor, ceil };

  // The window on input [N, C, spatial…]; `extents` are the kernel's.
  Window on(const Shape& x, const std::vector<int64_t>& extents, End end = End::whole) const {
    const int spatial = x.rank() - 2;
    require(spatial >= 1 && spatial <= 3, "the operator needs 1 to 3 spatial axes");
    require(extents.size() == static_cast<size_t>(spatial), "kernel_shape does not have the input's spatial axes");
    for (const std::vector<int64_t>* numbers : {&stride, &dilation})
      require(numbers->empty() || numbers->size() == extents.size(), "strides or dilations do not have the input's spatial axes");
    require(pads.empty() || pads.size() == 2 * extents.size(), "pads do not have two values for each spatial axis");
    require(auto_pad == "NOTSET" || auto_pad == "VALID" || auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER" || auto_pad.empty(),
            "auto_pad has a value that ONNX does not know");
    Window w;
    for (int i = 0; i < spatial; ++i) {
      const int at = 3 - spatial + i;
      const size_t n = static_cast<size_t>(i);
      w.in[at] = x[i + 2];
      w.kernel[at] = extents[n];
      w.stride[at] = stride.empty() ? 1 : stride[n];
      w.dilation[at] = dilation.empty() ? 1 : dilation[n];
      require(w.stride[at] > 0 && w.dilation[at] > 0 && w.kernel[at] > 0, "a kernel extent, stride or dilation is not positive");
      if (!pads.empty()) {
        w.pad_begin[at] = pads[n];
        w.pad_end[at] = pads[n + static_cast<size_t>(spatial)];
      }
      bound(w, at);
      fit(w, at, end);
    }
    return w;
  }

 private:
  // What is said of more than the input has must not overflow: products below are of what passes here.
  static void bound(Window& w, int at) {
    constexpr int64_t most = INT32_MAX / 2;
    if (w.kernel[at] == 1) w.dilation[at] = 1;
    require(std::abs(w.pad_begin[at]) <= most && std::abs(w.pad_end[at]) <= most, "a pad is of 2^30 or more");
    require(w.kernel[at] <= most && w.dilation[at] <= most && (w.kernel[at] - 1) * w.dilation[at] < most, "a window reaches over 2^30 or more");
    w.stride[at] = std::min(w.stride[at], w.in[at] + 2 * most + 1);  // one beyond all positions is as good as any larger
  }
  void fit(Window& w, int at, End end) const {
    const int64_t reach = (w.kernel[at] - 1) * w.dilation[at] + 1;
    if (pads_itself()) {
      w.out[at] = (w.in[at] + w.stride[at] - 1) / w.stride[at];
      int64_t total = (w.out[at] - 1) * w.stride[at] + reach - w.in[at];
      if (end == End::whole) total = std::max<int64_t>(0, total);  // Conv; ONNX's formula for pools cuts off what is too much
      const int64_t half = total >= 0 ? total / 2 : -((1 - total) / 2);  // rounded down
      w.pad_begin[at] = auto_pad == "SAME_UPPER" ? half : total - half;
      w.pad_end[at] = total - w.pad_begin[at];
      return;
    }
    if (auto_pad == "VALID") w.pad_begin[at] = w.pad_end[at] = 0;
    const int64_t room = w.in[at] + w.pad_begin[at] + w.pad_end[at] - reach;
    if (room < 0) return too_small(w, at, end, room);
    w.out[at] = room / w.stride[at] + 1;
    if (end != End::ceil || room % w.stride[at] == 0) return;
    // One more window, unless it would start in the end padding.
    if (w.out[at] * w.stride[at] < w.in[at] + w.pad_begin[at]) ++w.out[at];
  }

  // The window is larger than the padded input by -room: none fits, or with ceil_mode one in part. Where ONNX's formula rounds
  // down to none and its shape inference to one, neither is answered.
  static void too_small(Window& w, int at, End end, int64_t room) {
    const int64_t stride = w.stride[at];
    require(end == End::ceil ? room > -2 * stride : end == End::floor && room == -stride, "the window is larger than the padded input");
    w.out[at] = end == End::ceil && room > -stride ? 1 : 0;
  }
};

}  // namespace rk
