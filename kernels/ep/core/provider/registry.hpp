// The kernel registry: every Entry as ONNX Runtime's kernel definitions.
#pragma once

#include "core/kernel/kernel.hpp"

namespace rk {

OrtKernelRegistry* make_registry(const char* provider);

// A line for each entry: operator, domain ("-" for ONNX's), first and last since-version, and for each type variable
// NAME=1,10 with ONNX's numbers of the element types. Separated by blanks.
std::string list_kernels();

// The entry that has a kernel for an operator of this since-version; null when there is none.
const Entry* entry_for(const char* domain, const char* op, int since_version);

}  // namespace rk
