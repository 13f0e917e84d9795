// Device memory kept between runs. Blocks are cut best-fit from slabs and joined again when freed.
//
// A block freed while work of a stream may still read it can be handed to the same stream at once (its work is ordered
// after), but to others only when that stream has been waited for: a free block is therefore marked with its stream
// until `idle(stream)`, and a block in use keeps the mark of the stream it was taken for until the stream is `gone`.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>

namespace rk {

struct PoolStats {
  size_t in_use = 0;
  size_t most_in_use = 0;
  size_t reserved = 0;  // taken from the device
  size_t largest = 0;
  size_t allocations = 0;
  size_t slabs = 0;
};

class Pool {
 public:
  explicit Pool(int device) : device_(device) {}
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void* allocate(size_t bytes, void* stream);  // 256-byte aligned; null when the device has none left or bytes is 0
  void release(void* pointer);
  void idle(void* stream);  // the stream has been waited for
  void gone(void* stream);  // and will not be used again
  void shrink();  // gives wholly free slabs back to the device
  PoolStats stats() const;

 private:
  struct Block {
    char* start = nullptr;
    size_t size = 0;
    bool free = true;
    void* stream = nullptr;
    Block* before = nullptr;  // neighbours within the slab
    Block* after = nullptr;
  };
  struct BySize {
    bool operator()(const Block* a, const Block* b) const {
      return a->size != b->size ? a->size < b->size : a->start < b->start;
    }
  };

  Block* fitting(size_t bytes, void* stream);
  Block* grow(size_t bytes);
  void split(Block* block, size_t bytes);
  Block* join(Block* left, Block* right);
  Block* settle(Block* block);  // joins a block with its free neighbours
  void give_back(Block* block);
  void give_back_unused();  // every wholly free slab that no stream may still work on

  mutable std::mutex lock_;
  int device_;
  std::set<Block*, BySize> free_;
  std::unordered_map<void*, Block*> used_;
  PoolStats stats_;
};

}  // namespace rk
