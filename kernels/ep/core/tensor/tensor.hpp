// Values the operators work on: shapes, and views of tensors that ONNX Runtime owns.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "core/ort/ort.hpp"

namespace rk {

using Type = ONNXTensorElementDataType;
constexpr Type kFloat = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
constexpr Type kHalf = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16;
constexpr Type kDouble = ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE;
constexpr Type kInt32 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
constexpr Type kInt64 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
constexpr Type kBool = ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL;

constexpr int kMaxRank = 8;  // tensors of higher rank are left to another provider

// Extents, outermost first. Rank 0 is a scalar: one element.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) { for (int64_t d : dims) push(d); }
  Shape(const int64_t* dims, size_t rank) { for (size_t i = 0; i < rank; ++i) push(dims[i]); }
  explicit Shape(const std::vector<int64_t>& dims) : Shape(dims.data(), dims.size()) {}

  void push(int64_t extent) {
    require(rank_ < kMaxRank, "a tensor has more than 8 axes, which RocKernels does not take; where shape inference shows it, the node is left to "
                              "another provider. Next: give the model its shapes (onnx.shape_inference), or run it on the CPU provider");
    dims_[rank_++] = extent;
  }
  int rank() const { return rank_; }
  int64_t operator[](int i) const { return dims_[i]; }
  int64_t& operator[](int i) { return dims_[i]; }
  const int64_t* data() const { return dims_; }
  int64_t* begin() { return dims_; }
  int64_t* end() { return dims_ + rank_; }
  const int64_t* begin() const { return dims_; }
  const int64_t* end() const { return dims_ + rank_; }

  // Product of the extents first … last-1; 1 for an empty range.
  int64_t product(int first, int last) const {
    int64_t size = 1;
    for (int i = first; i < last; ++i) size *= dims_[i];
    return size;
  }
  int64_t size() const { return product(0, rank_); }
  bool operator==(const Shape& other) const {
    if (rank_ != other.rank_) return false;
    for (int i = 0; i < rank_; ++i)
      if (dims_[i] != other.dims_[i]) return false;
    return true;
  }
  bool operator!=(const Shape& other) const { return !(*this == other); }

 private:
  int64_t dims_[kMaxRank] = {};
  int rank_ = 0;
};

// An axis attribute counted from the end when negative; fails when it is outside the rank.
inline int axis_in(int64_t axis, int rank) {
  require(axis >= -rank && axis < rank, "an axis is outside the tensor's rank");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

inline int64_t bytes_of(Type type) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8: return 1;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16: return 2;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32: return 4;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64: return 8;
    default: fail("a tensor's element type has no fixed size");
  }
}

// A dense tensor in device memory (host memory where the kernel definition says so). Owned by ONNX Runtime.
struct Tensor {
  void* data = nullptr;
  Shape shape;
  Type type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;

  explicit operator bool() const { return type != ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED; }
  int64_t size() const { return shape.size(); }
  int64_t bytes() const { return size() * bytes_of(type); }
  template <class T> T* as() const { return static_cast<T*>(data); }
};

// The integers of a host tensor of int64 or int32.
inline std::vector<int64_t> integers(const Tensor& tensor) {
  std::vector<int64_t> values(static_cast<size_t>(tensor.size()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = tensor.type == kInt32 ? tensor.as<int32_t>()[i] : tensor.as<int64_t>()[i];
  return values;
}

// What ONNX Runtime holds; fails where it could not get the memory.
Tensor view(const OrtValue* value);
Tensor view_mutable(OrtValue* value);

}  // namespace rk
