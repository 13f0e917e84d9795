#include "batch_norm/batch_norm.hpp"

#include "common/host.hpp"

namespace sbk::cpu {
namespace {

template <class T>
void normalise(const BatchNormParams& p, int64_t channel, int64_t first, int64_t count, int64_t step) {
  const float mean = load_any(p.mean, p.stats_dtype, channel);
  const float factor =
      load_any(p.scale, p.scale_dtype, channel) / std::sqrt(load_any(p.variance, p.stats_dtype, channel) + p.epsilon);
  const float bias = load_any(p.bias, p.scale_dtype, channel);
  const T* x = static_cast<const T*>(p.x) + first;
  T* y = static_cast<T*>(p.y) + first;
  for (int64_t i = 0; i < count * step; i += step) {
    y[i] = from_float<T>(activate(p.activation, (to_float(x[i]) - mean) * factor + bias));
  }
}

}  // namespace

Status batch_norm(const BatchNormParams& p, const Launch&) {
  if (p.batch < 0 || p.channels < 0 || p.spatial < 0) return invalid("batch_norm: a size is negative");
  return by_type(p.dtype, [&](auto type) -> Status {
    using T = decltype(type);
    for (int64_t n = 0; n < p.batch; ++n) {
      for (int64_t c = 0; c < p.channels; ++c) {
        if (p.layout == Layout::channels_first) {
          normalise<T>(p, c, (n * p.channels + c) * p.spatial, p.spatial, 1);
        } else {
          normalise<T>(p, c, n * p.spatial * p.channels + c, p.spatial, p.channels);
        }
      }
    }
    return {};
  });
}

}  // namespace sbk::cpu
