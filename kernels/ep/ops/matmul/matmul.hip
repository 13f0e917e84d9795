// MatMul and Gemm.
#include "core/device/blas.hpp"
#include "core/kernel/broadcast.hpp"
#include "core/kernel/kernel.hpp"
#include "core/tensor/types.hpp"
#include "ops/matmul/matmul.hpp"
#include "ops/shape/copy.hpp"
#include "ops/shape/zero_fill.hpp"

namespace rk {
namespace {

Shape leading(const Shape& shape, int trailing) {
  return Shape(shape.data(), static_cast<size_t>(std::max(0, shape.rank() - trailing)));
}

// Strides of the batch axes of `shape`, in elements, read as `batch`.
Strides batch_strides(const Shape& own, const Shape& batch, int64_t matrix) {
  Strides strides = broadcast_strides(own, batch);
  for (int64_t& stride : strides) stride *= matrix;
  return strides;
}

}  // namespace

MatmulPlan plan_matmul(const Shape& a_given, const Shape& b_given) {
  require(a_given.rank() > 0 && b_given.rank() > 0, "MatMul takes no scalars");
  MatmulPlan plan;
  Shape a = a_given, b = b_given;
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (row) a = Shape{1, a_given[0]};
  if (column) b = Shape{b_given[0], 1};
  plan.m = a[a.rank() - 2];
  plan.k = a[a.rank() - 1];
  plan.n = b[b.rank() - 1];
  require(b[b.rank() - 2] == plan.k, "MatMul's inner extents differ");
  plan.a_batch = leading(a, 2);
  plan.b_batch = leading(b, 2);
  plan.batch = broadcast(plan.a_batch, plan.b_batch);
  for (int64_t extent : plan.batch) plan.out.push(extent);
  if (!row) plan.out.push(plan.m);
  if (!column) plan.out.push(plan.n);
  if (plan.b_batch.size() == 1) {  // one b for all: the batch is more rows
    plan.m *= plan.batch.size();
    plan.batch = plan.a_batch = plan.b_batch = Shape{};
  }
  return plan;
}

void run_matmul(Stream& stream, const MatmulPlan& plan, Type type, const void* a, const void* b, void* y) {
  Gemm gemm;
  gemm.type = type;
  gemm.m = plan.m;
  gemm.n = plan.n;
  gemm.k = plan.k;
  gemm.lda = plan.k;
  gemm.ldb = gemm.ldc = plan.n;
  const Walk<3> walk(plan.batch, {batch_strides(plan.a_batch, plan.batch, plan.m * plan.k),
                                  batch_strides(plan.b_batch, plan.batch, plan.k * plan.n),
                                  batch_strides(plan.batch, plan.batch, plan.m * plan.n)});
  const int last = walk.rank() - 1;  // the axis that one strided-batched call walks; the others are looped over
  gemm.batch = walk.extent(last);
  gemm.stride_a = walk.stride(0, last);
  gemm.stride_b = walk.stride(1, last);
  gemm.stride_c = walk.stride(2, last);
  const int64_t bytes = bytes_of(type);
  if (plan.k == 0) return zero_fill(stream, Tensor{y, plan.out, type});
  for (int64_t outer = 0; outer < walk.count() / std::max<int64_t>(gemm.batch, 1); ++outer) {
    int64_t at[3] = {}, rest = outer;
    for (int i = last - 1; i >= 0; --i) {
      for (int k = 0; k < 3; ++k) at[k] += rest % walk.extent(i) * walk.stride(k, i);
      rest /= walk.extent(i);
    }
    gemm.a = static_cast<const char*>(a) + at[0] * bytes;
    gemm.b = static_cast<const char*>(b) + at[1] * bytes;
    gemm.c = static_cast<char*>(y) + at[2] * bytes;
    stream.blas().gemm(gemm);
  }
}

namespace {

template <class T>
struct Scale {
  T* y;
  float factor;
  RK_HD void operator()(int64_t i) const { y[i] = static_cast<T>(factor * load(y[i])); }
};

// y = beta y, where the product has no inner extent and its operands have no address.
void without_product(Stream& stream, const Tensor& y, float beta) {
  if (beta == 0.0f) return zero_fill(stream, y);
  if (beta == 1.0f) return;
  with_float(y.type, [&](auto zero) {
    using T = decltype(zero);
    for_each(stream, y.size(), Scale<T>{y.as<T>(), beta});
  });
}

class MatMul : public Kernel {
 public:
  explicit MatMul(const Info&) {}
  void compute(Context& context) override {
    const Tensor a = context.input(0);
    const Tensor b = context.input(1);
    const MatmulPlan plan = plan_matmul(a.shape, b.shape);
    const Tensor y = context.output(0, plan.out);
    if (y.size() == 0) return;
    run_matmul(context.stream(), plan, a.type, a.data, b.data, y.data);
  }
};

class GemmKernel : public Kernel {
 public:
  explicit GemmKernel(const Info& info)
      : transpose_a_(info.integer("transA", 0) != 0), transpose_b_(info.integer("transB", 0) != 0),
        alpha_(info.real("alpha", 1.0f)), beta_(info.real("beta", 1.0f)) {}

  void compute(Context& context) override {
    const Tensor a = context.input(0);
    const Tensor b = context.input(1);
    const Tensor c = context.input(2);
    require(a.shape.rank() == 2 && b.shape.rank() == 2, "Gemm takes matrices");
    Gemm gemm;
    gemm.type = a.type;
    gemm.transpose_a = transpose_a_;
    gemm.transpose_b = transpose_b_;
    gemm.m = a.shape[transpose_a_ ? 1 : 0];
    gemm.k = a.shape[transpose_a_ ? 0 : 1];
    gemm.n = b.shape[transpose_b_ ? 0 : 1];
    require(b.shape[transpose_b_ ? 1 : 0] == gemm.k, "Gemm's inner extents differ");
    const Tensor y = context.output(0, Shape{gemm.m, gemm.n});
    if (y.size() == 0) return;
    gemm.alpha = alpha_;
    gemm.lda = std::max<int64_t>(a.shape[1], 1);
    gemm.ldb = std::max<int64_t>(b.shape[1], 1);
    gemm.ldc = gemm.n;
    gemm.a = a.data;
    gemm.b = b.data;
    gemm.c = y.data;
    if (c && beta_ != 0.0f) {
      require(broadcast(c.shape, y.shape) == y.shape, "Gemm's C does not broadcast to its output");
      spread(context.stream(), c, y);
      gemm.beta = beta_;
    }
    if (gemm.k == 0) return without_product(context.stream(), y, gemm.beta);
    context.stream().blas().gemm(gemm);
  }

 private:
  static void spread(Stream& stream, const Tensor& c, const Tensor& y) {
    StridedCopy copy;
    copy.shape = y.shape;
    copy.from = c.data;
    copy.to = y.data;
    copy.from_strides = broadcast_strides(c.shape, y.shape);
    copy.to_strides = dense_strides(y.shape);
    copy.element_bytes = bytes_of(y.type);
    strided_copy(stream, copy);
  }

  bool transpose_a_;
  bool transpose_b_;
  float alpha_;
  float beta_;
};

}  // namespace

void add_matmul(Entries& e) {
  e.push_back({"MatMul", 1, kNewest, {{"T", floats()}}, make<MatMul>});
  e.push_back({"Gemm", 7, kNewest, {{"T", floats()}}, make<GemmKernel>});
}

}  // namespace rk
