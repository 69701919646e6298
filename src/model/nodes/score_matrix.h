#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/nodes/node_graph.h"
#include "model/nodes/pixels.h"

// A detector with affine nodes before it is one matrix: its scores are squared lengths of what the matrix
// makes of pixels.
namespace stoker::nodes {

// The last column is what is added.
using Homogeneous = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// With a last row for the 1 behind what comes out.
Homogeneous homogeneous(const Affine& affine);

// Its squared length is the score of RX: the root of the inverse covariance, after the mean is taken away.
// None where the inverse, rounded to single precision, is not positive.
std::optional<Homogeneous> root_of_detector(const NamedArrays& state);

// Where the cubes enter that a detector scores, and the nodes between, from there on. None where something
// reads another port than the first.
struct BeforeDetector {
  std::size_t data = 0;
  std::vector<std::size_t> nodes;
};
std::optional<BeforeDetector> before_detector(const NodeGraph& graph, std::size_t detector);

// A matrix times this is one for pixels that `near` is taken away from first, so that no digits are lost.
Homogeneous shifting_by(std::span<const float> near);

}  // namespace stoker::nodes
