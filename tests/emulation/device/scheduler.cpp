// Runs the lanes of a block as fibers of one thread, in an order drawn anew at every turn: waves, and lanes within a wave, get
// ahead of each other as far as barriers and operations of the whole wave let them. EMULATION_SEED: another order.
#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "hip/hip_runtime.h"

namespace emulation {

Lane* lane;
uint3 block_id;
dim3 block_size, grid_size;

namespace {

constexpr size_t kStack = 256 << 10, kPage = 4096;
constexpr size_t kLds = 64 << 10;  // of every target here: a block has 64 KiB
constexpr int kLargestBlock = 1024;
constexpr unsigned char kNothing = 0xFF, kStackFill = 0xFB, kFence = 0xA5;
constexpr size_t kFenceBytes = 64;

enum class State { runs, at_wave, at_block, done };

struct Fiber : Lane {
  void* stack_pointer = nullptr;
  char* stack = nullptr;
  State state = State::runs;
  Operation operation = Operation::none;
  const void* value = nullptr;
  size_t bytes = 0;
};

// What the lanes of one wave brought to their last meeting.
struct Meeting {
  std::vector<char> values;
  uint64_t active = 0;
};

std::vector<Fiber> fibers;
Meeting meetings[kLargestBlock / kWave];
void* scheduler_stack;
Fiber* now;
const std::function<void()>* kernel;
std::string kernel_name;
int complaints;

std::mt19937& draw() {
  static std::mt19937 engine(getenv("EMULATION_SEED") ? static_cast<unsigned>(atoi(getenv("EMULATION_SEED"))) : 1u);
  return engine;
}

extern "C" void emulation_switch(void** save, void* to);
asm(R"(
.text
.hidden emulation_switch
.globl emulation_switch
emulation_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

void enter() {
  (*kernel)();
  now->state = State::done;
  emulation_switch(&now->stack_pointer, scheduler_stack);
  abort();
}

void resume(Fiber& fiber) {
  now = &fiber;
  lane = &fiber;
  emulation_switch(&scheduler_stack, fiber.stack_pointer);
}

void suspend(State state) {
  now->state = state;
  emulation_switch(&now->stack_pointer, scheduler_stack);
}

// LDS of one block: the dynamic part ends where a page begins that cannot be touched; each static variable has a fence behind it.
class Lds {
 public:
  void begin_block(size_t dynamic) {
    if (end_ == nullptr) reserve();
    dynamic_ = dynamic;
    memset(end_ - kLds, kNothing, kLds);
    places_.clear();
    fences_.clear();
    used_ = 0;
  }

  char* dynamic() const { return end_ - (dynamic_ + 15) / 16 * 16; }

  void* variable(const char* file, int line, size_t bytes, size_t align) {
    char*& at = places_[{file, line}];
    if (at == nullptr) {
      used_ = (used_ + align - 1) / align * align;
      at = statics_ + used_;
      if (used_ + bytes > kLds) complain("static variables of more than 64 KiB of LDS");
      memset(at, kNothing, bytes);
      memset(at + bytes, kFence, kFenceBytes);
      fences_.push_back(at + bytes);
      used_ += bytes + kFenceBytes;
    }
    return at;
  }

  void end_block() const {
    for (const char* fence : fences_) {
      const bool whole = std::all_of(fence, fence + kFenceBytes, [](char c) { return static_cast<unsigned char>(c) == kFence; });
      if (!whole) complain("a static variable in LDS was written past its end");
    }
    if (used_ - fences_.size() * kFenceBytes + dynamic_ > kLds) complain("more than 64 KiB of LDS");
  }

 private:
  void reserve() {
    char* area = static_cast<char*>(mmap(nullptr, kLds + 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(area, kPage, PROT_NONE);
    mprotect(area + kPage + kLds, kPage, PROT_NONE);
    end_ = area + kPage + kLds;
    statics_ = static_cast<char*>(aligned_alloc(kPage, 2 * kLds));
  }

  char *end_ = nullptr, *statics_ = nullptr;
  size_t dynamic_ = 0, used_ = 0;
  std::map<std::pair<const char*, int>, char*> places_;
  std::vector<const char*> fences_;
};
Lds lds;

// Lets a wave's lanes go on if all that still run are at the same operation.
bool meet(int wave, int first, int last) {
  const Fiber* one = nullptr;
  for (int i = first; i < last; ++i) {
    const Fiber& fiber = fibers[static_cast<size_t>(i)];
    if (fiber.state == State::done) continue;
    if (fiber.state != State::at_wave) return false;
    if (one == nullptr) one = &fiber;
    if (fiber.operation != one->operation || fiber.bytes != one->bytes) {
      complain("lanes of one wave are at different operations");
      return false;
    }
  }
  if (one == nullptr) return false;
  Meeting& meeting = meetings[wave];
  meeting.values.assign(one->bytes * kWave, 0);
  meeting.active = 0;
  const size_t bytes = one->bytes;
  for (int i = first; i < last; ++i) {
    Fiber& fiber = fibers[static_cast<size_t>(i)];
    if (fiber.state == State::done) continue;
    if (bytes > 0) memcpy(meeting.values.data() + bytes * static_cast<size_t>(i - first), fiber.value, bytes);
    meeting.active |= uint64_t{1} << (i - first);
    fiber.state = State::runs;
  }
  return true;
}

// A few turns of one wave: its lanes run, in some order, to where they wait.
bool run_wave(int wave, int threads) {
  const int first = wave * kWave, last = std::min(first + kWave, threads);
  std::vector<int> order;
  for (int i = first; i < last; ++i) order.push_back(i);
  bool moved = false;
  for (unsigned turn = 1 + draw()() % 16; turn > 0; --turn) {
    if (draw()() % 2) std::reverse(order.begin(), order.end());
    else std::rotate(order.begin(), order.begin() + draw()() % order.size(), order.end());
    for (const int i : order) {
      if (fibers[static_cast<size_t>(i)].state != State::runs) continue;
      resume(fibers[static_cast<size_t>(i)]);
      moved = true;
    }
    if (!meet(wave, first, last)) return moved;
    moved = true;
  }
  return moved;
}

// Lets the block go on if every lane that still runs is at its barrier.
bool pass_barrier(int threads) {
  const auto end = fibers.begin() + threads;
  if (std::any_of(fibers.begin(), end, [](const Fiber& f) { return f.state != State::done && f.state != State::at_block; })) return false;
  for (auto f = fibers.begin(); f != end; ++f) {
    if (f->state == State::at_block) f->state = State::runs;
  }
  return true;
}

void run_block(int threads) {
  std::vector<int> waves((threads + kWave - 1) / kWave);
  for (size_t i = 0; i < waves.size(); ++i) waves[i] = static_cast<int>(i);
  const auto done = [&] { return std::all_of(fibers.begin(), fibers.begin() + threads, [](const Fiber& f) { return f.state == State::done; }); };
  while (!done()) {
    std::shuffle(waves.begin(), waves.end(), draw());
    bool moved = false;
    for (const int wave : waves) moved = run_wave(wave, threads) || moved;
    if (!done() && !pass_barrier(threads) && !moved) return complain("lanes of one wave part: some wait where others never come");
  }
}

void begin_lanes(dim3 block, size_t threads) {
  while (fibers.size() < threads) {
    fibers.emplace_back();
    fibers.back().stack = static_cast<char*>(mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  for (uint32_t i = 0; i < threads; ++i) {
    Fiber& fiber = fibers[i];
    fiber.index = static_cast<int>(i);
    fiber.thread = {i % block.x, i / block.x % block.y, i / block.x / block.y};
    fiber.state = State::runs;
    constexpr size_t kFilled = 6144;  // what a lane has not initialised is not zero
    memset(fiber.stack + kStack - kFilled, kStackFill, kFilled);
    void** top = reinterpret_cast<void**>(fiber.stack + kStack - 64);
    *--top = nullptr;
    *--top = reinterpret_cast<void*>(&enter);
    for (int saved = 0; saved < 6; ++saved) *--top = nullptr;
    fiber.stack_pointer = top;
  }
}

#ifdef SBK_GRID_THREADS
constexpr uint64_t kGridThreads = SBK_GRID_THREADS;  // build.py --grid-threads
#else
constexpr uint64_t kGridThreads = UINT32_MAX;
#endif

// HIP's limits on AMD: the grid's extents in threads are numbers of 32 bits.
bool fits(dim3 grid, dim3 block, size_t shared) {
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  return threads > 0 && threads <= kLargestBlock && grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.y <= 65535 && grid.z <= 65535 &&
         uint64_t{grid.x} * block.x <= kGridThreads && shared <= lds_bytes();
}

thread_local hipError_t last_error = hipSuccess;

// EMULATION_FAIL names a kernel whose launches fail.
bool to_fail(const std::string& kernel) {
  const char* said = getenv("EMULATION_FAIL");
  return said && kernel == said;
}

}  // namespace

// Of a call that is done. As before ROCm 7.0: one that succeeds takes the place of an error before it that nobody asked for.
hipError_t told(hipError_t error) { return last_error = error; }

hipError_t take_error(bool keep) {
  const hipError_t error = last_error;
  if (!keep) last_error = hipSuccess;
  return error;
}

size_t lds_bytes() {
  const char* said = getenv("EMULATION_LDS");
  return said ? std::min<size_t>(static_cast<size_t>(atoll(said)), kLds) : kLds;
}

void complain(const char* what) {
  constexpr int kMost = 20;
  if (++complaints <= kMost) {
    fprintf(stderr, "emulation: %s: %s (block %u,%u,%u, thread %u)\n", kernel_name.c_str(), what, block_id.x, block_id.y, block_id.z,
            lane ? lane->thread.x : 0);
  }
  last_error = hipErrorLaunchFailure;
}

int wave_lane() { return lane->index % kWave; }
char* dynamic_lds() { return lds.dynamic(); }
void* static_lds(const char* file, int line, size_t bytes, size_t align) { return lds.variable(file, line, bytes, align); }
void block_barrier() { suspend(State::at_block); }

Gathered gather(Operation operation, const void* value, size_t bytes) {
  now->operation = operation;
  now->value = value;
  now->bytes = bytes;
  const Meeting& meeting = meetings[now->index / kWave];
  suspend(State::at_wave);
  return {meeting.values.data(), bytes, meeting.active};
}

void run(const char* name, const std::function<void()>& body, dim3 grid, dim3 block, size_t shared) {
  static std::mutex one_at_a_time;
  const std::lock_guard<std::mutex> hold(one_at_a_time);
  kernel_name = name;
  told(fits(grid, block, shared) && !to_fail(kernel_name) ? hipSuccess : hipErrorInvalidConfiguration);
  if (last_error != hipSuccess) return;
  kernel = &body;
  block_size = block;
  grid_size = grid;
  const size_t threads = size_t{block.x} * block.y * block.z;
  for (uint64_t left = uint64_t{grid.x} * grid.y * grid.z; left > 0; --left) {
    const uint64_t b = left - 1;
    block_id = {static_cast<uint32_t>(b % grid.x), static_cast<uint32_t>(b / grid.x % grid.y), static_cast<uint32_t>(b / grid.x / grid.y)};
    lds.begin_block(shared);
    begin_lanes(block, threads);
    run_block(static_cast<int>(threads));
    lane = nullptr;
    lds.end_block();
  }
}

}  // namespace emulation
