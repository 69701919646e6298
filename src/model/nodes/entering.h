#pragma once

#include "model/nodes/node_graph.h"

namespace stoker::nodes {

// What comes out of the node where cubes enter, given what enters there: refuses cubes, masks and wavelengths
// that are not those that the graph was read for, or do not go with each other.
Values values_of_data(const GraphNode& data, const Values& entering, Stage stage);

}  // namespace stoker::nodes
