// The device runtime as the provider's own code needs it. Three implementations of one interface: HIP, HIP's NVIDIA
// platform, and the CPU platform (tests only).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rk::device {

struct Properties {
  int ordinal = 0;
  uint32_t vendor = 0;      // PCI vendor id: 0x1002 AMD, 0x10DE NVIDIA; 0 on the CPU platform
  std::string vendor_name;
  uint32_t pci_device = 0;  // PCI device id where the system tells it, else 0
  std::string pci_bus;      // "0000:3b:00.0"
  std::string name;
  std::string target;       // gfx942, sm_90, cpu
  bool has_code = false;    // a kernel of this library can run there: asked of the runtime, not guessed from a list
  std::string trouble;      // why nothing more is known of it, in the runtime's words; "" where there is none
};

constexpr bool kIsCpu =
#if RK_CPU
    true;
#else
    false;
#endif

// Devices the runtime sees. Throws Failure with the runtime's own message where it cannot tell.
std::vector<Properties> list();
const char* compiled_for();  // "gfx90a;gfx942;…", "sm_90", "cpu"

void use(int ordinal);
void* allocate(size_t bytes);  // null when there is none left
void release(void* pointer);
void memory(size_t* free, size_t* total);

enum class Copy { to_device, to_host, on_device };
void copy(void* to, const void* from, size_t bytes, Copy kind, void* stream);  // asynchronous on a stream, else done

void* stream_create();
void stream_destroy(void* stream);
void stream_wait(void* stream);
bool stream_capturing(void* stream);

void* event_create();
void event_destroy(void* event);
void event_record(void* event, void* stream);
void event_wait(void* event, void* stream);  // stream waits; null stream: the host waits

void capture_begin(void* stream);
void* capture_end(void* stream);  // an executable graph
void graph_launch(void* graph, void* stream);
void graph_destroy(void* graph);

}  // namespace rk::device
