// Operators of one input, element for element: activations, rounding, Cast, Clip, Not.
#include "core/kernel/kernel.hpp"
#include "core/kernel/parallel_for.hpp"
#include "core/tensor/types.hpp"

namespace rk {
namespace {

// Each operation computes in A (float for float and float16). `a` and `b` are attributes.
struct Parameters {
  float a = 0;
  float b = 0;
};

// Zero for -0 too; the least integer for itself.
template <class A>
RK_HD inline A magnitude(A x) {
  if constexpr (std::is_integral_v<A>) return x < 0 ? negative(x) : x;
  else return fabs(x);
}

template <class A>
RK_HD inline A opposite(A x) {
  if constexpr (std::is_integral_v<A>) return negative(x);
  else return -x;
}

#define RK_OPERATION(NAME, EXPRESSION)                                    \
  struct NAME {                                                           \
    template <class A> static RK_HD A apply(A x, const Parameters& p) {   \
      (void)p;                                                            \
      return static_cast<A>(EXPRESSION);                                  \
    }                                                                     \
  };

RK_OPERATION(AbsOp, magnitude(x))
RK_OPERATION(NegOp, opposite(x))
RK_OPERATION(SignOp, x > A(0) ? A(1) : (x < A(0) ? A(-1) : (x == A(0) ? A(0) : x)))
RK_OPERATION(ReluOp, x < A(0) ? A(0) : x)
RK_OPERATION(SqrtOp, sqrt(x))
RK_OPERATION(ExpOp, exp(x))
RK_OPERATION(LogOp, log(x))
RK_OPERATION(SinOp, sin(x))
RK_OPERATION(CosOp, cos(x))
RK_OPERATION(TanhOp, tanh(x))
RK_OPERATION(ErfOp, erf(x))
RK_OPERATION(FloorOp, floor(x))
RK_OPERATION(CeilOp, ceil(x))
RK_OPERATION(RoundOp, rint(x))
RK_OPERATION(ReciprocalOp, A(1) / x)
RK_OPERATION(SigmoidOp, A(1) / (A(1) + exp(-x)))
RK_OPERATION(SoftplusOp, x > A(20) ? x : log1p(exp(x)))
RK_OPERATION(SoftsignOp, x / (A(1) + (x < A(0) ? -x : x)))
RK_OPERATION(EluOp, x < A(0) ? A(p.a) * expm1(x) : x)
RK_OPERATION(SeluOp, A(p.b) * (x < A(0) ? A(p.a) * expm1(x) : x))
RK_OPERATION(CeluOp, x < A(0) ? A(p.a) * expm1(x / A(p.a)) : x)
RK_OPERATION(HardSigmoidOp, x != x ? x : fmax(A(0), fmin(A(1), A(p.a) * x + A(p.b))))
RK_OPERATION(HardSwishOp, x * fmax(A(0), fmin(A(1), x / A(6) + A(0.5))))
RK_OPERATION(MishOp, x * tanh(x > A(20) ? x : log1p(exp(x))))
RK_OPERATION(ThresholdedReluOp, x > A(p.a) ? x : A(0))
RK_OPERATION(GeluOp, A(0.5) * x * (A(1) + erf(x * A(0.70710678118654752440))))
RK_OPERATION(GeluTanhOp,
             A(0.5) * x * (A(1) + tanh(A(0.79788456080286535588) * (x + A(0.044715) * x * x * x))))
#undef RK_OPERATION

template <class Operation, class T, int N>
struct Map {
  const Pack<T, N>* x;
  Pack<T, N>* y;
  Parameters parameters;

  RK_HD void operator()(int64_t i) const {
    const Pack<T, N> in = x[i];
    Pack<T, N> out;
    for (int k = 0; k < N; ++k)
      out.v[k] = static_cast<T>(Operation::template apply<acc_t<T>>(load(in.v[k]), parameters));
    y[i] = out;
  }
};

template <class Operation, class T, int N>
void map(Stream& stream, const T* x, T* y, int64_t count, const Parameters& parameters) {
  for_each(stream, count / N, Map<Operation, T, N>{reinterpret_cast<const Pack<T, N>*>(x),
                                                   reinterpret_cast<Pack<T, N>*>(y), parameters});
}

template <class Operation, class T>
void map_all(Stream& stream, const T* x, T* y, int64_t count, const Parameters& parameters) {
  constexpr int N = 16 / sizeof(T);
  int64_t in_vectors = 0;
  if (aligned16(x) && aligned16(y)) {
    map<Operation, T, N>(stream, x, y, count, parameters);
    in_vectors = count / N * N;
  }
  map<Operation, T, 1>(stream, x + in_vectors, y + in_vectors, count - in_vectors, parameters);
}

template <class Operation>
class Unary : public Kernel {
 public:
  explicit Unary(const Info&) {}
  Unary(float a, float b) : parameters_{a, b} {}

  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const Tensor y = context.output(0, x.shape);
    with_number(x.type, [&](auto zero) {
      using T = decltype(zero);
      map_all<Operation>(context.stream(), x.as<T>(), y.as<T>(), x.size(), parameters_);
    });
  }

 private:
  Parameters parameters_;
};

// Operations that only make sense on floats: the integer instantiations are never made.
template <class Operation>
class FloatUnary : public Kernel {
 public:
  explicit FloatUnary(const Info&) {}
  FloatUnary(float a, float b) : parameters_{a, b} {}

  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const Tensor y = context.output(0, x.shape);
    with_float(x.type, [&](auto zero) {
      using T = decltype(zero);
      map_all<Operation>(context.stream(), x.as<T>(), y.as<T>(), x.size(), parameters_);
    });
  }

 private:
  Parameters parameters_;
};

std::unique_ptr<Kernel> make_gelu(const Info& info) {
  if (info.text("approximate", "none") == "tanh") return std::make_unique<FloatUnary<GeluTanhOp>>(info);
  return std::make_unique<FloatUnary<GeluOp>>(info);
}

template <class Operation>
std::unique_ptr<Kernel> make_alpha(const Info& info) {
  return std::make_unique<FloatUnary<Operation>>(info.real("alpha", 1.0f), 0.0f);
}

std::unique_ptr<Kernel> make_selu(const Info& info) {
  return std::make_unique<FloatUnary<SeluOp>>(info.real("alpha", 1.67326319217681884765625f),
                                              info.real("gamma", 1.05070102214813232421875f));
}

std::unique_ptr<Kernel> make_hard_sigmoid(const Info& info) {
  return std::make_unique<FloatUnary<HardSigmoidOp>>(info.real("alpha", 0.2f), info.real("beta", 0.5f));
}

template <class From, class To>
struct Convert {
  const From* x;
  To* y;

  RK_HD void operator()(int64_t i) const { y[i] = convert(x[i]); }
  static RK_HD To convert(From value) {
    if constexpr (std::is_same_v<To, bool>) return load(value) != acc_t<From>(0);
    else return static_cast<To>(static_cast<acc_t<To>>(load(value)));
  }
};

class Cast : public Kernel {
 public:
  explicit Cast(const Info& info) : to_(static_cast<Type>(info.integer("to", 0))) {}

  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const Tensor y = context.output(0, x.shape);
    if (x.type == to_) {
      if (x.data != y.data)
        device::copy(y.data, x.data, static_cast<size_t>(x.bytes()), device::Copy::on_device, context.stream().native());
      return;
    }
    with_any(x.type, [&](auto from) {
      using From = decltype(from);
      with_any(to_, [&](auto to) {
        using To = decltype(to);
        for_each(context.stream(), x.size(), Convert<From, To>{x.as<From>(), y.as<To>()});
      });
    });
  }

 private:
  Type to_;  // ONNX's TensorProto.DataType and ONNX Runtime's element types number these types alike
};

template <class T>
struct Clamp {
  const T* x;
  T* y;
  const T* low;  // device scalars, or null
  const T* high;

  RK_HD void operator()(int64_t i) const {
    acc_t<T> value = load(x[i]);
    if (low != nullptr && value < load(*low)) value = load(*low);
    if (high != nullptr && value > load(*high)) value = load(*high);
    y[i] = static_cast<T>(value);
  }
};

class Clip : public Kernel {
 public:
  explicit Clip(const Info&) {}

  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const Tensor low = context.input(1);
    const Tensor high = context.input(2);
    require((!low || low.size() == 1) && (!high || high.size() == 1), "Clip's bounds must be one element each");
    const Tensor y = context.output(0, x.shape);
    with_number(x.type, [&](auto zero) {
      using T = decltype(zero);
      for_each(context.stream(), x.size(), Clamp<T>{x.as<T>(), y.as<T>(), low.as<T>(), high.as<T>()});
    });
  }
};

template <class T>
struct ClampBetween {
  const T* x;
  T* y;
  float low;
  float high;
  RK_HD void operator()(int64_t i) const {
    const float value = load(x[i]);
    y[i] = static_cast<T>(value < low ? low : (value > high ? high : value));
  }
};

// Clip before opset 11: the bounds are attributes.
class ClipAttributes : public Kernel {
 public:
  explicit ClipAttributes(const Info& info)
      : low_(info.real("min", -3.402823466e+38f)), high_(info.real("max", 3.402823466e+38f)) {}

  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const Tensor y = context.output(0, x.shape);
    with_float(x.type, [&](auto zero) {
      using T = decltype(zero);
      for_each(context.stream(), x.size(), ClampBetween<T>{x.as<T>(), y.as<T>(), low_, high_});
    });
  }

 private:
  float low_;
  float high_;
};

struct Negate {
  const bool* x;
  bool* y;
  RK_HD void operator()(int64_t i) const { y[i] = !x[i]; }
};

class Not : public Kernel {
 public:
  explicit Not(const Info&) {}
  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const Tensor y = context.output(0, x.shape);
    for_each(context.stream(), x.size(), Negate{x.as<bool>(), y.as<bool>()});
  }
};

template <class T>
struct NanTest {
  const T* x;
  bool* y;
  RK_HD void operator()(int64_t i) const { const float value = load(x[i]); y[i] = value != value; }
};

class IsNaN : public Kernel {
 public:
  explicit IsNaN(const Info&) {}
  void compute(Context& context) override {
    const Tensor x = context.input(0);
    const Tensor y = context.output(0, x.shape);
    with_float(x.type, [&](auto zero) {
      using T = decltype(zero);
      for_each(context.stream(), x.size(), NanTest<T>{x.as<T>(), y.as<bool>()});
    });
  }
};

void add_map(Entries& entries, const char* op, int first, MakeKernel make, const std::vector<Type>& types) {
  entries.push_back({op, first, kNewest, {{"T", types}}, make, {}, {}, false, true});
}

}  // namespace

void add_unary(Entries& e) {
  add_map(e, "Abs", 6, make<Unary<AbsOp>>, numbers());
  add_map(e, "Neg", 6, make<Unary<NegOp>>, numbers());
  add_map(e, "Sign", 9, make<Unary<SignOp>>, numbers());
  add_map(e, "Relu", 6, make<Unary<ReluOp>>, numbers());
  add_map(e, "Sqrt", 6, make<FloatUnary<SqrtOp>>, floats());
  add_map(e, "Exp", 6, make<FloatUnary<ExpOp>>, floats());
  add_map(e, "Log", 6, make<FloatUnary<LogOp>>, floats());
  add_map(e, "Sin", 7, make<FloatUnary<SinOp>>, floats());
  add_map(e, "Cos", 7, make<FloatUnary<CosOp>>, floats());
  add_map(e, "Tanh", 6, make<FloatUnary<TanhOp>>, floats());
  add_map(e, "Erf", 9, make<FloatUnary<ErfOp>>, floats());
  add_map(e, "Floor", 6, make<FloatUnary<FloorOp>>, floats());
  add_map(e, "Ceil", 6, make<FloatUnary<CeilOp>>, floats());
  add_map(e, "Round", 11, make<FloatUnary<RoundOp>>, floats());
  add_map(e, "Reciprocal", 6, make<FloatUnary<ReciprocalOp>>, floats());
  add_map(e, "Sigmoid", 6, make<FloatUnary<SigmoidOp>>, floats());
  add_map(e, "Softplus", 1, make<FloatUnary<SoftplusOp>>, floats());
  add_map(e, "Softsign", 1, make<FloatUnary<SoftsignOp>>, floats());
  add_map(e, "HardSwish", 14, make<FloatUnary<HardSwishOp>>, floats());
  add_map(e, "Mish", 18, make<FloatUnary<MishOp>>, floats());
  add_map(e, "Elu", 6, make_alpha<EluOp>, floats());
  add_map(e, "Celu", 12, make_alpha<CeluOp>, {kFloat});
  add_map(e, "ThresholdedRelu", 10, make_alpha<ThresholdedReluOp>, floats());
  add_map(e, "Selu", 6, make_selu, floats());
  add_map(e, "HardSigmoid", 6, make_hard_sigmoid, floats());
  add_map(e, "Gelu", 20, make_gelu, floats());
  e.push_back({"Gelu", 1, 1, {{"T", floats()}}, make<FloatUnary<GeluOp>>, {}, {}, false, true, nullptr, "com.microsoft"});
  e.push_back({"Clip", 6, 10, {{"T", floats()}}, make<ClipAttributes>, {}, {}, false, true});
  e.push_back({"Clip", 11, kNewest, {{"T", numbers()}}, make<Clip>, {}, {}, false, true});
  e.push_back({"Cast", 6, kNewest, {{"T1", everything()}, {"T2", everything()}}, make<Cast>});
  e.push_back({"Not", 1, kNewest, {{"T", bools()}}, make<Not>, {}, {}, false, true});
  e.push_back({"IsNaN", 9, kNewest, {{"T1", floats()}, {"T2", bools()}}, make<IsNaN>});
}

}  // namespace rk
