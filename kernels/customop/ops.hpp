// The operators of the domain. Names, inputs and attributes are those of ONNX's operators of the same name, or of com.microsoft's.
#pragma once

#include "attention/attention.hpp"
#include "batch_norm/batch_norm.hpp"
#include "common/types.hpp"
#include "conv/conv.hpp"
#include "customop/op.hpp"
#include "group_norm/group_norm.hpp"
#include "leaky_relu/leaky_relu.hpp"

namespace sbk::customop {

class LeakyReluOp {
 public:
  static constexpr const char* name = "LeakyRelu";
  static constexpr Arity arity = Arity::of(1, 1);
  explicit LeakyReluOp(const Attributes& attributes);
  void compute(const Call& call, Where where) const;

 private:
  float alpha_;
};

class BatchNormalizationOp {
 public:
  static constexpr const char* name = "BatchNormalization";
  static constexpr Arity arity = Arity::of(5, 5).with_any_type({1, 2, 3, 4});
  explicit BatchNormalizationOp(const Attributes& attributes);
  void compute(const Call& call, Where where) const;

 private:
  float epsilon_;
};

class GroupNormalizationOp {
 public:
  static constexpr const char* name = "GroupNormalization";
  static constexpr Arity arity = Arity::of(3, 3).with_any_type({1, 2});
  explicit GroupNormalizationOp(const Attributes& attributes);
  void compute(const Call& call, Where where) const;

 private:
  int64_t groups_;
  float epsilon_;
  ActivationParams activation_;
};

class ConvOp {
 public:
  static constexpr const char* name = "Conv";
  static constexpr Arity arity = Arity::of(2, 4);
  explicit ConvOp(const Attributes& attributes);
  void compute(const Call& call, Where where) const;

 private:
  ConvParams geometry(const Tensor& x, const Tensor& w) const;

  int64_t groups_;
  std::string auto_pad_;
  std::vector<int64_t> kernel_, strides_, dilations_, pads_;
  ActivationParams activation_;
};

class AttentionOp {
 public:
  static constexpr const char* name = "Attention";
  // Of any type: attn_mask and nonpad_kv_seqlen, which is read on the host.
  static constexpr Arity arity = Arity::of(3, 7).with_any_type({3, 6}).with_outputs(4).with_host_inputs({6});
  explicit AttentionOp(const Attributes& attributes);
  void compute(const Call& call, Where where) const;

 private:
  float scale_of(int64_t head_size) const { return has_scale_ ? scale_ : default_attention_scale(head_size); }

  int64_t query_heads_, key_heads_;
  bool has_scale_;
  float scale_, softcap_;
  bool causal_;
  int64_t mode_;  // qk_matmul_output_mode
};

// com.microsoft's, of ONNX Runtime's contributed operators.
class MultiHeadAttentionOp {
 public:
  static constexpr const char* name = "MultiHeadAttention";
  // Read on the host: key_padding_mask. Of any type: it, past_sequence_length and cache_indirection, of which the last are refused.
  static constexpr Arity arity = Arity::of(1, 10).with_any_type({4, 8, 9}).with_outputs(3).with_host_inputs({4});
  explicit MultiHeadAttentionOp(const Attributes& attributes);
  void compute(const Call& call, Where where) const;

 private:
  int64_t heads_;
  float scale_;   // 0: the default
  float filter_;  // mask_filter_value
  bool unidirectional_;
};

// The attribute `activation` (none, relu, leaky_relu, silu) with `activation_alpha`.
ActivationParams activation_of(const Attributes& attributes);

// A launcher of the CPU behind the untyped pointer of Launchers.
template <class P, Status (*Launcher)(const P&, const Launch&)>
Status run_untyped(const void* params, const Launch& launch) {
  return Launcher(*static_cast<const P*>(params), launch);
}

}  // namespace sbk::customop
