// Fat binaries that hipcc's constructors register, and modules that a program loads: their kernels and variables by name.
// A bundle goes to the process that translates when the first kernel or variable of it is asked for.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct { const void *host; struct function *function; } *kernels;
static size_t kernel_count, kernel_room;
static struct { const void *host; struct module *module; const char *name; } *variables;
static size_t variable_count, variable_room;

enum { MOST_ENTRIES = 4096, LONGEST_NAME = 4096 };

// The bytes of a bundle or code object that starts here, 0 where none does. Offsets as in LLVM's ClangOffloadBundler and ELF.
static size_t image_bytes(const unsigned char *at) {
  uint64_t count, end = 0;
  if (memcmp(at, "__CLANG_OFFLOAD_BUNDLE__", 24) == 0) {
    memcpy(&count, at + 24, 8);
    const unsigned char *row = at + 32;
    if (count > MOST_ENTRIES) return 0;
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t entry[3];
      memcpy(entry, row, 24);
      if (entry[2] > LONGEST_NAME || entry[0] + entry[1] < entry[0]) return 0;
      if (entry[0] + entry[1] > end) end = entry[0] + entry[1];
      row += 24 + entry[2];
    }
    return end;
  }
  if (memcmp(at, "CCOB", 4) == 0) {  // version 2: u32 of all; version 3: u64 of all
    uint16_t version;
    uint32_t small;
    memcpy(&version, at + 4, 2), memcpy(&small, at + 8, 4), memcpy(&end, at + 8, 8);
    return version >= 3 ? end : version == 2 ? small : 0;
  }
  if (memcmp(at, "\177ELF", 4) == 0) {
    uint64_t table;
    uint16_t entry, number;
    memcpy(&table, at + 40, 8), memcpy(&entry, at + 58, 2), memcpy(&number, at + 60, 2);
    return table + (uint64_t)entry * number;
  }
  return 0;
}

// Opens the translated folder of a module; its problem says why there is none.
static void load(struct module *module) {
  if (module->object || module->problem) return;
  char error[512];
  size_t bytes = module->bytes ? module->bytes : image_bytes(module->image);
  if (!bytes) {
    module->problem = strdup("neither a code object nor a bundle of them whose size is known");
    return;
  }
  char *answer = channel_request("load", module->image, bytes);
  if (strncmp(answer, "ok ", 3) == 0) {
    module->folder = strdup(answer + 3);
    module->object = emulator_open(module->folder, error, sizeof error);
    if (!module->object) module->problem = strdup(error);
  } else {
    module->problem = strdup(strncmp(answer, "error ", 6) == 0 ? answer + 6 : answer);
  }
  free(answer);
}

EXPORT void **__hipRegisterFatBinary(const fat_binary_wrapper *wrapper) {
  struct module *module = calloc(1, sizeof *module);
  if (!module) abort();
  module->is_registered = true;
  if (wrapper->magic != FAT_BINARY_MAGIC) module->problem = strdup("the wrapper of the fat binary has another magic number");
  else module->image = wrapper->binary;
  return (void **)module;
}

EXPORT void __hipRegisterFunction(void **handle, const void *host, char *device, const char *name, unsigned limit, void *tid,
                                  void *bid, void *block, void *grid, int *size) {
  (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)size;
  pthread_mutex_lock(&lock);
  if (kernel_count == kernel_room) {
    kernels = realloc(kernels, (kernel_room = kernel_room ? 2 * kernel_room : 256) * sizeof *kernels);
    if (!kernels) abort();
  }
  struct function *function = malloc(sizeof *function);
  if (!function) abort();
  *function = (struct function){(struct module *)handle, name, NULL};
  kernels[kernel_count].host = host, kernels[kernel_count++].function = function;
  pthread_mutex_unlock(&lock);
}

EXPORT void __hipRegisterVar(void **handle, void *host, char *name, char *device_name, int ext, size_t bytes, int constant, int global) {
  (void)name, (void)ext, (void)bytes, (void)constant, (void)global;
  pthread_mutex_lock(&lock);
  if (variable_count == variable_room) {
    variables = realloc(variables, (variable_room = variable_room ? 2 * variable_room : 64) * sizeof *variables);
    if (!variables) abort();
  }
  variables[variable_count].host = host, variables[variable_count].module = (struct module *)handle;
  variables[variable_count++].name = device_name;
  pthread_mutex_unlock(&lock);
}

EXPORT void __hipUnregisterFatBinary(void **handle) {
  struct module *module = (struct module *)handle;
  pthread_mutex_lock(&lock);
  size_t next = 0;
  for (size_t i = 0; i < kernel_count; ++i)
    if (kernels[i].function->module == module) free(kernels[i].function);
    else kernels[next++] = kernels[i];
  kernel_count = next, next = 0;
  for (size_t i = 0; i < variable_count; ++i)
    if (variables[i].module != module) variables[next++] = variables[i];
  variable_count = next;
  pthread_mutex_unlock(&lock);
  if (module->object) emulator_close(module->object);
  free(module->folder), free(module->problem), free(module);
}

hipError_t function_of(const char *call, const void *host, struct function **function) {
  pthread_mutex_lock(&lock);
  *function = NULL;
  for (size_t i = 0; i < kernel_count && !*function; ++i)
    if (kernels[i].host == host) *function = kernels[i].function;
  pthread_mutex_unlock(&lock);
  return *function ? hipSuccess : fail_call(call, hipErrorInvalidDeviceFunction, "no kernel is registered for %p", host);
}

hipError_t prepare(const char *call, struct function *function) {
  struct module *module = function->module;
  hipError_t code = hipSuccess;
  char error[512] = "";
  pthread_mutex_lock(&lock);
  load(module);
  if (module->problem) {
    code = fail_call(call, hipErrorNoBinaryForGpu, "%s: %s", function->name, module->problem);
  } else if (!(function->kernel = emulator_find(module->object, function->name))) {
    code = fail_call(call, hipErrorInvalidDeviceFunction, "the code object has no kernel %s", function->name);
  } else if (!function->kernel->is_translated && !function->kernel->problem) {
    size_t length = strlen(module->folder) + strlen(function->name) + 16;
    char *request = malloc(length);
    if (!request) abort();
    snprintf(request, length, "kernel %s\x1f%s", module->folder, function->name);
    char *answer = channel_request(request, NULL, 0);
    free(request);
    if (strncmp(answer, "ok", 2) != 0) code = fail_call(call, hipErrorSharedObjectInitFailed, "%s", strncmp(answer, "error ", 6) ? answer : answer + 6);
    else if (emulator_refresh(module->object, error, sizeof error) != 0) code = fail_call(call, hipErrorSharedObjectInitFailed, "%s: %s", function->name, error);
    else function->kernel = emulator_find(module->object, function->name);
    free(answer);
  }
  if (!code && function->kernel->problem) code = fail_call(call, hipErrorNotSupported, "%s: %s", function->name, function->kernel->problem);
  pthread_mutex_unlock(&lock);
  return code;
}

hipError_t symbol_of(const char *call, const void *host, void **address, size_t *bytes) {
  hipError_t code = hipSuccess;
  const char *name = NULL;
  struct module *module = NULL;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < variable_count; ++i)
    if (variables[i].host == host) name = variables[i].name, module = variables[i].module;
  if (!module) code = fail_call(call, hipErrorInvalidSymbol, "no variable is registered for %p", host);
  if (!code) load(module);
  if (!code && module->problem) code = fail_call(call, hipErrorNoBinaryForGpu, "%s: %s", name, module->problem);
  if (!code && !(*address = emulator_variable(module->object, name, bytes)))
    code = fail_call(call, hipErrorInvalidSymbol, "the code object has no variable %s", name);
  pthread_mutex_unlock(&lock);
  return code;
}

EXPORT hipError_t hipGetSymbolAddress(void **address, const void *host) { size_t bytes; return symbol_of(__func__, host, address, &bytes); }
EXPORT hipError_t hipGetSymbolSize(size_t *bytes, const void *host) { void *address; return symbol_of(__func__, host, &address, bytes); }

EXPORT hipError_t hipModuleLoadData(hipModule_t *module_out, const void *image) {
  SEEDED_FAULT();
  size_t bytes = image ? image_bytes(image) : 0;
  CHECK(bytes, hipErrorInvalidImage, "neither a code object nor a bundle of them");
  struct module *module = calloc(1, sizeof *module);
  void *copy = module ? malloc(bytes) : NULL;
  CHECK(copy, hipErrorOutOfMemory, "%zu bytes", bytes);
  module->image = memcpy(copy, image, bytes), module->bytes = bytes;
  pthread_mutex_lock(&lock);
  load(module);
  pthread_mutex_unlock(&lock);
  if (module->problem) {
    hipError_t code = fail_call(__func__, hipErrorNoBinaryForGpu, "%s", module->problem);
    free(copy), free(module->folder), free(module->problem), free(module);
    return code;
  }
  *module_out = module;
  return hipSuccess;
}
EXPORT hipError_t hipModuleLoadDataEx(hipModule_t *module_out, const void *image, unsigned count, void *options, void **values) {
  (void)count, (void)options, (void)values;
  return hipModuleLoadData(module_out, image);
}
EXPORT hipError_t hipModuleLoad(hipModule_t *module_out, const char *path) {
  FILE *file = fopen(path, "rb");
  struct stat status;
  CHECK(file && fstat(fileno(file), &status) == 0, hipErrorNotFound, "%s cannot be read", path);
  char *image = calloc(1, status.st_size + 64);  // 64: the headers that are looked at
  bool whole = image && fread(image, 1, status.st_size, file) == (size_t)status.st_size;
  fclose(file);
  hipError_t code = !whole ? fail_call(__func__, hipErrorInvalidImage, "%s cannot be read", path)
                    : image_bytes((unsigned char *)image) > (size_t)status.st_size
                        ? fail_call(__func__, hipErrorInvalidImage, "%s ends early", path)
                        : hipModuleLoadData(module_out, image);
  free(image);
  return code;
}
EXPORT hipError_t hipModuleUnload(hipModule_t module) {
  if (module->object) emulator_close(module->object);
  free((void *)module->image), free(module->folder), free(module);
  return hipSuccess;
}
EXPORT hipError_t hipModuleGetFunction(hipFunction_t *function_out, hipModule_t module, const char *name) {
  CHECK(module && name, hipErrorInvalidValue, "no module or no name");
  if (!emulator_find(module->object, name)) return end_call(hipErrorNotFound);  // a question: libraries try several modules
  struct function *function = malloc(sizeof *function);
  CHECK(function, hipErrorOutOfMemory, "a function");
  *function = (struct function){module, emulator_find(module->object, name)->name, NULL};
  *function_out = function;
  return hipSuccess;
}
EXPORT hipError_t hipModuleGetGlobal(void **address, size_t *bytes, hipModule_t module, const char *name) {
  size_t size;
  void *at = emulator_variable(module->object, name, &size);
  CHECK(at, hipErrorNotFound, "the module has no variable %s", name);
  if (address) *address = at;
  if (bytes) *bytes = size;
  return hipSuccess;
}
