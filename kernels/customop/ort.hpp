// ONNX Runtime's C interface as the operators here need it. Everything is asked for at API 17 (ONNX Runtime 1.17),
// so any later runtime loads the library too. Errors inside are exceptions; they become OrtStatus at the border.
#pragma once

#include <onnxruntime_c_api.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "common/types.hpp"

namespace sbk::customop {

constexpr uint32_t kOrtApi = 17;

// Set once by RegisterCustomOps; the runtime keeps the table alive as long as the process.
inline const OrtApi* g_ort = nullptr;

inline void check(OrtStatus* status) {
  if (status == nullptr) return;
  const std::string message = g_ort->GetErrorMessage(status);
  g_ort->ReleaseStatus(status);
  throw std::runtime_error(message);
}

inline void check(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.what);
}

// A tensor of one call; `data` is null where an optional input is absent.
struct Tensor {
  const void* data = nullptr;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::vector<int64_t> shape;
  bool present = false;

  int64_t count() const {
    int64_t n = 1;
    for (const int64_t d : shape) n *= d;
    return n;
  }
};

inline size_t element_bytes(ONNXTensorElementDataType type) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32: return 4;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64: return 8;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16: return 2;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL: return 1;
    default: throw std::runtime_error("an input has an element type these operators do not take");
  }
}

inline DataType floating(const Tensor& tensor, const char* name) {
  if (tensor.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) return DataType::float32;
  if (tensor.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16) return DataType::float16;
  throw std::runtime_error(std::string(name) + " must be float32 or float16");
}

// Both number the types as ONNX does.
inline ONNXTensorElementDataType type_of(DataType type) { return static_cast<ONNXTensorElementDataType>(type); }

// Inputs and outputs of one call.
class Call {
 public:
  explicit Call(OrtKernelContext* context) : context_(context) {
    check(g_ort->KernelContext_GetInputCount(context, &inputs_));
    check(g_ort->KernelContext_GetOutputCount(context, &outputs_));
  }

  Tensor input(size_t index) const {
    Tensor tensor;
    if (index >= inputs_) return tensor;
    const OrtValue* value = nullptr;
    check(g_ort->KernelContext_GetInput(context_, index, &value));
    if (value == nullptr) return tensor;
    OrtTensorTypeAndShapeInfo* info = nullptr;
    check(g_ort->GetTensorTypeAndShape(value, &info));
    size_t rank = 0;
    OrtStatus* status = g_ort->GetDimensionsCount(info, &rank);
    if (status == nullptr) {
      tensor.shape.resize(rank);
      status = g_ort->GetDimensions(info, tensor.shape.data(), rank);
    }
    if (status == nullptr) status = g_ort->GetTensorElementType(info, &tensor.type);
    g_ort->ReleaseTensorTypeAndShapeInfo(info);
    check(status);
    void* data = nullptr;
    check(g_ort->GetTensorMutableData(const_cast<OrtValue*>(value), &data));
    tensor.data = data;
    tensor.present = true;
    return tensor;
  }

  Tensor required_input(size_t index, const char* name, size_t rank_least = 0) const {
    Tensor tensor = input(index);
    if (!tensor.present) throw std::runtime_error(std::string("input ") + name + " is missing");
    if (tensor.shape.size() < rank_least) throw std::runtime_error(std::string("input ") + name + " has too few axes");
    return tensor;
  }

  // The first output, or another; null where nobody asked for that one.
  void* output(const std::vector<int64_t>& shape, size_t index = 0) const {
    if (index >= outputs_) return nullptr;
    OrtValue* value = nullptr;
    check(g_ort->KernelContext_GetOutput(context_, index, shape.data(), shape.size(), &value));
    if (value == nullptr) return nullptr;
    void* data = nullptr;
    check(g_ort->GetTensorMutableData(value, &data));
    return data;
  }

  void* stream() const {
    void* stream = nullptr;
    check(g_ort->KernelContext_GetGPUComputeStream(context_, &stream));
    return stream;
  }

  // Where the first input is, which no operator reads on the host: the session's device.
  int device() const {
    const OrtValue* value = nullptr;
    check(g_ort->KernelContext_GetInput(context_, 0, &value));
    const OrtMemoryInfo* info = nullptr;
    check(g_ort->GetTensorMemoryInfo(value, &info));
    int id = 0;
    check(g_ort->MemoryInfoGetId(info, &id));
    return id;
  }

 private:
  OrtKernelContext* context_;
  size_t inputs_ = 0;
  size_t outputs_ = 0;
};

}  // namespace sbk::customop
