#pragma once

#include <memory>
#include <string>

#include "torch/modules/module.h"

namespace stoker::torch_door {

// A graph of nodes over cubes. Its outputs are the losses of the batch, behind a column of zeros and the same
// for every row: their mean is what they are.
std::unique_ptr<Module> make_node_graph(const Network& network, const Parameters& parameters);

// Why such a graph cannot be trained here, or "".
std::string problem_of_nodes(const Network& network, bool is_validated);

}  // namespace stoker::torch_door
