// OrtSyncStreamImpl, OrtSyncNotificationImpl and OrtDataTransferImpl.
#pragma once

#include <memory>

#include "core/pool.hpp"
#include "core/stream.hpp"
#include "core/ort.hpp"

namespace rk {

class SyncStream : public OrtSyncStreamImpl {
 public:
  // `pool`, where given, is told when the stream has been waited for.
  SyncStream(std::shared_ptr<Stream> stream, std::shared_ptr<Pool> pool);
  ~SyncStream();
  Stream& stream() { return *stream_; }

 private:
  static SyncStream* self(OrtSyncStreamImpl* base) { return static_cast<SyncStream*>(base); }
  static void ORT_API_CALL release(OrtSyncStreamImpl* base) noexcept;
  static void* ORT_API_CALL handle(OrtSyncStreamImpl* base) noexcept;
  static OrtStatus* ORT_API_CALL notification(OrtSyncStreamImpl* base, OrtSyncNotificationImpl** out) noexcept;
  static OrtStatus* ORT_API_CALL flush(OrtSyncStreamImpl* base) noexcept;
  static OrtStatus* ORT_API_CALL run_ended(OrtSyncStreamImpl* base) noexcept;

  std::shared_ptr<Stream> stream_;
  std::shared_ptr<Pool> pool_;
};

void* native_of(const OrtSyncStream* stream);  // the hipStream_t behind one of our streams

OrtDataTransferImpl* make_data_transfer();

}  // namespace rk
