#pragma once

#include <cstdint>

#include "data/placement/dataset.h"
#include "device/array.h"
#include "model/network.h"

namespace stoker::torch_door {

// [count, outputs] of the rows from `first` on, as door.h says.
Array module_outputs(const Network& network, const NamedArrays& parameters, const Dataset& data,
                     std::int64_t first, std::int64_t count, Device device);

}  // namespace stoker::torch_door
