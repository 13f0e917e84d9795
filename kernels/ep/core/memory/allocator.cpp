#include "core/memory/allocator.hpp"

#include "core/memory/sync.hpp"

namespace rk {

Allocator::Allocator(std::shared_ptr<Pool> pool, const OrtMemoryInfo* info)
    : OrtAllocator{}, pool_(std::move(pool)), info_(info) {
  version = api().version;
  Alloc = allocate;
  Free = release;
  Info = describe;
  Reserve = allocate;
  GetStats = statistics;
  AllocOnStream = allocate_on;
  Shrink = shrink;
}

void* Allocator::allocate(OrtAllocator* base, size_t bytes) { return allocate_on(base, bytes, nullptr); }

void* Allocator::allocate_on(OrtAllocator* base, size_t bytes, OrtSyncStream* stream) {
  try {
    return self(base)->pool_->allocate(bytes, stream == nullptr ? nullptr : native_of(stream));
  } catch (const std::exception&) {  // the device does not answer; no exception may cross into ONNX Runtime
    return nullptr;
  }
}

void Allocator::release(OrtAllocator* base, void* pointer) { self(base)->pool_->release(pointer); }

const OrtMemoryInfo* Allocator::describe(const OrtAllocator* base) {
  return static_cast<const Allocator*>(base)->info_;
}

OrtStatus* Allocator::statistics(const OrtAllocator* base, OrtKeyValuePairs** out) noexcept {
  return guard([&] {
    const PoolStats stats = static_cast<const Allocator*>(base)->pool_->stats();
    OrtKeyValuePairs* pairs = nullptr;
    api().ort->CreateKeyValuePairs(&pairs);
    const auto add = [&](const char* key, size_t value) {
      api().ort->AddKeyValuePair(pairs, key, std::to_string(value).c_str());
    };
    api().ort->AddKeyValuePair(pairs, "Limit", "-1");
    add("InUse", stats.in_use);
    add("MaxInUse", stats.most_in_use);
    add("TotalAllocated", stats.reserved_bytes);
    add("MaxAllocSize", stats.largest);
    add("NumAllocs", stats.allocations);
    add("NumArenaExtensions", stats.slabs);
    *out = pairs;
  });
}

OrtStatus* Allocator::shrink(OrtAllocator* base) noexcept {
  return guard([&] { self(base)->pool_->shrink(); });
}

}  // namespace rk
