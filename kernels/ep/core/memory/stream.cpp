#include "core/memory/stream.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "core/device/blas.hpp"
#include "core/ort/ort.hpp"

namespace rk {
namespace {

constexpr size_t kAlignment = 256;
constexpr size_t kLeastScratch = size_t{1} << 20;

std::mutex registry_lock;
std::map<void*, Stream*>& registry() {
  static std::map<void*, Stream*> streams;
  return streams;
}

}  // namespace

Stream::Stream(int device, std::shared_ptr<Pool> pool) : device_(device), pool_(std::move(pool)) {
  device::use(device);
  native_ = device::stream_create();
  if (native_ == nullptr) return;
  if (pool_) pool_->know(native_, busy_);
  const std::lock_guard<std::mutex> hold(registry_lock);
  registry()[native_] = this;
}

Stream::~Stream() {
  if (native_ != nullptr) {
    const std::lock_guard<std::mutex> hold(registry_lock);
    registry().erase(native_);
  }
  blas_.reset();
  if (pool_ && native_ != nullptr) {
    try {
      device::stream_wait(native_);
    } catch (const Failure&) {  // the device is gone, and with it what the blocks were kept for
    }
    pool_->forget(native_);
  }
  if (native_ != nullptr) device::stream_destroy(native_);
  for (void* pointer : old_scratch_) device::release(pointer);
  device::release(scratch_);
}

Blas& Stream::blas() {
  if (!blas_) blas_ = std::make_unique<Blas>(native_);
  return *blas_;
}

void Stream::synchronize() { device::stream_wait(native_); }

void Stream::finish() {
  synchronize();
  busy_->store(false);
  if (pool_ && native_ != nullptr) pool_->idle(native_);
}

void* Stream::scratch(size_t bytes) {
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (scratch_end_ + bytes > capacity_) {
    // What was handed out before stays alive: work that reads it may be enqueued already, or captured in a graph.
    if (scratch_ != nullptr) old_scratch_.push_back(scratch_);
    capacity_ = std::max({bytes, 2 * capacity_, kLeastScratch});
    scratch_end_ = 0;
    scratch_ = static_cast<char*>(device::allocate(capacity_));
    if (scratch_ == nullptr) scratch_ = static_cast<char*>(device::allocate(capacity_ = bytes));
    if (scratch_ == nullptr) {
      capacity_ = 0;
      fail("no device memory left for " + std::to_string(bytes) + " bytes of scratch", ORT_FAIL);
    }
  }
  void* pointer = scratch_ + scratch_end_;
  scratch_end_ += bytes;
  return pointer;
}

void Stream::rewind() { scratch_end_ = 0; }

void Stream::begin_on(void* native) {
  const std::lock_guard<std::mutex> hold(registry_lock);
  const auto row = registry().find(native);
  if (row != registry().end()) row->second->begin();
}

Stream& Stream::of(void* native) {
  if (native == nullptr) {
    if (!device::kIsCpu) fail("a kernel was given no stream; its inputs are others' work to wait for", ORT_EP_FAIL);
    static thread_local Stream own(0);
    return own;
  }
  const std::lock_guard<std::mutex> hold(registry_lock);
  const auto row = registry().find(native);
  if (row == registry().end()) fail("a kernel was given a stream that rockernels did not make", ORT_EP_FAIL);
  return *row->second;
}

}  // namespace rk
