#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/placement/dataset.h"
#include "model/nodes/node_network.h"

namespace stoker {

// Whether a network is a graph of nodes that scores pixels when it is validated, and the cubes have masks.
bool can_measure_cubes(const Network& network, const Dataset& data);

// Whether a graph of nodes has losses in validation that read masks, all of which say that nothing is marked
// in these cubes: what falls then is what it finds anywhere.
bool lacks_marks_to_validate(const Network& network, const Dataset& data);

// Cubes that are prepared already: what a training validates on, measured again and again while it goes on.
class CubesToMeasure {
 public:
  // At most so many of them. Where that is not all, they are evenly spaced among those in which something is
  // marked, as far as there are any: of others there is little to tell.
  CubesToMeasure(const Network& network, Dataset data, std::int64_t most);
  // As evaluate_cubes() has them, of what the graph is in validation.
  std::vector<std::pair<std::string, double>> measure(const NamedArrays& parameters) const;

 private:
  nodes::NodeNetwork network_;
  Dataset data_;
  std::vector<std::int64_t> rows_;
};

}  // namespace stoker
