#include "core/graph/graph.hpp"

namespace rk {
namespace {

std::vector<ValueView> views(const std::vector<const OrtValueInfo*>& infos) {
  std::vector<ValueView> result;
  for (const OrtValueInfo* info : infos) result.emplace_back(info);
  return result;
}

const OrtTensorTypeAndShapeInfo* tensor_info(const OrtValueInfo* info) {
  const OrtTypeInfo* type = nullptr;
  check(api().ort->GetValueInfoTypeInfo(info, &type));
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  if (type != nullptr) check(api().ort->CastTypeInfoToTensorInfo(type, &tensor));
  return tensor;
}

}  // namespace

std::string ValueView::name() const {
  const char* name = nullptr;
  check(api().ort->GetValueInfoName(info_, &name));
  return name;
}

Type ValueView::type() const {
  const OrtTensorTypeAndShapeInfo* tensor = tensor_info(info_);
  Type type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  if (tensor != nullptr) check(api().ort->GetTensorElementType(tensor, &type));
  return type;
}

std::optional<std::vector<int64_t>> ValueView::dims() const {
  const OrtTensorTypeAndShapeInfo* tensor = tensor_info(info_);
  if (tensor == nullptr) return std::nullopt;
  bool has_shape = false;
  if (api().ort->TensorTypeAndShape_HasShape != nullptr) has_shape = api().ort->TensorTypeAndShape_HasShape(tensor);
  if (!has_shape) return std::nullopt;
  size_t rank = 0;
  check(api().ort->GetDimensionsCount(tensor, &rank));
  std::vector<int64_t> dims(rank);
  check(api().ort->GetDimensions(tensor, dims.data(), rank));
  return dims;
}

bool ValueView::is_constant() const {
  bool yes = false;
  check(api().ort->ValueInfo_IsConstantInitializer(info_, &yes));
  return yes;
}

bool ValueView::is_graph_output() const {
  bool yes = false;
  check(api().ort->ValueInfo_IsGraphOutput(info_, &yes));
  return yes;
}

Tensor ValueView::constant() const {
  if (info_ == nullptr || !is_constant()) return {};
  const OrtValue* value = nullptr;
  check(api().ort->ValueInfo_GetInitializerValue(info_, &value));
  return value == nullptr ? Tensor{} : view(value);
}

const OrtNode* ValueView::producer() const {
  const OrtNode* node = nullptr;
  size_t index = 0;
  check(api().ort->ValueInfo_GetValueProducer(info_, &node, &index));
  return node;
}

std::vector<const OrtNode*> ValueView::consumers() const {
  size_t count = 0;
  check(api().ort->ValueInfo_GetValueNumConsumers(info_, &count));
  std::vector<const OrtNode*> nodes(count);
  std::vector<int64_t> indices(count);
  check(api().ort->ValueInfo_GetValueConsumers(info_, nodes.data(), indices.data(), count));
  return nodes;
}

size_t NodeView::id() const {
  size_t id = 0;
  check(api().ort->Node_GetId(node_, &id));
  return id;
}

std::string NodeView::name() const {
  const char* text = nullptr;
  check(api().ort->Node_GetName(node_, &text));
  return text;
}

std::string NodeView::op() const {
  const char* text = nullptr;
  check(api().ort->Node_GetOperatorType(node_, &text));
  return text;
}

std::string NodeView::domain() const {
  const char* text = nullptr;
  check(api().ort->Node_GetDomain(node_, &text));
  return std::string(text) == "ai.onnx" ? "" : text;
}

int NodeView::since_version() const {
  int version = 0;
  check(api().ort->Node_GetSinceVersion(node_, &version));
  return version;
}

const std::vector<ValueView>& NodeView::inputs() const {
  if (!inputs_.empty()) return inputs_;
  size_t count = 0;
  check(api().ort->Node_GetNumInputs(node_, &count));
  std::vector<const OrtValueInfo*> infos(count);
  check(api().ort->Node_GetInputs(node_, infos.data(), count));
  return inputs_ = views(infos);
}

const std::vector<ValueView>& NodeView::outputs() const {
  if (!outputs_.empty()) return outputs_;
  size_t count = 0;
  check(api().ort->Node_GetNumOutputs(node_, &count));
  std::vector<const OrtValueInfo*> infos(count);
  check(api().ort->Node_GetOutputs(node_, infos.data(), count));
  return outputs_ = views(infos);
}

bool NodeView::has_subgraphs() const {
  size_t count = 0;
  check(api().ort->Node_GetNumSubgraphs(node_, &count));
  return count != 0;
}

const OrtOpAttr* NodeView::attribute(const char* name) const {
  const OrtOpAttr* attribute = nullptr;
  OrtStatus* status = api().ort->Node_GetAttributeByName(node_, name, &attribute);
  if (status == nullptr) return attribute;
  api().ort->ReleaseStatus(status);
  return nullptr;
}

std::optional<int64_t> NodeView::integer(const char* name) const {
  const OrtOpAttr* handle = attribute(name);
  if (handle == nullptr) return std::nullopt;
  int64_t value = 0;
  size_t size = 0;
  check(api().ort->ReadOpAttr(handle, ORT_OP_ATTR_INT, &value, sizeof value, &size));
  return value;
}

float NodeView::real(const char* name, float otherwise) const {
  const OrtOpAttr* handle = attribute(name);
  if (handle == nullptr) return otherwise;
  float value = 0;
  size_t size = 0;
  check(api().ort->ReadOpAttr(handle, ORT_OP_ATTR_FLOAT, &value, sizeof value, &size));
  return value;
}

std::optional<std::vector<int64_t>> NodeView::integers(const char* name) const {
  const OrtOpAttr* handle = attribute(name);
  if (handle == nullptr) return std::nullopt;
  size_t bytes = 0;
  OrtStatus* status = api().ort->ReadOpAttr(handle, ORT_OP_ATTR_INTS, nullptr, 0, &bytes);
  if (status != nullptr) api().ort->ReleaseStatus(status);  // the call that asks for the size answers an error too
  std::vector<int64_t> values(bytes / sizeof(int64_t));
  if (bytes != 0) check(api().ort->ReadOpAttr(handle, ORT_OP_ATTR_INTS, values.data(), bytes, &bytes));
  return values;
}

std::string NodeView::text(const char* name, const std::string& otherwise) const {
  const OrtOpAttr* handle = attribute(name);
  if (handle == nullptr) return otherwise;
  size_t bytes = 0;
  OrtStatus* status = api().ort->ReadOpAttr(handle, ORT_OP_ATTR_STRING, nullptr, 0, &bytes);
  if (status != nullptr) api().ort->ReleaseStatus(status);
  std::string value(bytes, '\0');
  if (bytes != 0) check(api().ort->ReadOpAttr(handle, ORT_OP_ATTR_STRING, value.data(), bytes, &bytes));
  while (!value.empty() && value.back() == '\0') value.pop_back();
  return value;
}

std::vector<NodeView> nodes_of(const OrtGraph* graph) {
  size_t count = 0;
  check(api().ort->Graph_GetNumNodes(graph, &count));
  std::vector<const OrtNode*> nodes(count);
  check(api().ort->Graph_GetNodes(graph, nodes.data(), count));
  std::vector<NodeView> result;
  for (const OrtNode* node : nodes) result.emplace_back(node);
  return result;
}

bool is_subgraph(const OrtGraph* graph) {
  const OrtNode* parent = nullptr;
  check(api().ort->Graph_GetParentNode(graph, &parent));
  return parent != nullptr;
}

}  // namespace rk
