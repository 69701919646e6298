#pragma once

#include <cstdint>
#include <vector>

#include "model/nodes/node.h"

namespace stoker::nodes {

Port wavelengths_port();
std::vector<double> wavelengths_in(const Values& inputs);
// The channel nearest to a wavelength, which must be among those that there are: no further from the first or
// the last than channels are apart there.
std::int64_t nearest_channel(const std::vector<double>& wavelengths, double wanted);

}  // namespace stoker::nodes
