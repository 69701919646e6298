#pragma once

#include <cstdint>
#include <vector>

#include "model/nodes/node.h"

namespace stoker::nodes {

Port wavelengths_port();
// Refuses another number of wavelengths than there are channels.
void check_wavelengths(std::int64_t wavelengths, DType type, const Shape& cube);
// The same of a node's ports, the first of which has the cube, as far as they are known.
void check_wavelengths(const Ports& connected);
// Those that come in with a cube.
std::vector<double> wavelengths_for(const Values& inputs, const Array& cube);
// The channel nearest to a wavelength, which must be among those that there are: no further from the first or
// the last than channels are apart there.
std::int64_t nearest_channel(const std::vector<double>& wavelengths, double wanted);

}  // namespace stoker::nodes
