#include "ops/matmul/linear.hpp"

#include <utility>

#include "core/device/blas.hpp"
#include "ops/matmul/matmul.hpp"
#include "ops/shape/zero_fill.hpp"

namespace rk {
namespace {

int64_t in_extent(const LinearForm& form, const Shape& w) { return w[form.transposed ? 1 : 0]; }
int64_t out_extent(const LinearForm& form, const Shape& w) { return w[form.transposed ? 0 : 1]; }

std::optional<Linear> from_matmul(const NodeView& matmul, const Scope& scope) {
  const ValueView x = matmul.input(0), w = matmul.input(1);
  const auto dims = x.dims();
  if (!constant_of_rank(w, 2) || !dims || dims->size() < 2) return std::nullopt;
  const auto add = scope.only_reader(matmul.output(0));
  if (!is_op(add, "Add")) return std::nullopt;
  const ValueView bias = other_input(*add, matmul.output(0));
  if (!constant_of_rank(bias, 1) || !known_equal(bias, 0, w, 1)) return std::nullopt;
  return Linear{x, w, bias, add->output(0), {}, {matmul.raw(), add->raw()}};
}

bool plain(const NodeView& gemm) {
  return gemm.real("alpha", 1.0f) == 1.0f && gemm.real("beta", 1.0f) == 1.0f && gemm.integer("transA", 0) == 0;
}

std::optional<Linear> from_gemm(const NodeView& gemm, const Scope& scope) {
  Linear linear{gemm.input(0), gemm.input(1), gemm.input(2), gemm.output(0), {}, {gemm.raw()}};
  linear.form.transposed = gemm.integer("transB", 0) != 0;
  if (!plain(gemm) || !constant_of_rank(linear.w, 2) || !constant_of_rank(linear.bias, 1)) return std::nullopt;
  const auto dims = linear.x.dims();
  if (!known_equal(linear.bias, 0, linear.w, linear.form.transposed ? 0 : 1) || !dims || dims->size() != 2) return std::nullopt;
  const auto before = scope.only_maker(linear.x);
  if (!before) return linear;
  if (auto reshaping = constant_reshape(*before)) {
    linear.form.before = std::move(reshaping);
    linear.x = before->input(0);
    linear.nodes.push_back(before->raw());
  }
  return linear;
}

std::optional<Linear> with_reshape(std::optional<Linear> linear, const Scope& scope) {
  const auto after = linear ? scope.only_reader(linear->y) : std::nullopt;
  if (!after) return linear;
  if (auto reshaping = constant_reshape(*after)) {
    linear->form.after = std::move(reshaping);
    linear->y = after->output(0);
    linear->nodes.push_back(after->raw());
  }
  return linear;
}

}  // namespace

Shape LinearForm::out(const Shape& x, const Shape& w) const {
  Shape shape = before ? before->of(x) : x;
  const int last = shape.rank() - 1;
  require(last >= 0 && shape[last] == in_extent(*this, w), "a product's inner extents differ");
  shape[last] = out_extent(*this, w);
  return after ? after->of(shape) : shape;
}

std::optional<Linear> linear_of(const NodeView& product, const Scope& scope) {
  if (product.op() == "Gemm") return with_reshape(from_gemm(product, scope), scope);
  return from_matmul(product, scope);
}

std::optional<Linear> linear_making(const ValueView& y, const Scope& scope) {
  const auto last = scope.only_maker(y);
  if (!last) return std::nullopt;
  if (is_op(last, "Gemm")) return from_gemm(*last, scope);
  if (is_op(last, "Reshape")) {
    const auto gemm = scope.only_maker(last->input(0));
    if (!is_op(gemm, "Gemm") || !constant_reshape(*last)) return std::nullopt;
    return with_reshape(from_gemm(*gemm, scope), scope);
  }
  if (!is_op(last, "Add")) return std::nullopt;
  for (size_t i = 0; i < 2; ++i)
    if (const auto matmul = scope.only_maker(last->input(i)); is_op(matmul, "MatMul")) return from_matmul(*matmul, scope);
  return std::nullopt;
}

std::optional<Reshaping> constant_reshape(const NodeView& node) {
  if (node.op() != "Reshape" || !constant_of_rank(node.input(1), 1)) return std::nullopt;
  return Reshaping{integers(node.input(1).constant()), node.integer("allowzero", 0) != 0};
}

bool constant_of_rank(const ValueView& value, size_t rank) {
  if (!value || !value.is_constant()) return false;
  const auto dims = value.dims();
  return dims && dims->size() == rank;
}

void run_linear(Stream& stream, const LinearForm& form, const Tensor& x, const Tensor& w, const Tensor& y) {
  if (y.size() == 0) return;
  Gemm gemm;
  gemm.type = y.type;
  gemm.k = in_extent(form, w.shape);
  gemm.n = out_extent(form, w.shape);
  gemm.m = y.size() / gemm.n;
  if (gemm.k == 0) return zero_fill(stream, y);
  gemm.transpose_b = form.transposed;
  gemm.a = x.data;
  gemm.b = w.data;
  gemm.c = y.data;
  gemm.lda = gemm.k;
  gemm.ldb = form.transposed ? gemm.k : gemm.n;
  gemm.ldc = gemm.n;
  stream.blas().gemm(gemm);
}

}  // namespace rk
