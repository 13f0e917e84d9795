// One lane of an emulated AMD wave, and what its wave does together. Every lane is a fiber; scheduler.cpp runs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

struct dim3 {
  uint32_t x, y, z;
  constexpr dim3(uint32_t x = 1, uint32_t y = 1, uint32_t z = 1) : x(x), y(y), z(z) {}
};
struct uint3 {
  uint32_t x, y, z;
};

namespace emulation {

constexpr int kWave = EMULATED_WAVE;  // lanes of a wave, of the target

struct Lane {
  uint3 thread;
  int index;  // in the block
};

extern Lane* lane;  // the one that runs
extern uint3 block_id;
extern dim3 block_size, grid_size;

// Runs a kernel, block after block; bad configurations become the error that HIP has for them.
void run(const char* name, const std::function<void()>& body, dim3 grid, dim3 block, size_t shared);
template <class F>
void launch(const char* name, F body, dim3 grid, dim3 block, size_t shared = 0, void* = nullptr) {
  run(name, std::function<void()>(body), grid, block, shared);
}

// Bytes of LDS that the device says a block may have, and that a launch may ask for: 64 KiB, or fewer by EMULATION_LDS.
size_t lds_bytes();

// LDS. Static variables are told apart by where they are declared.
char* dynamic_lds();
void* static_lds(const char* file, int line, size_t bytes, size_t align);

void block_barrier();

// The lanes of a wave that still run meet here, each with a value of `bytes`; all must be at the same operation. Afterwards
// each lane can read what the others brought.
enum class Operation { none, barrier, shuffle, vote, mfma, wmma };
struct Gathered {
  const char* data;
  size_t bytes;
  uint64_t active;  // lanes that took part, a bit each

  template <class T>
  T of(int source) const {
    T value;
    __builtin_memcpy(&value, data + source * bytes, sizeof value);
    return value;
  }
  bool has(int source) const { return active >> source & 1; }
};
Gathered gather(Operation operation, const void* value, size_t bytes);

// Notes a mistake that hardware would not report; the launch becomes an error.
void complain(const char* what);
int wave_lane();

template <class T>
T from_lane(T value, int source) {
  const Gathered all = gather(Operation::shuffle, &value, sizeof value);
  if (source < 0 || source >= kWave || !all.has(source)) {
    complain("a shuffle reads a lane that is not there or not active");
    return T{};
  }
  return all.of<T>(source);
}

}  // namespace emulation

#define threadIdx (::emulation::lane->thread)
#define blockIdx (::emulation::block_id)
#define blockDim (::emulation::block_size)
#define gridDim (::emulation::grid_size)
