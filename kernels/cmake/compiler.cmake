# Included before project(). On AMD one compiler does host and device code: HIP's own clang, called as clang++ rather
# than through hipcc, so that a compiler cache sees a plain compiler command (docs/kernels.md has the measurement;
# CMake's HIP language does not find Debian's hip-lang package, which lies in a multiarch folder).
if(SBK_PLATFORM STREQUAL "amd" AND NOT CMAKE_CXX_COMPILER AND "$ENV{CXX}" STREQUAL "")
  find_program(SBK_HIPCONFIG hipconfig HINTS "$ENV{ROCM_PATH}/bin" /opt/rocm/bin)
  if(NOT SBK_HIPCONFIG)
    message(FATAL_ERROR "hipconfig was not found: install HIP (Debian: apt install hipcc libamdhip64-dev), set ROCM_PATH, "
                        "or configure with -DSBK_PLATFORM=cpu or nvidia")
  endif()
  # Prints "HIP_CLANG_PATH     : /opt/rocm/llvm/bin" among others, the same in every version from 5.0.
  execute_process(COMMAND "${SBK_HIPCONFIG}" --full OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT text MATCHES "HIP_CLANG_PATH *: *([^\n]+)\nclang|HIP_CLANG_PATH *: *([^\n]+)\n")
    message(FATAL_ERROR "${SBK_HIPCONFIG} --full does not name HIP_CLANG_PATH")
  endif()
  set(folder "${CMAKE_MATCH_1}${CMAKE_MATCH_2}")
  string(REGEX MATCH "clang version ([0-9]+)" _ "${text}")
  find_program(SBK_HIP_CLANG NAMES "clang++-${CMAKE_MATCH_1}" clang++ PATHS "${folder}" NO_DEFAULT_PATH REQUIRED)
  set(CMAKE_CXX_COMPILER "${SBK_HIP_CLANG}")
endif()
