// A device stream with what the kernels enqueued on it share: scratch memory and a BLAS handle. One thread at a time
// enqueues on a stream (ONNX Runtime gives each concurrent Run its own), so nothing here is locked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/device.hpp"

namespace rk {

class Blas;

class Stream {
 public:
  explicit Stream(int device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void* native() const { return native_; }  // hipStream_t; null on the CPU platform
  int device() const { return device_; }
  Blas& blas();
  void synchronize();

  // Device memory aligned to 256 bytes, valid for work enqueued before the next rewind().
  void* scratch(size_t bytes);
  void rewind();

  // The Stream of a handle that ONNX Runtime passes back. On the CPU platform handles are null: the calling thread's own.
  static Stream& of(void* native);

 private:
  int device_;
  void* native_ = nullptr;
  std::unique_ptr<Blas> blas_;
  std::vector<void*> retired_;  // outgrown scratch that enqueued work may still read
  char* scratch_ = nullptr;
  size_t capacity_ = 0;
  size_t used_ = 0;
};

}  // namespace rk
