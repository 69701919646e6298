#pragma once

#include <span>

#include "model/nodes/node.h"

namespace stoker::nodes {

// Three channels, each brought to the range from 0 to 1 within each image.
Array compose_rgb(const Array& cube, std::span<const std::int64_t> channels);
Port rgb_port(const Port& cube);

}  // namespace stoker::nodes
