// com.microsoft's MultiHeadAttention: its forms of query, key and value, its bias and its masks, around the attention kernel.
#include <algorithm>
#include <array>

#include "core/graph/graph.hpp"
#include "core/tensor/types.hpp"
#include "ops/attention/multi_head_mask.hpp"
#include "ops/fused/fused.hpp"
#include "ops/shape/copy.hpp"

namespace rk {
namespace {

enum Input : size_t { kQuery, kKey, kValue, kBias, kKeyPadding, kAddend, kPastKey, kPastValue, kPastLength, kCacheIndirection };

enum class Form {
  plain,       // query [B, S, N*H], key [B, L, N*H], value [B, L, N*Hv]
  apart,       // key and value [B, N, L, H]
  packed_kv,   // both in key [B, L, N, 2, H]
  packed_qkv,  // all in query [B, S, N, 3, H]
  none,
};

// Of tensors of these ranks, 0 for one that is left out.
Form form_of(size_t query, size_t key, size_t value) {
  const std::array<size_t, 3> ranks{query, key, value};
  if (ranks == std::array<size_t, 3>{3, 3, 3}) return Form::plain;
  if (ranks == std::array<size_t, 3>{3, 4, 4}) return Form::apart;
  if (ranks == std::array<size_t, 3>{3, 5, 0}) return Form::packed_kv;
  if (ranks == std::array<size_t, 3>{5, 0, 0}) return Form::packed_qkv;
  return Form::none;
}

struct Parts {
  Heads q, k, v;
};

class MultiHead : public Kernel {
 public:
  explicit MultiHead(const Info& info)
      : heads_(info.integer("num_heads", 0)), scale_(info.real("scale", 0.0f)), filter_(info.real("mask_filter_value", -10000.0f)),
        causal_(info.integer("unidirectional", 0) != 0) {
    require(heads_ > 0, "MultiHeadAttention's num_heads is not positive");
  }

  void compute(Context& context) override {
    const Tensor query = context.input(kQuery), past_key = context.input(kPastKey), past_value = context.input(kPastValue);
    const Parts parts = parts_of(context);
    require(static_cast<bool>(past_key) == static_cast<bool>(past_value), "MultiHeadAttention's past_key and past_value go together");
    const Heads& q = parts.q;
    const Heads k = with_past(context, parts.k, query.type, past_key, 1), v = with_past(context, parts.v, query.type, past_value, 2);
    sbk::AttentionParams p;
    p.dtype = data_type(query.type);
    take_extents(p, q, k, v);
    p.scale = scale_ != 0.0f ? scale_ : sbk::default_attention_scale(q.size);
    if (causal_) check(sbk::set_unidirectional(p, k.length - parts.k.length));
    const Tensor y = context.output(0, Shape{q.batch, q.length, q.heads * v.size});
    if (y.size() == 0) return;
    p.y = y.data;
    p.y_strides = heads_of(y, heads_).strides;
    place_masks(context, p, query.type);
    run_attention(context, p, q, k, v);
  }

 private:
  Parts parts_of(Context& context) const {
    Tensor query = context.input(kQuery), key = context.input(kKey), value = context.input(kValue);
    const auto rank = [](const Tensor& t) { return t ? static_cast<size_t>(t.shape.rank()) : 0; };
    const sbk::DataType type = data_type(query.type);
    switch (form_of(rank(query), rank(key), rank(value))) {
      case Form::plain: {
        add_bias(context, query, key, value);
        return {heads_of(query, heads_), heads_of(key, heads_), heads_of(value, heads_)};
      }
      case Form::apart: return {heads_of(query, heads_), heads_of(key, heads_), heads_of(value, heads_)};
      case Form::packed_kv: {
        const Heads k = packed_heads(key, 2);
        return {heads_of(query, heads_), k, sbk::part_of(k, 1, type)};
      }
      case Form::packed_qkv: {
        const Heads q = packed_heads(with_packed_bias(context, query), 3);
        return {q, sbk::part_of(q, 1, type), sbk::part_of(q, 2, type)};
      }
      case Form::none: break;
    }
    fail("MultiHeadAttention takes query, key and value of 3 axes; a query of 3 with key and value of 4, or with both in a key of 5; or "
         "all three in a query of 5");
  }

  // The first part of [batch, length, heads, parts, size].
  Heads packed_heads(const Tensor& t, int64_t parts) const {
    require(t.shape[2] == heads_ && t.shape[3] == parts, "MultiHeadAttention's packed query or key is not [batch, length, num_heads, parts, size]");
    return sbk::heads_within(t.data, t.shape[0], t.shape[1], heads_, t.shape[4], parts);
  }

  void add_bias(Context& context, Tensor& query, Tensor& key, Tensor& value) const {
    const Tensor bias = context.input(kBias);
    if (!bias) return;
    const int64_t hidden_size = query.shape[2], keys = key.shape[2], values = value.shape[2];
    require(bias.shape == Shape{hidden_size + keys + values},
            "MultiHeadAttention's bias does not have a value for each of query's, key's and value's last extents");
    const auto* numbers = static_cast<const char*>(bias.data);
    const int64_t element = bytes_of(bias.type);
    query.data = sum(context, query, numbers, hidden_size);
    key.data = sum(context, key, numbers + hidden_size * element, keys);
    value.data = sum(context, value, numbers + (hidden_size + keys) * element, values);
  }

  // The bias is [3, heads, size], the query's last axes are [heads, 3, size].
  Tensor with_packed_bias(Context& context, Tensor query) const {
    const Tensor bias = context.input(kBias);
    if (!bias) return query;
    const int64_t size = query.shape[4], row = 3 * heads_ * size;
    require(bias.shape == Shape{row}, "MultiHeadAttention's bias does not have three values for each of the packed query's heads and sizes");
    StridedCopy copy;
    copy.shape = Shape{heads_, 3, size};
    copy.from = bias.data;
    copy.to = context.scratch(static_cast<size_t>(bias.bytes()));
    copy.from_strides = {size, heads_ * size, 1};
    copy.to_strides = dense_strides(copy.shape);
    copy.element_bytes = bytes_of(bias.type);
    strided_copy(context.stream(), copy);
    query.data = sum(context, query, copy.to, row);
    return query;
  }

  // x plus a number for each place of its rows of n, in scratch memory.
  static void* sum(Context& context, const Tensor& x, const void* numbers, int64_t n) {
    if (x.size() == 0) return x.data;
    StridedCopy copy;
    copy.shape = Shape{x.size()};
    copy.from = x.data;
    copy.to = context.scratch(static_cast<size_t>(x.bytes()));
    copy.from_strides = copy.to_strides = dense_strides(copy.shape);
    copy.element_bytes = bytes_of(x.type);
    strided_copy(context.stream(), copy);
    bias_curve(context.stream(), x.type, copy.to, numbers, x.size() / n, n, Curve::none);
    return copy.to;
  }

  void place_masks(Context& context, sbk::AttentionParams& p, Type type) const {
    const Tensor padding = context.input(kKeyPadding), addend = context.input(kAddend);
    if (!padding) {
      if (addend) place_mask(p, whole_rows(context, addend, p.key_length));
      return;
    }
    sbk::PaddedKeys padded_keys{padding.as<const int32_t>(), {}, p.query_length, p.key_length, p.causal, p.causal_offset, filter_};
    require(sbk::key_padding_of(padding.shape.data(), static_cast<size_t>(padding.shape.rank()), p.batch, p.query_length, p.key_length, &padded_keys.form),
            "MultiHeadAttention's key_padding_mask is not [B], [3*B+2], [B, T] or [B, S, T], with T the keys of the past and the new ones");
    place_mask(p, padding_numbers(context, p, padded_keys, addend, type));
  }

  int64_t heads_;
  float scale_, filter_;
  bool causal_;
};

// The ranks tell the form; past_sequence_length, cache_indirection and the fourth output, the scores, are not taken.
bool multi_head_fits(const NodeView& node) {
  size_t ranks[3] = {};
  for (size_t i : {kQuery, kKey, kValue}) {
    if (!node.input(i)) continue;
    const auto dims = node.input(i).dims();
    if (!dims) return false;
    ranks[i] = dims->size();
  }
  if (node.input(kPastLength) || node.input(kCacheIndirection) || node.output(3)) return false;
  const Form form = form_of(ranks[kQuery], ranks[kKey], ranks[kValue]);
  if (node.input(kBias) && form != Form::plain && form != Form::packed_qkv) return false;
  if (static_cast<bool>(node.input(kPastKey)) != static_cast<bool>(node.input(kPastValue))) return false;
  return form != Form::none && (form == Form::plain || !node.input(kPastKey));
}

}  // namespace

void add_multi_head(Entries& e) {
  e.push_back({"MultiHeadAttention", 1, 1, {{"T", floats()}, {"M", {kInt32}}}, make<MultiHead>, {}, {}, false, false, multi_head_fits,
               "com.microsoft"});
}

}  // namespace rk
