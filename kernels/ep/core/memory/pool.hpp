// Device memory kept between runs. Blocks are cut best-fit from slabs and joined again when freed.
//
// A block freed while work may still read it can be handed on at once to the stream of that work (which orders what follows
// after it), and to others only when that stream has been waited for: a free block is marked with what it waits for.
//   - Taken for a stream, it waits for that stream's `idle`. It keeps the mark while in use, until the pool is told to `forget` the stream.
//   - Taken for none that is named (ONNX Runtime before 1.29 asks so for the memory of a whole run, and gives it back before it
//     waits for the run), any stream may work on it: it waits until every stream that was busy when it was freed has been idle
//     since. Which streams there are, the pool is told by `know`, before they are first used.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

namespace rk {

struct PoolStats {
  size_t in_use = 0;
  size_t most_in_use = 0;
  size_t reserved_bytes = 0;  // taken from the device
  size_t largest = 0;
  size_t allocations = 0;
  size_t slabs = 0;
};

// Whether work may be on a stream: set before work is enqueued, cleared when the stream has been waited for.
using Busy = std::shared_ptr<const std::atomic<bool>>;

class Pool {
 public:
  explicit Pool(int device) : device_(device) {}
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // 256-byte aligned; null when the device has none left or bytes is 0. A null stream: any that the pool knows.
  void* allocate(size_t bytes, void* stream);
  void release(void* pointer) noexcept;
  void know(void* stream, Busy busy);  // work of this stream may use what is taken here
  void idle(void* stream) noexcept;  // the stream has been waited for
  void forget(void* stream) noexcept;  // and will not be used again
  void wait();  // until every stream has done what it was given by now, but for one that records a graph
  void keep_all() noexcept;  // from now on gives nothing back: recorded graphs hold addresses
  void shrink() noexcept;  // gives wholly free slabs back to the device
  PoolStats stats() const;

 private:
  struct Block {
    char* start = nullptr;
    size_t size = 0;
    bool free = true;
    void* stream = nullptr;  // in use: for which it was taken. Free: which it waits for, or kAny's address, or none
    uint64_t free_time = 0;  // of the last release, by clock_
    Block* before = nullptr;  // neighbours within the slab
    Block* after = nullptr;
  };
  struct BySize {
    bool operator()(const Block* a, const Block* b) const {
      return a->size != b->size ? a->size < b->size : a->start < b->start;
    }
  };
  using Free = std::set<Block*, BySize>;
  struct StreamState {
    Busy busy;
    uint64_t idle = 0;  // when it was last, by clock_
  };

  Block* fitting(size_t bytes, void* stream);
  Block* grow(size_t bytes);
  void split(Block* block, size_t bytes);
  void join_after(Block* block) noexcept;
  Block* settle(Block* block) noexcept;  // joins a block that is in no set with its free neighbours
  void give_back_unused() noexcept;  // every wholly free slab that no stream may still work on
  bool is_settled(const Block* block) const noexcept;  // no stream may still work on this block, which is free and marked kAny
  void clear_settled() noexcept;  // marks that are no longer needed, and joins what they kept apart
  bool too_much_waits(void* stream) const;  // for others than `stream`, which finds nothing: rather wait than grow
  void wait_for_streams();

  mutable std::mutex lock_;
  int device_;
  bool keeps_all_ = false;
  uint64_t clock_ = 0;
  std::map<void*, StreamState> streams_;
  std::vector<Block*> slabs_;  // the first block of each
  Free free_;
  // Blocks in use, by address, each with the node of `free_` that it will go back with: freeing takes no memory.
  std::unordered_map<void*, Free::node_type> in_use_;
  PoolStats stats_;
};

}  // namespace rk
