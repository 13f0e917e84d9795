// Orders of taking, freeing and waiting that a Pool must get right, on a device of ordinary memory. Prints what does not hold.
#include "core/memory/pool.hpp"

#include <cstdio>
#include <cstdlib>
#include <set>
#include <vector>

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
void* recording = nullptr;  // the stream that records a graph
bool stream_capturing(void* stream) { return stream == recording; }

struct Event {
  void* after = nullptr;
};
int events = 0;
std::vector<void*> waited_for;  // by events, on the host
void (*during_wait)() = nullptr;
void* event_create() { return ++events, new Event; }
void event_destroy(void* event) { --events, delete static_cast<Event*>(event); }
void event_record(void* event, void* stream) { static_cast<Event*>(event)->after = stream; }
void event_wait(void* event, void*) {
  waited_for.push_back(static_cast<Event*>(event)->after);
  if (during_wait != nullptr) during_wait();
}
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
  HOLDS(pool.stats().slabs == 0 && pool.stats().reserved_bytes == 0 && pool.stats().in_use == 0);
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
  pool.forget(&gone);
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

// A run takes and frees for its own stream and for the Loop's body; only the first is ever waited for. Shapes differ by run.
size_t reserved_by_runs(rk::Pool& pool, Stream& run, Stream& body, int runs) {
  for (int i = 0; i < runs; ++i) {
    run.works(), body.works();
    std::vector<void*> taken;
    for (int j = 0; j < 12; ++j) taken.push_back(pool.allocate(size_t(1 + (i * 7 + j * 5) % 11) << 18, j % 2 == 0 ? &run : &body));
    for (void* one : taken) pool.release(one);
    run.waited_for();
  }
  return pool.stats().reserved_bytes;
}

void a_stream_that_nobody_waits_for_does_not_take_all_memory() {
  rk::Pool pool(0);
  Stream run(pool), body(pool);
  const size_t early = reserved_by_runs(pool, run, body, 100);
  HOLDS(reserved_by_runs(pool, run, body, 1000) == early);
  HOLDS(early <= 2 * pool.stats().most_in_use + 6 * kSlab);
}

void what_waits_is_waited_for_when_it_is_much() {
  rk::Pool pool(0);
  Stream a(pool), b(pool);
  b.works();
  const auto freed_by_b = [&](size_t bytes) { pool.release(pool.allocate(bytes, &b)); };
  rk::device::waits = 0;
  freed_by_b(3 * kSlab);
  void* x = pool.allocate(kSlab, &a);
  HOLDS(rk::device::waits == 0);  // little: rather grow than keep the host waiting
  freed_by_b(5 * kSlab);
  rk::device::recording = &a;
  void* y = pool.allocate(kSlab, &a);
  HOLDS(rk::device::waits == 0);  // much, but a wait would spoil what is recorded
  rk::device::recording = nullptr;
  const size_t reserved_bytes = pool.stats().reserved_bytes;
  void* z = pool.allocate(kSlab, &a);
  HOLDS(rk::device::waits == 1 && pool.stats().reserved_bytes == reserved_bytes);
  for (void* one : {x, y, z}) pool.release(one);
}

void one_stream_in_flight_is_never_waited_for() {
  rk::Pool pool(0);
  Stream a(pool);
  rk::device::waits = 0;
  a.works();
  std::vector<void*> taken;
  for (int i = 0; i < 10; ++i) taken.push_back(pool.allocate(kSlab / 2 + kMiB, &a));
  for (void* one : taken) pool.release(one);
  pool.release(pool.allocate(kSlab + kMiB, &a));  // larger than all that is free, which is more than ever was in use
  HOLDS(rk::device::waits == 0 && pool.stats().slabs == 11);
}

rk::Pool* meanwhile = nullptr;

void a_wait_is_for_all_that_work_and_keeps_nobody_from_memory() {
  rk::Pool pool(0);
  Stream a(pool), unused(pool), b(pool), records(pool);
  a.works(), b.works(), records.works();
  rk::device::recording = &records;
  rk::device::waited_for.clear();
  meanwhile = &pool;
  rk::device::during_wait = [] { meanwhile->release(meanwhile->allocate(kMiB, nullptr)); };  // with the lock held it would hang
  pool.wait();
  rk::device::during_wait = nullptr;
  rk::device::recording = nullptr;
  HOLDS((std::set<void*>(rk::device::waited_for.begin(), rk::device::waited_for.end()) == std::set<void*>{&a, &b}));
  HOLDS(rk::device::events == 0);
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
  HOLDS(pool.stats().slabs == 0 && pool.stats().reserved_bytes == 0);
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
  a_stream_that_nobody_waits_for_does_not_take_all_memory();
  what_waits_is_waited_for_when_it_is_much();
  one_stream_in_flight_is_never_waited_for();
  a_wait_is_for_all_that_work_and_keeps_nobody_from_memory();
  recorded_graphs_keep_their_memory();
  for (unsigned seed = 0; seed < 20; ++seed) at_random(seed);
  HOLDS(rk::device::given.empty());
  if (wrong == 0) std::puts("all orders hold");
  return wrong == 0 ? 0 : 1;
}
