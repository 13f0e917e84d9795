#include "absl.h"
#include "SafeInt.hpp"
extern "C" int OrtGetApiBase(void) { return 22; }
