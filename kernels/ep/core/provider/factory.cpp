#include "core/provider/factory.hpp"

#include <algorithm>
#include <cstring>

#include "core/memory/allocator.hpp"
#include "core/memory/sync.hpp"
#include "core/ort/parse_number.hpp"
#include "core/ort/version_gate.hpp"
#include "core/provider/ep.hpp"
#include "core/provider/registry.hpp"

namespace rk {
namespace {

constexpr const char* kOrdinal = "rockernels_ordinal";

std::string hexadecimal(uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%04X", value);
  return text;
}

class Pairs {
 public:
  Pairs() { api().ort->CreateKeyValuePairs(&pairs_); }
  ~Pairs() { api().ort->ReleaseKeyValuePairs(pairs_); }
  void add(const char* key, const std::string& value) { api().ort->AddKeyValuePair(pairs_, key, value.c_str()); }
  const OrtKeyValuePairs* get() const { return pairs_; }

 private:
  OrtKeyValuePairs* pairs_ = nullptr;
};

bool same_bus(const char* a, const std::string& b) {
  return a != nullptr && strcasecmp(a, b.c_str()) == 0;
}

}  // namespace

Factory::Factory(std::string name, const OrtLogger* logger)
    : OrtEpFactory{}, name_(std::move(name)), logger_(logger) {
  ort_version_supported = api().version;
  GetName = [](const OrtEpFactory* base) noexcept { return self(base)->name_.c_str(); };
  GetVendor = [](const OrtEpFactory*) noexcept { return "stackbuild"; };
  GetVendorId = [](const OrtEpFactory*) noexcept -> uint32_t { return device::kIsCpu ? 0 : 0x1002; };
  GetVersion = [](const OrtEpFactory*) noexcept { return kVersion; };
  GetSupportedDevices = offer_devices;
  CreateEp = create_ep;
  ReleaseEp = [](OrtEpFactory* base, OrtEp* ep) noexcept {
    delete static_cast<Ep*>(ep);
    --self(base)->sessions_;
  };
  CreateAllocator = create_allocator;
  ReleaseAllocator = [](OrtEpFactory*, OrtAllocator* allocator) noexcept { delete static_cast<Allocator*>(allocator); };
  CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** out) noexcept {
    return guard([&] { *out = device::kIsCpu ? nullptr : make_data_transfer(); });
  };
  IsStreamAware = [](const OrtEpFactory*) noexcept { return !device::kIsCpu; };
  CreateSyncStreamForDevice = create_stream;
}

Factory::~Factory() {
  for (OrtHardwareDevice* entry : own_devices_) api().ep->ReleaseHardwareDevice(entry);
  for (Offer& offer : offers_) api().ort->ReleaseMemoryInfo(offer.memory);
  if (registry_ != nullptr) api().ep->ReleaseKernelRegistry(registry_);
}

const Offer& Factory::offer(int ordinal) const {
  for (const Offer& offer : offers_)
    if (offer.properties.ordinal == ordinal) return offer;
  fail("RocKernels was never offered device " + std::to_string(ordinal));
}

const OrtKernelRegistry* Factory::registry() {
  const std::lock_guard<std::mutex> hold(lock_);  // sessions may be made on several threads
  if (registry_ == nullptr) registry_ = make_registry(name_.c_str());
  return registry_;
}

// ONNX Runtime's own entry for the device, found by its PCI bus id, or by vendor where there is one device of it. Where
// its discovery found none (a container without /sys/class/drm), an entry is made: that the device is a real GPU was
// established from the runtime (hipGetDeviceProperties, and a kernel of ours loads on it), not from the entry.
const OrtHardwareDevice* Factory::hardware_for(const device::Properties& properties,
                                               const std::vector<const OrtHardwareDevice*>& devices) {
  const OrtHardwareDeviceType type = device::kIsCpu ? OrtHardwareDeviceType_CPU : OrtHardwareDeviceType_GPU;
  std::vector<const OrtHardwareDevice*> alike;
  for (const OrtHardwareDevice* hardware : devices) {
    if (api().ort->HardwareDevice_Type(hardware) != type) continue;
    if (!device::kIsCpu && api().ort->HardwareDevice_VendorId(hardware) != properties.vendor) continue;
    const char* bus = api().ort->GetKeyValue(api().ort->HardwareDevice_Metadata(hardware), "pci_bus_id");
    if (same_bus(bus, properties.pci_bus)) return hardware;
    alike.push_back(hardware);
  }
  if (alike.size() == 1 && properties.ordinal == 0) return alike[0];
  if (device::kIsCpu) fail("ONNX Runtime names no CPU device");
  Pairs metadata;
  metadata.add("name", properties.name);
  if (!properties.pci_bus.empty()) metadata.add("pci_bus_id", properties.pci_bus);
  metadata.add("Discovered by", "HIP runtime");
  OrtHardwareDevice* entry = nullptr;
  check(api().ep->CreateHardwareDevice(type, properties.vendor, properties.pci_device, properties.vendor_name.c_str(),
                                       metadata.get(), &entry));
  own_devices_.push_back(entry);
  return entry;
}

OrtEpDevice* Factory::offer_device(const device::Properties& properties,
                                   const std::vector<const OrtHardwareDevice*>& devices) {
  const OrtHardwareDevice* hardware = hardware_for(properties, devices);
  Offer offer;
  offer.properties = properties;
  offer.shared_pool = std::make_shared<Pool>(properties.ordinal);
  check(api().ort->CreateMemoryInfo_V2(
      "RocKernels", device::kIsCpu ? OrtMemoryInfoDeviceType_CPU : OrtMemoryInfoDeviceType_GPU, properties.vendor,
      properties.ordinal, OrtDeviceMemoryType_DEFAULT, 0, OrtDeviceAllocator, &offer.memory));
  offers_.push_back(offer);
  Pairs metadata;
  metadata.add(kOrdinal, std::to_string(properties.ordinal));
  metadata.add("target", properties.target);
  metadata.add("device", properties.name);
  metadata.add("built for", device::compiled_for());
  OrtEpDevice* ep_device = nullptr;
  check(api().ep->CreateEpDevice(this, hardware, metadata.get(), nullptr, &ep_device));
  check(api().ep->EpDevice_AddAllocatorInfo(ep_device, offer.memory));
  return ep_device;
}

OrtStatus* Factory::offer_devices(OrtEpFactory* base, const OrtHardwareDevice* const* devices, size_t count,
                                  OrtEpDevice** out, size_t room, size_t* offers) noexcept {
  *offers = 0;
  return guard([&] {
    Factory& factory = *self(base);
    std::vector<device::Properties> all;
    try {
      all = device::list();
    } catch (const Failure& error) {
      return report(factory.logger_, ORT_LOGGING_LEVEL_WARNING,
                 std::string("RocKernels offers no device: the runtime does not answer: ") + error.what());
    }
    if (all.empty()) report(factory.logger_, ORT_LOGGING_LEVEL_WARNING, "RocKernels offers no device: the runtime sees none");
    const std::vector<const OrtHardwareDevice*> hardware(devices, devices + count);
    size_t beyond = 0;
    for (const device::Properties& properties : all) {
      if (!properties.trouble.empty()) {
        report(factory.logger_, ORT_LOGGING_LEVEL_WARNING,
               "RocKernels does not offer device " + std::to_string(properties.ordinal) + ": " + properties.trouble);
        continue;
      }
      if (!properties.has_code) {
        report(factory.logger_, ORT_LOGGING_LEVEL_WARNING,
            "RocKernels does not offer " + properties.name + " (vendor " + hexadecimal(properties.vendor) + ", " +
                properties.target + "): this build has code objects for " + device::compiled_for());
        continue;
      }
      if (*offers == room) ++beyond;
      else out[(*offers)++] = factory.offer_device(properties, hardware);
    }
    if (beyond > 0) {
      report(factory.logger_, ORT_LOGGING_LEVEL_WARNING,
             "RocKernels offers the first " + std::to_string(room) + " devices and not the " + std::to_string(beyond) +
                 " behind them: ONNX Runtime takes no more of one provider. HIP_VISIBLE_DEVICES (NVIDIA: CUDA_VISIBLE_DEVICES) says which a process sees");
    }
  });
}

OrtStatus* Factory::create_ep(OrtEpFactory* base, const OrtHardwareDevice* const*,
                              const OrtKeyValuePairs* const* metadata, size_t count, const OrtSessionOptions* options,
                              const OrtLogger* logger, OrtEp** out) noexcept {
  return guard([&] {
    if (count != 1) fail("RocKernels runs a session on one device; give it one, not " + std::to_string(count));
    const char* ordinal = api().ort->GetKeyValue(metadata[0], kOrdinal);
    require(ordinal != nullptr, "the device given to RocKernels is not one it offered");
    Factory& factory = *self(base);
    *out = new Ep(factory, factory.offer(leading_number(ordinal)), Options::read(options, factory.name_), logger);
    ++factory.sessions_;
  });
}

OrtStatus* Factory::create_allocator(OrtEpFactory* base, const OrtMemoryInfo* info, const OrtKeyValuePairs*,
                                     OrtAllocator** out) noexcept {
  return guard([&] {
    const OrtMemoryDevice* memory_device = api().ep->MemoryInfo_GetMemoryDevice(info);
    const Offer& offer = self(base)->offer(static_cast<int>(api().ep->MemoryDevice_GetDeviceId(memory_device)));
    *out = new Allocator(offer.shared_pool, offer.memory);
  });
}

OrtStatus* Factory::create_stream(OrtEpFactory* base, const OrtMemoryDevice* memory_device, const OrtKeyValuePairs*,
                                  OrtSyncStreamImpl** out) noexcept {
  return guard([&] {
    *out = nullptr;
    if (device::kIsCpu) return;
    const Offer& offer = self(base)->offer(static_cast<int>(api().ep->MemoryDevice_GetDeviceId(memory_device)));
    *out = new SyncStream(std::make_shared<Stream>(offer.properties.ordinal, offer.shared_pool));
  });
}

}  // namespace rk
