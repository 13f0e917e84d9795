// Read-only views of the graph that ONNX Runtime shows while nodes are claimed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/tensor/tensor.hpp"

namespace rk {

// A tensor's name in the graph with what is known of it before the run.
class ValueView {
 public:
  ValueView() = default;
  explicit ValueView(const OrtValueInfo* info) : info_(info) {}
  explicit operator bool() const { return info_ != nullptr; }
  bool operator==(const ValueView& other) const { return info_ == other.info_ || (info_ && other.info_ && name() == other.name()); }

  std::string name() const;
  Type type() const;                                // UNDEFINED for anything but a tensor
  std::optional<std::vector<int64_t>> dims() const;  // -1 where symbolic; nothing when even the rank is unknown
  bool is_constant() const;                         // a constant initializer
  bool is_graph_output() const;
  Tensor constant() const;                          // the initializer, in host memory; false when it is none
  const OrtNode* producer() const;                  // null for graph inputs and initializers
  std::vector<const OrtNode*> consumers() const;    // one entry per use

 private:
  const OrtValueInfo* info_ = nullptr;
};

class NodeView {
 public:
  explicit NodeView(const OrtNode* node) : node_(node) {}
  const OrtNode* raw() const { return node_; }
  size_t id() const;
  std::string name() const;  // may be empty
  std::string op() const;
  std::string domain() const;
  int since_version() const;
  const std::vector<ValueView>& inputs() const;  // a false view where an optional input is left out
  const std::vector<ValueView>& outputs() const;
  ValueView input(size_t i) const { return i < inputs().size() ? inputs()[i] : ValueView(); }
  ValueView output(size_t i) const { return i < outputs().size() ? outputs()[i] : ValueView(); }
  bool has_subgraphs() const;

  std::optional<int64_t> integer(const char* name) const;
  int64_t integer(const char* name, int64_t otherwise) const { return integer(name).value_or(otherwise); }
  float real(const char* name, float otherwise) const;
  std::optional<std::vector<int64_t>> integers(const char* name) const;
  std::string text(const char* name, const std::string& otherwise) const;

 private:
  const OrtOpAttr* attribute(const char* name) const;

  const OrtNode* node_;
  mutable std::vector<ValueView> inputs_;
  mutable std::vector<ValueView> outputs_;
};

std::vector<NodeView> nodes_of(const OrtGraph* graph);  // in topological order
bool is_subgraph(const OrtGraph* graph);                 // a branch or a body of another graph's node

}  // namespace rk
