// OrtAllocator over a Pool.
#pragma once

#include <memory>

#include "core/memory/pool.hpp"
#include "core/ort/ort.hpp"

namespace rk {

class Allocator : public OrtAllocator {
 public:
  Allocator(std::shared_ptr<Pool> pool, const OrtMemoryInfo* info);  // `info` outlives the allocator

 private:
  static Allocator* self(OrtAllocator* base) { return static_cast<Allocator*>(base); }
  static void* ORT_API_CALL allocate(OrtAllocator* base, size_t bytes);
  static void* ORT_API_CALL allocate_on(OrtAllocator* base, size_t bytes, OrtSyncStream* stream);
  static void ORT_API_CALL release(OrtAllocator* base, void* pointer);
  static const OrtMemoryInfo* ORT_API_CALL describe(const OrtAllocator* base);
  static OrtStatus* ORT_API_CALL statistics(const OrtAllocator* base, OrtKeyValuePairs** out) noexcept;
  static OrtStatus* ORT_API_CALL shrink(OrtAllocator* base) noexcept;

  std::shared_ptr<Pool> pool_;
  const OrtMemoryInfo* info_;
};

}  // namespace rk
