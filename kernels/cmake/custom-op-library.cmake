# stackbuild_kernels: the custom-op library. It has the CPU implementations and needs no ROCm library; the HIP library is
# looked for beside it when an operator is first asked to run on a GPU.
find_path(SBK_ORT_INCLUDE onnxruntime_c_api.h
  HINTS "${ONNXRUNTIME_INCLUDE_DIR}" PATH_SUFFIXES onnxruntime onnxruntime/core/session)
if(NOT SBK_ORT_INCLUDE)
  message(FATAL_ERROR "the custom-op library needs onnxruntime_c_api.h, which was not found. Install ONNX Runtime's headers (Debian: "
                      "libonnxruntime-dev) or name their folder with -DONNXRUNTIME_INCLUDE_DIR; -DSBK_CUSTOM_OPS=OFF builds without it")
endif()

if(NOT SBK_GPU_PROVIDER)
  set(SBK_GPU_PROVIDER ROCMExecutionProvider)
endif()

add_library(stackbuild_kernels MODULE ${SBK_CPU_SOURCES}
  customop/attention_op.cpp customop/attention_parts.cpp customop/attributes.cpp customop/conv_op.cpp customop/elementwise_ops.cpp
  customop/gpu_library.cpp customop/multi_head_op.cpp customop/register.cpp customop/run.cpp)
target_include_directories(stackbuild_kernels PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_include_directories(stackbuild_kernels SYSTEM PRIVATE ${SBK_ORT_INCLUDE})
target_compile_definitions(stackbuild_kernels PRIVATE SBK_GPU_PROVIDER="${SBK_GPU_PROVIDER}")
target_compile_options(stackbuild_kernels PRIVATE ${SBK_PREFIX_MAP} -Wall -Wextra -O3)
target_link_libraries(stackbuild_kernels PRIVATE ${CMAKE_DL_LIBS})
sbk_harden(stackbuild_kernels customop/exports.map)
install(FILES package/__init__.py package/fold.py package/py.typed LICENSE DESTINATION stackbuild_kernels)
