// The gate against runtimes that are not installed here. Prints what does not hold.
#include "core/ort/version_gate.hpp"

#include <cstdio>
#include <cstring>

namespace rk {
Api& api() {
  static Api instance;
  return instance;
}
}  // namespace rk

namespace {

const char* release = "";
OrtApi first{}, second{};
OrtApi* running = &first;
char said[1000];

OrtStatus* ORT_API_CALL create(OrtErrorCode, const char* message) noexcept {
  std::snprintf(said, sizeof said, "%s", message);
  return reinterpret_cast<OrtStatus*>(said);
}
const OrtEpApi* ORT_API_CALL ep_api() { return nullptr; }
const OrtApi* ORT_API_CALL get(uint32_t) noexcept { return running; }
const char* ORT_API_CALL version() noexcept { return release; }

bool says(const char* running_release, const char* words) {
  const OrtApiBase base{get, version};
  release = running_release;
  said[0] = '\0';
  const bool refused = rk::open_api(&base, rk::api()) != nullptr;
  if (refused == (*words != '\0') && std::strstr(said, words) != nullptr) return true;
  std::printf("%s: \"%s\", not \"%s\"\n", running_release, said, words);
  return false;
}

}  // namespace

int main() {
  for (OrtApi* one : {&first, &second}) {
    one->CreateStatus = create;
    one->GetEpApi = ep_api;
  }
  bool right = says("1.23.2", "needs ONNX Runtime 1.24") && says("1.24.1", "") && says("2.0.0", "") && says("1.99.0", "");
  running = &second;
  right = right && says("1.32.0", "serves another ONNX Runtime");
  running = &first;
  right = right && says("1.32.0", "") && rk::api().ort == &first;
  std::puts(right ? "all hold" : "");
}
