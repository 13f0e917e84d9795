// What ONNX Runtime calls: SessionOptions.register_custom_ops_library loads this library and looks up RegisterCustomOps.
#include <array>

#include "customop/ops.hpp"

namespace sbk::customop {
namespace {

constexpr ONNXTensorElementDataType kFloat = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
constexpr ONNXTensorElementDataType kHalf = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16;

// Adds Op for float32 and float16, on the CPU and on the provider that hands out this platform's device memory.
template <class Op>
void add(OrtCustomOpDomain* domain) {
  static const std::array<CustomOp<Op>, 4> ops{CustomOp<Op>(kFloat, nullptr), CustomOp<Op>(kHalf, nullptr),
                                               CustomOp<Op>(kFloat, SBK_GPU_PROVIDER),
                                               CustomOp<Op>(kHalf, SBK_GPU_PROVIDER)};
  for (const auto& op : ops) check(g_ort->CustomOpDomain_Add(domain, &op));
}

// Made once, never released: sessions keep pointers to the operators until the process ends.
OrtCustomOpDomain* make_domain() {
  OrtCustomOpDomain* domain = nullptr;
  check(g_ort->CreateCustomOpDomain(kDomain, &domain));
  add<LeakyReluOp>(domain);
  add<BatchNormalizationOp>(domain);
  add<GroupNormalizationOp>(domain);
  add<ConvOp>(domain);
  add<AttentionOp>(domain);
  add<MultiHeadAttentionOp>(domain);
  return domain;
}

}  // namespace
}  // namespace sbk::customop

extern "C" __attribute__((visibility("default"))) OrtStatus* ORT_API_CALL
RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base) {
  using namespace sbk::customop;
  const OrtApi* api = base->GetApi(kOrtApi);
  if (api == nullptr) {  // an older runtime: use its first table to say so
    const OrtApi* first = base->GetApi(1);
    return first->CreateStatus(ORT_FAIL, "the stackbuild kernels need ONNX Runtime 1.17 or newer");
  }
  g_ort = api;
  return guard([&] {
    static OrtCustomOpDomain* const domain = make_domain();
    check(g_ort->AddCustomOpDomain(options, domain));
  });
}
