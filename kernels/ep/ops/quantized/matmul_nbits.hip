#include "ops/quantized/matmul_nbits.hpp"

#include <type_traits>

#include "core/graph/graph.hpp"
#include "core/kernel/kernel.hpp"
#include "core/tensor/types.hpp"
#include "ops/shape/copy.hpp"
#include "ops/shape/zero_fill.hpp"
#if !RK_CPU
#include "ops/quantized/matmul_nbits_kernels.hpp"
#endif

namespace rk {
namespace {

enum Input : size_t { kA, kB, kScales, kZeros, kGroupIndex, kBias };

constexpr Type kByte = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;

// One value of y by the definition. The CPU platform's form, and a GPU's where memory does not begin on whole vectors.
template <class T>
struct NBitsValue {
  NBits<T> p;

  RK_D void operator()(int64_t i) const {
    const int64_t row = i / p.n, column = i % p.n;
    const T* a = p.a + row * p.k;
    const uint8_t* codes = p.b + column * p.column_bytes();
    float sum = 0.0f;
    for (int64_t block = 0; block < p.blocks; ++block) {
      const float zero = p.zero(column, block), scale = load(p.scales[column * p.blocks + block]);
      const int64_t first = block << p.shift, end = first + (int64_t{1} << p.shift);
      float products = 0.0f;
      for (int64_t k = first; k < (end < p.k ? end : p.k); ++k) {
        const int64_t bit = k * p.bits;
        const int code = codes[bit / 8] >> (bit % 8) & ((1 << p.bits) - 1);
        const float weight = static_cast<float>(code) - zero;
        products += load(a[k]) * (kScaleOfSums<T> ? weight : weight * scale);
      }
      sum += kScaleOfSums<T> ? checked_scale(scale) * products : products;
    }
    p.y[i] = static_cast<T>(p.bias != nullptr ? sum + load(p.bias[column]) : sum);
  }
};

class MatMulNBits : public Kernel {
 public:
  explicit MatMulNBits(const Info& info)
      : k_(info.integer("K", 0)), n_(info.integer("N", 0)), bits_(info.integer("bits", 4)), block_(info.integer("block_size", 0)) {
    while ((int64_t{1} << shift_) < block_) ++shift_;
  }

  void compute(Context& context) override {
    const Tensor a = context.input(kA), b = context.input(kB), bias = context.input(kBias);
    require(a.shape.rank() > 0 && a.shape[a.shape.rank() - 1] == k_, "MatMulNBits: the last extent of A is not the attribute K");
    require(!bias || bias.shape == Shape{n_}, "MatMulNBits: bias is not [N]");
    Shape shape = a.shape;
    shape[shape.rank() - 1] = n_;
    const Tensor y = context.output(0, shape);
    check_codes(b.shape);
    if (y.size() == 0) return;
    if (b.size() == 0) return without_product(context, y, bias);
    const Tensor scales = context.input(kScales), zeros = context.input(kZeros);
    check_blocks(scales, zeros);
    with_float(y.type, [&](auto zero) { run(context.stream(), parts<decltype(zero)>(a, b, scales, zeros, bias, y)); });
  }

 private:
  int64_t blocks() const { return (k_ + block_ - 1) / block_; }
  int64_t zero_bytes() const { return (blocks() * bits_ + 7) / 8; }

  // [N, blocks, bytes of a block]; an extent of 0 in place of one: no product is asked for.
  void check_codes(const Shape& shape) const {
    const int64_t extents[] = {n_, blocks(), block_ * bits_ / 8};
    bool fits = shape.rank() == 3;
    for (int i = 0; fits && i < 3; ++i) fits = shape[i] == extents[i] || shape[i] == 0;
    require(fits, "MatMulNBits: B is not [N, blocks of K, bytes of a block]");
  }

  // Quantizers before ONNX Runtime 1.22 wrote scales and zero points as one axis.
  void check_blocks(const Tensor& scales, const Tensor& zeros) const {
    const auto is = [&](const Tensor& t, int64_t row) { return t.shape == Shape{n_, row} || t.shape == Shape{n_ * row}; };
    require(is(scales, blocks()), "MatMulNBits: scales are not [N, blocks of K]");
    require(!zeros || is(zeros, zeros.type == kByte ? zero_bytes() : blocks()),
            "MatMulNBits: zero_points are not [N, blocks of K], nor, packed in bytes, [N, ceil(blocks of K * bits / 8)]");
  }

  template <class T>
  NBits<T> parts(const Tensor& a, const Tensor& b, const Tensor& scales, const Tensor& zeros, const Tensor& bias, const Tensor& y) const {
    NBits<T> p{};
    p.a = a.as<const T>();
    p.b = b.as<const uint8_t>();
    p.scales = scales.as<const T>();
    if (zeros && zeros.type == kByte) p.packed_zeros = zeros.as<const uint8_t>();
    else if (zeros) p.zeros = zeros.as<const T>();
    if (bias) p.bias = bias.as<const T>();
    p.y = y.as<T>();
    p.m = y.size() / n_;
    p.n = n_;
    p.k = k_;
    p.blocks = blocks();
    p.zero_bytes = zero_bytes();
    p.bits = static_cast<int32_t>(bits_);
    p.shift = shift_;
    p.vectors = aligned16(p.a) && k_ % 8 == 0;
    return p;
  }

  template <class T>
  static void run(Stream& stream, const NBits<T>& p) {
#if !RK_CPU
    constexpr int64_t kMostExtent = int64_t{1} << 30;  // that the kernels count in 32 bits
    if (reinterpret_cast<uintptr_t>(p.b) % 8 == 0 && p.n <= kMostExtent && p.k <= kMostExtent) {
      using Device = std::conditional_t<std::is_same_v<T, float>, float, __half>;
      const auto cast = [](const T* from) { return reinterpret_cast<const Device*>(from); };
      const NBits<Device> q{cast(p.a), p.b, cast(p.scales), p.packed_zeros, cast(p.zeros), cast(p.bias), reinterpret_cast<Device*>(p.y),
                            p.m, p.n, p.k, p.blocks, p.zero_bytes, p.bits, p.shift, p.vectors};
      if (p.m > kMostRows && p.bias != nullptr) fill_rows(stream, p.y, p.m, p.bias, p.n, sizeof(T));
      if (p.bits == 2) return run_nbits<Device, 2>(stream, q);
      if (p.bits == 4) return run_nbits<Device, 4>(stream, q);
      return run_nbits<Device, 8>(stream, q);
    }
#endif
    for_each(stream, p.m * p.n, NBitsValue<T>{p});
  }

  // An omitted projection: zeros, or the bias in each row.
  static void without_product(Context& context, const Tensor& y, const Tensor& bias) {
    if (!bias) return zero_fill(context.stream(), y);
    const int64_t n = bias.size();
    fill_rows(context.stream(), y.data, y.size() / n, bias.data, n, bytes_of(y.type));
  }

  // The bias in each row of y.
  static void fill_rows(Stream& stream, void* y, int64_t rows, const void* bias, int64_t n, int64_t element_bytes) {
    StridedCopy copy;
    copy.shape = Shape{rows, n};
    copy.from = bias;
    copy.to = y;
    copy.from_strides = {0, 1};
    copy.to_strides = {n, 1};
    copy.element_bytes = element_bytes;
    strided_copy(stream, copy);
  }

  int64_t k_, n_, bits_, block_;
  int32_t shift_ = 0;
};

// Not the deprecated g_idx, codes of other widths, weights in a CUDA layout, zero points of another float type than A.
bool fits(const NodeView& node) {
  const int64_t bits = node.integer("bits", 4), block = node.integer("block_size", 0);
  const ValueView zeros = node.input(kZeros);
  return (bits == 2 || bits == 4 || bits == 8) && block >= 16 && (block & (block - 1)) == 0 && node.integer("K", 0) > 0 &&
         node.integer("N", 0) > 0 && !node.input(kGroupIndex) && node.integer("weight_prepacked", 0) == 0 &&
         (!zeros || zeros.type() == kByte || zeros.type() == node.input(kA).type());
}

}  // namespace

void add_matmul_nbits(Entries& e) {
  std::vector<Type> zeros = floats();
  zeros.push_back(kByte);
  e.push_back({"MatMulNBits", 1, 1, {{"T1", floats()}, {"T2", {kByte}}, {"T3", zeros}, {"T4", {kInt32}}}, make<MatMulNBits>, {}, {}, false, false,
               fits, "com.microsoft"});
}

}  // namespace rk
