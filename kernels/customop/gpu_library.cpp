#include "customop/gpu_library.hpp"

#include <dlfcn.h>

#include <stdexcept>

#include "attention/attention.hpp"
#include "batch_norm/batch_norm.hpp"
#include "conv/conv.hpp"
#include "group_norm/group_norm.hpp"
#include "leaky_relu/leaky_relu.hpp"

namespace sbk::customop {
namespace {

template <class F>
void find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (function == nullptr) throw std::runtime_error(std::string("the HIP library lacks ") + name);
}

void check_abi(void* library) {
  decltype(&sbk_gpu_abi) abi_of = nullptr;
  find(library, "sbk_gpu_abi", abi_of);
  sbk_abi abi{};
  abi_of(&abi);
  const bool same = abi.launch == sizeof(Launch) && abi.leaky_relu == sizeof(LeakyReluParams) &&
                    abi.batch_norm == sizeof(BatchNormParams) && abi.group_norm == sizeof(GroupNormParams) &&
                    abi.conv == sizeof(ConvParams) && abi.attention == sizeof(AttentionParams);
  if (!same) throw std::runtime_error("the HIP library is of another build than the custom-op library; install both");
}

GpuLibrary load() {
  const std::string path = beside_this_library("libstackbuild_kernels_hip.so");
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw std::runtime_error(std::string("cannot load the kernels for the GPU: ") + dlerror() +
                             "; install the ROCm runtime (libamdhip64), or run these operators on the CPU");
  }
  check_abi(library);
  GpuLibrary g{};
  find(library, "sbk_gpu_leaky_relu", g.leaky_relu);
  find(library, "sbk_gpu_batch_norm", g.batch_norm);
  find(library, "sbk_gpu_group_norm", g.group_norm);
  find(library, "sbk_gpu_conv", g.conv);
  find(library, "sbk_gpu_attention", g.attention);
  find(library, "sbk_gpu_group_norm_workspace", g.group_norm_workspace);
  find(library, "sbk_gpu_conv_workspace", g.conv_workspace);
  find(library, "sbk_gpu_attention_workspace", g.attention_workspace);
  find(library, "sbk_gpu_device_count", g.device_count);
  find(library, "sbk_gpu_malloc", g.malloc);
  find(library, "sbk_gpu_free", g.free);
  find(library, "sbk_gpu_copy", g.copy);
  find(library, "sbk_gpu_copy_rows", g.copy_rows);
  find(library, "sbk_gpu_stream_synchronize", g.synchronize);
  find(library, "sbk_gpu_device_use", g.device_use);
  find(library, "sbk_gpu_workspace_take", g.workspace_take);
  find(library, "sbk_gpu_workspace_give", g.workspace_give);
  return g;
}

}  // namespace

std::string beside_this_library(const char* name) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&beside_this_library), &info) == 0 || info.dli_fname == nullptr) {
    throw std::runtime_error("the loader does not tell where the custom-op library is");
  }
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return (slash == std::string::npos ? std::string() : path.substr(0, slash + 1)) + name;
}

const GpuLibrary& GpuLibrary::get() {
  static const GpuLibrary library = load();  // a failed load is tried again by the next caller
  return library;
}

void GpuLibrary::need_gpu() const {
  int32_t count = 0;
  const char* what = nullptr;
  const int32_t code = device_count(&count, &what);
  if (code == 0 && count > 0) return;
  throw std::runtime_error(std::string("no GPU found") + (code != 0 && what != nullptr ? std::string(": ") + what : "") +
                           "; see that the driver is loaded and that you may open /dev/kfd and /dev/dri (HIP_VISIBLE_DEVICES may "
                           "hide a GPU), or run these operators on the CPU");
}

}  // namespace sbk::customop
