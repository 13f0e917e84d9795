#include "core/options.hpp"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>

namespace rk {
namespace {

// Nothing where the option is not given.
std::optional<std::string> entry(const OrtSessionOptions* options, const std::string& key) {
  int given = 0;
  check(api().ort->HasSessionConfigEntry(options, key.c_str(), &given));
  if (given == 0) return std::nullopt;
  size_t size = 0;
  check(api().ort->GetSessionConfigEntry(options, key.c_str(), nullptr, &size));
  std::string value(size, '\0');
  check(api().ort->GetSessionConfigEntry(options, key.c_str(), value.data(), &size));
  value.resize(size == 0 ? 0 : size - 1);
  return value;
}

bool flag(const std::optional<std::string>& value, bool otherwise, const char* name) {
  if (!value) return otherwise;
  if (*value == "1" || *value == "true") return true;
  if (*value == "0" || *value == "false") return false;
  fail(std::string("provider option ") + name + " is 0 or 1, not " + (value->empty() ? "empty" : *value));
}

sbk::ConvChoosing choosing(const std::optional<std::string>& value) {
  if (!value) return sbk::ConvChoosing::environment;
  if (*value == "rule") return sbk::ConvChoosing::rule;
  if (*value == "measure") return sbk::ConvChoosing::measure;
  if (*value == "cached") return sbk::ConvChoosing::cached;
  if (*value == "no_winograd") return sbk::ConvChoosing::no_winograd;
  fail("provider option conv_choice is rule, no_winograd, measure or cached, not " + (value->empty() ? "empty" : *value));
}

// A misspelt option would be left out in silence.
void refuse_unknown(const OrtSessionOptions* options, const std::string& prefix) {
  static const std::set<std::string> known = {"enable_hip_graph", "channels_last", "fuse", "conv_choice", "conv_cache"};
  OrtKeyValuePairs* raw = nullptr;
  check(api().ort->GetSessionOptionsConfigEntries(options, &raw));
  const std::unique_ptr<OrtKeyValuePairs, decltype(api().ort->ReleaseKeyValuePairs)> pairs(raw, api().ort->ReleaseKeyValuePairs);
  const char* const* keys = nullptr;
  const char* const* values = nullptr;
  size_t count = 0;
  api().ort->GetKeyValuePairs(raw, &keys, &values, &count);
  for (size_t i = 0; i < count; ++i) {
    const std::string key = keys[i];
    if (key.compare(0, prefix.size(), prefix) != 0 || known.count(key.substr(prefix.size())) != 0) continue;
    fail("RocKernels has no provider option " + key.substr(prefix.size()) +
         "; it has enable_hip_graph, channels_last, fuse, conv_choice and conv_cache");
  }
}

void open_conv_cache(const Options& options) {
  const bool cached = options.conv_choice == sbk::ConvChoosing::cached;
  require(!cached || !options.conv_cache.empty(), "provider option conv_choice=cached needs conv_cache: the file with the choices");
  require(options.conv_cache.empty() || cached || options.conv_choice == sbk::ConvChoosing::measure,
          "provider option conv_cache goes with conv_choice=measure (to fill it) or cached (to read it)");
  if (options.conv_cache.empty()) return;
  // Said now, and not by the first convolution that is measured.
  const bool opens = cached ? static_cast<bool>(std::ifstream(options.conv_cache)) : static_cast<bool>(std::ofstream(options.conv_cache, std::ios::app));
  if (!opens || std::filesystem::is_directory(options.conv_cache)) {
    fail(std::string("cannot ") + (cached ? "read " : "write ") + options.conv_cache + ", the choices of convolutions (conv_cache)");
  }
#if !RK_CPU  // which has one way, and nothing to read
  // Two names of one file are one file.
  check(sbk::gpu::conv_choices_file(std::filesystem::canonical(options.conv_cache).c_str(), cached));
#endif
}

}  // namespace

Options Options::read(const OrtSessionOptions* options, const std::string& provider) {
  std::string prefix = "ep.";
  for (char c : provider) prefix += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  prefix += '.';
  refuse_unknown(options, prefix);
  Options result;
  result.graph_capture = flag(entry(options, prefix + "enable_hip_graph"), false, "enable_hip_graph");
  result.channels_last = flag(entry(options, prefix + "channels_last"), true, "channels_last");
  result.fusion = flag(entry(options, prefix + "fuse"), true, "fuse");
  result.conv_choice = choosing(entry(options, prefix + "conv_choice"));
  const std::optional<std::string> cache = entry(options, prefix + "conv_cache");
  require(!cache || !cache->empty(), "provider option conv_cache is the name of a file, not empty");
  result.conv_cache = cache.value_or("");
  open_conv_cache(result);
  return result;
}

}  // namespace rk
