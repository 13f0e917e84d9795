// common/workspaces.hpp on a runtime whose events are reached when the test says so. Exits 1 at the first thing that is wrong.
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <set>
#include <thread>
#include <vector>

#include "common/workspaces.hpp"
#include "expect.hpp"

namespace {

struct Machine {
  std::mutex lock;
  int device = 0;
  size_t left = size_t{1} << 40;  // bytes that the device still has
  std::deque<bool> events;        // whether each is reached
  std::vector<std::pair<int, int>> waits;  // (stream, event)
  std::set<int> capturing;
  std::vector<std::pair<char*, size_t>> memory;
  std::set<void*> released;
  bool records = true;
  bool asked_in_capture = false;  // an event, or of one
  int allocations = 0;
};
Machine* machine = nullptr;

struct Fake {
  using Stream = int;
  using Event = int;

  sbk::Status device(int* device) const { return *device = machine->device, sbk::Status{}; }
  sbk::Status allocate(void** memory, size_t bytes) const {
    if (bytes > machine->left) return {sbk::Code::device_error, "out of memory"};
    machine->left -= bytes;
    ++machine->allocations;
    *memory = std::malloc(1);
    machine->memory.emplace_back(static_cast<char*>(*memory), bytes);
    return {};
  }
  sbk::Status release(void* memory) const {
    machine->released.insert(memory);
    for (auto& [at, bytes] : machine->memory) {
      if (at == memory) machine->left += bytes, at = nullptr;
    }
    return {};
  }
  sbk::Status create(int* event) const {
    const std::lock_guard<std::mutex> hold(machine->lock);
    machine->events.push_back(false);
    return *event = static_cast<int>(machine->events.size()) - 1, sbk::Status{};
  }
  void destroy(int) const {}
  sbk::Status record(int event, int) const {
    machine->asked_in_capture = machine->asked_in_capture || !machine->capturing.empty();
    if (!machine->records) return {sbk::Code::device_error, "no event"};
    machine->events[static_cast<size_t>(event)] = false;
    return {};
  }
  sbk::Status wait(int stream, int event) const { return machine->waits.emplace_back(stream, event), sbk::Status{}; }
  bool is_reached(int event) const {
    machine->asked_in_capture = machine->asked_in_capture || !machine->capturing.empty();
    return machine->events[static_cast<size_t>(event)];
  }
  sbk::Status capturing(int stream, bool* now) const { return *now = machine->capturing.count(stream) > 0, sbk::Status{}; }
};
using Pool = sbk::Workspaces<Fake>;

void* taken(Pool& pool, int stream, size_t bytes) {
  void* memory = nullptr;
  EXPECT(pool.take(stream, bytes, &memory).ok());
  EXPECT(memory != nullptr || bytes == 0);
  return memory;
}

void* used(Pool& pool, int stream, size_t bytes) {
  void* memory = taken(pool, stream, bytes);
  EXPECT(pool.give(memory).ok());
  return memory;
}

void reach_all() {
  for (bool& is_reached : machine->events) is_reached = true;
}

void streams_do_not_share_what_is_in_flight() {
  Pool pool;
  void* first = used(pool, 1, 100);
  EXPECT(used(pool, 2, 100) != first);
  EXPECT(used(pool, 1, 100) == first);  // the stream orders its own
  EXPECT(machine->allocations == 2);
  reach_all();
  const size_t waited = machine->waits.size();
  EXPECT(used(pool, 3, 100) != nullptr);
  EXPECT(machine->allocations == 2 && machine->waits.size() == waited);  // done: another stream's now, which has nothing to wait for
}

void one_call_at_a_time_even_on_one_stream() {
  Pool pool;
  void* first = taken(pool, 1, 100);
  void* second = taken(pool, 1, 100);
  EXPECT(first != second);
  EXPECT(pool.give(first).ok());
  EXPECT(!pool.give(first).ok());
  EXPECT(pool.give(second).ok());
  EXPECT(!pool.give(&pool).ok());
}

void a_handle_used_again_waits_for_the_stream_before() {
  Pool pool;
  used(pool, 1, 100);
  EXPECT(machine->waits.empty());
  used(pool, 1, 100);  // perhaps a new stream by the same handle, the old one destroyed with work in it
  EXPECT(machine->waits.size() == 1 && machine->waits[0].first == 1);
}

void devices_are_apart() {
  Pool pool;
  void* first = used(pool, 1, 100);
  reach_all();
  machine->device = 1;
  EXPECT(used(pool, 1, 100) != first);
  machine->device = 0;
  EXPECT(used(pool, 1, 100) == first);
}

void growth_leaves_what_is_in_flight() {
  Pool pool;
  void* small = used(pool, 1, 100);
  void* large = used(pool, 1, size_t{3} << 20);
  EXPECT(small != large);
  EXPECT(machine->memory[0].first == small);  // not released
  EXPECT(used(pool, 1, size_t{4} << 20) == large);
  EXPECT(used(pool, 1, 100) == small);
}

void too_little_memory_is_an_error_and_first_gives_back_what_is_idle() {
  Pool pool;
  machine->left = size_t{5} << 20;
  used(pool, 1, size_t{4} << 20);
  void* memory = nullptr;
  const sbk::Status told = pool.take(2, size_t{4} << 20, &memory);
  EXPECT(told.code == sbk::Code::device_error && memory == nullptr);  // the first is in flight
  reach_all();
  used(pool, 2, size_t{4} << 20);
  reach_all();
  used(pool, 2, (size_t{4} << 20) + 1);  // no power of two is left, the bytes themselves are
  EXPECT(!pool.take(2, size_t{6} << 20, &memory).ok());
  EXPECT(!pool.take(2, SIZE_MAX, &memory).ok());
  reach_all();
  void* held = taken(pool, 2, 100);
  EXPECT(!pool.take(2, SIZE_MAX, &memory).ok());
  EXPECT(machine->released.count(held) == 0);
  EXPECT(pool.give(held).ok());
}

void what_a_graph_uses_stays_with_its_stream() {
  Pool pool;
  used(pool, 2, size_t{3} << 20);  // of another stream, pending
  void* warm = used(pool, 1, 100);
  machine->capturing = {1};
  const size_t waited = machine->waits.size();
  EXPECT(used(pool, 1, 100) == warm);
  used(pool, 1, size_t{2} << 20);
  EXPECT(machine->waits.size() == waited && !machine->asked_in_capture);
  machine->capturing.clear();
  reach_all();
  EXPECT(used(pool, 3, 100) != warm);  // though its event is reached: the graph may run again
  EXPECT(used(pool, 1, 100) == warm);
}

void memory_whose_event_fails_is_no_other_streams() {
  Pool pool;
  void* memory = taken(pool, 1, 100);
  machine->records = false;
  EXPECT(!pool.give(memory).ok());
  machine->records = true;
  reach_all();
  EXPECT(used(pool, 2, 100) != memory);
  EXPECT(used(pool, 1, 100) == memory);
}

void no_bytes_are_no_memory() {
  Pool pool;
  EXPECT(used(pool, 1, 0) == nullptr);
  EXPECT(machine->allocations == 0);
}

void threads_never_hold_the_same() {
  Pool pool;
  std::vector<std::thread> threads;
  for (int stream = 0; stream < 4; ++stream) {
    threads.emplace_back([&pool, stream] {
      for (int i = 0; i < 2000; ++i) {
        auto* byte = static_cast<volatile char*>(taken(pool, stream % 2, 100));
        *byte = static_cast<char>(stream);
        std::this_thread::yield();
        EXPECT(*byte == static_cast<char>(stream));
        EXPECT(pool.give(const_cast<char*>(byte)).ok());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT(machine->allocations <= 4);
}

}  // namespace

int main() {
  void (*const checks[])() = {
      streams_do_not_share_what_is_in_flight, one_call_at_a_time_even_on_one_stream, a_handle_used_again_waits_for_the_stream_before,
      devices_are_apart, growth_leaves_what_is_in_flight, too_little_memory_is_an_error_and_first_gives_back_what_is_idle,
      what_a_graph_uses_stays_with_its_stream, memory_whose_event_fails_is_no_other_streams, no_bytes_are_no_memory,
      threads_never_hold_the_same};
  for (const auto check : checks) {
    Machine fresh;
    machine = &fresh;
    check();
  }
  std::printf("%zu right\n", sizeof checks / sizeof *checks);
}
