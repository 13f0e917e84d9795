// What the CPU implementations share.
#pragma once

#include "common/activate.hpp"
#include "common/half.hpp"
#include "common/status.hpp"
#include "common/types.hpp"

namespace sbk::cpu {

// Reads element `i` of a small parameter tensor whose type is known only at run time.
inline float load_any(const void* data, DataType type, int64_t i) {
  return type == DataType::float32 ? static_cast<const float*>(data)[i] : to_float(static_cast<const Half*>(data)[i]);
}

// Calls `body` with a value of the element type that `type` names.
template <class Body>
Status by_type(DataType type, Body body) {
  if (type == DataType::float32) return body(float{});
  if (type == DataType::float16) return body(Half{});
  return unsupported_status("element type is neither float32 nor float16");
}

}  // namespace sbk::cpu
