// Scratch memory for launches that are enqueued and not waited for: blocks of any device, kept between calls.
//
// A block is taken by one call at a time, however many threads enqueue on its stream. When it is given back, the work that
// uses it may not have begun; an event behind that work says when it is done. The stream of that work may have the block
// again at once; another has it when the event is reached, and until then gets memory of its own. Nothing is kept of a
// stream but its handle: a stream that is destroyed and another with the same handle are told apart by the event.
// What a captured graph uses stays with the stream of the capture, since the graph may run again at any time.
//
// Memory only grows: at most what calls had in flight at once. It is given back to the device where the device has no more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>

#include "common/status.hpp"

namespace sbk {

// Runtime, all of the calling thread's current device:
//   using Stream, using Event
//   Status device(int*), allocate(void**, size_t), release(void*)
//   Status create(Event*), record(Event, Stream), wait(Stream, Event), capturing(Stream, bool*)
//   bool reached(Event)
//   void destroy(Event)
template <class Runtime>
class Workspaces {
 public:
  using Stream = typename Runtime::Stream;
  using Event = typename Runtime::Event;

  explicit Workspaces(Runtime runtime = {}) : runtime_(runtime) {}
  Workspaces(const Workspaces&) = delete;
  Workspaces& operator=(const Workspaces&) = delete;

  // Memory of the current device for work on `stream`, until it is given back. Of no bytes: null.
  Status take(Stream stream, size_t bytes, void** memory) {
    *memory = nullptr;
    if (bytes == 0) return {};
    const std::lock_guard<std::mutex> hold(lock_);
    int device = 0;
    bool capturing = false;
    SBK_TRY(runtime_.device(&device));
    SBK_TRY(runtime_.capturing(stream, &capturing));
    Block* block = fitting(device, stream, bytes, capturing);
    if (block == nullptr) SBK_TRY(grow(device, bytes, &block));
    if (block->pending && !capturing) SBK_TRY(runtime_.wait(stream, block->event));
    block->busy = true;
    block->stays = block->stays || capturing;
    block->stream = stream;
    *memory = block->memory;
    return {};
  }

  // Behind everything that the call has enqueued. What fails here leaves the memory with its stream for good.
  Status give(void* memory) {
    if (memory == nullptr) return {};
    const std::lock_guard<std::mutex> hold(lock_);
    for (Block& block : blocks_) {
      if (block.memory == memory && block.busy) return settle(block);
    }
    return invalid("workspace: this memory was not taken");
  }

 private:
  struct Block {
    void* memory = nullptr;
    size_t bytes = 0;
    int device = 0;
    Stream stream{};
    Event event{};
    bool busy = false;
    bool pending = false;  // the event is recorded, and not known to be reached
    bool stays = false;    // with its stream
  };

  static constexpr size_t kLeast = size_t{1} << 20;

  Status settle(Block& block) {
    block.busy = false;
    bool capturing = true;
    Status status = runtime_.capturing(block.stream, &capturing);
    if (status.ok() && !capturing) {
      status = runtime_.record(block.event, block.stream);
      block.pending = status.ok();
    }
    block.stays = block.stays || !status.ok();
    return status;
  }

  // Whether work on `stream` may use it now. While a graph is captured nothing can be asked of an event.
  bool open(Block& block, Stream stream, bool capturing) {
    if (block.stream == stream) return true;
    if (block.stays || (block.pending && (capturing || !runtime_.is_reached(block.event)))) return false;
    block.pending = false;
    return true;
  }

  // The stream's own before others', and then the smallest.
  Block* fitting(int device, Stream stream, size_t bytes, bool capturing) {
    Block* best = nullptr;
    for (Block& block : blocks_) {
      if (block.busy || block.device != device || block.bytes < bytes) continue;
      const bool own = block.stream == stream, best_own = best != nullptr && best->stream == stream;
      if (best != nullptr && (own != best_own ? best_own : block.bytes >= best->bytes)) continue;
      if (open(block, stream, capturing)) best = &block;
    }
    return best;
  }

  Status grow(int device, size_t bytes, Block** out) {
    size_t room = kLeast;  // powers of two: what is outgrown adds up to no more than what is used
    while (room < bytes && room <= SIZE_MAX / 2) room *= 2;
    if (room < bytes) room = bytes;
    Block block;
    block.device = device;
    block.bytes = room;
    Status status = runtime_.allocate(&block.memory, block.bytes);
    if (!status.ok()) {
      shrink(device);
      block.bytes = bytes;
      status = runtime_.allocate(&block.memory, block.bytes);
    }
    SBK_TRY(status);
    status = runtime_.create(&block.event);
    if (!status.ok()) {
      (void)runtime_.release(block.memory);  // the event's error is the one to tell
      return status;
    }
    blocks_.push_back(block);
    *out = &blocks_.back();
    return {};
  }

  // Gives what no work uses back to the device.
  void shrink(int device) {
    for (auto it = blocks_.begin(); it != blocks_.end();) {
      Block& block = *it;
      const bool used = block.busy || block.stays || block.device != device || (block.pending && !runtime_.is_reached(block.event));
      if (used || !runtime_.release(block.memory).ok()) {
        ++it;
        continue;
      }
      runtime_.destroy(block.event);
      it = blocks_.erase(it);
    }
  }

  Runtime runtime_;
  std::mutex lock_;
  std::list<Block> blocks_;
};

}  // namespace sbk
