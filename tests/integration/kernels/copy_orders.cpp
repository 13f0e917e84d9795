// Whose memory the provider says that it can copy, beside other vendors' plugins. Built once for each platform; prints what does not hold.
#include "core/memory/sync.hpp"
#include "core/tensor/tensor.hpp"

#include <cstdio>
#include <cstdlib>

struct OrtMemoryDevice {  // opaque in ONNX Runtime's headers: the table below is all that reads it
  OrtMemoryInfoDeviceType type;
  uint32_t vendor;
  OrtDeviceMemoryType memory;
};

namespace rk {
Api& api() {
  static Api instance;
  return instance;
}
// What sync.cpp calls and no question about memory leads to.
Tensor view(const OrtValue*) { std::abort(); }
Tensor view_mutable(OrtValue*) { std::abort(); }
void Stream::begin_on(void*) { std::abort(); }
void Stream::finish() { std::abort(); }
namespace device {
void use(int) { std::abort(); }
void copy(void*, const void*, size_t, Copy, void*) { std::abort(); }
bool stream_capturing(void*) { std::abort(); }
void* event_create() { std::abort(); }
void event_destroy(void*) { std::abort(); }
void event_record(void*, void*) { std::abort(); }
void event_wait(void*, void*) { std::abort(); }
}  // namespace device
}  // namespace rk

int main() {
  OrtEpApi table{};
  table.MemoryDevice_GetDeviceType = [](const OrtMemoryDevice* device) noexcept { return device->type; };
  table.MemoryDevice_GetVendorId = [](const OrtMemoryDevice* device) noexcept { return device->vendor; };
  table.MemoryDevice_GetMemoryType = [](const OrtMemoryDevice* device) noexcept { return device->memory; };
  rk::api().ep = &table;

  constexpr uint32_t kAmd = 0x1002, kNvidia = 0x10DE, kIntel = 0x8086;
  const auto gpu = [](uint32_t vendor) { return OrtMemoryDevice{OrtMemoryInfoDeviceType_GPU, vendor, OrtDeviceMemoryType_DEFAULT}; };
  const OrtMemoryDevice ours = gpu(BUILT_FOR), nvidia = gpu(kNvidia), amd = gpu(kAmd), intel = gpu(kIntel);
  const OrtMemoryDevice& others = BUILT_FOR == kAmd ? nvidia : amd;
  const OrtMemoryDevice host{OrtMemoryInfoDeviceType_CPU, 0, OrtDeviceMemoryType_DEFAULT};
  const OrtMemoryDevice pinned{OrtMemoryInfoDeviceType_GPU, BUILT_FOR, OrtDeviceMemoryType_HOST_ACCESSIBLE};

  OrtDataTransferImpl* copies = rk::make_data_transfer();
  int wrong = 0;
  const auto expect = [&](bool can, const OrtMemoryDevice& from, const OrtMemoryDevice& to, const char* what) {
    if (copies->CanCopy(copies, &from, &to) == can) return;
    std::printf("%s: not %s\n", what, can ? "taken" : "left to another");
    ++wrong;
  };
  expect(true, host, ours, "host to ours");
  expect(true, ours, host, "ours to host");
  expect(true, ours, ours, "ours to ours");
  expect(true, pinned, ours, "pinned to ours");
  for (const OrtMemoryDevice* foreign : {&others, &intel}) {
    expect(false, host, *foreign, "host to foreign");
    expect(false, *foreign, host, "foreign to host");
    expect(false, *foreign, ours, "foreign to ours");
    expect(false, ours, *foreign, "ours to foreign");
    expect(false, *foreign, *foreign, "foreign to foreign");
  }
  expect(false, host, host, "host to host");
  copies->Release(copies);
  if (wrong == 0) std::puts("all hold");
  return wrong == 0 ? 0 : 1;
}
