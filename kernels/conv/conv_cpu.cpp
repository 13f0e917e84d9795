#include "conv/conv.hpp"

#include <vector>

#include "common/host.hpp"
#include "conv/conv_plan.hpp"

namespace sbk::cpu {
namespace {

using conv_detail::output_count;
using conv_detail::validate;
using conv_detail::with_three_axes;

// Windows o with 0 <= o * stride - pad + tap < in, as [first, last).
struct Span {
  int64_t first, last;
};

Span valid_outputs(int64_t in, int64_t out, int64_t stride, int64_t shift) {
  const int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const int64_t end = in - shift <= 0 ? 0 : (in - shift + stride - 1) / stride;
  return {first, end < out ? end : out};
}

// The tensors of one convolution in float32 with three spatial axes, channels first.
struct Plane {
  const ConvParams& p;
  const float* x;
  const float* w;

  // Adds one filter tap over one output row: the inner loop runs along the row, so it vectorises for stride 1.
  void add_row(float* row, const float* source, float weight, int64_t shift) const {
    const Span span = valid_outputs(p.in[2], p.out[2], p.stride[2], shift);
    const int64_t stride = p.stride[2];
    if (span.first >= span.last) return;
    source += shift;
    if (stride == 1) {
      for (int64_t o = span.first; o < span.last; ++o) row[o] += weight * source[o];
    } else {
      for (int64_t o = span.first; o < span.last; ++o) row[o] += weight * source[o * stride];
    }
  }

  // Adds one input channel's contribution to one output channel's image.
  void add_channel(float* image, const float* xc, const float* wc) const {
    for (int64_t a = 0; a < p.kernel[0]; ++a) {
      const int64_t shift0 = a * p.dilation[0] - p.pad_begin[0];
      const Span s0 = valid_outputs(p.in[0], p.out[0], p.stride[0], shift0);
      for (int64_t b = 0; b < p.kernel[1]; ++b) {
        const int64_t shift1 = b * p.dilation[1] - p.pad_begin[1];
        const Span s1 = valid_outputs(p.in[1], p.out[1], p.stride[1], shift1);
        for (int64_t c = 0; c < p.kernel[2]; ++c) {
          const float weight = wc[(a * p.kernel[1] + b) * p.kernel[2] + c];
          for (int64_t o0 = s0.first; o0 < s0.last; ++o0) {
            for (int64_t o1 = s1.first; o1 < s1.last; ++o1) {
              const int64_t i0 = o0 * p.stride[0] + shift0;
              const int64_t i1 = o1 * p.stride[1] + shift1;
              add_row(image + (o0 * p.out[1] + o1) * p.out[2], xc + (i0 * p.in[1] + i1) * p.in[2], weight,
                      c * p.dilation[2] - p.pad_begin[2]);
            }
          }
        }
      }
    }
  }
};

// Copies [outer, inner] of T to float32; `transpose` reads it as [inner, outer] per leading item.
template <class T>
std::vector<float> to_channels_first(const void* data, int64_t items, int64_t channels, int64_t area, bool last) {
  std::vector<float> out(static_cast<size_t>(items * channels * area));
  const T* in = static_cast<const T*>(data);
  for (int64_t i = 0; i < items; ++i) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t s = 0; s < area; ++s) {
        const int64_t from = last ? (i * area + s) * channels + c : (i * channels + c) * area + s;
        out[static_cast<size_t>((i * channels + c) * area + s)] = to_float(in[from]);
      }
    }
  }
  return out;
}

int64_t product(const int64_t (&v)[3]) { return v[0] * v[1] * v[2]; }

template <class T>
void store(const ConvParams& p, int64_t n, int64_t k, const std::vector<float>& image) {
  const int64_t area = product(p.out);
  const float bias = p.bias == nullptr ? 0.0f : to_float(static_cast<const T*>(p.bias)[k]);
  for (int64_t s = 0; s < area; ++s) {
    const int64_t at = p.layout == Layout::channels_first ? (n * p.out_channels + k) * area + s
                                                          : (n * area + s) * p.out_channels + k;
    float value = image[static_cast<size_t>(s)] + bias;
    if (p.residual != nullptr) value += to_float(static_cast<const T*>(p.residual)[at]);
    static_cast<T*>(p.y)[at] = from_float<T>(activate(p.activation, value));
  }
}

template <class T>
Status run(const ConvParams& p) {
  const int64_t in_per_group = p.in_channels / p.groups;
  const int64_t out_per_group = p.out_channels / p.groups;
  const int64_t in_area = product(p.in);
  const int64_t taps = product(p.kernel);
  const auto x = to_channels_first<T>(p.x, p.batch, p.in_channels, in_area, p.layout == Layout::channels_last);
  const auto w = to_channels_first<T>(p.w, p.out_channels, in_per_group, taps,
                                      p.filter_layout == FilterLayout::channels_last);
  const Plane plane{p, x.data(), w.data()};
  std::vector<float> image(static_cast<size_t>(product(p.out)));
  for (int64_t n = 0; n < p.batch; ++n) {
    for (int64_t k = 0; k < p.out_channels; ++k) {
      image.assign(image.size(), 0.0f);
      const int64_t first = n * p.in_channels + k / out_per_group * in_per_group;
      for (int64_t c = 0; c < in_per_group; ++c) {
        plane.add_channel(image.data(), plane.x + (first + c) * in_area, plane.w + (k * in_per_group + c) * taps);
      }
      store<T>(p, n, k, image);
    }
  }
  return {};
}

}  // namespace

Status conv(const ConvParams& params, const Launch&) {
  SBK_TRY(validate(params));
  if (output_count(params) == 0) return {};
  const ConvParams p = with_three_axes(params);
  return by_type(p.dtype, [&](auto type) -> Status { return run<decltype(type)>(p); });
}

}  // namespace sbk::cpu
