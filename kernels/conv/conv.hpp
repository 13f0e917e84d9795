// Conv (ONNX opset 1, 11, 22), 1 to 3 spatial axes:
// y = activation(conv(x, w) + bias + residual), accumulated in float32.
#pragma once

#include "common/status.hpp"
#include "common/types.hpp"

namespace sbk {

// Order of the weights' axes: O, I/groups, spatial… (ONNX) or O, spatial…, I/groups (channels last).
enum class FilterLayout : int32_t { channels_first = 0, channels_last = 1 };

// `automatic` is a rule over the shape, or what was measured for it (conv_choice.hpp). What does not take a shape leaves it
// to the direct form, which takes every one. The CPU implementation has one algorithm and reads none of this.
enum class ConvAlgorithm : int32_t {
  automatic = 0, direct = 1, implicit_gemm = 2, winograd2 = 3, winograd4 = 4, depthwise = 5, pointwise = 6
};

// How `automatic` is settled. `environment`: as STACKBUILD_KERNELS_CONV says, by rule unless it is set. `cached`: as a file of
// choices says (gpu::conv_choices_file), by rule for shapes that it does not have. `no_winograd`: by rule, but so that an output
// depends on its own window alone; of Winograd's, those of a tile share their rounding, and a NaN or an overflow of any.
// `unfolded`: by rule, but few channels are padded and never folded (conv_gemm.hip), to measure what that brings.
enum class ConvChoosing : int32_t { environment = 0, rule = 1, measure = 2, cached = 3, no_winograd = 4, unfolded = 5 };

constexpr int kConvMaxSpatial = 3;

// Spatial arrays are indexed 0 … spatial-1, outermost axis first (2-D: [0] is height, [1] is width); unused entries
// are not read. Padding at the end needs no field: `out` says how far the windows go.
struct ConvParams {
  DataType dtype = DataType::float32;  // of every tensor
  Layout layout = Layout::channels_first;  // of x, residual and y
  FilterLayout filter_layout = FilterLayout::channels_first;
  ConvAlgorithm algorithm = ConvAlgorithm::automatic;
  int32_t variant = 0;  // of the algorithm, from 1: its tile or way of working; 0 leaves that to a rule
  int32_t spatial = 2;
  int64_t batch = 0;
  int64_t in_channels = 0;   // divisible by groups
  int64_t out_channels = 0;  // divisible by groups
  int64_t groups = 1;
  int64_t in[kConvMaxSpatial] = {1, 1, 1};
  int64_t out[kConvMaxSpatial] = {1, 1, 1};
  int64_t kernel[kConvMaxSpatial] = {1, 1, 1};
  int64_t stride[kConvMaxSpatial] = {1, 1, 1};
  int64_t dilation[kConvMaxSpatial] = {1, 1, 1};
  int64_t pad_begin[kConvMaxSpatial] = {0, 0, 0};
  ActivationParams activation;
  ConvChoosing choosing = ConvChoosing::environment;
  const void* x = nullptr;         // [batch, in_channels, in…] in `layout`, dense
  const void* w = nullptr;         // [out_channels, in_channels / groups, kernel…] in `filter_layout`, dense
  const void* bias = nullptr;      // [out_channels] or null
  const void* residual = nullptr;  // like y, or null; added before the activation
  void* y = nullptr;               // [batch, out_channels, out…] in `layout`, dense; not x
  // The same filters as gpu::pack_conv_filter made them, or null, and the form that they have. What reads another form reads w.
  const void* packed_weights = nullptr;
  int64_t packed_form = 0;
};

// How the way that `automatic` takes reads its filters: in a form of its own (not 0) of so many bytes, or as they are (0).
struct ConvFilterForm {
  int64_t form = 0;
  size_t bytes = 0;
};

// One way to make a convolution.
struct ConvChoice {
  ConvAlgorithm algorithm = ConvAlgorithm::direct;
  int32_t variant = 0;
};
constexpr int kConvMaxChoices = 32;
// Every way that takes `params`, whatever its own algorithm: on the device, the current one. Returns how many.
int conv_choices(const ConvParams& params, ConvChoice (&choices)[kConvMaxChoices]);

ConvFilterForm conv_filter_form(const ConvParams& params);

// Bytes the chosen algorithm needs: call it with the same params (pointers may still be null) as the launcher.
size_t conv_workspace_bytes(const ConvParams& params);

namespace gpu {
// Reads the choices in `file`; what is measured from now on is added to it. A process has one such file: its name again is
// nothing new, another name (or another than STACKBUILD_KERNELS_CONV_CACHE's) is an error. `must_exist`: so is a file that
// is not there.
Status conv_choices_file(const char* file, bool must_exist);
Status conv(const ConvParams& params, const Launch& launch);
// The filters in the form that conv_filter_form says, for any number of convolutions. `params`: as for conv; x and y are not read.
Status pack_conv_filter(const ConvParams& params, void* to, const Launch& launch);
}
namespace cpu {
Status conv(const ConvParams& params, const Launch& launch);
}

}  // namespace sbk
