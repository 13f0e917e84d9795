// The two functions ONNX Runtime looks for. In the shipped package the loader (loader/loader.cpp) calls them.
#include <memory>

#include "core/ort/version_gate.hpp"
#include "core/provider/factory.hpp"
#include "core/provider/registry.hpp"

extern "C" __attribute__((visibility("default"))) OrtStatus* CreateEpFactories(
    const char* registered_name, const OrtApiBase* base, const OrtLogger* logger, OrtEpFactory** factories, size_t room,
    size_t* count) {
  *count = 0;
  if (OrtStatus* refusal = rk::open_api(base, rk::api())) return refusal;
  return rk::guard([&] {
    rk::require(room > 0, "ONNX Runtime left no room for a factory");
    (void)registered_name;
    factories[0] = new rk::Factory(rk::kName, logger);
    *count = 1;
  });
}

extern "C" __attribute__((visibility("default"))) OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  const auto* ours = static_cast<rk::Factory*>(factory);
  // ONNX Runtime lets a library be unregistered under a running session, which goes on calling into it: that factory stays.
  if (!ours->in_use()) delete ours;
  return nullptr;
}

// For the checks: every kernel there is, a line each (registry.hpp).
extern "C" __attribute__((visibility("default"))) const char* RocKernelsKernels() {
  static const std::string text = rk::list_kernels();
  return text.c_str();
}
