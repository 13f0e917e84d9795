#include "core/memory/pool.hpp"

#include <algorithm>

#include "core/device/device.hpp"

namespace rk {
namespace {

constexpr size_t kAlignment = 256;
constexpr size_t kSlab = size_t{8} << 20;
constexpr size_t kSlabStep = size_t{2} << 20;
constexpr size_t kLeastHeldBack = 4 * kSlab;  // what may wait for streams before the host does, however little a session uses

char kAnyStream = 0;  // its address is the mark of a free block that any stream may still work on
void* const kAny = &kAnyStream;

size_t round_up(size_t value, size_t step) { return (value + step - 1) / step * step; }

}  // namespace

Pool::~Pool() {
  for (Block* block : slabs_) {
    device::release(block->start);
    while (block != nullptr) {
      Block* next = block->after;
      delete block;
      block = next;
    }
  }
}

void* Pool::allocate(size_t bytes, void* stream) {
  if (bytes == 0 || bytes > PTRDIFF_MAX) return nullptr;
  bytes = round_up(bytes, kAlignment);
  const std::lock_guard<std::mutex> hold(lock_);
  Block* block = fitting(bytes, stream);
  if (block == nullptr && too_much_waits(stream)) {
    wait_for_streams();
    block = fitting(bytes, stream);
  }
  if (block == nullptr) block = grow(bytes);
  if (block == nullptr) {
    wait_for_streams();
    block = fitting(bytes, stream);
  }
  if (block == nullptr) {
    give_back_unused();
    block = grow(bytes);
  }
  if (block == nullptr) return nullptr;
  split(block, bytes);
  const auto [entry, is_new] = in_use_.try_emplace(block->start);  // the last that may throw: the block is still a free one
  (void)is_new;
  entry->second = free_.extract(block);
  block->free = false;
  block->stream = stream;
  stats_.in_use += block->size;
  stats_.most_in_use = std::max(stats_.most_in_use, stats_.in_use);
  stats_.largest = std::max(stats_.largest, block->size);
  ++stats_.allocations;
  return block->start;
}

void Pool::release(void* pointer) noexcept {
  if (pointer == nullptr) return;
  const std::lock_guard<std::mutex> hold(lock_);
  const auto entry = in_use_.find(pointer);
  if (entry == in_use_.end()) return;
  Free::node_type node = std::move(entry->second);
  in_use_.erase(entry);
  Block* block = node.value();
  stats_.in_use -= block->size;
  block->free = true;
  block->free_time = ++clock_;
  if (block->stream == nullptr) {
    block->stream = kAny;
    if (is_settled(block)) block->stream = nullptr;
  } else if (const auto row = streams_.find(block->stream); row != streams_.end() && !row->second.busy->load()) {
    block->stream = nullptr;
  }
  node.value() = settle(block);
  free_.insert(std::move(node));
}

void Pool::know(void* stream, Busy busy) {
  const std::lock_guard<std::mutex> hold(lock_);
  streams_[stream] = StreamState{std::move(busy), ++clock_};
}

void Pool::idle(void* stream) noexcept {
  const std::lock_guard<std::mutex> hold(lock_);
  if (const auto row = streams_.find(stream); row != streams_.end()) row->second.idle = ++clock_;
  for (Block* block : free_)
    if (block->stream == stream) block->stream = nullptr;
  clear_settled();
}

void Pool::forget(void* stream) noexcept {
  const std::lock_guard<std::mutex> hold(lock_);
  streams_.erase(stream);
  for (auto& [pointer, node] : in_use_)
    if (node.value()->stream == stream) node.value()->stream = nullptr;
  for (Block* block : free_)
    if (block->stream == stream) block->stream = nullptr;
  clear_settled();
}

void Pool::keep_all() noexcept {
  const std::lock_guard<std::mutex> hold(lock_);
  keeps_all_ = true;
}

void Pool::shrink() noexcept {
  const std::lock_guard<std::mutex> hold(lock_);
  give_back_unused();
}

bool Pool::is_settled(const Block* block) const noexcept {
  for (const auto& [stream, state] : streams_)
    if (state.idle < block->free_time && state.busy->load()) return false;
  return true;
}

void Pool::clear_settled() noexcept {
  for (Block* block : free_)
    if (block->stream == kAny && is_settled(block)) block->stream = nullptr;
  for (Block* block : slabs_)
    for (; block != nullptr; block = block->after)
      while (block->free && block->stream == nullptr && block->after != nullptr && block->after->free && block->after->stream == nullptr) {
        Free::node_type node = free_.extract(block);
        join_after(block);
        free_.insert(std::move(node));
      }
}

// The locked part only enqueues: other threads go on taking memory and enqueueing while the host waits.
void Pool::wait() {
  using Event = std::unique_ptr<void, decltype(&device::event_destroy)>;
  std::vector<Event> ends;
  {
    const std::lock_guard<std::mutex> hold(lock_);
    device::use(device_);  // an event belongs to the device that is current when it is made
    for (const auto& [stream, state] : streams_) {
      if (!state.busy->load() || device::stream_capturing(stream)) continue;
      ends.emplace_back(device::event_create(), device::event_destroy);
      device::event_record(ends.back().get(), stream);
    }
  }
  for (const Event& end : ends) device::event_wait(end.get(), nullptr);
}

// ONNX Runtime waits for the stream of a run, and for that of a Loop's body never (1.29 to 1.32): what the body frees keeps its
// mark. Where shapes change from run to run, new memory for every run would be marked so in the end. The host waits instead as
// soon as no less waits for other streams than was ever in use at once: at most one wait for that many bytes. Not while a graph
// is recorded: a wait would spoil it.
bool Pool::too_much_waits(void* stream) const {
  size_t waiting = 0;
  for (const Block* block : free_)
    if (block->stream != nullptr && block->stream != stream) waiting += block->size;
  if (waiting < std::max(stats_.most_in_use, kLeastHeldBack)) return false;
  return std::none_of(streams_.begin(), streams_.end(), [](const auto& one) { return device::stream_capturing(one.first); });
}

// What waits for streams can be used once they have done what they have been given by now.
void Pool::wait_for_streams() {
  for (auto& [stream, state] : streams_) {
    if (!state.busy->load() || device::stream_capturing(stream)) continue;
    device::stream_wait(stream);
    state.idle = ++clock_;
    for (Block* block : free_)
      if (block->stream == stream) block->stream = nullptr;
  }
  clear_settled();
}

void Pool::give_back_unused() noexcept {
  if (keeps_all_) return;
  const auto is_unused = [](const Block* block) { return block->free && block->after == nullptr && block->stream == nullptr; };
  for (Block*& block : slabs_) {
    if (!is_unused(block)) continue;
    free_.erase(block);
    stats_.reserved_bytes -= block->size;
    --stats_.slabs;
    device::release(block->start);
    delete block;
    block = nullptr;
  }
  slabs_.erase(std::remove(slabs_.begin(), slabs_.end(), nullptr), slabs_.end());
}

PoolStats Pool::stats() const {
  const std::lock_guard<std::mutex> hold(lock_);
  return stats_;
}

Pool::Block* Pool::fitting(size_t bytes, void* stream) {
  Block key;
  key.size = bytes;
  for (auto it = free_.lower_bound(&key); it != free_.end(); ++it)
    if ((*it)->stream == nullptr || (*it)->stream == stream) return *it;
  return nullptr;
}

Pool::Block* Pool::grow(size_t bytes) {
  const size_t size = round_up(std::max(bytes, kSlab), kSlabStep);
  slabs_.reserve(slabs_.size() + 1);
  auto block = std::make_unique<Block>();
  Free::node_type node = [&] {
    Free alone;
    return alone.extract(alone.insert(block.get()).first);
  }();
  device::use(device_);
  void* memory = device::allocate(size);
  if (memory == nullptr) return nullptr;
  block->start = static_cast<char*>(memory);
  block->size = size;
  free_.insert(std::move(node));
  slabs_.push_back(block.get());
  stats_.reserved_bytes += size;
  ++stats_.slabs;
  return block.release();
}

void Pool::split(Block* block, size_t bytes) {
  if (block->size - bytes < kAlignment) return;
  auto rest = std::make_unique<Block>();
  rest->start = block->start + bytes;
  rest->size = block->size - bytes;
  rest->stream = block->stream;
  rest->free_time = block->free_time;
  rest->before = block;
  rest->after = block->after;
  free_.insert(rest.get());  // may throw; nothing knows of the rest yet
  Free::node_type node = free_.extract(block);
  block->size = bytes;
  free_.insert(std::move(node));
  if (rest->after != nullptr) rest->after->before = rest.get();
  block->after = rest.release();
}

// `block` grows by its neighbour, which is free. The caller has taken `block` out of the set, as its size orders it there.
void Pool::join_after(Block* block) noexcept {
  Block* right = block->after;
  free_.erase(right);
  block->size += right->size;
  block->free_time = std::max(block->free_time, right->free_time);
  if (block->stream == nullptr) block->stream = right->stream;
  block->after = right->after;
  if (block->after != nullptr) block->after->before = block;
  delete right;
}

Pool::Block* Pool::settle(Block* block) noexcept {
  // Not what any stream may work on with what none does: that would make memory wait which need not.
  const auto joinable = [](const Block* a, const Block* b) {
    return a->stream == b->stream || (a->stream == nullptr && b->stream != kAny) || (b->stream == nullptr && a->stream != kAny);
  };
  if (block->after != nullptr && block->after->free && joinable(block, block->after)) join_after(block);
  Block* const before = block->before;
  if (before == nullptr || !before->free || !joinable(before, block)) return block;
  free_.erase(before);
  join_after(before);
  return before;
}

}  // namespace rk
