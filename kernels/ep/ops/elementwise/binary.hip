// Operators of two broadcast inputs, and of any number of them; Where.
#include "core/kernel/broadcast.hpp"
#include "core/kernel/kernel.hpp"
#include "core/tensor/types.hpp"
#include "ops/elementwise/broadcast_add.hpp"

namespace rk {
namespace {

template <class A>
RK_HD inline A power(A x, A y) {
  if constexpr (std::is_integral_v<A>) {
    if (y < 0) return x == 1 ? 1 : (x == -1 ? (y % 2 == 0 ? 1 : -1) : 0);
    A result = 1;
    for (; y > 0; y /= 2, x *= x)
      if (y % 2 != 0) result *= x;
    return result;
  } else {
    return y == A(2) ? x * x : pow(x, y);
  }
}

// Integer division by zero, and of the least integer by -1, is undefined in ONNX; it must not trap on the CPU platform.
template <class A>
RK_HD inline A quotient(A x, A y) {
  if constexpr (std::is_integral_v<A>) return y == 0 ? 0 : (y == -1 ? negative(x) : x / y);
  else return x / y;
}

// ONNX Mod with fmod = 1: the sign of the dividend (C's %).
template <class A>
RK_HD inline A remainder_of(A x, A y) {
  if constexpr (std::is_integral_v<A>) return y == 0 || y == -1 ? 0 : x % y;
#if RK_CPU
  else return static_cast<A>(fmodl(x, y));  // exact; fmod is a new symbol since glibc 2.38, fmodl is not
#else
  else return fmod(x, y);
#endif
}

// ONNX Mod with fmod = 0: the sign of the divisor (Python's %).
template <class A>
RK_HD inline A modulo(A x, A y) {
  const A rest = remainder_of(x, y);
  return rest != A(0) && ((rest < A(0)) != (y < A(0))) ? rest + y : rest;
}

template <class A>
RK_HD inline bool is_nan(A x) { return x != x; }

#define RK_OPERATION(NAME, RESULT, EXPRESSION)            \
  struct NAME {                                           \
    template <class T> using result = RESULT;             \
    template <class A> static RK_HD auto apply(A x, A y) { return EXPRESSION; } \
  };

RK_OPERATION(AddOp, T, x + y)
RK_OPERATION(SubOp, T, x - y)
RK_OPERATION(MulOp, T, x * y)
RK_OPERATION(DivOp, T, quotient(x, y))
RK_OPERATION(PowOp, T, power(x, y))
RK_OPERATION(ModOp, T, modulo(x, y))
RK_OPERATION(FmodOp, T, remainder_of(x, y))
RK_OPERATION(MinOp, T, is_nan(x) || x < y ? x : y)
RK_OPERATION(MaxOp, T, is_nan(x) || x > y ? x : y)
RK_OPERATION(PReluOp, T, x < A(0) ? x * y : x)
RK_OPERATION(EqualOp, bool, x == y)
RK_OPERATION(LessOp, bool, x < y)
RK_OPERATION(GreaterOp, bool, x > y)
RK_OPERATION(LessOrEqualOp, bool, x <= y)
RK_OPERATION(GreaterOrEqualOp, bool, x >= y)
RK_OPERATION(AndOp, bool, x && y)
RK_OPERATION(OrOp, bool, x || y)
RK_OPERATION(XorOp, bool, x != y)
#undef RK_OPERATION

template <class Operation, class T>
using result_t = typename Operation::template result<T>;

// Packs of N; an input that is one value has step 0, one that repeats every `period` packs is read modulo it.
template <class Operation, class T, int N>
struct AlignedPacks {
  const T* a;
  const T* b;
  result_t<Operation, T>* y;
  bool a_single;
  bool b_single;
  Divisor a_period;  // in packs
  Divisor b_period;
  bool a_repeats;
  bool b_repeats;

  static RK_HD Pack<T, N> fill(T value) {
    Pack<T, N> pack;
    for (int k = 0; k < N; ++k) pack.v[k] = value;
    return pack;
  }
  static RK_D Pack<T, N> read(const T* data, int64_t i, bool single, bool repeats, const Divisor& period) {
    if (single) return fill(*data);
    const int64_t at = repeats ? i - static_cast<int64_t>(period.divide(static_cast<uint32_t>(i))) * period.value() : i;
    return reinterpret_cast<const Pack<T, N>*>(data)[at];
  }
  RK_D void operator()(int64_t i) const {
    const Pack<T, N> p = read(a, i, a_single, a_repeats, a_period);
    const Pack<T, N> q = read(b, i, b_single, b_repeats, b_period);
    Pack<result_t<Operation, T>, N> out;
    for (int k = 0; k < N; ++k)
      out.v[k] = static_cast<result_t<Operation, T>>(Operation::apply(load(p.v[k]), load(q.v[k])));
    reinterpret_cast<Pack<result_t<Operation, T>, N>*>(y)[i] = out;
  }
};

template <class Operation, class T>
struct General {
  const T* a;
  const T* b;
  result_t<Operation, T>* y;
  Walk<2> walk;

  RK_D void operator()(int64_t i) const {
    int64_t at[2];
    walk.offsets(i, at);
    y[i] = static_cast<result_t<Operation, T>>(Operation::apply(load(a[at[0]]), load(b[at[1]])));
  }
};

// How one operand lies in the result: whole, one value, or a dense tail that repeats; `period` in elements.
struct Lie {
  bool single = false;
  bool repeats = false;
  int64_t period = 1;
  bool simple = false;
};

Lie lie_of(const Walk<2>& walk, int operand) {
  Lie lie;
  if (walk.single(operand)) lie.single = lie.simple = true;
  else if (walk.dense(operand)) lie.simple = true;
  else if (walk.rank() == 2 && walk.stride(operand, 1) == 1) {
    lie.repeats = walk.stride(operand, 0) == 0;
    lie.period = walk.extent(1);
    lie.simple = lie.repeats || walk.stride(operand, 0) == walk.extent(1);
  } else if (walk.rank() == 2 && walk.stride(operand, 0) == 0 && walk.stride(operand, 1) == 0) {
    lie.single = lie.simple = true;
  }
  return lie;
}

template <class Operation, class T>
bool run_aligned(Stream& stream, const Walk<2>& walk, const T* a, const T* b, result_t<Operation, T>* y) {
  constexpr int N = 16 / sizeof(T);
  const Lie p = lie_of(walk, 0);
  const Lie q = lie_of(walk, 1);
  if (!p.simple || !q.simple || walk.count() % N != 0 || walk.count() >= (int64_t{1} << 31)) return false;
  if ((p.repeats && p.period % N != 0) || (q.repeats && q.period % N != 0)) return false;
  if ((!p.single && !aligned16(a)) || (!q.single && !aligned16(b)) || !aligned16(y)) return false;
  for_each(stream, walk.count() / N,
           AlignedPacks<Operation, T, N>{a, b, y, p.single, q.single, Divisor(p.repeats ? p.period / N : 1),
                                    Divisor(q.repeats ? q.period / N : 1), p.repeats, q.repeats});
  return true;
}

template <class Operation, class T>
void run(Stream& stream, const Tensor& a, const Tensor& b, const Tensor& y) {
  using R = result_t<Operation, T>;
  if (y.size() == 0) return;
  const Walk<2> walk(y.shape, {broadcast_strides(a.shape, y.shape), broadcast_strides(b.shape, y.shape)});
  if (run_aligned<Operation, T>(stream, walk, a.as<T>(), b.as<T>(), y.as<R>())) return;
  for_each(stream, walk.count(), General<Operation, T>{a.as<T>(), b.as<T>(), y.as<R>(), walk});
}

template <class Operation>
class Binary : public Kernel {
 public:
  explicit Binary(const Info&) {}
  void compute(Context& context) override {
    const Tensor a = context.input(0);
    const Tensor b = context.input(1);
    const Tensor y = context.output(0, broadcast(a.shape, b.shape));
    with_number(a.type, [&](auto zero) { run<Operation, decltype(zero)>(context.stream(), a, b, y); });
  }
};

std::unique_ptr<Kernel> make_mod(const Info& info) {
  if (info.integer("fmod", 0) != 0) return std::make_unique<Binary<FmodOp>>(info);
  return std::make_unique<Binary<ModOp>>(info);
}

// And, Or, Xor; and Equal of bools.
template <class Operation>
class Logical : public Kernel {
 public:
  explicit Logical(const Info&) {}
  void compute(Context& context) override {
    const Tensor a = context.input(0);
    const Tensor b = context.input(1);
    const Tensor y = context.output(0, broadcast(a.shape, b.shape));
    run<Operation, bool>(context.stream(), a, b, y);
  }
};

class Equal : public Kernel {
 public:
  explicit Equal(const Info&) {}
  void compute(Context& context) override {
    const Tensor a = context.input(0);
    const Tensor b = context.input(1);
    const Tensor y = context.output(0, broadcast(a.shape, b.shape));
    if (a.type == kBool) return run<EqualOp, bool>(context.stream(), a, b, y);
    with_number(a.type, [&](auto zero) { run<EqualOp, decltype(zero)>(context.stream(), a, b, y); });
  }
};

// Pow's exponent may have a type of its own.
template <class T, class E>
struct MixedPower {
  const T* a;
  const E* b;
  T* y;
  Walk<2> walk;
  RK_D void operator()(int64_t i) const {
    int64_t at[2];
    walk.offsets(i, at);
    const acc_t<T> x = load(a[at[0]]);
    if constexpr (std::is_integral_v<T> && !std::is_integral_v<E>) {
      // A device's pow is off by a unit or two in the last place, and a cast cuts: 2.9999999999999996 is 3.
      const double result = pow(static_cast<double>(x), static_cast<double>(load(b[at[1]])));
      const double whole = rint(result);
      y[i] = static_cast<T>(fabs(result - whole) <= 1e-15 * fabs(whole) ? whole : result);
    } else
      y[i] = static_cast<T>(power(x, static_cast<acc_t<T>>(load(b[at[1]]))));
  }
};

class Pow : public Kernel {
 public:
  explicit Pow(const Info&) {}
  void compute(Context& context) override {
    const Tensor a = context.input(0);
    const Tensor b = context.input(1);
    const Tensor y = context.output(0, broadcast(a.shape, b.shape));
    const Walk<2> walk(y.shape, {broadcast_strides(a.shape, y.shape), broadcast_strides(b.shape, y.shape)});
    with_number(a.type, [&](auto base) {
      using T = decltype(base);
      if (a.type == b.type) return run<PowOp, T>(context.stream(), a, b, y);
      with_number(b.type, [&](auto exponent) {
        using E = decltype(exponent);
        for_each(context.stream(), walk.count(), MixedPower<T, E>{a.as<T>(), b.as<E>(), y.as<T>(), walk});
      });
    });
  }
};

template <class T>
struct Scale {
  T* y;
  float factor;
  RK_HD void operator()(int64_t i) const { y[i] = static_cast<T>(load(y[i]) * static_cast<acc_t<T>>(factor)); }
};

template <class T>
struct Repeat {
  const T* x;
  T* y;
  Walk<1> walk;
  RK_D void operator()(int64_t i) const {
    int64_t at[1];
    walk.offsets(i, at);
    y[i] = x[at[0]];
  }
};

// sum = x, or sum + x, for x broadcast to the sum's shape.
template <class T>
struct AddTo {
  const T* x;
  float* sum;
  bool first;
  Walk<1> walk;
  RK_D void operator()(int64_t i) const {
    int64_t at[1];
    walk.offsets(i, at);
    sum[i] = load(x[at[0]]) + (first ? 0.0f : sum[i]);
  }
};

template <class T>
struct ScaledSum {
  const float* sum;
  T* y;
  float factor;
  RK_HD void operator()(int64_t i) const { y[i] = static_cast<T>(sum[i] * factor); }
};

// Sum, Mean, Min, Max: any number of inputs, folded two at a time into the output. The output may be as large as no
// single input, so partial results are broadcast to it from the start.
template <class Operation, bool Mean>
class Fold : public Kernel {
 public:
  explicit Fold(const Info&) {}
  void compute(Context& context) override {
    const Tensor first = context.input(0);
    Shape shape = first.shape;
    for (size_t i = 1; i < context.inputs(); ++i) shape = broadcast(shape, context.input(i).shape);
    const Tensor y = context.output(0, shape);
    with_number(first.type, [&](auto zero) { fold<decltype(zero)>(context, first, y); });
  }

 private:
  template <class T>
  void fold(Context& context, const Tensor& first, const Tensor& y) {
    const size_t count = context.inputs();
    if constexpr (std::is_same_v<T, half_t> && std::is_same_v<Operation, AddOp>)
      if (count > (Mean ? 1 : 2)) return add_wide<T>(context, y);
    if (count == 1) {
      const Walk<1> walk(y.shape, {broadcast_strides(first.shape, y.shape)});
      for_each(context.stream(), walk.count(), Repeat<T>{first.as<T>(), y.as<T>(), walk});
    } else {
      run<Operation, T>(context.stream(), first, context.input(1), y);
    }
    for (size_t i = 2; i < count; ++i) run<Operation, T>(context.stream(), y, context.input(i), y);
    if constexpr (Mean)
      for_each(context.stream(), y.size(), Scale<T>{y.as<T>(), 1.0f / static_cast<float>(count)});
  }

  // The sum kept in float32 until all inputs are in it.
  template <class T>
  static void add_wide(Context& context, const Tensor& y) {
    auto* sum = static_cast<float*>(context.scratch(static_cast<size_t>(y.size()) * sizeof(float)));
    for (size_t i = 0; i < context.inputs(); ++i) {
      const Tensor x = context.input(i);
      const Walk<1> walk(y.shape, {broadcast_strides(x.shape, y.shape)});
      for_each(context.stream(), y.size(), AddTo<T>{x.as<T>(), sum, i == 0, walk});
    }
    const float factor = Mean ? 1.0f / static_cast<float>(context.inputs()) : 1.0f;
    for_each(context.stream(), y.size(), ScaledSum<T>{sum, y.as<T>(), factor});
  }
};

template <class T>
struct Select {
  const bool* condition;
  const T* a;
  const T* b;
  T* y;
  Walk<3> walk;
  RK_D void operator()(int64_t i) const {
    int64_t at[3];
    walk.offsets(i, at);
    y[i] = condition[at[0]] ? a[at[1]] : b[at[2]];
  }
};

class Where : public Kernel {
 public:
  explicit Where(const Info&) {}
  void compute(Context& context) override {
    const Tensor condition = context.input(0);
    const Tensor a = context.input(1);
    const Tensor b = context.input(2);
    const Tensor y = context.output(0, broadcast(condition.shape, broadcast(a.shape, b.shape)));
    const Walk<3> walk(y.shape, {broadcast_strides(condition.shape, y.shape), broadcast_strides(a.shape, y.shape),
                                 broadcast_strides(b.shape, y.shape)});
    with_bytes(bytes_of(a.type), [&](auto zero) {
      using T = decltype(zero);
      for_each(context.stream(), walk.count(), Select<T>{condition.as<bool>(), a.as<T>(), b.as<T>(), y.as<T>(), walk});
    });
  }
};

void add_comparison(Entries& entries, const char* op, int first, MakeKernel make) {
  entries.push_back({op, first, kNewest, {{"T", numbers()}, {"T1", bools()}}, make});
}

}  // namespace

void broadcast_add(Stream& stream, const Tensor& a, const Tensor& b, const Tensor& y) {
  with_float(a.type, [&](auto zero) { run<AddOp, decltype(zero)>(stream, a, b, y); });
}

void add_binary(Entries& e) {
  e.push_back({"Add", 7, kNewest, {{"T", numbers()}}, make<Binary<AddOp>>});
  e.push_back({"Sub", 7, kNewest, {{"T", numbers()}}, make<Binary<SubOp>>});
  e.push_back({"Mul", 7, kNewest, {{"T", numbers()}}, make<Binary<MulOp>>});
  e.push_back({"Div", 7, kNewest, {{"T", numbers()}}, make<Binary<DivOp>>});
  e.push_back({"Mod", 10, kNewest, {{"T", numbers()}}, make_mod});
  e.push_back({"PRelu", 7, kNewest, {{"T", floats()}}, make<Binary<PReluOp>>});
  e.push_back({"Pow", 7, 11, {{"T", floats()}}, make<Pow>});
  e.push_back({"Pow", 12, kNewest, {{"T", numbers()}, {"T1", numbers()}}, make<Pow>});
  e.push_back({"Sum", 8, kNewest, {{"T", floats()}}, make<Fold<AddOp, false>>});
  e.push_back({"Mean", 8, kNewest, {{"T", floats()}}, make<Fold<AddOp, true>>});
  e.push_back({"Min", 8, kNewest, {{"T", numbers()}}, make<Fold<MinOp, false>>});
  e.push_back({"Max", 8, kNewest, {{"T", numbers()}}, make<Fold<MaxOp, false>>});
  e.push_back({"And", 7, kNewest, {{"T", bools()}, {"T1", bools()}}, make<Logical<AndOp>>});
  e.push_back({"Or", 7, kNewest, {{"T", bools()}, {"T1", bools()}}, make<Logical<OrOp>>});
  e.push_back({"Xor", 7, kNewest, {{"T", bools()}, {"T1", bools()}}, make<Logical<XorOp>>});
  std::vector<Type> comparable = numbers();
  comparable.push_back(kBool);
  e.push_back({"Equal", 7, kNewest, {{"T", comparable}, {"T1", bools()}}, make<Equal>});
  add_comparison(e, "Less", 7, make<Binary<LessOp>>);
  add_comparison(e, "Greater", 7, make<Binary<GreaterOp>>);
  add_comparison(e, "LessOrEqual", 12, make<Binary<LessOrEqualOp>>);
  add_comparison(e, "GreaterOrEqual", 12, make<Binary<GreaterOrEqualOp>>);
  e.push_back({"Where", 9, kNewest, {{"B", bools()}, {"T", any_storage()}}, make<Where>});
}

}  // namespace rk
