// Whole numbers from text. Not atoi or strtol: with glibc 2.38's headers those are new symbols, which a library would then
// need wherever it is loaded.
#pragma once

#include <charconv>
#include <string_view>

namespace rk {

// The number that `text` begins with; 0 where it begins with none.
template <class T = int>
T leading_number(std::string_view text, int base = 10) {
  T value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

}  // namespace rk
