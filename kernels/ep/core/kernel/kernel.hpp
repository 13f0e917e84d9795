// What an operator implements: a Kernel made from a node's attributes, with compute() called for each run, and an Entry
// that says for which nodes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/types.hpp"
#include "core/memory/stream.hpp"
#include "core/tensor/tensor.hpp"

namespace rk {

// A node's attributes and constant inputs, readable while its kernel is made.
class Info {
 public:
  explicit Info(const OrtKernelInfo* info) : info_(info) {}
  float real(const char* name, float otherwise) const;
  int64_t integer(const char* name, int64_t otherwise) const;
  std::optional<int64_t> integer(const char* name) const;
  std::optional<std::vector<int64_t>> integers(const char* name) const;
  std::string text(const char* name, const std::string& otherwise) const;
  bool is_constant(size_t input) const;
  int since_version() const;
  size_t inputs() const;
  size_t outputs() const;
  const OrtKernelInfo* raw() const { return info_; }

 private:
  const OrtKernelInfo* info_;
};

// One run of one node: its inputs, its outputs, and where to enqueue work.
class Context {
 public:
  explicit Context(OrtKernelContext* context);
  Tensor input(size_t index) const;  // false when absent
  size_t inputs() const;
  size_t outputs() const;
  Tensor output(size_t index, const Shape& shape);  // allocates; fails where the node has no such output
  Tensor wanted_output(size_t index, const Shape& shape);  // the same for one that may be left out: false when nobody asked
  Stream& stream() { return *stream_; }
  void* scratch(size_t bytes) { return stream_->scratch(bytes); }  // until compute() returns
  sbk::Launch launch(size_t workspace_bytes) {
    return {stream_->native(), workspace_bytes == 0 ? nullptr : scratch(workspace_bytes), workspace_bytes};
  }

 private:
  OrtKernelContext* context_;
  Stream* stream_;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void compute(Context& context) = 0;
};

using MakeKernel = std::unique_ptr<Kernel> (*)(const Info&);

struct TypeRule {
  const char* name;  // of the schema's type variable: "T", "T1", …
  std::vector<Type> types;
};

// Node properties that a rule beyond types may ask about, before the node is claimed.
class NodeView;
using Accepts = bool (*)(const NodeView&);

struct Entry {
  const char* op;
  int first;  // since-versions of the schemas whose semantics the kernel has, inclusive
  int last;
  std::vector<TypeRule> types;
  MakeKernel make;
  std::vector<size_t> host_inputs = {};   // read on the host (shapes, axes)
  std::vector<size_t> host_outputs = {};  // written on the host (Shape's)
  bool alias = false;                     // output 0 may be input 0's memory, unchanged
  bool in_place = false;                  // output 0 may overwrite input 0 (element for element)
  Accepts accepts = nullptr;
  const char* domain = "";
};

using Entries = std::vector<Entry>;

// The domain of ONNX Runtime's layout transformation: the same operators with the channels of x and y last.
constexpr const char* kChannelsLast = "com.ms.internal.nhwc";

template <class K>
std::unique_ptr<Kernel> make(const Info& info) {
  return std::make_unique<K>(info);
}

// Of every operator. Defined by the folder ops/: no file of core/ names an operator's.
const Entries& entries();

constexpr int kNewest = 25;  // the newest schema version looked at: opset 25

}  // namespace rk
