// The kernel registry: every Entry as ONNX Runtime's kernel definitions.
#pragma once

#include "core/kernel.hpp"

namespace rk {

OrtKernelRegistry* make_registry(const char* provider);

// The entry that has a kernel for an operator of this since-version; null when there is none.
const Entry* entry_for(const char* domain, const char* op, int since_version);

}  // namespace rk
