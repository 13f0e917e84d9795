#include "group_norm/group_norm.hpp"

#include "common/host.hpp"

namespace sbk::cpu {
namespace {

// Calls body(channel in group, index of the value) for every value of one group.
template <class Body>
void each_value(const GroupNormParams& p, int64_t n, int64_t group, Body body) {
  const int64_t per_group = p.channels / p.groups;
  for (int64_t c = 0; c < per_group; ++c) {
    const int64_t channel = group * per_group + c;
    const bool first = p.layout == Layout::channels_first;
    const int64_t base = first ? (n * p.channels + channel) * p.spatial : n * p.spatial * p.channels + channel;
    const int64_t step = first ? 1 : p.channels;
    for (int64_t s = 0; s < p.spatial; ++s) body(channel, base + s * step);
  }
}

template <class T>
void normalise(const GroupNormParams& p, int64_t n, int64_t group) {
  const T* x = static_cast<const T*>(p.x);
  T* y = static_cast<T*>(p.y);
  const double count = static_cast<double>(p.channels / p.groups * p.spatial);
  double sum = 0.0;
  each_value(p, n, group, [&](int64_t, int64_t i) { sum += to_float(x[i]); });
  const double mean = sum / count;
  double m2 = 0.0;
  each_value(p, n, group, [&](int64_t, int64_t i) { m2 += (to_float(x[i]) - mean) * (to_float(x[i]) - mean); });
  const float inverse = static_cast<float>(1.0 / std::sqrt(m2 / count + p.epsilon));
  each_value(p, n, group, [&](int64_t channel, int64_t i) {
    const int64_t which = p.per_group ? group : channel;
    const float factor = load_any(p.scale, p.scale_dtype, which) * inverse;
    const float value = static_cast<float>(to_float(x[i]) - mean) * factor + load_any(p.bias, p.scale_dtype, which);
    y[i] = from_float<T>(activate(p.activation, value));
  });
}

}  // namespace

Status group_norm(const GroupNormParams& p, const Launch&) {
  if (p.batch < 0 || p.channels < 0 || p.spatial < 0) return invalid("group_norm: a size is negative");
  if (p.groups <= 0 || p.channels % p.groups != 0) return invalid("group_norm: groups does not divide channels");
  return by_type(p.dtype, [&](auto type) -> Status {
    if (p.spatial == 0 || p.channels == 0) return {};
    for (int64_t n = 0; n < p.batch; ++n) {
      for (int64_t g = 0; g < p.groups; ++g) normalise<decltype(type)>(p, n, g);
    }
    return {};
  });
}

}  // namespace sbk::cpu
