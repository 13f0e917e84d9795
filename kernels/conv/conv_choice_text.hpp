// A shape as a key, and a choice as a line of text: `DEVICE TYPE numbers… = ALGORITHM VARIANT`.
#pragma once

#include <cstring>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>

#include "conv/conv_choice.hpp"
#include "conv/conv_plan.hpp"

namespace sbk::conv_detail {

// The number goes up when a variant's meaning changes.
constexpr const char* kChoicesHeader = "stackbuild-kernels conv choices 1";

constexpr int kShapeNumbers = 8 + 6 * kConvMaxSpatial;

// Everything that the time depends on; the activation and whether there is a bias or residual hardly matter.
struct ShapeKey {
  int64_t device;  // ordinal in this process
  int64_t numbers[kShapeNumbers];
  bool operator==(const ShapeKey& other) const { return std::memcmp(this, &other, sizeof *this) == 0; }
};

struct ShapeHash {
  size_t operator()(const ShapeKey& key) const {
    return std::hash<std::string_view>()({reinterpret_cast<const char*>(&key), sizeof key});
  }
};

inline ShapeKey shape_key(const ConvParams& p) {
  const ConvParams q = with_three_axes(p);
  ShapeKey key{};
  int64_t* to = key.numbers;
  for (const int64_t n : {static_cast<int64_t>(p.dtype), static_cast<int64_t>(p.layout), static_cast<int64_t>(p.filter_layout),
                          static_cast<int64_t>(p.spatial), p.batch, p.in_channels, p.out_channels, p.groups}) {
    *to++ = n;
  }
  for (const auto* field : {&q.in, &q.out, &q.kernel, &q.stride, &q.dilation, &q.pad_begin}) {
    for (const int64_t n : *field) *to++ = n;
  }
  return key;
}

inline const char* name_of(ConvAlgorithm algorithm) {
  constexpr const char* kNames[] = {"automatic", "direct", "implicit_gemm", "winograd2", "winograd4", "depthwise", "pointwise"};
  return kNames[static_cast<int>(algorithm)];
}

inline std::string line_of(const std::string& device, const ShapeKey& key, const Choice& choice) {
  std::string line = device;
  for (const int64_t n : key.numbers) line += " " + std::to_string(n);
  return line + " = " + name_of(choice.algorithm) + " " + std::to_string(choice.variant) + "\n";
}

inline bool parse_line(const std::string& line, std::string* device, ShapeKey* key, Choice* choice) {
  std::istringstream in(line);
  std::string equals, name;
  in >> *device;
  for (int64_t& n : key->numbers) in >> n;
  in >> equals >> name >> choice->variant;
  if (!in || equals != "=" || choice->variant < 1 || choice->variant > kConvMaxChoices || !(in >> std::ws).eof()) return false;
  for (const auto algorithm : {ConvAlgorithm::direct, ConvAlgorithm::implicit_gemm, ConvAlgorithm::winograd2,
                               ConvAlgorithm::winograd4, ConvAlgorithm::depthwise, ConvAlgorithm::pointwise}) {
    if (name == name_of(algorithm)) {
      choice->algorithm = algorithm;
      return true;
    }
  }
  return false;
}

}  // namespace sbk::conv_detail
