#pragma once

#include <string>

#include "device/array.h"
#include "fused/cpu/sets/set_step.h"
#include "model/network/triangulation.h"

namespace stoker::fused_cpu {

// The layers with the places of their numbers in the flat buffers; the buffers are not set.
Network network_of_sets(const TriangulationShape& shape);
// What goes with it, for kernels.
SetNetwork set_network(const TriangulationShape& shape, const Network& network);

// Named parameters to their places in a flat buffer and back.
void pack_sets(const TriangulationShape& shape, const Network& network, const NamedArrays& arrays,
               const std::string& prefix, Array& flat);
void append_unpacked_sets(const TriangulationShape& shape, const Network& network, const Array& flat,
                          const std::string& prefix, NamedArrays& arrays);

}  // namespace stoker::fused_cpu
