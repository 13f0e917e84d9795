// How the provider calls the operators of the folders beside it (kernels/conv, kernels/attention, …).
#pragma once

#include <map>
#include <mutex>
#include <utility>

#include "attention/attention.hpp"
#include "attention/attention_heads.hpp"
#include "batch_norm/batch_norm.hpp"
#include "conv/conv.hpp"
#include "core/kernel/kernel.hpp"
#include "group_norm/group_norm.hpp"
#include "leaky_relu/leaky_relu.hpp"
#include "ops/bundled/window.hpp"

namespace rk {

#if RK_CPU
namespace backend = sbk::cpu;
template <class Params> size_t workspace_bytes(const Params&) { return 0; }  // the CPU implementations take none
inline bool attention_is_fast(const sbk::AttentionParams&) { return false; }
#else
namespace backend = sbk::gpu;
using sbk::gpu::attention_is_fast;
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

// Extents as [batch, channels, spatial…] whatever the layout, and back.
Shape channels_first(const Shape& shape, sbk::Layout layout);
Shape in_layout(const Shape& channels_first, sbk::Layout layout);

// A constant filter in the order the kernels read fastest (channels last), made when it is first needed, and in each form that a
// convolution of it packs.
class Filter {
 public:
  ~Filter();
  // The filter to read and its order. `w` is the node's input; it is copied once, if `constant`.
  std::pair<const void*, sbk::FilterLayout> get(Stream& stream, const Tensor& w, bool constant);
  // Names in `p` the filter as this convolution packs it, which is done once for each form. The filter is constant.
  void place_packed(Stream& stream, sbk::ConvParams& p);

 private:
  std::mutex lock_;
  void* packed_weights_ = nullptr;
  std::map<int64_t, void*> forms_;
};

// y = activation(conv(x, w) + bias + residual); false tensors are left out. A residual has y's shape.
struct ConvCall {
  Tensor x, w, bias, residual;
  int64_t groups = 1;
  sbk::ActivationParams activation;
  sbk::Layout layout = sbk::Layout::channels_first;
  bool constant_filter = false;
  sbk::ConvChoosing choosing = sbk::ConvChoosing::environment;
};
Shape conv_shape(const WindowAttributes& attributes, const ConvCall& call);  // of y, in its layout
void run_conv(Context& context, const WindowAttributes& attributes, const ConvCall& call, Filter& filter, const Tensor& y);

struct GroupNormCall {
  int64_t groups = 1;
  float epsilon = 1e-5f;
  bool per_group = false;  // scale and bias have a value a group (before opset 21)
  sbk::ActivationParams activation;
};
void run_group_norm(Context& context, const GroupNormCall& call, const Tensor& x, const Tensor& scale, const Tensor& bias,
                    const Tensor& y);

using sbk::Heads;
using sbk::place_heads;
Heads heads_of(const Tensor& tensor, int64_t heads);  // [B, H, S, D], or [B, S, H D] with the head count given

// A mask with one value for all keys, written out for each in scratch memory; else the mask.
Tensor whole_rows(Context& context, const Tensor& mask, int64_t keys);
void place_mask(sbk::AttentionParams& params, const Tensor& mask);
void run_attention(Context& context, sbk::AttentionParams params, const Heads& q, const Heads& k, const Heads& v);
void take_extents(sbk::AttentionParams& params, const Heads& q, const Heads& k, const Heads& v);  // fails where they do not fit

// A key or value behind its past, if there is one, as output `present` where somebody asked for that.
Heads with_past(Context& context, const Heads& fresh, Type type, const Tensor& past, size_t present);

}  // namespace rk
