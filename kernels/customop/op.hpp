// Turns an operator class into the OrtCustomOp that ONNX Runtime wants. An operator class has:
//   static constexpr const char* name; static constexpr Arity arity;
//   explicit Op(const Attributes&); void compute(const Call&, Where) const;
#pragma once

#include <exception>
#include <initializer_list>
#include <memory>

#include "customop/attributes.hpp"
#include "customop/run.hpp"

namespace sbk::customop {

constexpr const char* kDomain = "stackbuild.kernels";

// A set of inputs, by their numbers.
class InputSet {
 public:
  constexpr InputSet() = default;
  constexpr InputSet(std::initializer_list<size_t> numbers) {
    for (size_t number : numbers) bits_ |= 1u << number;
  }
  constexpr bool has(size_t number) const { return (bits_ >> number & 1u) != 0; }

 private:
  uint32_t bits_ = 0;
};

// Inputs from `required_count` on are optional, outputs but the first too. The setters stand for C++20's designated initialisers: a
// library compiled as C++20 needs a newer libstdc++ (GLIBCXX_3.4.31) where it is loaded.
struct Arity {
  size_t required_count = 0;
  size_t inputs = 0;
  InputSet any_type;  // may have another element type than the operator's own (float32 or float16)
  size_t outputs = 1;
  InputSet on_host;   // are read on the host

  static constexpr Arity of(size_t required_count, size_t inputs) {
    Arity arity;
    arity.required_count = required_count;
    arity.inputs = inputs;
    return arity;
  }
  constexpr Arity with_any_type(InputSet set) const {
    Arity arity = *this;
    arity.any_type = set;
    return arity;
  }
  constexpr Arity with_outputs(size_t count) const {
    Arity arity = *this;
    arity.outputs = count;
    return arity;
  }
  constexpr Arity with_host_inputs(InputSet set) const {
    Arity arity = *this;
    arity.on_host = set;
    return arity;
  }
};

template <class Op>
struct Kernel {
  Op op;
  Where where;
};

template <class F>
OrtStatus* guard(F body) noexcept {
  try {
    body();
    return nullptr;
  } catch (const std::exception& error) {
    return g_ort->CreateStatus(ORT_RUNTIME_EXCEPTION, error.what());
  } catch (...) {
    return g_ort->CreateStatus(ORT_RUNTIME_EXCEPTION, "unknown error in a stackbuild.kernels operator");
  }
}

template <class Op>
class CustomOp : public OrtCustomOp {
 public:
  // `provider` is null for ONNX Runtime's CPU provider.
  CustomOp(ONNXTensorElementDataType type, const char* provider) : OrtCustomOp{}, type_(type), provider_(provider) {
    version = kOrtApi;
    GetName = [](const OrtCustomOp*) { return Op::name; };
    GetExecutionProviderType = [](const OrtCustomOp* self) { return cast(self)->provider_; };
    GetInputTypeCount = [](const OrtCustomOp*) { return Op::arity.inputs; };
    GetInputType = [](const OrtCustomOp* self, size_t i) {
      return Op::arity.any_type.has(i) ? ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED : cast(self)->type_;
    };
    GetOutputTypeCount = [](const OrtCustomOp*) { return Op::arity.outputs; };
    GetOutputType = [](const OrtCustomOp* self, size_t) { return cast(self)->type_; };
    GetInputCharacteristic = [](const OrtCustomOp*, size_t i) {
      return i < Op::arity.required_count ? INPUT_OUTPUT_REQUIRED : INPUT_OUTPUT_OPTIONAL;
    };
    GetOutputCharacteristic = [](const OrtCustomOp*, size_t i) {
      return i == 0 ? INPUT_OUTPUT_REQUIRED : INPUT_OUTPUT_OPTIONAL;
    };
    GetInputMemoryType = [](const OrtCustomOp*, size_t i) {
      return Op::arity.on_host.has(i) ? OrtMemTypeCPUInput : OrtMemTypeDefault;
    };
    GetVariadicInputMinArity = [](const OrtCustomOp*) { return 1; };
    GetVariadicInputHomogeneity = [](const OrtCustomOp*) { return 1; };
    GetVariadicOutputMinArity = [](const OrtCustomOp*) { return 1; };
    GetVariadicOutputHomogeneity = [](const OrtCustomOp*) { return 1; };
    GetStartVersion = [](const OrtCustomOp*) { return 1; };
    GetEndVersion = [](const OrtCustomOp*) { return INT32_MAX; };
    CreateKernelV2 = [](const OrtCustomOp* self, const OrtApi*, const OrtKernelInfo* info, void** kernel) {
      return guard([&] { *kernel = create(cast(self)->provider_, info); });
    };
    KernelComputeV2 = [](void* kernel, OrtKernelContext* context) {
      return guard([&] {
        const auto* k = static_cast<const Kernel<Op>*>(kernel);
        const Call call(context);
        const OnDeviceOf device(call, k->where);
        k->op.compute(call, k->where);
      });
    };
    KernelDestroy = [](void* kernel) { delete static_cast<Kernel<Op>*>(kernel); };
  }

 private:
  static const CustomOp* cast(const OrtCustomOp* self) { return static_cast<const CustomOp*>(self); }

  static Kernel<Op>* create(const char* provider, const OrtKernelInfo* info) {
    Where where = Where::cpu;
    if (provider != nullptr) where = Where::gpu;
    else if (gpu_asked_for()) where = Where::gpu_with_copies;
    if (where != Where::cpu) GpuLibrary::get().need_gpu();  // say now, not in the middle of a run, that there is no GPU
    return new Kernel<Op>{Op(Attributes(info)), where};
  }

  ONNXTensorElementDataType type_;
  const char* provider_;
};

}  // namespace sbk::customop
