#include "core/provider/registry.hpp"

#include <cstring>

namespace rk {
namespace {

// ONNX Runtime's view of one Kernel.
class KernelImpl : public OrtKernelImpl {
 public:
  explicit KernelImpl(std::unique_ptr<Kernel> kernel) : OrtKernelImpl{}, kernel_(std::move(kernel)) {
    ort_version_supported = api().version;
    Compute = compute;
    Release = [](OrtKernelImpl* base) noexcept { delete static_cast<KernelImpl*>(base); };
  }

 private:
  static OrtStatus* ORT_API_CALL compute(OrtKernelImpl* base, OrtKernelContext* raw) noexcept {
    return guard([&] {
      Context context(raw);
      static_cast<KernelImpl*>(base)->kernel_->compute(context);
    });
  }

  std::unique_ptr<Kernel> kernel_;
};

OrtStatus* ORT_API_CALL create_kernel(void* state, const OrtKernelInfo* info, OrtKernelImpl** out) noexcept {
  return guard([&] { *out = new KernelImpl(static_cast<const Entry*>(state)->make(Info(info))); });
}

struct BuilderRelease {
  void operator()(OrtKernelDefBuilder* builder) const { api().ep->ReleaseKernelDefBuilder(builder); }
};
struct DefRelease {
  void operator()(OrtKernelDef* definition) const { api().ep->ReleaseKernelDef(definition); }
};

void add_types(OrtKernelDefBuilder* builder, const TypeRule& rule) {
  std::vector<const OrtDataType*> types;
  for (Type type : rule.types) {
    const OrtDataType* data_type = nullptr;
    check(api().ep->GetTensorDataType(type, &data_type));
    types.push_back(data_type);
  }
  check(api().ep->KernelDefBuilder_AddTypeConstraint(builder, rule.name, types.data(), types.size()));
}

void add(OrtKernelRegistry* registry, const char* provider, const Entry& entry) {
  const OrtEpApi& ep = *api().ep;
  OrtKernelDefBuilder* raw = nullptr;
  check(ep.CreateKernelDefBuilder(&raw));
  const std::unique_ptr<OrtKernelDefBuilder, BuilderRelease> builder(raw);
  check(ep.KernelDefBuilder_SetOperatorType(raw, entry.op));
  check(ep.KernelDefBuilder_SetDomain(raw, entry.domain));
  check(ep.KernelDefBuilder_SetSinceVersion(raw, entry.first, entry.last));
  check(ep.KernelDefBuilder_SetExecutionProvider(raw, provider));
  for (const TypeRule& rule : entry.types) add_types(raw, rule);
  for (size_t index : entry.host_inputs) check(ep.KernelDefBuilder_SetInputMemType(raw, index, OrtMemTypeCPUInput));
  for (size_t index : entry.host_outputs) check(ep.KernelDefBuilder_SetOutputMemType(raw, index, OrtMemTypeCPUOutput));
  const int zero = 0;
  if (entry.alias) check(ep.KernelDefBuilder_AddInputOutputAliases(raw, &zero, &zero, 1));
  if (entry.in_place) check(ep.KernelDefBuilder_AddInputOutputMutableAliases(raw, &zero, &zero, 1));
  OrtKernelDef* definition = nullptr;
  check(ep.KernelDefBuilder_Build(raw, &definition));
  const std::unique_ptr<OrtKernelDef, DefRelease> owner(definition);
  check(ep.KernelRegistry_AddKernel(registry, definition, create_kernel, const_cast<Entry*>(&entry)));
}

}  // namespace

OrtKernelRegistry* make_registry(const char* provider) {
  OrtKernelRegistry* registry = nullptr;
  check(api().ep->CreateKernelRegistry(&registry));
  for (const Entry& entry : entries()) {
    try {
      add(registry, provider, entry);
    } catch (const Failure& error) {
      api().ep->ReleaseKernelRegistry(registry);
      fail(std::string("the kernel of ") + entry.op + " could not be registered: " + error.what(), ORT_EP_FAIL);
    }
  }
  return registry;
}

std::string list_kernels() {
  std::string text;
  for (const Entry& entry : entries()) {
    text += std::string(entry.op) + ' ' + (*entry.domain == '\0' ? "-" : entry.domain) + ' ' + std::to_string(entry.first) + ' ' +
            std::to_string(entry.last);
    for (const TypeRule& rule : entry.types) {
      char before = '=';
      text += std::string(1, ' ') + rule.name;
      for (Type type : rule.types) {
        text += before + std::to_string(static_cast<int>(type));
        before = ',';
      }
    }
    text += '\n';
  }
  return text;
}

const Entry* entry_for(const char* domain, const char* op, int since_version) {
  for (const Entry& entry : entries())
    if (std::strcmp(entry.op, op) == 0 && std::strcmp(entry.domain, domain) == 0 && entry.first <= since_version &&
        since_version <= entry.last)
      return &entry;
  return nullptr;
}

}  // namespace rk
