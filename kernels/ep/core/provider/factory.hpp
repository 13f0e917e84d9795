// OrtEpFactory: which devices there are, and what sessions on one of them share.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/device/device.hpp"
#include "core/memory/pool.hpp"
#include "core/ort/ort.hpp"

namespace rk {

// A device that this library has code for, as ONNX Runtime is told of it.
struct Offer {
  device::Properties properties;
  OrtMemoryInfo* memory = nullptr;
  std::shared_ptr<Pool> shared_pool;  // of allocators made outside sessions
};

class Factory : public OrtEpFactory {
 public:
  Factory(std::string name, const OrtLogger* logger);
  ~Factory();
  Factory(const Factory&) = delete;
  Factory& operator=(const Factory&) = delete;

  const Offer& offer(int ordinal) const;
  bool in_use() const { return sessions_ > 0; }
  const OrtKernelRegistry* registry();

 private:
  static Factory* self(OrtEpFactory* base) { return static_cast<Factory*>(base); }
  static const Factory* self(const OrtEpFactory* base) { return static_cast<const Factory*>(base); }
  static OrtStatus* ORT_API_CALL offer_devices(OrtEpFactory* base, const OrtHardwareDevice* const* devices, size_t count,
                                               OrtEpDevice** out, size_t room, size_t* offers) noexcept;
  static OrtStatus* ORT_API_CALL create_ep(OrtEpFactory* base, const OrtHardwareDevice* const* devices,
                                           const OrtKeyValuePairs* const* metadata, size_t count,
                                           const OrtSessionOptions* options, const OrtLogger* logger,
                                           OrtEp** out) noexcept;
  static OrtStatus* ORT_API_CALL create_allocator(OrtEpFactory* base, const OrtMemoryInfo* info,
                                                  const OrtKeyValuePairs* options, OrtAllocator** out) noexcept;
  static OrtStatus* ORT_API_CALL create_stream(OrtEpFactory* base, const OrtMemoryDevice* device,
                                               const OrtKeyValuePairs* options, OrtSyncStreamImpl** out) noexcept;

  OrtEpDevice* offer_device(const device::Properties& properties, const std::vector<const OrtHardwareDevice*>& devices);
  const OrtHardwareDevice* hardware_for(const device::Properties& properties,
                                        const std::vector<const OrtHardwareDevice*>& devices);

  std::string name_;
  const OrtLogger* logger_;
  std::deque<Offer> offers_;  // sessions keep references to its elements
  std::vector<OrtHardwareDevice*> own_devices_;
  std::atomic<int> sessions_{0};
  std::mutex lock_;  // over registry_
  OrtKernelRegistry* registry_ = nullptr;
};

}  // namespace rk
