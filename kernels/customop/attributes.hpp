// Attributes of one node. A missing one gives the default; one of another type than ONNX's is an error, because ONNX Runtime
// checks no custom op's attributes and its getters fail alike for "missing" and "of another type".
#pragma once

#include <string>
#include <vector>

#include "customop/ort.hpp"

namespace sbk::customop {

class Attributes {
 public:
  explicit Attributes(const OrtKernelInfo* info) : info_(info) {}

  float number(const char* name, float otherwise) const;
  int64_t integer(const char* name, int64_t otherwise) const;
  bool flag(const char* name) const;  // an integer that is 0, the default, or 1
  std::vector<int64_t> integers(const char* name) const;  // empty where missing
  std::string text(const char* name, const char* otherwise) const;
  bool has_any(const char* name) const;  // of whatever type

 private:
  void is_missing(const char* name, const char* type_name, bool mistyped) const;  // throws where it is not, or one of a similar name is there
  bool scalar(const char* name) const;
  bool list(const char* name) const;

  const OrtKernelInfo* info_;
};

}  // namespace sbk::customop
