// MaxPool and AveragePool over 1 to 3 spatial axes.
#include "core/kernel.hpp"
#include "core/graph.hpp"
#include "core/launch.hpp"
#include "core/types.hpp"
#include "core/window.hpp"

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
    int64_t best = -1, used = 0;
    for (int64_t i = 0; i < w.kernel[0]; ++i) {
      const int64_t a = start[0] + i * w.dilation[0];
      for (int64_t j = 0; j < w.kernel[1]; ++j) {
        const int64_t b = start[1] + j * w.dilation[1];
        for (int64_t k = 0; k < w.kernel[2]; ++k) {
          const int64_t c = start[2] + k * w.dilation[2];
          // With count_include_pad, ceil_mode's cells past the end padding still do not count.
          if (a < w.in[0] + w.pad_end[0] && b < w.in[1] + w.pad_end[1] && c < w.in[2] + w.pad_end[2])
            used += count_padding ? 1 : 0;
          if (a < 0 || b < 0 || c < 0 || a >= w.in[0] || b >= w.in[1] || c >= w.in[2]) continue;
          if (!count_padding) ++used;
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
    y[index] = static_cast<T>(Average ? result / static_cast<float>(used) : result);
    if (indices != nullptr) indices[index] = base + best;
  }
};

template <bool Average>
class Pool : public Kernel {
 public:
  explicit Pool(const Info& info)
      : attributes_(WindowAttributes::read(info)), ceil_(info.integer("ceil_mode", 0) != 0),
        count_padding_(info.integer("count_include_pad", 0) != 0), column_major_(info.integer("storage_order", 0) != 0) {}

  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const Window window = attributes_.on(x.shape, attributes_.kernel, ceil_);
    const Shape out = window.output_shape(x.shape[0], x.shape[1], x.shape.rank() - 2);
    const Tensor y = context.output(0, out);
    const Tensor indices = Average ? Tensor{} : context.output(1, out);
    with_float(x.type, [&](auto zero) {
      using T = decltype(zero);
      for_each(context.stream(), y.size(),
               PoolElement<T, Average>{x.as<T>(), y.as<T>(), indices.as<int64_t>(), count_padding_, column_major_, window});
    });
  }

 private:
  WindowAttributes attributes_;
  bool ceil_;
  bool count_padding_;
  bool column_major_;
};

bool spatial_up_to_three(const NodeView& node) {
  const auto kernel = node.integers("kernel_shape");
  return kernel && kernel->size() >= 1 && kernel->size() <= 3;
}

}  // namespace

void add_pool(Entries& e) {
  e.push_back({"MaxPool", 1, 7, {{"T", floats()}}, make<Pool<false>>, {}, {}, false, false, spatial_up_to_three});
  e.push_back({"MaxPool", 8, kNewest, {{"T", floats()}, {"I", int64s()}}, make<Pool<false>>, {}, {}, false, false,
               spatial_up_to_three});
  e.push_back({"AveragePool", 1, kNewest, {{"T", floats()}}, make<Pool<true>>, {}, {}, false, false, spatial_up_to_three});
}

}  // namespace rk
