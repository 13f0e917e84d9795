// MaxPool and AveragePool over 1 to 3 spatial axes.
#include "core/graph/graph.hpp"
#include "core/kernel/kernel.hpp"
#include "core/kernel/parallel_for.hpp"
#include "core/tensor/types.hpp"
#include "ops/bundled/bundled.hpp"
#include "ops/bundled/window.hpp"

namespace rk {
namespace {

template <class T, bool Average>
struct PoolElement {
  const T* x;
  T* y;
  int64_t* indices;  // MaxPool's second output, or null
  bool count_padding;
  bool column_major;
  Window w;

  RK_HD void operator()(int64_t index) const {
    int64_t rest = index;
    int64_t position[3], start[3];
    for (int i = 2; i >= 0; --i) {
      position[i] = rest % w.out[i];
      rest /= w.out[i];
      start[i] = position[i] * w.stride[i] - w.pad_begin[i];
    }
    const int64_t base = rest * w.in[0] * w.in[1] * w.in[2];
    float result = Average ? 0.0f : -INFINITY;
    int64_t best = -1, cells_of_window = 0;
    for (int64_t i = 0; i < w.kernel[0]; ++i) {
      const int64_t a = start[0] + i * w.dilation[0];
      for (int64_t j = 0; j < w.kernel[1]; ++j) {
        const int64_t b = start[1] + j * w.dilation[1];
        for (int64_t k = 0; k < w.kernel[2]; ++k) {
          const int64_t c = start[2] + k * w.dilation[2];
          // With count_include_pad, ceil_mode's cells past the end padding still do not count.
          if (a < w.in[0] + w.pad_end[0] && b < w.in[1] + w.pad_end[1] && c < w.in[2] + w.pad_end[2])
            cells_of_window += count_padding ? 1 : 0;
          if (a < 0 || b < 0 || c < 0 || a >= w.in[0] || b >= w.in[1] || c >= w.in[2]) continue;
          if (!count_padding) ++cells_of_window;
          const float value = load(x[base + (a * w.in[1] + b) * w.in[2] + c]);
          if (Average) {
            result += value;
          } else if (best < 0 || value > result || value != value) {
            result = value;
            best = column_major ? (c * w.in[1] + b) * w.in[0] + a : (a * w.in[1] + b) * w.in[2] + c;
          }
        }
      }
    }
    y[index] = static_cast<T>(Average ? result / static_cast<float>(cells_of_window) : result);
    if (indices != nullptr) indices[index] = base + best;
  }
};

// Channels last: N packs of channels of one window a thread, so that neighbouring threads read neighbouring memory.
template <class T, int N, bool Average>
struct PoolChannels {
  const Pack<T, N>* x;
  Pack<T, N>* y;
  bool count_padding;
  int packs;  // of one pixel
  int in[3], out[3], kernel[3], stride[3], dilation[3], begin[3], end[3];
  Divisor by_packs, by_out[3];

  static RK_HD int64_t cells(int start, int kernel, int dilation, int low, int high) {
    int64_t count = 0;
    for (int i = 0; i < kernel; ++i) count += start + i * dilation >= low && start + i * dilation < high ? 1 : 0;
    return count;
  }
  RK_D void operator()(int64_t index) const {
    auto rest = static_cast<uint32_t>(index);
    const uint32_t pixel = by_packs.divide(rest);
    const int pack = static_cast<int>(rest - pixel * by_packs.value());
    rest = pixel;
    int start[3];
    for (int i = 2; i >= 0; --i) {
      const uint32_t next = by_out[i].divide(rest);
      start[i] = static_cast<int>(rest - next * by_out[i].value()) * stride[i] - begin[i];
      rest = next;
    }
    float result[N];
    for (int k = 0; k < N; ++k) result[k] = Average ? 0.0f : -INFINITY;
    int64_t cells_of_window = 1;
    for (int i = 0; i < 3; ++i)
      cells_of_window *= count_padding ? cells(start[i], kernel[i], dilation[i], -begin[i], in[i] + end[i])
                                            : cells(start[i], kernel[i], dilation[i], 0, in[i]);
    int first[3], stop[3];  // of the places inside the image, so that no load waits for a comparison
    for (int i = 0; i < 3; ++i) {
      first[i] = start[i] < 0 ? start[i] + (dilation[i] - 1 - start[i]) / dilation[i] * dilation[i] : start[i];
      const int64_t behind = start[i] + static_cast<int64_t>(kernel[i]) * dilation[i];
      stop[i] = behind < in[i] ? static_cast<int>(behind) : in[i];
    }
    for (int a = first[0]; a < stop[0]; a += dilation[0]) {
      for (int b = first[1]; b < stop[1]; b += dilation[1]) {
        const Pack<T, N>* const line = x + ((static_cast<int64_t>(rest) * in[0] + a) * in[1] + b) * in[2] * packs + pack;
        for (int c = first[2]; c < stop[2]; c += dilation[2]) {
          const Pack<T, N> v = line[static_cast<int64_t>(c) * packs];
          for (int k = 0; k < N; ++k) {
            const float value = load(v.v[k]);
            if (Average) result[k] += value;
            else if (value > result[k] || value != value) result[k] = value;
          }
        }
      }
    }
    Pack<T, N> out_pack;
    for (int k = 0; k < N; ++k) out_pack.v[k] = static_cast<T>(Average ? result[k] / static_cast<float>(cells_of_window) : result[k]);
    y[index] = out_pack;
  }
};

template <class T, int N, bool Average>
void pool_channels(Stream& stream, const T* x, T* y, const Window& w, int64_t batch, int64_t channels, bool count_padding) {
  PoolChannels<T, N, Average> work{};
  work.x = reinterpret_cast<const Pack<T, N>*>(x);
  work.y = reinterpret_cast<Pack<T, N>*>(y);
  work.count_padding = count_padding;
  work.packs = static_cast<int>(channels / N);
  work.by_packs = Divisor(channels / N);
  for (int i = 0; i < 3; ++i) {
    work.in[i] = static_cast<int>(w.in[i]);
    work.out[i] = static_cast<int>(w.out[i]);
    work.kernel[i] = static_cast<int>(w.kernel[i]);
    work.stride[i] = static_cast<int>(w.stride[i]);
    work.dilation[i] = static_cast<int>(w.dilation[i]);
    work.begin[i] = static_cast<int>(w.pad_begin[i]);
    work.end[i] = static_cast<int>(w.pad_end[i]);
    work.by_out[i] = Divisor(w.out[i]);
  }
  for_each(stream, batch * w.out[0] * w.out[1] * w.out[2] * (channels / N), work);
}

template <bool Average, sbk::Layout layout>
class WindowPool : public Kernel {
 public:
  explicit WindowPool(const Info& info)
      : attributes_(WindowAttributes::read(info)), end_(info.integer("ceil_mode", 0) != 0 ? WindowAttributes::End::ceil : WindowAttributes::End::floor),
        count_padding_(info.integer("count_include_pad", 0) != 0), column_major_(info.integer("storage_order", 0) != 0) {}

  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const Shape extents = channels_first(x.shape, layout);
    const Window window = attributes_.on(extents, attributes_.kernel, end_);
    for (int i = 0; i < 3; ++i) refuse_padding_alone(window, i);
    const Shape out = in_layout(window.output_shape(extents[0], extents[1], extents.rank() - 2), layout);
    const Tensor y = context.output(0, out);
    const Tensor indices = Average ? Tensor{} : context.wanted_output(1, out);
    if (y.size() == 0) return;
    require(x.size() > 0, "a pool over no elements has no value");
    with_float(x.type, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (layout == sbk::Layout::channels_last) return last<T>(context.stream(), x, y, window, extents);
      for_each(context.stream(), y.size(),
               PoolElement<T, Average>{x.as<T>(), y.as<T>(), indices.as<int64_t>(), count_padding_, column_major_, window});
    });
  }

 private:
  // A window that lies in the padding alone has no maximum. Given pads are held to the kernel's extent, as ONNX Runtime does.
  void refuse_padding_alone(const Window& w, int i) const {
    const bool smaller = w.pad_begin[i] < w.kernel[i] && w.pad_end[i] < w.kernel[i];
    require(smaller || attributes_.pads_itself(), "a pool's padding is not smaller than its window");
    for (int64_t o = 0; !smaller && o < w.out[i]; ++o) {
      const int64_t start = o * w.stride[i] - w.pad_begin[i];
      const int64_t skipped_taps = start < 0 ? (-start + w.dilation[i] - 1) / w.dilation[i] : 0;
      require(skipped_taps < w.kernel[i] && start + skipped_taps * w.dilation[i] < w.in[i], "a pool's window lies in the padding alone");
    }
  }
  template <class T>
  void last(Stream& stream, const Tensor& x, const Tensor& y, const Window& window, const Shape& extents) const {
    constexpr int N = 16 / sizeof(T);
    require(x.size() < INT32_MAX && y.size() < INT32_MAX, "a pool of 2^31 elements or more");
    if (extents[1] % N == 0 && aligned16(x.data) && aligned16(y.data))
      return pool_channels<T, N, Average>(stream, x.as<T>(), y.as<T>(), window, extents[0], extents[1], count_padding_);
    pool_channels<T, 1, Average>(stream, x.as<T>(), y.as<T>(), window, extents[0], extents[1], count_padding_);
  }

  WindowAttributes attributes_;
  WindowAttributes::End end_;
  bool count_padding_;
  bool column_major_;
};

// The window is the whole picture.
template <bool Average>
class GlobalPoolChannels : public Kernel {
 public:
  explicit GlobalPoolChannels(const Info&) {}
  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const Shape extents = channels_first(x.shape, sbk::Layout::channels_last);
    Shape one{extents[0], extents[1]};
    for (int i = 2; i < extents.rank(); ++i) one.push(1);
    const Tensor y = context.output(0, in_layout(one, sbk::Layout::channels_last));
    if (y.size() == 0) return;
    require(x.size() > 0, "a pool over no elements has no value");
    const Window window = WindowAttributes{}.on(extents, std::vector<int64_t>(extents.begin() + 2, extents.end()));
    require(x.size() < INT32_MAX, "a pool of 2^31 elements or more");
    with_float(x.type, [&](auto zero) {
      using T = decltype(zero);
      pool_channels<T, 1, Average>(context.stream(), x.as<T>(), y.as<T>(), window, extents[0], extents[1], false);
    });
  }
};

bool spatial_up_to_three(const NodeView& node) {
  const auto kernel = node.integers("kernel_shape");
  return kernel && kernel->size() >= 1 && kernel->size() <= 3;
}

}  // namespace

void add_pool(Entries& e) {
  constexpr auto first = sbk::Layout::channels_first, last = sbk::Layout::channels_last;
  const std::vector<TypeRule> t = {{"T", floats()}}, index_rules = {{"T", floats()}, {"I", int64s()}};
  e.push_back({"MaxPool", 1, 7, t, make<WindowPool<false, first>>, {}, {}, false, false, spatial_up_to_three});
  e.push_back({"MaxPool", 8, kNewest, index_rules, make<WindowPool<false, first>>, {}, {}, false, false, spatial_up_to_three});
  e.push_back({"AveragePool", 1, kNewest, t, make<WindowPool<true, first>>, {}, {}, false, false, spatial_up_to_three});
  e.push_back({"MaxPool", 1, 7, t, make<WindowPool<false, last>>, {}, {}, false, false, spatial_up_to_three, kChannelsLast});
  e.push_back({"MaxPool", 8, kNewest, index_rules, make<WindowPool<false, last>>, {}, {}, false, false, spatial_up_to_three, kChannelsLast});
  e.push_back({"AveragePool", 1, kNewest, t, make<WindowPool<true, last>>, {}, {}, false, false, spatial_up_to_three, kChannelsLast});
  e.push_back({"GlobalAveragePool", 1, kNewest, t, make<GlobalPoolChannels<true>>, {}, {}, false, false, nullptr, kChannelsLast});
  e.push_back({"GlobalMaxPool", 1, kNewest, t, make<GlobalPoolChannels<false>>, {}, {}, false, false, nullptr, kChannelsLast});
}

}  // namespace rk
