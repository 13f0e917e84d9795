#include "ops/quantized/conv_integer.hpp"

#include "core/graph/graph.hpp"
#include "core/tensor/types.hpp"
#if !RK_CPU
#include "ops/quantized/conv_integer_kernels.hpp"
#endif

namespace rk {
namespace {

// Neighbouring values of a line of y by the definition.
struct IntegerConvLine {
  static constexpr int kValues = 4;

  IntegerConv p;
  int64_t first;                       // rows of y (filters of an image) before this launch's
  Divisor by_parts, by_height, by_depth;  // kValues values of a line, an image's lines and planes of y

  IntegerConvLine(const IntegerConv& of, int64_t before)
      : p(of), first(before), by_parts((of.out[2] + kValues - 1) / kValues), by_height(of.out[1]), by_depth(of.out[0]) {}

  // What one line of a filter adds, of windows that begin at `first_column`, of which `count` exist.
  RK_D void add_line(uint32_t (&sums)[kValues], const uint8_t* from, const uint8_t* weights, int32_t first_column, int32_t count, int32_t x_zero, int32_t w_zero) const {
    const auto value = [&](int32_t column) { return column >= 0 && column < p.in[2] ? p.x_reader(from[column]) - x_zero : 0; };
    if (p.stride[2] == 1 && p.dilation[2] == 1) {  // each value is read once
      int32_t values[kValues];
      for (int v = 0; v < kValues - 1; ++v) values[v] = value(first_column + v);
      for (int32_t wide = 0; wide < p.kernel[2]; ++wide) {
        const int32_t weight = p.w_reader(weights[wide]) - w_zero;
        values[kValues - 1] = value(first_column + wide + kValues - 1);
        for (int v = 0; v < kValues; ++v) sums[v] += static_cast<uint32_t>(values[v] * weight);
        for (int v = 0; v < kValues - 1; ++v) values[v] = values[v + 1];
      }
      return;
    }
    for (int32_t wide = 0; wide < p.kernel[2]; ++wide) {
      const int32_t weight = p.w_reader(weights[wide]) - w_zero;
      for (int v = 0; v < kValues; ++v) {
        if (v < count) sums[v] += static_cast<uint32_t>(value(first_column + wide * p.dilation[2] + v * p.stride[2]) * weight);
      }
    }
  }

  RK_D void operator()(int64_t i) const {
    const auto at = static_cast<uint32_t>(i), lines = by_parts.divide(at), planes = by_height.divide(lines), rows = by_depth.divide(planes);
    const int32_t place[IntegerConv::kAxes] = {static_cast<int32_t>(planes - rows * by_depth.value()), static_cast<int32_t>(lines - planes * by_height.value()),
                                               static_cast<int32_t>(at - lines * by_parts.value()) * kValues};
    const int64_t matrix = (first + rows) / p.m, row = first + rows - matrix * p.m;
    const uint32_t filter = p.filter(matrix, row);
    const int32_t x_zero = p.x_zero(0), w_zero = p.w_zeros(filter);
    int32_t corner[IntegerConv::kAxes];  // of a window: not beyond the padded input, which 32 bits count
    for (int axis = 0; axis < IntegerConv::kAxes; ++axis) corner[axis] = place[axis] * p.stride[axis] - p.pad[axis];
    const uint8_t* w = p.w + static_cast<int64_t>(filter) * p.k;
    const uint8_t* x = p.x + matrix * p.channels * p.area();
    uint32_t sums[kValues] = {};
    for (int32_t c = 0; c < p.channels; ++c, x += p.area())
      for (int32_t deep = 0; deep < p.kernel[0]; ++deep)
        for (int32_t high = 0; high < p.kernel[1]; ++high) {
          const int32_t plane = corner[0] + deep * p.dilation[0], line = corner[1] + high * p.dilation[1];
          const uint8_t* const weights = w;
          w += p.kernel[2];
          if (plane < 0 || plane >= p.in[0] || line < 0 || line >= p.in[1]) continue;
          add_line(sums, x + (static_cast<int64_t>(plane) * p.in[1] + line) * p.in[2], weights, corner[2], p.out[2] - place[2], x_zero, w_zero);
        }
    const int64_t to = (matrix * p.m + row) * p.n + (static_cast<int64_t>(place[0]) * p.out[1] + place[1]) * p.out[2] + place[2];
    const float factor = p.quantizes ? p.factor(filter) : 0.0f;
    const int32_t addend = p.quantizes && p.bias != nullptr ? p.bias[filter] : 0, y_zero = p.quantizes ? p.y_zero(0) : 0;
    for (int v = 0; v < kValues; ++v) {
      if (place[2] + v >= p.out[2]) break;
      const auto sum = static_cast<int32_t>(sums[v]);
      if (p.quantizes) static_cast<uint8_t*>(p.y)[to + v] = p.quantized_value(sum, addend, factor, y_zero);
      else static_cast<int32_t*>(p.y)[to + v] = sum;
    }
  }
};

// All of y by the definition, as many rows at once as 32 bits count.
void run_lines(Stream& stream, const IntegerConv& p) {
  const int64_t of_row = p.n / p.out[2] * ((p.out[2] + IntegerConvLine::kValues - 1) / IntegerConvLine::kValues);
  const int64_t rows = p.batch * p.m, at_once = INT32_MAX / of_row;
  for (int64_t first = 0; first < rows; first += at_once) for_each(stream, std::min(at_once, rows - first) * of_row, IntegerConvLine(p, first));
}

void run_conv(Context& context, const IntegerConv& p) {
#if !RK_CPU
  constexpr int64_t kFewProducts = 64;  // of a group's filters: a tile would be nearly empty
  const PackedConv packed_conv(p);
  if (p.m * p.k > kFewProducts && packed_conv.fits(p)) {
    const int64_t bytes = packed_conv.filter_bytes(p) + packed_conv.image_bytes(p);
    return run_conv_product(context.stream(), p, packed_conv, context.scratch(static_cast<size_t>(bytes)));
  }
#endif
  run_lines(context.stream(), p);
}

// The places of a node's inputs.
struct Places {
  size_t w, x_zero, w_zero;
};

class ConvOfIntegers : public Kernel {
 public:
  void compute(Context& context) override {
    const Tensor x = context.input(0), w = context.input(places_.w);
    const Window window = window_of(x.shape, w.shape);
    const Tensor y = context.output(0, window.output_shape(x.shape[0], w.shape[0], x.shape.rank() - 2));
    const Tensor x_zero = context.input(places_.x_zero), w_zero = context.input(places_.w_zero);
    require(!x_zero || x_zero.size() == 1, "the zero point of x is not one number");
    check_filters(w_zero, w, "the zero point of w is neither one number nor one for each filter");
    IntegerConv p = parts(window, x, w, y);
    p.x_zero = ZeroPoints::of(x_zero);
    p.w_zeros = ZeroPoints::of(w_zero);
    finish(context, p, w, y);
    if (y.size() > 0) run_conv(context, p);
  }

 protected:
  ConvOfIntegers(const Info& info, const Places& places)
      : places_(places), attributes_(WindowAttributes::read(info)), groups_(info.integer("group", 1)) {}

  static void check_filters(const Tensor& t, const Tensor& w, const char* what) { require(!t || t.size() == 1 || t.size() == w.shape[0], what); }

 private:
  virtual void finish(Context&, IntegerConv&, const Tensor&, const Tensor&) const {}

  Window window_of(const Shape& x, const Shape& w) const {
    require(w.rank() == x.rank() && x.rank() >= 3, "the filters do not have the input's rank");
    require(groups_ > 0 && x[1] == w[1] * groups_ && w[0] % groups_ == 0, "the input's channels do not match the filters and groups");
    const std::vector<int64_t> extents(w.begin() + 2, w.end());
    require(attributes_.kernel.empty() || attributes_.kernel == extents, "kernel_shape is not that of the filters");
    return attributes_.on(x, extents);
  }

  IntegerConv parts(const Window& window, const Tensor& x, const Tensor& w, const Tensor& y) const {
    IntegerConv p{};
    p.x = x.as<const uint8_t>();
    p.w = w.as<const uint8_t>();
    p.y = y.data;
    p.x_reader = ByteReader::of(x.type);
    p.w_reader = ByteReader::of(w.type);
    p.m = w.shape[0] / groups_;
    p.n = window.out[0] * window.out[1] * window.out[2];
    p.batch = x.shape[0] * groups_;
    const int64_t k = w.shape.product(1, w.shape.rank());
    constexpr int64_t kMost = INT32_MAX / 2;
    require(k < kMost && p.n < kMost && p.batch < kMost && w.shape[0] < kMost, "a convolution of integers has an extent of 2^30 or more");
    const auto i32 = [](int64_t v) { return static_cast<int32_t>(v); };
    p.k = i32(k);
    p.groups = i32(groups_);
    p.channels = i32(w.shape[1]);
    for (int i = 0; i < IntegerConv::kAxes; ++i) {
      require(window.in[i] < kMost && window.stride[i] <= INT32_MAX, "a convolution of integers has an extent of 2^30 or more");
      p.in[i] = i32(window.in[i]), p.out[i] = i32(window.out[i]), p.kernel[i] = i32(window.kernel[i]);
      p.stride[i] = i32(window.stride[i]), p.dilation[i] = i32(window.dilation[i]), p.pad[i] = i32(window.pad_begin[i]);
    }
    p.by_taps = Divisor(window.kernel[0] * window.kernel[1] * window.kernel[2]);
    p.by_plane = Divisor(window.kernel[1] * window.kernel[2]);
    p.by_line = Divisor(window.kernel[2]);
    p.by_out_plane = Divisor(std::max<int64_t>(window.out[1] * window.out[2], 1));
    p.by_out_line = Divisor(std::max<int64_t>(window.out[2], 1));
    p.by_groups = Divisor(groups_);
    return p;
  }

  Places places_;
  WindowAttributes attributes_;
  int64_t groups_;
};

class ConvInteger : public ConvOfIntegers {
 public:
  explicit ConvInteger(const Info& info) : ConvOfIntegers(info, {1, 2, 3}) {}
};

class QLinearConv : public ConvOfIntegers {
 public:
  explicit QLinearConv(const Info& info) : ConvOfIntegers(info, {3, 2, 5}) {}

 private:
  void finish(Context& context, IntegerConv& p, const Tensor& w, const Tensor& y) const override {
    const Tensor x_scale = context.input(1), w_scale = context.input(4), y_scale = context.input(6), y_zero = context.input(7), bias = context.input(8);
    require(x_scale.size() == 1 && y_scale.size() == 1 && y_zero.size() == 1, "the scale of x, the scale or the zero point of y is not one number");
    check_filters(w_scale, w, "the scale of w is neither one number nor one for each filter");
    require(!bias || bias.shape == Shape{w.shape[0]}, "the bias does not have one value for each filter");
    p.quantizes = true;
    p.bias = bias ? bias.as<const int32_t>() : nullptr;
    p.x_scale = Scales::of(x_scale);
    p.w_scales = Scales::of(w_scale);
    p.y_scale = Scales::of(y_scale);
    p.y_zero = ZeroPoints::of(y_zero);
    p.low = y.type == kInt8 ? -128 : 0;
    p.high = y.type == kInt8 ? 127 : 255;
  }
};

// One to three axes behind batch and channels.
bool fits(const NodeView& node, int w) {
  const auto dims = node.input(w) ? node.input(w).dims() : std::nullopt;
  return dims && dims->size() >= 3 && dims->size() <= 2 + IntegerConv::kAxes;
}

bool integer_fits(const NodeView& node) { return fits(node, 1); }
bool qlinear_fits(const NodeView& node) { return fits(node, 3); }

}  // namespace

void add_conv_integer(Entries& e) {
  const TypeRule x{"T1", bytes()}, w{"T2", bytes()}, y{"T3", bytes()};
  e.push_back({"ConvInteger", 10, kNewest, {x, w, {"T3", {kInt32}}}, make<ConvInteger>, {}, {}, false, false, integer_fits});
  e.push_back({"QLinearConv", 10, kNewest, {x, w, y, {"T4", {kInt32}}}, make<QLinearConv>, {}, {}, false, false, qlinear_fits});
}

}  // namespace rk
