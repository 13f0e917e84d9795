// As much of ONNX Runtime 1.17 as a custom op through its ROCm execution provider meets: `driver CUSTOM_OP_LIBRARY HIP_LIBRARY`.
// Its allocator is as that release's arena for who asks without a stream: a block that is freed is the next one's.
#include <dlfcn.h>
#include <onnxruntime_c_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "expect.hpp"

struct OrtStatus {
  std::string message;
};
struct OrtMemoryInfo {
  int id;
};
struct OrtValue {
  std::vector<int64_t> shape;
  std::vector<float>* data;
  OrtMemoryInfo where;
};
struct OrtTensorTypeAndShapeInfo {
  std::vector<int64_t> shape;
};
struct OrtKernelContext {
  std::vector<OrtValue*> inputs, outputs;
  void* stream;
};
struct OrtKernelInfo {};
struct OrtCustomOpDomain {
  std::vector<const OrtCustomOp*> ops;
};
struct OrtSessionOptions {
  OrtCustomOpDomain* domain = nullptr;
};

namespace {

void (*test_malloc)(int, void**, size_t);

struct Arena : OrtAllocator {
  int device = 0;
  std::vector<void*> free;
};
std::map<int, Arena> arenas;

void* arena_alloc(OrtAllocator* self, size_t bytes) {
  auto& arena = *static_cast<Arena*>(self);
  void* memory = nullptr;
  if (arena.free.empty()) test_malloc(arena.device, &memory, bytes < 4096 ? 4096 : bytes);
  else memory = arena.free.back(), arena.free.pop_back();
  return memory;
}

OrtStatus* fail(const char* message) { return new OrtStatus{message}; }

OrtApi make_api() {
  OrtApi api{};
  api.CreateStatus = [](OrtErrorCode, const char* message) noexcept -> OrtStatus* { return fail(message); };
  api.GetErrorMessage = [](const OrtStatus* status) noexcept { return status->message.c_str(); };
  api.ReleaseStatus = [](OrtStatus* status) noexcept { delete status; };
  api.CreateCustomOpDomain = [](const char*, OrtCustomOpDomain** out) noexcept -> OrtStatus* { return *out = new OrtCustomOpDomain, nullptr; };
  api.CustomOpDomain_Add = [](OrtCustomOpDomain* domain, const OrtCustomOp* op) noexcept -> OrtStatus* { return domain->ops.push_back(op), nullptr; };
  api.AddCustomOpDomain = [](OrtSessionOptions* options, OrtCustomOpDomain* domain) noexcept -> OrtStatus* { return options->domain = domain, nullptr; };
  api.KernelInfoGetAttribute_float = [](const OrtKernelInfo*, const char*, float*) noexcept { return fail("none"); };
  api.KernelInfoGetAttribute_int64 = [](const OrtKernelInfo*, const char*, int64_t*) noexcept { return fail("none"); };
  api.KernelInfoGetAttribute_string = [](const OrtKernelInfo*, const char*, char*, size_t*) noexcept { return fail("none"); };
  api.KernelInfoGetAttributeArray_float = [](const OrtKernelInfo*, const char*, float*, size_t*) noexcept { return fail("none"); };
  api.KernelInfoGetAttributeArray_int64 = [](const OrtKernelInfo*, const char*, int64_t*, size_t*) noexcept { return fail("none"); };
  api.KernelInfoGetAttribute_tensor = [](const OrtKernelInfo*, const char*, OrtAllocator*, OrtValue**) noexcept { return fail("none"); };
  api.GetAllocatorWithDefaultOptions = [](OrtAllocator** out) noexcept -> OrtStatus* { return *out = &arenas[0], nullptr; };
  api.KernelContext_GetInputCount = [](const OrtKernelContext* c, size_t* n) noexcept -> OrtStatus* { return *n = c->inputs.size(), nullptr; };
  api.KernelContext_GetOutputCount = [](const OrtKernelContext* c, size_t* n) noexcept -> OrtStatus* { return *n = c->outputs.size(), nullptr; };
  api.KernelContext_GetInput = [](const OrtKernelContext* c, size_t i, const OrtValue** v) noexcept -> OrtStatus* { return *v = c->inputs[i], nullptr; };
  api.KernelContext_GetOutput = [](OrtKernelContext* c, size_t i, const int64_t*, size_t, OrtValue** v) noexcept -> OrtStatus* { return *v = c->outputs[i], nullptr; };
  api.KernelContext_GetGPUComputeStream = [](const OrtKernelContext* c, void** s) noexcept -> OrtStatus* { return *s = c->stream, nullptr; };
  api.GetTensorTypeAndShape = [](const OrtValue* v, OrtTensorTypeAndShapeInfo** i) noexcept -> OrtStatus* { return *i = new OrtTensorTypeAndShapeInfo{v->shape}, nullptr; };
  api.GetDimensionsCount = [](const OrtTensorTypeAndShapeInfo* i, size_t* n) noexcept -> OrtStatus* { return *n = i->shape.size(), nullptr; };
  api.GetDimensions = [](const OrtTensorTypeAndShapeInfo* i, int64_t* d, size_t n) noexcept -> OrtStatus* {
    return std::memcpy(d, i->shape.data(), n * sizeof *d), nullptr;
  };
  api.GetTensorElementType = [](const OrtTensorTypeAndShapeInfo*, ONNXTensorElementDataType* t) noexcept -> OrtStatus* {
    return *t = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, nullptr;
  };
  api.ReleaseTensorTypeAndShapeInfo = [](OrtTensorTypeAndShapeInfo* i) noexcept { delete i; };
  api.GetTensorMutableData = [](OrtValue* v, void** d) noexcept -> OrtStatus* { return *d = v->data->data(), nullptr; };
  api.GetTensorMemoryInfo = [](const OrtValue* v, const OrtMemoryInfo** i) noexcept -> OrtStatus* { return *i = &v->where, nullptr; };
  api.MemoryInfoGetId = [](const OrtMemoryInfo* i, int* id) noexcept -> OrtStatus* { return *id = i->id, nullptr; };
  // What the library asked for before it had workspaces of its own.
  api.CreateMemoryInfo = [](const char*, OrtAllocatorType, int id, OrtMemType, OrtMemoryInfo** i) noexcept -> OrtStatus* { return *i = new OrtMemoryInfo{id}, nullptr; };
  api.ReleaseMemoryInfo = [](OrtMemoryInfo* i) noexcept { delete i; };
  api.KernelContext_GetAllocator = [](const OrtKernelContext*, const OrtMemoryInfo* i, OrtAllocator** out) noexcept -> OrtStatus* {
    arenas[i->id].device = i->id;
    return *out = &arenas[i->id], nullptr;
  };
  api.AllocatorAlloc = [](OrtAllocator* a, size_t bytes, void** out) noexcept -> OrtStatus* { return *out = arena_alloc(a, bytes), nullptr; };
  api.AllocatorFree = [](OrtAllocator* a, void* p) noexcept -> OrtStatus* { return static_cast<Arena*>(a)->free.push_back(p), nullptr; };
  api.ReleaseAllocator = [](OrtAllocator*) noexcept {};
  return api;
}
const OrtApi api = make_api();

template <class F>
F symbol(void* library, const char* name) {
  auto found = reinterpret_cast<F>(dlsym(library, name));
  if (found == nullptr) std::printf("%s\n", dlerror()), std::exit(2);
  return found;
}

// One Run() of a session: a convolution of 64 numbers, which the HIP library of this test makes a copy.
struct Run {
  std::vector<float> x, w{1.0f}, y;
  OrtValue vx, vw, vy;
  OrtKernelContext context;

  Run(float value, int device, void* stream, size_t count = 64)
      : x(count, value), y(count), vx{{1, 1, static_cast<int64_t>(count)}, &x, {device}}, vw{{1, 1, 1}, &w, {device}},
        vy{vx.shape, &y, {device}}, context{{&vx, &vw}, {&vy}, stream} {}
  bool right() const { return y == x; }
};

}  // namespace

int main(int, char** words) {
  void* ops = dlopen(words[1], RTLD_NOW);
  void* hip = dlopen(words[2], RTLD_NOW);
  if (ops == nullptr || hip == nullptr) return std::printf("%s\n", dlerror()), 2;
  test_malloc = symbol<void (*)(int, void**, size_t)>(hip, "test_malloc");
  const auto step = symbol<bool (*)(void*)>(hip, "test_step");
  const auto most = symbol<void (*)(size_t)>(hip, "test_most");
  const auto current = symbol<int (*)()>(hip, "test_device");
  const auto register_ops = symbol<OrtStatus* (*)(OrtSessionOptions*, const OrtApiBase*)>(ops, "RegisterCustomOps");

  const OrtApiBase base{[](uint32_t) noexcept { return &api; }, []() noexcept { return "1.17"; }};
  OrtSessionOptions options;
  EXPECT(register_ops(&options, &base) == nullptr);
  const OrtCustomOp* conv = nullptr;
  for (const OrtCustomOp* op : options.domain->ops) {
    const char* provider = op->GetExecutionProviderType(op);
    const bool rocm = provider != nullptr && std::strcmp(provider, "ROCMExecutionProvider") == 0;
    if (conv == nullptr && rocm && std::strcmp(op->GetName(op), "Conv") == 0) conv = op;
  }
  EXPECT(conv != nullptr);
  OrtKernelInfo info;
  void* kernel = nullptr;
  EXPECT(conv->CreateKernelV2(conv, &api, &info, &kernel) == nullptr);
  const auto run = [&](Run& one) {
    OrtStatus* status = conv->KernelComputeV2(kernel, &one.context);
    const std::string said = status == nullptr ? "" : status->message;
    delete status;
    return said;
  };
  int streams[4];

  // Two Run()s of one session on streams of their own, which the device works on in turns.
  Run first(1.0f, 0, &streams[0]), second(2.0f, 0, &streams[1]);
  EXPECT(run(first).empty() && run(second).empty());
  for (bool more = true; more;) {
    const bool one = step(&streams[0]), other = step(&streams[1]);
    more = one || other;
  }
  EXPECT(first.right() && second.right());

  // A session on another device, from a thread that has device 0.
  Run elsewhere(3.0f, 1, &streams[2]);
  EXPECT(run(elsewhere).empty());
  while (step(&streams[2])) {}
  EXPECT(elsewhere.right() && current() == 0);

  // A longer call behind a shorter one in flight; then the shorter one once more.
  Run shorter(4.0f, 0, &streams[0]), longer(5.0f, 0, &streams[0], 1 << 20), again(6.0f, 0, &streams[0]);
  EXPECT(run(shorter).empty() && run(longer).empty() && run(again).empty());
  while (step(&streams[0])) {}
  EXPECT(shorter.right() && longer.right() && again.right());

  // Memory that does not suffice is an error, and the next call is none the worse.
  most(1 << 20);
  Run large(7.0f, 1, &streams[3], 1 << 20), after(8.0f, 1, &streams[3]);
  EXPECT(run(large).find("out of memory") != std::string::npos && current() == 0);
  EXPECT(run(after).empty());
  while (step(&streams[3])) {}
  EXPECT(after.right());
  conv->KernelDestroy(kernel);
  std::printf("4 right\n");
}
