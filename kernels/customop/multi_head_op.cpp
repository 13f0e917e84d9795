// com.microsoft's MultiHeadAttention: its forms of query, key and value, its bias and its masks, around the attention kernel.
#include <algorithm>

#include "attention/key_padding.hpp"
#include "common/half.hpp"
#include "customop/attention_parts.hpp"
#include "customop/ops.hpp"

namespace sbk::customop {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw std::runtime_error("MultiHeadAttention: " + why); }

struct Inputs {
  Tensor query, key, value, bias, padding, addend, past_key, past_value;

  bool packed_qkv() const { return query.shape.size() == 5; }
  bool packed_kv() const { return key.present && key.shape.size() == 5; }
  bool keys_apart() const { return key.present && key.shape.size() == 4; }
  bool plain() const { return !packed_qkv() && !packed_kv() && !keys_apart(); }
};

Inputs inputs_of(const Call& call) {
  for (const size_t i : {size_t{8}, size_t{9}}) {
    if (call.input(i).present) refuse("past_sequence_length and cache_indirection are not supported");
  }
  Inputs in{call.required_input(0, "query"), call.input(1), call.input(2), call.input(3), call.input(4), call.input(5), call.input(6),
            call.input(7)};
  const auto axes = [](const Tensor& t) { return t.present ? t.shape.size() : 0; };
  const size_t ranks[3] = {axes(in.query), axes(in.key), axes(in.value)};
  constexpr size_t kForms[][3] = {{3, 3, 3}, {3, 4, 4}, {3, 5, 0}, {5, 0, 0}};
  if (std::none_of(std::begin(kForms), std::end(kForms), [&](const auto& form) { return std::equal(ranks, ranks + 3, form); })) {
    refuse("query, key and value must be [B, S, N*H], [B, L, N*H] and [B, L, N*Hv]; or key and value [B, N, L, H]; or key "
           "[B, L, N, 2, H] alone; or query [B, S, N, 3, H] alone");
  }
  if (in.past_key.present != in.past_value.present) refuse("past_key and past_value go together");
  if (in.past_key.present && !in.plain()) refuse("a past goes with query, key and value of 3 axes each");
  return in;
}

// `heads` of [B, S, parts..., H], where the tensor's axes say so.
void check_packed(const Tensor& t, int64_t heads, int64_t parts, const char* form) {
  if (t.shape[2] != heads || t.shape[3] != parts) refuse(std::string("a packed ") + form + " and num_heads");
}

int64_t size_within(const Tensor& t, int64_t heads, const char* name) {
  if (t.shape[2] % heads != 0) refuse(std::string("num_heads must divide the last extent of ") + name);
  return t.shape[2] / heads;
}

// Adds numbers to rows, where both are: BatchNormalization of mean 0, variance 1 and scale 1.
class Adder {
 public:
  Adder(Memory& memory, Where where, const Call& call, DataType type) : memory_(memory), where_(where), call_(call), type_(type) {}

  // to[rows, channels] = from[rows, channels] + numbers[channels], each of the type.
  void add(const void* from, const void* numbers, int64_t rows, int64_t channels, void* to) {
    if (rows * channels == 0) return;
    need(static_cast<size_t>(channels));
    const auto row = static_cast<size_t>(channels);
    const size_t bytes = static_cast<size_t>(rows) * row * size_of(type_);
    BatchNormParams p;
    p.dtype = p.scale_dtype = p.stats_dtype = type_;
    p.layout = Layout::channels_last;
    p.batch = 1;
    p.channels = channels;
    p.spatial = rows;
    p.epsilon = 0.0f;
    p.x = from;
    p.bias = numbers;
    p.mean = zeros_;
    p.variance = p.scale = ones_;
    p.y = to;
    static constexpr Launchers launchers{run_untyped<BatchNormParams, cpu::batch_norm>, &GpuLibrary::batch_norm, nullptr};
    const size_t each = row * size_of(type_);
    run(where_, launchers, &p,
        {{&p.x, bytes}, {&p.scale, each}, {&p.bias, each}, {&p.mean, each}, {&p.variance, each}, {const_cast<const void**>(&p.y), bytes, true}},
        call_);
  }

 private:
  void need(size_t channels) {
    if (channels <= most_) return;
    most_ = channels;
    if (type_ == DataType::float32) place(std::vector<float>(channels, 0.0f), std::vector<float>(channels, 1.0f));
    else place(std::vector<Half>(channels, from_float<Half>(0.0f)), std::vector<Half>(channels, from_float<Half>(1.0f)));
  }

  template <class T>
  void place(const std::vector<T>& zeros, const std::vector<T>& ones) {
    zeros_ = memory_.place(zeros);
    ones_ = memory_.place(ones);
  }

  Memory& memory_;
  Where where_;
  const Call& call_;
  DataType type_;
  size_t most_ = 0;
  const void* zeros_ = nullptr;
  const void* ones_ = nullptr;
};

// The bias [3, N, H] in the order of a packed query's last axes, [N, 3, H].
const void* bias_by_head(Memory& memory, const Tensor& bias, int64_t heads, int64_t size, size_t element) {
  const size_t row = static_cast<size_t>(size) * element;
  auto* to = static_cast<char*>(memory.get(static_cast<size_t>(bias.count()) * element));
  const auto* from = static_cast<const char*>(bias.data);
  for (size_t part = 0; part < 3; ++part) {
    memory.copy({to + part * row, 3 * row, from + part * static_cast<size_t>(heads) * row, row, row, static_cast<size_t>(heads)});
  }
  return to;
}

void add_bias(Memory& memory, Adder& adder, Inputs& in, int64_t heads) {
  if (!in.bias.present) return;
  if (in.packed_kv() || in.keys_apart()) refuse("bias goes with query, key and value of 3 axes each, or with a packed query");
  const size_t element = element_bytes(in.query.type);
  const int64_t hidden_size = in.packed_qkv() ? heads * in.query.shape[4] : in.query.shape[2];
  const int64_t key = in.packed_qkv() ? hidden_size : in.key.shape[2], value = in.packed_qkv() ? hidden_size : in.value.shape[2];
  if (in.bias.shape != std::vector<int64_t>{hidden_size + key + value}) {
    refuse("bias must have one axis, of a value for each of query's, key's and value's last extents");
  }
  const auto with = [&](Tensor& x, const void* bias, int64_t channels) {
    void* sum = memory.get(static_cast<size_t>(x.count()) * element);
    adder.add(x.data, bias, x.shape[0] * x.shape[1], channels, sum);
    x.data = sum;
  };
  if (in.packed_qkv()) return with(in.query, bias_by_head(memory, in.bias, heads, in.query.shape[4], element), 3 * hidden_size);
  const auto* from = static_cast<const char*>(in.bias.data);
  with(in.query, from, hidden_size);
  with(in.key, from + static_cast<size_t>(hidden_size) * element, key);
  with(in.value, from + static_cast<size_t>(hidden_size + key) * element, value);
}

struct Parts {
  Heads q, k, v;
};

Parts parts_of(const Inputs& in, int64_t heads) {
  const Tensor& query = in.query;
  const DataType type = floating(query, "query");
  if (in.packed_qkv()) {
    check_packed(query, heads, 3, "query must be [B, S, N, 3, H]: its third extent, 3");
    const Heads q = heads_within(query.data, query.shape[0], query.shape[1], heads, query.shape[4], 3);
    return {q, part_of(q, 1, type), part_of(q, 2, type)};
  }
  const Heads q = heads_within(query.data, query.shape[0], query.shape[1], heads, size_within(query, heads, "query"));
  const Tensor &key = in.key, &value = in.value;
  if (in.packed_kv()) {
    check_packed(key, heads, 2, "key must be [B, L, N, 2, H]: its third extent, 2");
    const Heads k = heads_within(key.data, key.shape[0], key.shape[1], heads, key.shape[4], 2);
    return {q, k, part_of(k, 1, type)};
  }
  if (in.keys_apart()) {
    if (key.shape[1] != heads || value.shape[1] != heads) refuse("the second extent of a key and value of 4 axes must be num_heads");
    const auto apart = [](const Tensor& t) { return heads_apart(t.data, t.shape[0], t.shape[1], t.shape[2], t.shape[3]); };
    return {q, apart(key), apart(value)};
  }
  return {q, heads_within(key.data, key.shape[0], key.shape[1], heads, size_within(key, heads, "key")),
          heads_within(value.data, value.shape[0], value.shape[1], heads, size_within(value, heads, "value"))};
}

// What key_padding_mask, which is on the host, adds: [B, 1, S or 1, T].
template <class T>
const void* numbers_of(Memory& memory, const PaddedKeys& padded_keys, const std::vector<int64_t>& shape) {
  std::vector<T> numbers(static_cast<size_t>(shape[0] * shape[2] * shape[3]), from_float<T>(0.0f));
  T* row = numbers.data();
  const T filter = from_float<T>(padded_keys.filter);
  for (int64_t b = 0; b < shape[0]; ++b) {
    for (int64_t i = 0; i < shape[2]; ++i, row += shape[3]) {
      const bool any = padded_keys.any(b, i);
      for (int64_t j = 0; j < shape[3]; ++j) {
        if (any && !padded_keys.counts(b, i, j)) row[j] = filter;
      }
    }
  }
  return memory.place(numbers);
}

Tensor mask_of(Memory& memory, const AttentionParams& p, const Tensor& padding, float filter) {
  if (padding.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32) refuse("key_padding_mask must be int32");
  KeyPadding form{};
  if (!key_padding_of(padding.shape.data(), padding.shape.size(), p.batch, p.query_length, p.key_length, &form)) {
    refuse("key_padding_mask must be [B], [3*B+2], [B, T] or [B, S, T], with T the keys of the past and the new ones");
  }
  const PaddedKeys padded_keys{static_cast<const int32_t*>(padding.data), form, p.query_length, p.key_length, p.causal, p.causal_offset, filter};
  Tensor mask;
  mask.present = true;
  mask.type = type_of(p.dtype);
  mask.shape = {p.batch, 1, padded_keys.rows(), p.key_length};
  mask.data = p.dtype == DataType::float32 ? numbers_of<float>(memory, padded_keys, mask.shape) : numbers_of<Half>(memory, padded_keys, mask.shape);
  return mask;
}

// Both, as the kernels add one mask: [B, N or 1, S, T].
Tensor sum_of(Memory& memory, Adder& adder, const Tensor& addend, const Tensor& numbers) {
  const int64_t batch = numbers.shape[0], each = numbers.shape[2] * numbers.shape[3];
  Tensor sum = addend;
  sum.shape[0] = batch;
  const size_t element = element_bytes(addend.type), image = static_cast<size_t>(sum.count()) * element;
  auto* to = static_cast<char*>(memory.get(image));
  sum.data = to;
  if (image == 0) return sum;
  const size_t step = image / static_cast<size_t>(batch);
  for (int64_t b = 0; b < batch; ++b) {
    const auto at = static_cast<size_t>(b);
    adder.add(static_cast<const char*>(addend.data) + (addend.shape[0] == 1 ? 0 : at * step),
              static_cast<const char*>(numbers.data) + at * static_cast<size_t>(each) * element,
              sum.count() / batch / each, each, to + at * step);
  }
  return sum;
}

}  // namespace

MultiHeadAttentionOp::MultiHeadAttentionOp(const Attributes& attributes)
    : heads_(attributes.integer("num_heads", 0)), scale_(attributes.number("scale", 0.0f)),
      filter_(attributes.number("mask_filter_value", -10000.0f)), unidirectional_(attributes.flag("unidirectional")) {
  if (heads_ <= 0) refuse("num_heads must be positive");
}

void MultiHeadAttentionOp::compute(const Call& call, Where where) const {
  Inputs in = inputs_of(call);
  Memory memory(where, call);
  AttentionParams p;
  p.dtype = floating(in.query, "query");
  if (in.packed_qkv()) check_packed(in.query, heads_, 3, "query must be [B, S, N, 3, H]: its third extent, 3");
  Adder adder(memory, where, call, p.dtype);
  add_bias(memory, adder, in, heads_);
  const Parts parts = parts_of(in, heads_);
  const auto whole = [&](const Heads& fresh, const Tensor& past, size_t output) {
    const int64_t before = past.present && past.shape.size() == 4 ? past.shape[2] : 0;
    void* present = call.output({fresh.batch, fresh.heads, before + fresh.length, fresh.size}, output);
    return extended_heads(memory, past, fresh, present, size_of(p.dtype));
  };
  const Heads& q = parts.q;
  const Heads k = whole(parts.k, in.past_key, 1), v = whole(parts.v, in.past_value, 2);
  place(p, q, k, v);
  p.scale = scale_ != 0.0f ? scale_ : default_attention_scale(q.size);
  if (unidirectional_) check(set_unidirectional(p, k.length - parts.k.length));
  p.y = call.output({q.batch, q.length, q.heads * v.size});
  p.y_strides = heads_within(p.y, q.batch, q.length, q.heads, v.size).strides;
  if (in.addend.present) {
    const std::vector<int64_t>& a = in.addend.shape;
    const bool fits = a.size() == 4 && (a[0] == q.batch || a[0] == 1) && (a[1] == q.heads || a[1] == 1) && a[2] == q.length && a[3] == k.length;
    if (!fits) refuse("attention_bias must be [B or 1, N or 1, S, T], with T the keys of the past and the new ones");
  }
  Tensor mask = in.addend;
  if (in.padding.present) mask = mask_of(memory, p, in.padding, filter_);
  if (in.padding.present && in.addend.present) mask = sum_of(memory, adder, in.addend, mask);
  if (mask.present) place_mask(p, mask);
  run_attention(where, call, p);
}

}  // namespace sbk::customop
