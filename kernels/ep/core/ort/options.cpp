#include "core/ort/options.hpp"

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>

namespace rk {
namespace {

// Nothing where the option is not given.
std::optional<std::string> entry(const OrtSessionOptions* options, const std::string& key) {
  int is_there = 0;
  check(api().ort->HasSessionConfigEntry(options, key.c_str(), &is_there));
  if (is_there == 0) return std::nullopt;
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

// "a, b and c".
std::string joined_words(const std::vector<std::string>& words) {
  std::string text = words[0];
  for (size_t i = 1; i < words.size(); ++i) text += (i + 1 == words.size() ? " and " : ", ") + words[i];
  return text;
}

// A misspelt option would be left out in silence.
void refuse_unknown(const OrtSessionOptions* options, const std::string& prefix) {
  std::vector<std::string> option_names = {"enable_hip_graph", "channels_last", "fuse"};
  const std::vector<std::string>& more = operator_options().names;
  option_names.insert(option_names.end(), more.begin(), more.end());
  OrtKeyValuePairs* raw = nullptr;
  check(api().ort->GetSessionOptionsConfigEntries(options, &raw));
  const std::unique_ptr<OrtKeyValuePairs, decltype(api().ort->ReleaseKeyValuePairs)> pairs(raw, api().ort->ReleaseKeyValuePairs);
  const char* const* keys = nullptr;
  const char* const* values = nullptr;
  size_t count = 0;
  api().ort->GetKeyValuePairs(raw, &keys, &values, &count);
  for (size_t i = 0; i < count; ++i) {
    const std::string key = keys[i];
    if (key.compare(0, prefix.size(), prefix) != 0) continue;
    const std::string name = key.substr(prefix.size());
    if (std::find(option_names.begin(), option_names.end(), name) == option_names.end()) fail("RocKernels has no provider option " + name + "; it has " + joined_words(option_names));
  }
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
  for (const std::string& name : operator_options().names)
    if (const std::optional<std::string> value = entry(options, prefix + name)) result.of_operators.emplace(name, *value);
  operator_options().check(result);
  return result;
}

}  // namespace rk
