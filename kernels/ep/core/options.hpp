// What a session may ask of the provider, through provider options (session option entries "ep.<name>.<option>").
#pragma once

#include <string>

#include "conv/conv.hpp"
#include "core/ort.hpp"

namespace rk {

struct Options {
  bool graph_capture = false;  // enable_hip_graph: record a run once, replay it afterwards (ONNX Runtime 1.26 or newer)
  bool channels_last = true;   // channels_last: let ONNX Runtime give convolutions and pools NHWC data
  bool fusion = true;          // fuse: run Conv+activation, MatMul+bias+Gelu, attention, … as one step each
  sbk::ConvChoosing conv_choice = sbk::ConvChoosing::environment;  // conv_choice: rule, no_winograd, measure or cached
  std::string conv_cache;      // conv_cache: the file that measured choices are kept in, one for the process

  // Throws Failure where an option has a value that it cannot have, or conv_cache cannot be read.
  static Options read(const OrtSessionOptions* options, const std::string& provider);
};

}  // namespace rk
