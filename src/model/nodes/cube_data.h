#pragma once

#include <cstdint>
#include <vector>

#include "config/field.h"

namespace stoker::nodes {

// Of the node where cubes enter.
struct CubeDataSettings {
  std::vector<std::int64_t> normal_class_ids{0};
};
config::Fields fields(CubeDataSettings& s);

}  // namespace stoker::nodes
