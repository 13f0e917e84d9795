// Sets of element types, for kernel definitions.
#pragma once

#include "core/tensor/tensor.hpp"

namespace rk {

inline std::vector<Type> floats() { return {kFloat, kHalf}; }
inline std::vector<Type> numbers() { return {kFloat, kHalf, kDouble, kInt32, kInt64}; }
inline std::vector<Type> everything() {
  return {kFloat, kHalf, kDouble, kInt32, kInt64, kBool,
          ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8,
          ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16,
          ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64};
}
inline std::vector<Type> any_storage() {  // also types that are only moved, never computed with
  std::vector<Type> types = everything();
  types.push_back(ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16);
  return types;
}
inline std::vector<Type> bools() { return {kBool}; }
inline std::vector<Type> indices() { return {kInt32, kInt64}; }
inline std::vector<Type> int64s() { return {kInt64}; }

}  // namespace rk
