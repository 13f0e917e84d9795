// What Reshape makes of a shape.
#pragma once

#include "core/tensor/tensor.hpp"

namespace rk {

struct Reshaping {
  std::vector<int64_t> wanted;  // 0 copies the input's extent, -1 takes what is left
  bool zero_is_zero = false;    // unless 0 is meant

  Shape of(const Shape& from) const {
    Shape shape;
    int inferred = -1;
    int64_t known = 1;
    for (size_t i = 0; i < wanted.size(); ++i) {
      int64_t extent = wanted[i];
      require(extent >= -1 && (extent != -1 || inferred < 0), "Reshape's shape has a negative extent, or more than one -1");
      if (extent == 0 && !zero_is_zero) {
        require(static_cast<int>(i) < from.rank(), "Reshape copies an extent that the input does not have");
        extent = from[static_cast<int>(i)];
      }
      if (extent == -1) inferred = static_cast<int>(i);
      else known *= extent;
      shape.push(extent);
    }
    if (inferred >= 0) {
      require(known != 0 && from.size() % known == 0, "Reshape cannot infer an extent: the sizes do not divide");
      shape[inferred] = from.size() / known;
    }
    require(shape.size() == from.size(), "Reshape changes the number of elements");
    return shape;
  }
};

}  // namespace rk
