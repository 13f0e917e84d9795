// The library that ONNX Runtime registers. It links neither HIP nor CUDA: the libraries with the kernels lie beside it
// and are opened here, so that on a machine without a GPU runtime registering succeeds, offers no device and says why.
#include <dlfcn.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/ort/ort.hpp"
#include "core/ort/version_gate.hpp"

namespace rk {

Api& api() {
  static Api instance;
  return instance;
}

namespace {

using Create = OrtStatus* (*)(const char*, const OrtApiBase*, const OrtLogger*, OrtEpFactory**, size_t, size_t*);
using Release = OrtStatus* (*)(OrtEpFactory*);

constexpr const char* kDeviceLibraries[] = {"librockernels_ep_hip.so", "librockernels_ep_cuda.so"};

std::mutex lock;  // of what follows

// Why no device library is in use; empty while one is.
std::string& reason() {
  static std::string text;
  return text;
}
bool looked = false;  // whether `reason` says anything yet

std::filesystem::path folder() {
  Dl_info info{};
  static const char anchor = 0;
  if (dladdr(&anchor, &info) == 0 || info.dli_fname == nullptr) return ".";
  return std::filesystem::path(info.dli_fname).parent_path();
}

struct DeviceLibrary {
  Create create = nullptr;
  Release release = nullptr;
};

// The first device library that opens. One that is not there was not built; one that does not open names what it lacks.
DeviceLibrary open_device_library() {
  static DeviceLibrary opened_before;  // a registration more needs no handle more
  if (opened_before.create != nullptr) return opened_before;
  looked = true;
  reason().clear();
  for (const char* name : kDeviceLibraries) {
    const std::filesystem::path path = folder() / name;
    std::error_code unreadable;  // a link to itself, a folder of a server that is gone: dlopen says what
    if (!std::filesystem::exists(path, unreadable) && !unreadable) continue;
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      reason() += std::string(reason().empty() ? "" : "; ") + dlerror();
      continue;
    }
    DeviceLibrary library;
    library.create = reinterpret_cast<Create>(dlsym(handle, "CreateEpFactories"));
    library.release = reinterpret_cast<Release>(dlsym(handle, "ReleaseEpFactory"));
    if (library.create != nullptr && library.release != nullptr) return opened_before = library;
    reason() += std::string(name) + " exports no CreateEpFactories";
  }
  if (reason().empty()) reason() = "no device library lies beside " + folder().string();
  return {};
}

// Offers nothing.
class Declining : public OrtEpFactory {
 public:
  Declining() : OrtEpFactory{} {
    ort_version_supported = api().version;
    GetName = [](const OrtEpFactory*) noexcept { return kName; };
    GetVendor = [](const OrtEpFactory*) noexcept { return "stackbuild"; };
    GetVendorId = [](const OrtEpFactory*) noexcept -> uint32_t { return 0x1002; };
    GetVersion = [](const OrtEpFactory*) noexcept { return kVersion; };
    GetSupportedDevices = [](OrtEpFactory*, const OrtHardwareDevice* const*, size_t, OrtEpDevice**, size_t,
                             size_t* count) noexcept -> OrtStatus* {
      *count = 0;
      return nullptr;
    };
    CreateEp = [](OrtEpFactory*, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t,
                  const OrtSessionOptions*, const OrtLogger*, OrtEp** out) noexcept {
      *out = nullptr;
      return api().ort->CreateStatus(ORT_EP_FAIL, ("RocKernels has no device: " + reason()).c_str());
    };
    ReleaseEp = [](OrtEpFactory*, OrtEp*) noexcept {};
    CreateAllocator = [](OrtEpFactory*, const OrtMemoryInfo*, const OrtKeyValuePairs*, OrtAllocator** out) noexcept
        -> OrtStatus* {
      *out = nullptr;
      return nullptr;
    };
    ReleaseAllocator = [](OrtEpFactory*, OrtAllocator*) noexcept {};
    CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** out) noexcept -> OrtStatus* {
      *out = nullptr;
      return nullptr;
    };
    IsStreamAware = [](const OrtEpFactory*) noexcept { return false; };
  }
};

std::map<OrtEpFactory*, Release>& owners() {
  static std::map<OrtEpFactory*, Release> factories;
  return factories;
}

OrtStatus* release_declining(OrtEpFactory* factory) {
  delete static_cast<Declining*>(factory);
  return nullptr;
}

}  // namespace
}  // namespace rk

#define RK_EXPORT extern "C" __attribute__((visibility("default")))

RK_EXPORT OrtStatus* CreateEpFactories(const char* name, const OrtApiBase* base, const OrtLogger* logger,
                                       OrtEpFactory** factories, size_t room, size_t* count) {
  *count = 0;
  const std::lock_guard<std::mutex> hold(rk::lock);
  if (OrtStatus* refusal = rk::open_api(base, rk::api())) {
    rk::looked = true;
    rk::reason() = base->GetApi(22)->GetErrorMessage(refusal);
    return refusal;
  }
  OrtStatus* status = nullptr;
  OrtStatus* trouble = rk::guard([&] {
    rk::require(room > 0, "ONNX Runtime left no room for a factory");
    const rk::DeviceLibrary library = rk::open_device_library();
    if (library.create == nullptr) {
      rk::report(logger, ORT_LOGGING_LEVEL_WARNING, "RocKernels offers no device: " + rk::reason());
      factories[0] = new rk::Declining;
      *count = 1;
      rk::owners()[factories[0]] = rk::release_declining;
      return;
    }
    status = library.create(name, base, logger, factories, room, count);
    for (size_t i = 0; i < *count; ++i) rk::owners()[factories[i]] = library.release;
  });
  return trouble != nullptr ? trouble : status;
}

RK_EXPORT OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  const std::lock_guard<std::mutex> hold(rk::lock);
  const auto row = rk::owners().find(factory);
  if (row == rk::owners().end()) return nullptr;
  const rk::Release release = row->second;
  rk::owners().erase(row);
  return release(factory);
}

// For people and for the Python package: why there is no device library in use, or "". Looks for one, if nobody has. Valid
// until the calling thread asks again.
RK_EXPORT const char* RocKernelsReason() {
  const std::lock_guard<std::mutex> hold(rk::lock);
  if (!rk::looked) {
    try {
      rk::open_device_library();
    } catch (const std::exception& error) {  // no memory: nobody catches it in the Python that calls this
      rk::reason() = error.what();
    }
  }
  thread_local std::string text;  // the caller's copy: another thread may register meanwhile
  text = rk::reason();
  return text.c_str();
}
