// ONNX Runtime's C API as this provider uses it: one table of pointers, and errors that become exceptions inside and
// OrtStatus again at the boundary. Nothing of ONNX Runtime is linked: the table comes from CreateEpFactories' argument.
#pragma once

#include <onnxruntime_c_api.h>

#include <stdexcept>
#include <string>

#include "common/status.hpp"

namespace rk {

// The kernel registry of a plugin execution provider exists since API version 24 (ONNX Runtime 1.24).
constexpr uint32_t kLeastApi = 24;

struct Api {
  const OrtApi* ort = nullptr;
  const OrtEpApi* ep = nullptr;
  uint32_t version = 0;  // min(of the running ONNX Runtime, of the headers built against)
};

Api& api();  // set once, by the first registration (version_gate.hpp); read without a lock after it

struct Failure : std::runtime_error {
  OrtErrorCode code;
  Failure(OrtErrorCode code_, const std::string& what) : std::runtime_error(what), code(code_) {}
};

[[noreturn]] inline void fail(const std::string& what, OrtErrorCode code = ORT_INVALID_ARGUMENT) {
  throw Failure(code, what);
}

inline void require(bool condition, const char* what) {
  if (!condition) fail(what);
}

// Throws what an OrtStatus says, and releases it.
inline void check(OrtStatus* status) {
  if (status == nullptr) return;
  const OrtErrorCode code = api().ort->GetErrorCode(status);
  const std::string what = api().ort->GetErrorMessage(status);
  api().ort->ReleaseStatus(status);
  throw Failure(code, what);
}

inline void check(const sbk::Status& status) {
  if (!status.ok()) fail(status.what, status.code == sbk::Code::device_error ? ORT_EP_FAIL : ORT_INVALID_ARGUMENT);
}

// Runs `work` and turns every exception into an OrtStatus: no exception may cross into ONNX Runtime.
template <class Work>
OrtStatus* guard(Work&& work) noexcept {
  try {
    work();
    return nullptr;
  } catch (const Failure& error) {
    return api().ort->CreateStatus(error.code, error.what());
  } catch (const std::exception& error) {
    return api().ort->CreateStatus(ORT_EP_FAIL, error.what());
  }
}

inline void report(const OrtLogger* logger, OrtLoggingLevel level, const std::string& message) {
  if (logger == nullptr) return;
  OrtStatus* status = api().ort->Logger_LogMessage(logger, level, message.c_str(), ORT_FILE, __LINE__, "rockernels");
  if (status != nullptr) api().ort->ReleaseStatus(status);
}

}  // namespace rk
