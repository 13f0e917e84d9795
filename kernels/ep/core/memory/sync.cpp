#include "core/memory/sync.hpp"

#include "core/tensor/tensor.hpp"

namespace rk {
namespace {

class Notification : public OrtSyncNotificationImpl {
 public:
  explicit Notification(std::shared_ptr<Stream> stream) : OrtSyncNotificationImpl{}, stream_(std::move(stream)) {
    device::use(stream_->device());  // an event belongs to the device that is current when it is made
    event_ = device::event_create();
    ort_version_supported = api().version;
    Release = [](OrtSyncNotificationImpl* base) noexcept { delete static_cast<Notification*>(base); };
    Activate = activate;
    WaitOnDevice = wait_on_device;
    WaitOnHost = wait_on_host;
  }
  ~Notification() { device::event_destroy(event_); }

 private:
  static OrtStatus* ORT_API_CALL activate(OrtSyncNotificationImpl* base) noexcept {
    auto* self = static_cast<Notification*>(base);
    return guard([&] { device::event_record(self->event_, self->stream_->native()); });
  }
  static OrtStatus* ORT_API_CALL wait_on_device(OrtSyncNotificationImpl* base, OrtSyncStream* consumer) noexcept {
    auto* self = static_cast<Notification*>(base);
    return guard([&] { device::event_wait(self->event_, native_of(consumer)); });
  }
  static OrtStatus* ORT_API_CALL wait_on_host(OrtSyncNotificationImpl* base) noexcept {
    auto* self = static_cast<Notification*>(base);
    return guard([&] { device::event_wait(self->event_, nullptr); });
  }

  std::shared_ptr<Stream> stream_;
  void* event_ = nullptr;
};

bool on_host(const OrtMemoryDevice* device) {
  return api().ep->MemoryDevice_GetDeviceType(device) == OrtMemoryInfoDeviceType_CPU ||
         api().ep->MemoryDevice_GetMemoryType(device) == OrtDeviceMemoryType_HOST_ACCESSIBLE;
}

// The PCI vendor of every device that this build offers (device::Properties::vendor). ONNX Runtime asks the plugins in turn who
// can copy and takes the first: memory of another vendor's is for that one's plugin, as our runtime does not know its addresses.
constexpr uint32_t kVendor =
#if defined(SBK_CUDA_HOST)  // HIP's NVIDIA platform
    0x10DE;
#else
    0x1002;
#endif

bool ours(const OrtMemoryDevice* device) {
  return api().ep->MemoryDevice_GetDeviceType(device) == OrtMemoryInfoDeviceType_GPU &&
         api().ep->MemoryDevice_GetVendorId(device) == kVendor;
}

device::Copy direction(const OrtMemoryDevice* from, const OrtMemoryDevice* to) {
  if (on_host(from)) return device::Copy::to_device;
  return on_host(to) ? device::Copy::to_host : device::Copy::on_device;
}

class DataTransfer : public OrtDataTransferImpl {
 public:
  DataTransfer() : OrtDataTransferImpl{} {
    ort_version_supported = api().version;
    Release = [](OrtDataTransferImpl* base) noexcept { delete static_cast<DataTransfer*>(base); };
    CanCopy = can_copy;
    CopyTensors = copy_tensors;
  }

 private:
  static bool ORT_API_CALL can_copy(const OrtDataTransferImpl*, const OrtMemoryDevice* from,
                                    const OrtMemoryDevice* to) noexcept {
    return (ours(from) && (on_host(to) || ours(to))) || (on_host(from) && ours(to));
  }

  static OrtStatus* ORT_API_CALL copy_tensors(OrtDataTransferImpl*, const OrtValue** sources, OrtValue** targets,
                                              OrtSyncStream** streams, size_t count) noexcept {
    return guard([&] {
      for (size_t i = 0; i < count; ++i)
        copy_one(sources[i], targets[i], streams == nullptr ? nullptr : streams[i]);
    });
  }

  static void copy_one(const OrtValue* source, OrtValue* target, OrtSyncStream* stream) {
    const Tensor from = view(source);
    const Tensor to = view_mutable(target);
    const OrtMemoryDevice* from_device = api().ep->Value_GetMemoryDevice(source);
    const OrtMemoryDevice* to_device = api().ep->Value_GetMemoryDevice(target);
    const OrtMemoryDevice* on = on_host(from_device) ? to_device : from_device;
    device::use(static_cast<int>(api().ep->MemoryDevice_GetDeviceId(on)));
    void* native = stream == nullptr ? nullptr : native_of(stream);
    Stream::begin_on(native);
    device::copy(to.data, from.data, static_cast<size_t>(from.bytes()), direction(from_device, to_device), native);
  }
};

}  // namespace

SyncStream::SyncStream(std::shared_ptr<Stream> stream) : OrtSyncStreamImpl{}, stream_(std::move(stream)) {
  ort_version_supported = api().version;
  Release = release;
  GetHandle = handle;
  CreateNotification = notification;
  Flush = flush;
  OnSessionRunEnd = run_ended;
}

void SyncStream::release(OrtSyncStreamImpl* base) noexcept { delete self(base); }
void* SyncStream::handle(OrtSyncStreamImpl* base) noexcept { return self(base)->stream_->native(); }

OrtStatus* SyncStream::notification(OrtSyncStreamImpl* base, OrtSyncNotificationImpl** out) noexcept {
  return guard([&] { *out = new Notification(self(base)->stream_); });
}

OrtStatus* SyncStream::flush(OrtSyncStreamImpl* base) noexcept {
  return guard([&] {
    Stream& stream = *self(base)->stream_;
    // While a graph is captured nothing has run that could be waited for; the provider waits after launching it.
    if (device::stream_capturing(stream.native())) return;
    stream.finish();
  });
}

OrtStatus* SyncStream::run_ended(OrtSyncStreamImpl*) noexcept { return nullptr; }

void* native_of(const OrtSyncStream* stream) {
  return api().ort->SyncStream_GetHandle(const_cast<OrtSyncStream*>(stream));
}

OrtDataTransferImpl* make_data_transfer() { return new DataTransfer; }

}  // namespace rk
