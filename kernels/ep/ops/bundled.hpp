// How the provider calls the operators of the folders beside it (kernels/conv, kernels/attention, …).
#pragma once

#include "attention/attention.hpp"
#include "batch_norm/batch_norm.hpp"
#include "conv/conv.hpp"
#include "core/kernel.hpp"
#include "core/window.hpp"
#include "group_norm/group_norm.hpp"
#include "leaky_relu/leaky_relu.hpp"

namespace rk {

#if RK_CPU
namespace backend = sbk::cpu;
template <class Params> size_t workspace_bytes(const Params&) { return 0; }  // the CPU implementations take none
#else
namespace backend = sbk::gpu;
inline size_t workspace_bytes(const sbk::ConvParams& p) { return sbk::conv_workspace_bytes(p); }
inline size_t workspace_bytes(const sbk::AttentionParams& p) { return sbk::attention_workspace_bytes(p); }
inline size_t workspace_bytes(const sbk::BatchNormParams& p) { return sbk::batch_norm_workspace_bytes(p); }
inline size_t workspace_bytes(const sbk::GroupNormParams& p) { return sbk::group_norm_workspace_bytes(p); }
inline size_t workspace_bytes(const sbk::LeakyReluParams& p) { return sbk::leaky_relu_workspace_bytes(p); }
#endif

inline sbk::DataType data_type(Type type) {
  require(type == kFloat || type == kHalf, "the element type is neither float nor float16");
  return type == kHalf ? sbk::DataType::float16 : sbk::DataType::float32;
}

// y = activation(conv(x, w) + bias + residual); false tensors are left out. Allocates output 0.
struct ConvCall {
  Tensor x, w, bias, residual;
  int64_t groups = 1;
  sbk::ActivationParams activation;
};
void run_conv(Context& context, const WindowAttributes& attributes, const ConvCall& call);

// Where one of q, k, v and y lies: extents and strides in elements of [batch, heads, sequence, size].
struct Heads {
  const void* data = nullptr;
  int64_t batch = 0, heads = 0, length = 0, size = 0;
  sbk::AttentionStrides strides;
};
Heads heads_of(const Tensor& tensor, int64_t heads);  // [B, H, S, D], or [B, S, H D] with the head count given

void place_mask(sbk::AttentionParams& params, const Tensor& mask);
void run_attention(Context& context, sbk::AttentionParams params, const Heads& q, const Heads& k, const Heads& v);

}  // namespace rk
