# The operators, in one place. Each folder has NAME.hpp, NAME.hip (launcher), NAME_cpu.cpp, reference.py and cases.py.
set(SBK_OPERATORS leaky_relu batch_norm group_norm conv attention)

set(SBK_DEVICE_SOURCES gpu_api/gpu_api.hip)
set(SBK_CPU_SOURCES)
foreach(op IN LISTS SBK_OPERATORS)
  list(APPEND SBK_DEVICE_SOURCES ${op}/${op}.hip)
  list(APPEND SBK_CPU_SOURCES ${op}/${op}_cpu.cpp)
endforeach()
list(APPEND SBK_DEVICE_SOURCES conv/conv_choice.hip conv/conv_depthwise.hip conv/conv_gemm.hip conv/conv_pointwise.hip
  conv/conv_winograd.hip attention/attention_rows.hip attention/attention_split.hip attention/attention_tiled.hip)

# clang names each source's device code `__hip_cuid_` and a hash of its options, which name the build folder. A name by the
# source's path below kernels/ is the same in every folder, whatever a compiler cache was filled from. For AMD alone.
function(sbk_device_names)
  foreach(source IN LISTS ARGN)
    file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
    string(MAKE_C_IDENTIFIER "${path}" name)
    set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_OPTIONS "-cuid=${name}")
  endforeach()
endfunction()

# Flags of every shared library here: no executable stack, relocations read-only before main, nothing unresolved, stripped.
function(sbk_harden target version_script)
  target_link_options(${target} PRIVATE
    -Wl,-z,relro,-z,now -Wl,-z,noexecstack -Wl,--no-undefined -Wl,--build-id=sha1 -Wl,--strip-all
    "-Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/${version_script}" -Wl,-soname,lib${target}.so)
  set_target_properties(${target} PROPERTIES
    LINK_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${version_script}"
    INSTALL_RPATH "$ORIGIN"
    INSTALL_RPATH_USE_LINK_PATH OFF)
  install(TARGETS ${target} LIBRARY DESTINATION stackbuild_kernels)
endfunction()
