#include "customop/ops.hpp"

namespace sbk::customop {
namespace {

// One of Q, K, V: [B, H, S, D], or [B, S, H * D] with the head count from an attribute.
struct Heads {
  int64_t batch, heads, length, size;
  AttentionStrides strides;
};

Heads heads_of(const Tensor& t, int64_t heads, const char* name) {
  if (t.shape.size() == 4) {
    const int64_t h = t.shape[1], s = t.shape[2], d = t.shape[3];
    return {t.shape[0], h, s, d, {h * s * d, s * d, d}};
  }
  if (t.shape.size() != 3) throw std::runtime_error(std::string("Attention: ") + name + " must have 3 or 4 axes");
  if (heads <= 0 || t.shape[2] % heads != 0) {
    throw std::runtime_error("Attention: q_num_heads and kv_num_heads must divide the hidden sizes of 3-D inputs");
  }
  const int64_t s = t.shape[1], hidden = t.shape[2], d = hidden / heads;
  return {t.shape[0], heads, s, d, {s * hidden, d, hidden}};
}

// Strides of a mask that broadcasts to [B, H, S, T] from the right. Its last axis must be whole.
void place_mask(AttentionParams& p, const Tensor& mask) {
  if (mask.shape.size() < 2 || mask.shape.size() > 4) {
    throw std::runtime_error("Attention: the mask must have 2 to 4 axes");
  }
  const int64_t want[4] = {p.batch, p.query_heads, p.query_length, p.key_length};
  int64_t strides[4] = {0, 0, 0, 0};
  int64_t step = 1;
  for (size_t i = 0; i < mask.shape.size(); ++i) {
    const size_t axis = 3 - i;
    const int64_t extent = mask.shape[mask.shape.size() - 1 - i];
    if (extent != want[axis] && (extent != 1 || axis == 3)) {
      throw std::runtime_error("Attention: the mask does not broadcast");
    }
    strides[axis] = extent == 1 ? 0 : step;
    step *= extent;
  }
  p.mask_batch_stride = strides[0];
  p.mask_head_stride = strides[1];
  p.mask_query_stride = strides[2];
  p.mask = mask.data;
  if (mask.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL) p.mask_kind = MaskKind::boolean;
  else if (mask.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32) p.mask_kind = MaskKind::int32;
  else if (floating(mask, "attn_mask") == p.dtype) p.mask_kind = MaskKind::additive;
  else throw std::runtime_error("Attention: a floating mask must have Q's type");
  if (mask.count() == 0) p.mask_kind = MaskKind::none;
}

}  // namespace

AttentionOp::AttentionOp(const Attributes& attributes)
    : query_heads_(attributes.integer("q_num_heads", 0)), key_heads_(attributes.integer("kv_num_heads", 0)),
      scale_(attributes.number("scale", 0.0f)), softcap_(attributes.number("softcap", 0.0f)),
      causal_(attributes.integer("is_causal", 0) != 0) {}

void AttentionOp::compute(const Call& call, Where where) const {
  const Tensor qt = call.required(0, "Q"), kt = call.required(1, "K"), vt = call.required(2, "V");
  const Tensor mask = call.input(3);
  const Heads q = heads_of(qt, query_heads_, "Q"), k = heads_of(kt, key_heads_, "K"), v = heads_of(vt, key_heads_, "V");
  if (q.batch != k.batch || k.batch != v.batch || k.heads != v.heads || k.length != v.length || q.size != k.size) {
    throw std::runtime_error("Attention: the shapes of Q, K and V disagree");
  }
  AttentionParams p;
  p.dtype = floating(qt, "Q");
  p.batch = q.batch;
  p.query_heads = q.heads;
  p.key_heads = k.heads;
  p.query_length = q.length;
  p.key_length = k.length;
  p.head_size = q.size;
  p.value_size = v.size;
  p.scale = scale_;
  p.softcap = softcap_;
  p.causal = causal_;
  p.q_strides = q.strides;
  p.k_strides = k.strides;
  p.v_strides = v.strides;
  if (mask.present) place_mask(p, mask);
  std::vector<int64_t> shape{q.batch, q.heads, q.length, v.size};
  p.y_strides = {q.heads * q.length * v.size, q.length * v.size, v.size};
  if (qt.shape.size() == 3) {
    shape = {q.batch, q.length, q.heads * v.size};
    p.y_strides = {q.length * q.heads * v.size, v.size, q.heads * v.size};
  }
  p.q = qt.data;
  p.k = kt.data;
  p.v = vt.data;
  p.y = call.output(shape);
  if (p.mask_kind == MaskKind::none) p.mask = nullptr;
  const size_t element = size_of(p.dtype);
  const size_t mask_bytes = p.mask == nullptr ? 0 : static_cast<size_t>(mask.count()) * element_bytes(mask.type);
  const auto bytes = [&](const Tensor& t) { return static_cast<size_t>(t.count()) * element; };
  const size_t out_bytes = static_cast<size_t>(q.batch * q.heads * q.length * v.size) * element;
  static constexpr Launchers launchers{untyped<AttentionParams, cpu::attention>, &GpuLibrary::attention,
                                       &GpuLibrary::attention_workspace};
  run(where, launchers, &p,
      {{&p.q, bytes(qt)}, {&p.k, bytes(kt)}, {&p.v, bytes(vt)}, {&p.mask, mask_bytes},
       {const_cast<const void**>(&p.y), out_bytes, true}},
      call);
}

}  // namespace sbk::customop
