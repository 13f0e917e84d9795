// What a session may ask of the provider, through provider options (session option entries "ep.<name>.<option>").
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/ort/ort.hpp"

namespace rk {

struct Options {
  bool graph_capture = false;  // enable_hip_graph: record a run once, replay it afterwards (ONNX Runtime 1.26 or newer)
  bool channels_last = true;   // channels_last: let ONNX Runtime give NHWC data to the operators that have images
  bool fusion = true;          // fuse: run groups of nodes that the rules in ops/ know as one step each
  std::map<std::string, std::string> of_operators;  // those of operator_options() that are given, as text

  // Throws Failure where an option has a value that it cannot have.
  static Options read(const OrtSessionOptions* options, const std::string& provider);
};

// The options that single operators read. Defined by the folder ops/.
struct OperatorOptions {
  std::vector<std::string> names;
  void (*check)(const Options& options);  // throws Failure where one has a value that it cannot have
};
const OperatorOptions& operator_options();

}  // namespace rk
