// rk::device on the CPU platform: host memory, no streams. For tests only; it describes itself as a CPU, and the factory
// offers it as one.
#include <cstdlib>
#include <cstring>

#include "core/device/device.hpp"
#include "core/ort/ort.hpp"

namespace rk::device {

std::vector<Properties> list() {
  Properties cpu;
  cpu.vendor_name = "CPU";
  cpu.name = "CPU platform of rockernels (tests)";
  cpu.target = "cpu";
  cpu.has_code = true;
  return {cpu};
}

const char* compiled_for() { return "cpu"; }
void use(int) {}
void* allocate(size_t bytes) { return std::aligned_alloc(256, (bytes + 255) / 256 * 256); }
void release(void* pointer) { std::free(pointer); }
void memory(size_t* free, size_t* total) { *free = *total = 0; }

void copy(void* to, const void* from, size_t bytes, Copy, void*) {
  if (bytes != 0) std::memmove(to, from, bytes);
}

void* stream_create() { return nullptr; }
void stream_destroy(void*) {}
void stream_wait(void*) {}
bool stream_capturing(void*) { return false; }
void* event_create() { return nullptr; }
void event_destroy(void*) {}
void event_record(void*, void*) {}
void event_wait(void*, void*) {}
void capture_begin(void*) { fail("the CPU platform captures no graphs"); }
void* capture_end(void*) { fail("the CPU platform captures no graphs"); }
void graph_launch(void*, void*) { fail("the CPU platform captures no graphs"); }
void graph_destroy(void*) {}

}  // namespace rk::device
