#include "core/ort/ort.hpp"

namespace rk {

Api& api() {
  static Api instance;
  return instance;
}

}  // namespace rk
