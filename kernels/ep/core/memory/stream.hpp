// A device stream with what the kernels enqueued on it share: scratch memory and a BLAS handle. One thread at a time
// enqueues on a stream (ONNX Runtime gives each concurrent Run its own), so nothing here is locked.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/device/device.hpp"
#include "core/memory/pool.hpp"

namespace rk {

class Blas;

class Stream {
 public:
  explicit Stream(int device, std::shared_ptr<Pool> pool = nullptr);  // `pool`: whose memory its work uses
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void* native() const { return native_; }  // hipStream_t; null on the CPU platform
  int device() const { return device_; }
  Blas& blas();
  void begin() { busy_->store(true); }  // before work is enqueued
  void synchronize();
  void finish();  // synchronizes and tells the pool: while nothing is being enqueued

  // Device memory aligned to 256 bytes, valid for work enqueued before the next rewind().
  void* scratch(size_t bytes);
  void rewind();

  // The Stream of a handle that ONNX Runtime passes back. On the CPU platform handles are null: the calling thread's own.
  static Stream& of(void* native);
  static void begin_on(void* native);  // for what enqueues without a Stream; other handles are let pass

 private:
  int device_;
  std::shared_ptr<Pool> pool_;
  std::shared_ptr<std::atomic<bool>> busy_ = std::make_shared<std::atomic<bool>>(false);
  void* native_ = nullptr;
  std::unique_ptr<Blas> blas_;
  std::vector<void*> old_scratch_;  // outgrown scratch that enqueued work may still read
  char* scratch_ = nullptr;
  size_t capacity_ = 0;
  size_t scratch_end_ = 0;
};

}  // namespace rk
