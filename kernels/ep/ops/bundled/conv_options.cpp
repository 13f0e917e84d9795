#include "ops/bundled/conv_options.hpp"

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace rk {
namespace {

std::optional<std::string> value_of(const Options& options, const char* name) {
  const auto row = options.of_operators.find(name);
  return row == options.of_operators.end() ? std::nullopt : std::optional(row->second);
}

sbk::ConvChoosing choice_of(const std::optional<std::string>& value) {
  if (!value) return sbk::ConvChoosing::environment;
  if (*value == "rule") return sbk::ConvChoosing::rule;
  if (*value == "measure") return sbk::ConvChoosing::measure;
  if (*value == "cached") return sbk::ConvChoosing::cached;
  if (*value == "no_winograd") return sbk::ConvChoosing::no_winograd;
  fail("provider option conv_choice is rule, no_winograd, measure or cached, not " + (value->empty() ? "empty" : *value));
}

// conv_cache: the file that measured choices are kept in, one for the process.
void open_cache(sbk::ConvChoosing choice, const std::string& file) {
  const bool cached = choice == sbk::ConvChoosing::cached;
  require(!cached || !file.empty(), "provider option conv_choice=cached needs conv_cache: the file with the choices");
  require(file.empty() || cached || choice == sbk::ConvChoosing::measure,
          "provider option conv_cache goes with conv_choice=measure (to fill it) or cached (to read it)");
  if (file.empty()) return;
  // Said now, and not by the first convolution that is measured.
  const bool opens = cached ? static_cast<bool>(std::ifstream(file)) : static_cast<bool>(std::ofstream(file, std::ios::app));
  if (!opens || std::filesystem::is_directory(file)) {
    fail(std::string("cannot ") + (cached ? "read " : "write ") + file + ", the choices of convolutions (conv_cache)");
  }
#if !RK_CPU  // which has one way, and nothing to read
  // Two names of one file are one file.
  check(sbk::gpu::conv_choices_file(std::filesystem::canonical(file).c_str(), cached));
#endif
}

void check_options(const Options& options) {
  const sbk::ConvChoosing choice = conv_choice(options);
  const std::optional<std::string> cache = value_of(options, "conv_cache");
  require(!cache || !cache->empty(), "provider option conv_cache is the name of a file, not empty");
  open_cache(choice, cache.value_or(""));
}

}  // namespace

sbk::ConvChoosing conv_choice(const Options& options) { return choice_of(value_of(options, "conv_choice")); }

const OperatorOptions& operator_options() {
  static const OperatorOptions options = {{"conv_choice", "conv_cache"}, check_options};
  return options;
}

}  // namespace rk
