// What a launcher answers. A Status is two words and never allocates, so it can be returned from any thread.
#pragma once

#include <cstdint>

namespace sbk {

enum class Code : int32_t {
  ok = 0,
  invalid_argument = 1,   // the parameters contradict each other; nothing was enqueued
  unsupported = 2,        // valid, but outside what these kernels do; nothing was enqueued
  workspace_too_small = 3,
  device_error = 4,       // HIP refused; `what` is HIP's own message
};

struct Status {
  Code code = Code::ok;
  const char* what = "";  // static storage, English, one line

  bool ok() const { return code == Code::ok; }
};

inline Status invalid(const char* what) { return {Code::invalid_argument, what}; }
inline Status unsupported_status(const char* what) { return {Code::unsupported, what}; }

// Returns from the calling function when `expression` is not ok.
#define SBK_TRY(expression)                          \
  do {                                               \
    const ::sbk::Status sbk_status_ = (expression);  \
    if (!sbk_status_.ok()) return sbk_status_;       \
  } while (0)

}  // namespace sbk
