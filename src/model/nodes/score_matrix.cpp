#include "model/nodes/score_matrix.h"

#include <Eigen/Cholesky>

namespace stoker::nodes {

Homogeneous homogeneous(const Affine& affine) {
  Homogeneous matrix = Homogeneous::Zero(affine.outputs + 1, affine.inputs + 1);
  for (std::int64_t i = 0; i < affine.outputs; ++i) {
    for (std::int64_t j = 0; j < affine.inputs; ++j) matrix(i, j) = affine.at(i, j);
    matrix(i, affine.inputs) = affine.offset[static_cast<std::size_t>(i)];
  }
  matrix(affine.outputs, affine.inputs) = 1;
  return matrix;
}

std::optional<Homogeneous> root_of_detector(const NamedArrays& state) {
  const Eigen::MatrixXd inverse = matrix_in(state, "cov_inv").cast<double>();
  const Eigen::VectorXd mean = matrix_in(state, "mu").row(0).transpose().cast<double>();
  const Eigen::LLT<Eigen::MatrixXd> factored((inverse + inverse.transpose()) / 2);
  if (factored.info() != Eigen::Success) return std::nullopt;
  const Eigen::MatrixXd root = factored.matrixU();
  Homogeneous result(root.rows(), root.cols() + 1);
  result << root, -root * mean;
  return result;
}

std::optional<BeforeDetector> before_detector(const NodeGraph& graph, std::size_t detector) {
  BeforeDetector before;
  Link link = graph.nodes[detector].sources.at("data");
  while (graph.nodes[link.node].type->kind != NodeKind::data) {
    const GraphNode& node = graph.nodes[link.node];
    if (node.outputs.empty() || node.outputs[0].name != link.port || node.inputs.empty()) return std::nullopt;
    before.nodes.insert(before.nodes.begin(), link.node);
    link = node.sources.at(node.inputs[0].name);
  }
  if (link.port != "cube") return std::nullopt;
  before.data = link.node;
  return before;
}

Homogeneous shifting_by(std::span<const float> near) {
  const auto columns = std::ssize(near);
  Homogeneous shifting = Homogeneous::Identity(columns + 1, columns + 1);
  for (std::int64_t i = 0; i < columns; ++i)
    shifting(i, columns) = static_cast<double>(near[static_cast<std::size_t>(i)]);
  return shifting;
}

}  // namespace stoker::nodes
