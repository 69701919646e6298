#pragma once

#include "model/family.h"

namespace stoker {

// A graph of nodes over hyperspectral cubes: statistics of all training pixels first, then gradients of the
// nodes that are unfrozen.
Family node_graph();

}  // namespace stoker
