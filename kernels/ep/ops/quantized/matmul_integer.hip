#include "ops/quantized/matmul_integer.hpp"

#include "core/kernel/broadcast.hpp"
#include "core/tensor/types.hpp"
#include "ops/matmul/matmul.hpp"
#if !RK_CPU
#include "ops/quantized/matmul_integer_kernels.hpp"
#endif

namespace rk {
namespace {

#if RK_CPU

// One value of y by the definition.
struct IntegerValue {
  IntegerMatrices p;

  void operator()(int64_t i) const {
    const int64_t matrix = i / (p.m * p.n), row = i / p.n % p.m, column = i % p.n;
    const IntegerMatrices::Lines lines = p.lines(matrix);
    const int32_t a_zero = p.a_zero(lines, row), b_zero = p.b_zero(lines, column);
    const uint8_t* a = p.a + (lines.a + row) * p.k;
    const uint8_t* b = p.b + lines.b * p.k + column;
    int64_t sum = 0;
    for (int64_t k = 0; k < p.k; ++k) sum += (p.a_reader(a[k]) - a_zero) * (p.b_reader(b[k * p.n]) - b_zero);
    p.store(lines, row, column, static_cast<int32_t>(sum));
  }
};

void run_integers(Stream& stream, const IntegerMatrices& p) { for_each(stream, p.batch * p.m * p.n, IntegerValue{p}); }

#else

void run_integers(Stream& stream, const IntegerMatrices& p) { run_integer_product(stream, IntegerProduct(p)); }

#endif

// Strides of the batch's axes in lines, of which each of an operand's matrices has `lines`.
Strides line_strides(const Shape& own, const Shape& batch, int64_t lines) {
  Strides strides = broadcast_strides(own, batch);
  for (int64_t& stride : strides) stride *= lines;
  return strides;
}

// One number, or one for each row of a or column of b: `lines` in one matrix, `all` in all of the operand's.
void check_lines(const Tensor& t, int64_t lines, int64_t all, const char* what) {
  require(!t || t.size() == 1 || t.size() == lines || t.size() == all, what);
}

// The places of a node's inputs.
struct Places {
  size_t a, b, a_zero, b_zero;
};

class IntegerMatMul : public Kernel {
 public:
  void compute(Context& context) override {
    const Tensor a = context.input(places_.a), b = context.input(places_.b);
    const MatmulPlan plan = plan_matmul(a.shape, b.shape);
    const Tensor a_zero = context.input(places_.a_zero), b_zero = context.input(places_.b_zero);
    const Tensor y = context.output(0, plan.out);
    IntegerMatrices p = matrices(plan, a, b, y, a_zero, b_zero);
    finish(context, p, a, b, y);
    if (y.size() == 0) return;
    run_batches(context.stream(), p, plan);
  }

 protected:
  explicit IntegerMatMul(const Places& places) : places_(places) {}
  static int64_t rows(const Tensor& a) { return a.shape.rank() < 2 ? 1 : a.shape[a.shape.rank() - 2]; }
  static int64_t all_rows(const Tensor& a) { return a.shape.product(0, a.shape.rank() - 1); }
  static int64_t columns(const Tensor& b) { return b.shape.rank() < 2 ? 1 : b.shape[b.shape.rank() - 1]; }
  static int64_t all_columns(const Tensor& b) { return b.shape.rank() < 2 ? 1 : b.shape.product(0, b.shape.rank() - 2) * columns(b); }

 private:
  virtual void finish(Context&, IntegerMatrices&, const Tensor&, const Tensor&, const Tensor&) const {}

  static IntegerMatrices matrices(const MatmulPlan& plan, const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& a_zero, const Tensor& b_zero) {
    check_lines(a_zero, rows(a), all_rows(a), "a_zero_point is neither one number nor one for each row of A");
    check_lines(b_zero, columns(b), all_columns(b), "b_zero_point is neither one number nor one for each column of B");
    require(plan.k < INT32_MAX / 2, "a product of integers has an inner extent of 2^30 or more");
    const int64_t matrices = plan.batch.size();
    require(matrices * plan.m <= INT32_MAX && matrices * plan.n <= INT32_MAX, "a product of integers has 2^31 rows or columns or more");
    IntegerMatrices p{a.as<const uint8_t>(), b.as<const uint8_t>(), y.data, ByteReader::of(a.type), ByteReader::of(b.type),
                      ZeroPoints::of(a_zero), ZeroPoints::of(b_zero), {}, {}, plan.m, plan.n, 1, static_cast<int32_t>(plan.k),
                      false, {}, {}, {}, {}, 0, 0};
    return p;
  }

  // A launch walks one axis of the batch; the others are looped over.
  static void run_batches(Stream& stream, IntegerMatrices p, const MatmulPlan& plan) {
    const Walk<3> walk(plan.batch, {line_strides(plan.a_batch, plan.batch, plan.m), line_strides(plan.b_batch, plan.batch, plan.n),
                                    line_strides(plan.batch, plan.batch, plan.m)});
    const int last = walk.rank() - 1;
    p.batch = walk.extent(last);
    p.step = {walk.stride(0, last), walk.stride(1, last), walk.stride(2, last)};
    for (int64_t outer = 0; outer < walk.count() / p.batch; ++outer) {
      p.first = {};
      int64_t rest = outer;
      for (int i = last - 1; i >= 0; --i) {
        const int64_t at = rest % walk.extent(i);
        p.first.a += at * walk.stride(0, i);
        p.first.b += at * walk.stride(1, i);
        p.first.y += at * walk.stride(2, i);
        rest /= walk.extent(i);
      }
      run_integers(stream, p);
    }
  }

  Places places_;
};

class MatMulInteger : public IntegerMatMul {
 public:
  explicit MatMulInteger(const Info&) : IntegerMatMul({0, 1, 2, 3}) {}
};

class QLinearMatMul : public IntegerMatMul {
 public:
  explicit QLinearMatMul(const Info&) : IntegerMatMul({0, 3, 2, 5}) {}

 private:
  void finish(Context& context, IntegerMatrices& p, const Tensor& a, const Tensor& b, const Tensor& y) const override {
    const Tensor a_scale = context.input(1), b_scale = context.input(4), y_scale = context.input(6), y_zero = context.input(7);
    check_lines(a_scale, rows(a), all_rows(a), "a_scale is neither one number nor one for each row of a");
    check_lines(b_scale, columns(b), all_columns(b), "b_scale is neither one number nor one for each column of b");
    check_lines(y_scale, rows(a), all_rows(a), "y_scale is neither one number nor one for each row of a");
    check_lines(y_zero, rows(a), all_rows(a), "y_zero_point is neither one number nor one for each row of a");
    p.quantizes = true;
    p.a_scales = Scales::of(a_scale);
    p.b_scales = Scales::of(b_scale);
    p.y_scales = Scales::of(y_scale);
    p.y_zeros = ZeroPoints::of(y_zero);
    p.low = y.type == kInt8 ? -128 : 0;
    p.high = y.type == kInt8 ? 127 : 255;
  }
};

}  // namespace

void add_matmul_integer(Entries& e) {
  const TypeRule a{"T1", bytes()}, b{"T2", bytes()}, y{"T3", bytes()};
  e.push_back({"MatMulInteger", 10, kNewest, {a, b, {"T3", {kInt32}}}, make<MatMulInteger>});
  e.push_back({"QLinearMatMul", 10, 20, {a, b, y}, make<QLinearMatMul>});
  e.push_back({"QLinearMatMul", 21, kNewest, {{"TS", floats()}, a, b, y}, make<QLinearMatMul>});
}

}  // namespace rk
