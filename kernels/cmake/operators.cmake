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

# Device code in parts: different machines may compile them, and libraries share them.
set(SBK_PART "" CACHE STRING "Compile this part of the device code alone and install its objects: conv, others, ep-arithmetic, ep-others")
set(SBK_OBJECTS "" CACHE STRING "Folders that SBK_PART=… was installed into: their objects are linked, and no device code is compiled")
set(SBK_PART_conv ${SBK_DEVICE_SOURCES})
list(FILTER SBK_PART_conv INCLUDE REGEX "^conv/")
set(SBK_PART_others ${SBK_DEVICE_SOURCES})
list(REMOVE_ITEM SBK_PART_others ${SBK_PART_conv})
list(SORT SBK_PART_conv) # as their objects are found in SBK_OBJECTS: the same order gives the same bytes
list(SORT SBK_PART_others)
# What takes longest to compile: conv_gemm.hip has more than half of the CPU time of its part. A compiler makes the targets of a
# source one after the other.
set(SBK_LONGEST conv/conv_gemm.hip group_norm/group_norm.hip ops/elementwise/binary.hip)

# Put the sources that take the longest to compile first: make begins them in this order. For a part, whose objects are linked
# in another order.
function(sbk_longest_first list)
  set(sources ${${list}})
  set(first)
  foreach(source IN LISTS SBK_LONGEST)
    if(source IN_LIST sources)
      list(REMOVE_ITEM sources "${source}")
      list(APPEND first "${source}")
    endif()
  endforeach()
  set(${list} ${first} ${sources} PARENT_SCOPE)
endfunction()

# The parts ARGN as one library of objects, without those that SBK_PART leaves out. Sets SBK_COMPILED where anything is compiled.
function(sbk_objects target)
  set(sources)
  set(objects)
  foreach(part IN LISTS ARGN)
    if(SBK_OBJECTS)
      set(here ${SBK_OBJECTS})
      list(TRANSFORM here APPEND "/${part}/*.o")
      file(GLOB_RECURSE here ${here})
      if(NOT here)
        message(FATAL_ERROR "SBK_OBJECTS has no objects of the part ${part} in: ${SBK_OBJECTS}")
      endif()
      list(APPEND objects ${here})
    elseif(NOT SBK_PART OR SBK_PART STREQUAL part)
      list(APPEND sources ${SBK_PART_${part}})
    endif()
  endforeach()
  set(SBK_COMPILED FALSE PARENT_SCOPE)
  if(sources)
    set(SBK_COMPILED TRUE PARENT_SCOPE)
    if(SBK_PART)
      sbk_longest_first(sources)
    endif()
    add_library(${target} OBJECT ${sources})
    if(SBK_PART)
      install(TARGETS ${target} OBJECTS DESTINATION "${SBK_PART}")
    endif()
  elseif(objects)
    add_library(${target} INTERFACE)
    target_sources(${target} INTERFACE ${objects})
  endif()
endfunction()

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
