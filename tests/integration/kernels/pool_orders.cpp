// Orders of taking, freeing and waiting that a Pool must get right, on a device of ordinary memory. Prints what does not hold.
#include "core/pool.hpp"

#include <cstdio>
#include <cstdlib>
#include <set>

namespace rk::device {
size_t most = size_t{1} << 40;  // what the device has
std::set<void*> given;
int waits = 0;
void use(int) {}
void* allocate(size_t bytes) {
  if (bytes > most) return nullptr;
  void* pointer = std::aligned_alloc(256, bytes);
  given.insert(pointer);
  return pointer;
}
void release(void* pointer) {
  given.erase(pointer);
  std::free(pointer);
}
void stream_wait(void*) { ++waits; }
bool stream_capturing(void*) { return false; }
}  // namespace rk::device

namespace {

int wrong = 0;
#define HOLDS(what) ((what) ? void() : (void)(++wrong, std::printf("line %d: %s\n", __LINE__, #what)))

constexpr size_t kMiB = size_t{1} << 20, kSlab = 8 * kMiB, kHalf = 4 * kMiB;

struct Stream {
  std::shared_ptr<std::atomic<bool>> busy = std::make_shared<std::atomic<bool>>(false);
  rk::Pool& pool;
  explicit Stream(rk::Pool& pool_) : pool(pool_) { pool.know(this, busy); }
  void works() { *busy = true; }
  void waited_for() {
    *busy = false;
    pool.idle(this);
  }
};

void neighbours_of_two_streams_are_joined() {
  rk::Pool pool(0);
  Stream a(pool), b(pool);
  a.works(), b.works();
  void* x = pool.allocate(kHalf, &a);
  void* y = pool.allocate(kHalf, &b);
  pool.release(x), pool.release(y);
  a.waited_for();
  pool.shrink();
  HOLDS(pool.stats().slabs == 1);  // b may still work on its half
  b.waited_for();
  HOLDS(pool.allocate(kSlab, nullptr) == x);
  pool.release(x);
  pool.shrink();
  HOLDS(pool.stats().slabs == 0 && pool.stats().reserved == 0 && pool.stats().in_use == 0);
}

void what_nobody_named_waits_for_every_busy_stream() {
  rk::Pool pool(0);
  Stream a(pool), b(pool);
  void* x = pool.allocate(kSlab, nullptr);
  a.works(), b.works();
  pool.release(x);
  HOLDS(pool.allocate(kSlab, nullptr) != x);
  HOLDS(pool.allocate(kSlab, &a) != x);
  a.waited_for();
  HOLDS(pool.allocate(kSlab, &a) != x);  // b works on
  a.works();                             // and so does a, on something else
  b.waited_for();
  HOLDS(pool.allocate(kSlab, &b) == x);  // both have been waited for since
}

void a_stream_that_does_nothing_is_not_waited_for() {
  rk::Pool pool(0);
  Stream a(pool), unused(pool);
  for (int run = 0; run < 5; ++run) {
    void* x = pool.allocate(kSlab, nullptr);
    a.works();
    pool.release(x);
    a.waited_for();
  }
  HOLDS(pool.stats().slabs == 1);
}

void a_stream_that_is_gone_is_not_waited_for() {
  rk::Pool pool(0);
  auto busy = std::make_shared<std::atomic<bool>>(true);
  int gone;
  pool.know(&gone, busy);
  void* x = pool.allocate(kSlab, nullptr);
  void* y = pool.allocate(kSlab, &gone);
  pool.release(x);
  pool.gone(&gone);
  HOLDS(pool.allocate(kSlab, nullptr) == x);
  pool.release(y);
  HOLDS(pool.allocate(kSlab, nullptr) == y);
}

void a_stream_takes_its_own_at_once() {
  rk::Pool pool(0);
  Stream a(pool), b(pool);
  a.works();
  void* x = pool.allocate(kSlab, &a);
  pool.release(x);
  HOLDS(pool.allocate(kSlab, &b) != x);
  HOLDS(pool.allocate(kSlab, &a) == x);
}

void rests_of_what_waits_wait_too() {
  rk::Pool pool(0);
  Stream a(pool), b(pool);
  a.works();
  void* x = pool.allocate(kSlab, &a);
  pool.release(x);
  HOLDS(pool.allocate(kMiB, &a) == x);
  void* y = pool.allocate(kMiB, &b);
  HOLDS(y < x || y >= static_cast<char*>(x) + kSlab);
}

void streams_are_waited_for_before_memory_ends() {
  rk::Pool pool(0);
  Stream a(pool), b(pool);
  void* x = pool.allocate(kSlab, nullptr);
  a.works(), b.works();
  pool.release(x);
  rk::device::most = 0;
  rk::device::waits = 0;
  HOLDS(pool.allocate(kSlab, nullptr) == x);
  HOLDS(rk::device::waits == 2);
  HOLDS(pool.allocate(kSlab, nullptr) == nullptr);
  rk::device::most = size_t{1} << 40;
}

void recorded_graphs_keep_their_memory() {
  rk::Pool pool(0);
  pool.keep_all();
  pool.release(pool.allocate(kSlab, nullptr));
  pool.shrink();
  HOLDS(pool.stats().slabs == 1);
}

// Whatever the order: blocks in use never overlap, and all of it is whole again in the end.
void at_random(unsigned seed) {
  std::srand(seed);
  rk::Pool pool(0);
  Stream streams[3] = {Stream(pool), Stream(pool), Stream(pool)};
  std::map<char*, size_t> used;
  for (int step = 0; step < 3000; ++step) {
    Stream& stream = streams[std::rand() % 3];
    const int what = std::rand() % 8;
    if (what == 0) stream.waited_for();
    else if (what == 1) stream.works();
    else if (what < 5 || used.empty()) {
      const size_t bytes = size_t(1 + std::rand() % 3000) << (std::rand() % 12);
      auto* start = static_cast<char*>(pool.allocate(bytes, std::rand() % 3 == 0 ? nullptr : &stream));
      const auto next = used.lower_bound(start);
      HOLDS(next == used.end() || start + bytes <= next->first);
      HOLDS(next == used.begin() || std::prev(next)->first + std::prev(next)->second <= start);
      used[start] = bytes;
    } else {
      const auto one = std::next(used.begin(), std::rand() % static_cast<int>(used.size()));
      pool.release(one->first);
      used.erase(one);
    }
  }
  for (const auto& [start, bytes] : used) pool.release(start);
  for (Stream& stream : streams) stream.waited_for();
  HOLDS(pool.stats().in_use == 0);
  pool.shrink();
  HOLDS(pool.stats().slabs == 0 && pool.stats().reserved == 0);
}

}  // namespace

int main() {
  neighbours_of_two_streams_are_joined();
  what_nobody_named_waits_for_every_busy_stream();
  a_stream_that_does_nothing_is_not_waited_for();
  a_stream_that_is_gone_is_not_waited_for();
  a_stream_takes_its_own_at_once();
  rests_of_what_waits_wait_too();
  streams_are_waited_for_before_memory_ends();
  recorded_graphs_keep_their_memory();
  for (unsigned seed = 0; seed < 20; ++seed) at_random(seed);
  HOLDS(rk::device::given.empty());
  if (wrong == 0) std::puts("all orders hold");
  return wrong == 0 ? 0 : 1;
}
