#include "core/pool.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/device.hpp"

namespace rk {
namespace {

constexpr size_t kAlignment = 256;
constexpr size_t kSlab = size_t{8} << 20;
constexpr size_t kSlabStep = size_t{2} << 20;

size_t round_up(size_t value, size_t step) { return (value + step - 1) / step * step; }

}  // namespace

Pool::~Pool() {
  for (auto& [pointer, block] : used_) {
    block->free = true;
    block->stream = nullptr;
    free_.insert(block);
  }
  used_.clear();
  std::vector<Block*> first;
  for (Block* block : free_)
    if (block->before == nullptr) first.push_back(block);
  for (Block* block : first) {
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
  if (block == nullptr) block = grow(bytes);
  if (block == nullptr) {
    give_back_unused();
    block = grow(bytes);
  }
  if (block == nullptr) return nullptr;
  free_.erase(block);
  split(block, bytes);
  block->free = false;
  block->stream = stream;
  used_[block->start] = block;
  stats_.in_use += block->size;
  stats_.most_in_use = std::max(stats_.most_in_use, stats_.in_use);
  stats_.largest = std::max(stats_.largest, block->size);
  ++stats_.allocations;
  return block->start;
}

void Pool::release(void* pointer) {
  if (pointer == nullptr) return;
  const std::lock_guard<std::mutex> hold(lock_);
  const auto found = used_.find(pointer);
  if (found == used_.end()) return;
  Block* block = found->second;
  used_.erase(found);
  stats_.in_use -= block->size;
  block->free = true;
  free_.insert(settle(block));
}

void Pool::idle(void* stream) {
  const std::lock_guard<std::mutex> hold(lock_);
  std::vector<Block*> waiting;
  for (Block* block : free_)
    if (block->stream == stream) waiting.push_back(block);
  for (Block* block : waiting) block->stream = nullptr;
}

void Pool::gone(void* stream) {
  idle(stream);
  const std::lock_guard<std::mutex> hold(lock_);
  for (auto& [pointer, block] : used_)
    if (block->stream == stream) block->stream = nullptr;
}

void Pool::shrink() {
  const std::lock_guard<std::mutex> hold(lock_);
  give_back_unused();
}

void Pool::give_back_unused() {
  std::vector<Block*> whole;
  for (Block* block : free_)
    if (block->before == nullptr && block->after == nullptr && block->stream == nullptr) whole.push_back(block);
  for (Block* block : whole) give_back(block);
}

PoolStats Pool::stats() const {
  const std::lock_guard<std::mutex> hold(lock_);
  return stats_;
}

Pool::Block* Pool::fitting(size_t bytes, void* stream) {
  Block wanted;
  wanted.size = bytes;
  for (auto it = free_.lower_bound(&wanted); it != free_.end(); ++it)
    if ((*it)->stream == nullptr || (*it)->stream == stream) return *it;
  return nullptr;
}

Pool::Block* Pool::grow(size_t bytes) {
  const size_t size = round_up(std::max(bytes, kSlab), kSlabStep);
  device::use(device_);
  void* memory = device::allocate(size);
  if (memory == nullptr) return nullptr;
  auto* block = new Block;
  block->start = static_cast<char*>(memory);
  block->size = size;
  free_.insert(block);
  stats_.reserved += size;
  ++stats_.slabs;
  return block;
}

void Pool::split(Block* block, size_t bytes) {
  if (block->size - bytes < kAlignment) return;
  auto* rest = new Block;
  rest->start = block->start + bytes;
  rest->size = block->size - bytes;
  rest->stream = block->stream;
  rest->before = block;
  rest->after = block->after;
  if (rest->after != nullptr) rest->after->before = rest;
  block->after = rest;
  block->size = bytes;
  free_.insert(rest);
}

Pool::Block* Pool::join(Block* left, Block* right) {
  left->size += right->size;
  if (left->stream == nullptr) left->stream = right->stream;
  left->after = right->after;
  if (left->after != nullptr) left->after->before = left;
  delete right;
  return left;
}

Pool::Block* Pool::settle(Block* block) {
  const auto joinable = [](const Block* a, const Block* b) {
    return a->stream == nullptr || b->stream == nullptr || a->stream == b->stream;
  };
  if (block->after != nullptr && block->after->free && joinable(block, block->after)) {
    free_.erase(block->after);
    block = join(block, block->after);
  }
  if (block->before != nullptr && block->before->free && joinable(block->before, block)) {
    free_.erase(block->before);
    block = join(block->before, block);
  }
  return block;
}

void Pool::give_back(Block* block) {
  free_.erase(block);
  stats_.reserved -= block->size;
  --stats_.slabs;
  device::release(block->start);
  delete block;
}

}  // namespace rk
