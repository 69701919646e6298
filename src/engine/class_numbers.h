#pragma once

#include <cstdint>

#include "base/error.h"

namespace stoker {

// Kernels take a row's class for the place of an output: every engine looks at all of them once, when it gets
// the rows.
inline void refuse_unknown_classes(std::int64_t least, std::int64_t most, std::int64_t outputs) {
  if (least >= 0 && most < outputs) return;
  refuse("the targets contain classes {} to {}, but a network with {} outputs knows 0 to {}", least, most,
         outputs, outputs - 1);
}

}  // namespace stoker
