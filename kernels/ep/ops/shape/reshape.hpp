// What Reshape makes of a shape.
#pragma once

#include "core/tensor/tensor.hpp"

namespace rk {

struct Reshaping {
  std::vector<int64_t> extents;  // 0 copies the input's extent, -1 takes what is left
  bool zero_is_zero = false;     // unless 0 is meant

  Shape of(const Shape& from) const {
    Shape shape;
    int free_axis = -1;
    int64_t product = 1;
    for (size_t i = 0; i < extents.size(); ++i) {
      int64_t extent = extents[i];
      require(extent >= -1 && (extent != -1 || free_axis < 0), "Reshape's shape has a negative extent, or more than one -1");
      if (extent == 0 && !zero_is_zero) {
        require(static_cast<int>(i) < from.rank(), "Reshape copies an extent that the input does not have");
        extent = from[static_cast<int>(i)];
      }
      if (extent == -1) free_axis = static_cast<int>(i);
      else product *= extent;
      shape.push(extent);
    }
    if (free_axis >= 0) {
      require(product != 0 && from.size() % product == 0, "Reshape cannot infer an extent: the sizes do not divide");
      shape[free_axis] = from.size() / product;
    }
    require(shape.size() == from.size(), "Reshape changes the number of elements");
    return shape;
  }
};

}  // namespace rk
