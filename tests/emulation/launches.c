// Loaded before a HIP runtime (LD_PRELOAD): the names of the kernels that a library launches, and launches that do nothing.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

typedef struct { unsigned x, y, z; } size3;
static struct { const void *host; const char *name; } kernels[1 << 14];
static size_t kernel_count, launch_count;
static const char *launched[1 << 10];
int launches_are_dry;

// The kernels launched since the last call, in order; the array ends with a null pointer.
const char **take_launches(void) {
  launched[launch_count] = NULL;
  launch_count = 0;
  return launched;
}

static void *behind(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (!found) abort();
  return found;
}

void __hipRegisterFunction(void **handle, const void *host, char *device, const char *name, unsigned limit, void *tid, void *bid, void *block,
                           void *grid, int *size) {
  void (*runtime)(void **, const void *, char *, const char *, unsigned, void *, void *, void *, void *, int *) = behind("__hipRegisterFunction");
  if (kernel_count == sizeof kernels / sizeof *kernels) abort();
  kernels[kernel_count].host = host, kernels[kernel_count++].name = name;
  runtime(handle, host, device, name, limit, tid, bid, block, grid, size);
}

int hipLaunchKernel(const void *host, size3 grid, size3 block, void **arguments, size_t lds, void *stream) {
  int (*runtime)(const void *, size3, size3, void **, size_t, void *) = behind("hipLaunchKernel");
  size_t i = 0;
  while (i < kernel_count && kernels[i].host != host) i++;
  if (i == kernel_count || launch_count + 1 == sizeof launched / sizeof *launched) abort();
  launched[launch_count++] = kernels[i].name;
  return launches_are_dry ? 0 : runtime(host, grid, block, arguments, lds, stream);
}
