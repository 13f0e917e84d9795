// The provider options conv_choice and conv_cache.
#pragma once

#include "conv/conv.hpp"
#include "core/ort/options.hpp"

namespace rk {

// conv_choice: rule, no_winograd, measure or cached; environment where it is not given.
sbk::ConvChoosing conv_choice(const Options& options);

}  // namespace rk
