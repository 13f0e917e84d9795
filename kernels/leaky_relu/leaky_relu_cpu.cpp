#include "leaky_relu/leaky_relu.hpp"

#include "common/host.hpp"

namespace sbk::cpu {

Status leaky_relu(const LeakyReluParams& p, const Launch&) {
  if (p.count < 0) return invalid("leaky_relu: count is negative");
  return by_type(p.dtype, [&](auto type) -> Status {
    using T = decltype(type);
    const T* x = static_cast<const T*>(p.x);
    T* y = static_cast<T*>(p.y);
    for (int64_t i = 0; i < p.count; ++i) {
      const float value = to_float(x[i]);
      y[i] = value < 0.0f ? from_float<T>(p.alpha * value) : x[i];
    }
    return {};
  });
}

}  // namespace sbk::cpu
