#include "core/tensor/tensor.hpp"

#include <string>

namespace rk {
namespace {

Tensor shaped_tensor(const OrtValue* value) {
  Tensor tensor;
  const int64_t* dims = nullptr;
  size_t rank = 0;
  check(api().ort->GetTensorElementTypeAndShapeDataReference(value, &tensor.type, &dims, &rank));
  tensor.shape = Shape(dims, rank);
  return tensor;
}

// ONNX Runtime hands the null of an allocation that failed on as a tensor's address. Not EP_FAIL: at that its Python class
// goes over to the CPU for good.
void require_memory(const Tensor& tensor) {
  if (tensor.data == nullptr && tensor.size() != 0)
    fail("no device memory left for a tensor of " + std::to_string(tensor.bytes()) + " bytes", ORT_FAIL);
}

}  // namespace

Tensor view(const OrtValue* value) {
  Tensor tensor = shaped_tensor(value);
  const void* data = nullptr;
  check(api().ort->GetTensorData(value, &data));
  tensor.data = const_cast<void*>(data);
  require_memory(tensor);
  return tensor;
}

Tensor view_mutable(OrtValue* value) {
  Tensor tensor = shaped_tensor(value);
  check(api().ort->GetTensorMutableData(value, &tensor.data));
  require_memory(tensor);
  return tensor;
}

}  // namespace rk
