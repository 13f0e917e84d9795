#include "ops/attention/multi_head_mask.hpp"

#include "core/kernel/parallel_for.hpp"
#include "core/tensor/strides.hpp"

namespace rk {
namespace {

// Whether any key counts, for each row of numbers.
struct AnyKey {
  sbk::PaddedKeys padded_keys;
  int64_t rows;  // for a batch entry
  bool* any;

  RK_D void operator()(int64_t row) const { any[row] = padded_keys.any(row / rows, row % rows); }
};

// One number of [batch, heads, queries, keys].
template <class T>
struct PaddingNumber {
  sbk::PaddedKeys padded_keys;
  const bool* any;
  int64_t rows;  // of `any`, for a batch entry
  int64_t heads, queries, keys;
  const T* addend;  // or null
  int64_t batch_stride, head_stride, query_stride, key_stride;  // of it
  T* to;

  RK_D void operator()(int64_t at) const {
    const int64_t j = at % keys, i = at / keys % queries, h = at / keys / queries % heads, b = at / keys / queries / heads;
    const int64_t row = rows == 1 ? 0 : i;
    const bool filtered = any[b * rows + row] && !padded_keys.counts(b, row, j);
    // As a mask of the type would have it, and the sum of two such.
    const float filter = filtered ? load(static_cast<T>(padded_keys.filter)) : 0.0f;
    const float number = addend != nullptr ? load(addend[b * batch_stride + h * head_stride + i * query_stride + j * key_stride]) : 0.0f;
    to[at] = static_cast<T>(number + filter);
  }
};

}  // namespace

Tensor padding_numbers(Context& context, const sbk::AttentionParams& p, const sbk::PaddedKeys& padded_keys, const Tensor& addend, Type type) {
  const Shape scores{p.batch, p.query_heads, p.query_length, p.key_length};
  Strides strides{};
  if (addend) {
    require(broadcast(addend.shape, scores) == scores, "MultiHeadAttention's attention_bias does not broadcast to batch, heads, queries, keys");
    strides = broadcast_strides(addend.shape, scores);
  }
  Tensor numbers;
  numbers.type = type;
  numbers.shape = {p.batch, strides[1] != 0 ? p.query_heads : 1, addend ? p.query_length : padded_keys.rows(), p.key_length};
  if (numbers.size() == 0) return numbers;
  numbers.data = context.scratch(static_cast<size_t>(numbers.bytes()));
  auto* any = static_cast<bool*>(context.scratch(static_cast<size_t>(p.batch * padded_keys.rows())));
  for_each(context.stream(), p.batch * padded_keys.rows(), AnyKey{padded_keys, padded_keys.rows(), any});
  with_float(type, [&](auto zero) {
    using T = decltype(zero);
    for_each(context.stream(), numbers.size(), PaddingNumber<T>{padded_keys, any, padded_keys.rows(), numbers.shape[1], numbers.shape[2], numbers.shape[3],
                                                               addend.as<T>(), strides[0], strides[1], strides[2], strides[3], numbers.as<T>()});
  });
  return numbers;
}

}  // namespace rk
