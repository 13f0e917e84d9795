// OrtSyncStreamImpl, OrtSyncNotificationImpl and OrtDataTransferImpl.
#pragma once

#include <memory>

#include "core/memory/stream.hpp"
#include "core/ort/ort.hpp"

namespace rk {

class SyncStream : public OrtSyncStreamImpl {
 public:
  explicit SyncStream(std::shared_ptr<Stream> stream);
  Stream& stream() { return *stream_; }

 private:
  static SyncStream* self(OrtSyncStreamImpl* base) { return static_cast<SyncStream*>(base); }
  static void ORT_API_CALL release(OrtSyncStreamImpl* base) noexcept;
  static void* ORT_API_CALL handle(OrtSyncStreamImpl* base) noexcept;
  static OrtStatus* ORT_API_CALL notification(OrtSyncStreamImpl* base, OrtSyncNotificationImpl** out) noexcept;
  static OrtStatus* ORT_API_CALL flush(OrtSyncStreamImpl* base) noexcept;
  static OrtStatus* ORT_API_CALL run_ended(OrtSyncStreamImpl* base) noexcept;

  std::shared_ptr<Stream> stream_;
};

// The hipStream_t behind one of our streams; null for one that ONNX Runtime made for itself (the "root stream" to which 1.24 to
// 1.28 charge the memory of a whole run: it has no implementation to ask).
void* native_of(const OrtSyncStream* stream);

OrtDataTransferImpl* make_data_transfer();

}  // namespace rk
