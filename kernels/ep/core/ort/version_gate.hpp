// The version gate: what happens where ONNX Runtime is too old for a kernel-registry plugin.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "core/ort/ort.hpp"
#include "core/ort/parse_number.hpp"

namespace rk {

#if RK_CPU
constexpr const char* kName = "RocKernelsCpuTestExecutionProvider";
#else
constexpr const char* kName = "RocKernelsExecutionProvider";
#endif
constexpr const char* kVersion = RK_VERSION;

inline std::string too_old(const std::string& version_text) {
  return std::string("RocKernels ") + kVersion + " needs ONNX Runtime 1." + std::to_string(kLeastApi) +
         " or newer (its kernel-registry plugin API); this is " + version_text +
         ". Next: pip install --upgrade 'onnxruntime>=1." + std::to_string(kLeastApi) + "'";
}

inline std::string lost_api(const std::string& version_text, uint32_t version) {
  return std::string("RocKernels ") + kVersion + " was built for version " + std::to_string(version) +
         " of ONNX Runtime's API, which ONNX Runtime " + version_text + " no longer has. Next: install a newer onnxruntime-ep-rockernels";
}

// The newest API version that a release has: 1.x has x; a later major release more than any header known here.
inline uint32_t api_of(const std::string& release) {
  const size_t dot = release.find('.');
  if (leading_number<uint32_t>(release) > 1) return UINT32_MAX;
  return dot == std::string::npos ? 0 : leading_number<uint32_t>(std::string_view(release).substr(dot + 1));
}

// Fills `table` at the first registration, or answers the refusal. The refusal is made with the oldest API that plugins ever had, 22, which every
// ONNX Runtime that can call CreateEpFactories has.
inline OrtStatus* open_api(const OrtApiBase* base, Api& table) {
  const std::string version_text = base->GetVersionString();
  const uint32_t version = api_of(version_text);
  if (version < kLeastApi) return base->GetApi(22)->CreateStatus(ORT_NOT_IMPLEMENTED, too_old(version_text).c_str());
  Api candidate;
  candidate.version = version < ORT_API_VERSION ? version : ORT_API_VERSION;
  candidate.ort = base->GetApi(candidate.version);
  if (candidate.ort == nullptr) return base->GetApi(22)->CreateStatus(ORT_NOT_IMPLEMENTED, lost_api(version_text, candidate.version).c_str());
  candidate.ep = candidate.ort->GetEpApi();
  static std::mutex lock;  // registrations may come from several threads
  const std::lock_guard<std::mutex> hold(lock);
  if (table.ort != nullptr && table.ort != candidate.ort)
    return candidate.ort->CreateStatus(ORT_NOT_IMPLEMENTED, "RocKernels serves another ONNX Runtime of this process already, and one is all it "
                                                         "takes. Next: register it in one of the two");
  if (table.ort == nullptr) table = candidate;
  return nullptr;
}

}  // namespace rk
