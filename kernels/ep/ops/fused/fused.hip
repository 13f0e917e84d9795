#include "ops/fused/fused.hpp"

#include "core/kernel/parallel_for.hpp"

namespace rk {
namespace {

template <Curve curve>
RK_HD inline float bend(float x) {
  if (curve == Curve::relu) return x < 0.0f ? 0.0f : x;
  if (curve == Curve::gelu) return 0.5f * x * (1.0f + erff(x * 0.70710678118654752440f));
  return x;
}

template <class T, int N, Curve curve>
struct BiasCurve {
  Pack<T, N>* y;
  const Pack<T, N>* bias;
  Divisor packs;  // of a row

  RK_D void operator()(int64_t i) const {
    const auto at = static_cast<uint32_t>(i) - packs.divide(static_cast<uint32_t>(i)) * packs.value();
    const Pack<T, N> b = bias[at];
    Pack<T, N> v = y[i];
    for (int k = 0; k < N; ++k) v.v[k] = static_cast<T>(bend<curve>(load(v.v[k]) + load(b.v[k])));
    y[i] = v;
  }
};

template <class T, int N, Curve curve>
void bias_rows(Stream& stream, T* y, const T* bias, int64_t rows, int64_t n) {
  // A pack index must stay below 2^31; more rows go in several launches.
  const int64_t most = std::max<int64_t>(1, ((int64_t{1} << 31) - 1) / n);
  for (int64_t start = 0; start < rows; start += most) {
    const int64_t now = std::min(most, rows - start);
    for_each(stream, now * n / N, BiasCurve<T, N, curve>{reinterpret_cast<Pack<T, N>*>(y + start * n),
                                                         reinterpret_cast<const Pack<T, N>*>(bias), Divisor(n / N)});
  }
}

template <class T, Curve curve>
void bias_typed(Stream& stream, void* y, const void* bias, int64_t rows, int64_t n) {
  constexpr int N = 16 / sizeof(T);
  if (n % N == 0 && aligned16(y) && aligned16(bias))
    return bias_rows<T, N, curve>(stream, static_cast<T*>(y), static_cast<const T*>(bias), rows, n);
  bias_rows<T, 1, curve>(stream, static_cast<T*>(y), static_cast<const T*>(bias), rows, n);
}

template <class T>
struct Activate {
  T* y;
  sbk::ActivationParams a;
  RK_HD void operator()(int64_t i) const {
    float x = load(y[i]);
    if (a.kind == sbk::Activation::silu) x = x / (1.0f + expf(-x));
    else if (a.kind == sbk::Activation::clip) x = x < a.alpha ? a.alpha : (x > a.beta ? a.beta : x);
    else if (x < 0.0f) x = a.kind == sbk::Activation::relu ? 0.0f : a.alpha * x;
    y[i] = static_cast<T>(x);
  }
};

// The row is read once, a pack of N values a thread, and kept in registers.
template <class T, int N>
struct AddNormPacks {
  const Pack<T, N>* x;
  const Pack<T, N>* bias;
  const Pack<T, N>* residual;
  const Pack<T, N>* scale;
  const Pack<T, N>* shift;
  Pack<T, N>* y;
  int packs;
  float epsilon;

  RK_D static void add(float (&sum)[N], const Pack<T, N>& pack) {
    for (int k = 0; k < N; ++k) sum[k] += load(pack.v[k]);
  }
  RK_D void operator()(int64_t row, const Team& team) const {
    const bool active = team.rank < packs;
    const int64_t at = row * packs + team.rank;
    float values[N] = {};
    if (active) {
      add(values, x[at]);
      if (bias != nullptr) add(values, bias[team.rank]);
      if (residual != nullptr) add(values, residual[at]);
    }
    float sum = 0;
    for (int k = 0; k < N; ++k) sum += values[k];
    const float n = static_cast<float>(packs) * N;
    const float mean = team.sum(sum) / n;
    float squares = 0;
    for (int k = 0; k < N; ++k) squares += active ? (values[k] - mean) * (values[k] - mean) : 0.0f;
    const float inverse = 1.0f / sqrtf(team.sum(squares) / n + epsilon);
    if (!active) return;
    Pack<T, N> out;
    const Pack<T, N> factor = scale[team.rank];
    Pack<T, N> offset{};
    if (shift != nullptr) offset = shift[team.rank];
    for (int k = 0; k < N; ++k)
      out.v[k] = static_cast<T>((values[k] - mean) * inverse * load(factor.v[k]) + (shift != nullptr ? load(offset.v[k]) : 0.0f));
    y[at] = out;
  }
};

// The row is read once and kept in registers, `KeptValues` values a thread.
template <class T, int KeptValues>
struct AddNormRow {
  const T* x;
  const T* bias;
  const T* residual;
  const T* scale;
  const T* shift;
  T* y;
  int64_t n;
  float epsilon;

  RK_D float value(int64_t row, int64_t i) const {
    float sum = load(x[row * n + i]);
    if (bias != nullptr) sum += load(bias[i]);
    if (residual != nullptr) sum += load(residual[row * n + i]);
    return sum;
  }
  RK_D void store(int64_t row, int64_t i, float deviation, float inverse) const {
    float result = deviation * inverse * load(scale[i]);
    if (shift != nullptr) result += load(shift[i]);
    y[row * n + i] = static_cast<T>(result);
  }
  RK_D void operator()(int64_t row, const Team& team) const {
    float values[KeptValues > 0 ? KeptValues : 1];
    float sum = 0;
    if (KeptValues > 0) {
      for (int k = 0; k < KeptValues; ++k) {
        const int64_t i = team.rank + static_cast<int64_t>(k) * team.size;
        values[k] = i < n ? value(row, i) : 0.0f;
        sum += values[k];
      }
    } else {
      for (int64_t i = team.rank; i < n; i += team.size) sum += value(row, i);
    }
    const float mean = team.sum(sum) / static_cast<float>(n);
    float squares = 0;
    if (KeptValues > 0) {
      for (int k = 0; k < KeptValues; ++k) {
        if (team.rank + static_cast<int64_t>(k) * team.size < n) squares += (values[k] - mean) * (values[k] - mean);
      }
    } else {
      for (int64_t i = team.rank; i < n; i += team.size) squares += (value(row, i) - mean) * (value(row, i) - mean);
    }
    const float inverse = 1.0f / sqrtf(team.sum(squares) / static_cast<float>(n) + epsilon);
    if (KeptValues > 0) {
      for (int k = 0; k < KeptValues; ++k) {
        const int64_t i = team.rank + static_cast<int64_t>(k) * team.size;
        if (i < n) store(row, i, values[k] - mean, inverse);
      }
    } else {
      for (int64_t i = team.rank; i < n; i += team.size) store(row, i, value(row, i) - mean, inverse);
    }
  }
};

template <class T, int KeptValues>
void norm_rows(Stream& stream, const AddNorm& w) {
  for_rows(stream, w.rows, w.n,
           AddNormRow<T, KeptValues>{static_cast<const T*>(w.x), static_cast<const T*>(w.bias),
                               static_cast<const T*>(w.residual), static_cast<const T*>(w.scale),
                               static_cast<const T*>(w.shift), static_cast<T*>(w.y), w.n, w.epsilon});
}

template <class T>
bool norm_packs(Stream& stream, const AddNorm& w) {
  constexpr int N = 16 / sizeof(T);
  using P = const Pack<T, N>*;
  if (device::kIsCpu || w.n % N != 0 || w.n / N > kMostThreads) return false;
  for (const void* pointer : {w.x, w.bias, w.residual, w.scale, w.shift, const_cast<const void*>(w.y)})
    if (!aligned16(pointer)) return false;
  const int packs = static_cast<int>(w.n / N);
  for_rows(stream, w.rows, int64_t{kRowShare} * packs,  // a thread for each pack
           AddNormPacks<T, N>{static_cast<P>(w.x), static_cast<P>(w.bias), static_cast<P>(w.residual), static_cast<P>(w.scale),
                              static_cast<P>(w.shift), static_cast<Pack<T, N>*>(w.y), packs, w.epsilon});
  return true;
}

constexpr int kKeptValues = kRowShare;                              // for_rows gives a row at least n / kRowShare threads …
constexpr int64_t kKeptWidth = int64_t{kKeptValues} * kMostThreads;  // … up to kMostThreads

}  // namespace

void bias_curve(Stream& stream, Type type, void* y, const void* bias, int64_t rows, int64_t n, Curve curve) {
  if (rows <= 0 || n <= 0) return;
  with_float(type, [&](auto zero) {
    using T = decltype(zero);
    if (curve == Curve::gelu) bias_typed<T, Curve::gelu>(stream, y, bias, rows, n);
    else if (curve == Curve::relu) bias_typed<T, Curve::relu>(stream, y, bias, rows, n);
    else bias_typed<T, Curve::none>(stream, y, bias, rows, n);
  });
}

void activate(Stream& stream, const Tensor& y, const sbk::ActivationParams& activation) {
  if (activation.kind == sbk::Activation::none) return;
  with_float(y.type, [&](auto zero) {
    using T = decltype(zero);
    for_each(stream, y.size(), Activate<T>{y.as<T>(), activation});
  });
}

void add_norm(Stream& stream, const AddNorm& work) {
  if (work.rows <= 0 || work.n <= 0) return;
  with_float(work.type, [&](auto zero) {
    using T = decltype(zero);
    if (norm_packs<T>(stream, work)) return;
    if (!device::kIsCpu && work.n <= kKeptWidth) norm_rows<T, kKeptValues>(stream, work);
    else norm_rows<T, 0>(stream, work);
  });
}

}  // namespace rk
