#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/field.h"
#include "data/placement/dataset.h"
#include "model/family.h"
#include "model/network.h"
#include "model/nodes/node_graph.h"

template <>
inline constexpr std::array<std::string_view, 2> stoker::config::names<stoker::kernels::BadPixels>{
    "refuse", "leave_out"};

// A graph of nodes as a network: its settings, what its arrays are called, and the cubes that enter it.
namespace stoker::nodes {

constexpr const char* node_graph_family = "node_graph";

struct NodeGraphSettings {
  std::vector<config::Value> nodes;
  std::vector<config::Value> connections;
  std::vector<std::string> unfrozen;
  kernels::BadPixels bad_pixels = kernels::BadPixels::refuse;
  std::vector<double> wavelengths;
};
config::Fields fields(NodeGraphSettings& s);

// An array of a node among the parameters of the network, NODE.ARRAY.
struct NodeArray {
  std::string node;
  std::string name;
  ParameterSpec spec;
};

struct NodeNetwork {
  NodeGraph graph;
  std::vector<NodeArray> arrays;
  std::vector<std::string> unfrozen;
  std::vector<std::int64_t> normal_classes;  // of masks
  std::vector<double> wavelengths;
  kernels::BadPixels bad_pixels = kernels::BadPixels::refuse;

  bool is_trained(std::string_view node) const;
  bool trains_any() const;
  States states(const NamedArrays& parameters) const;
  // Those of the states that are among them, under their names.
  NamedArrays parameters(const States& states) const;
};

// What is wrong with cubes that come to the graph without masks; "" where no node reads them.
std::string problem_without_masks(const NodeGraph& graph);

bool is_node_network(const Network& network);
// Refuses what the cubes of the network do not fit, all of it at once.
NodeNetwork node_network(const Network& network);

// The nodes that are wanted and those that lead to them.
NodeGraph part_leading_to(const NodeGraph& graph,
                          const std::function<bool(const GraphNode& node)>& is_wanted);
// Those that the losses of a stage need.
NodeGraph part_with_losses(const NodeGraph& graph, Stage stage);

// What enters a graph of the rows of a dataset. It looks at both, which must outlive it. Where bad pixels are
// left out, those that are left of a cube come as an image of one line.
class EnteringCubes {
 public:
  EnteringCubes(const NodeNetwork& network, const Dataset& data);
  Values one(std::int64_t row) const;  // the cube is not copied, unless pixels are left out
  // One behind the other; where bad pixels are left out, as a single image.
  Values together(std::span<const std::int64_t> rows) const;
  // Places of the pixels that are left of a cube; none where all are.
  std::optional<std::vector<std::int64_t>> pixels_left(std::int64_t row) const;
  Shape image() const { return {cubes_.row_shape()[0], cubes_.row_shape()[1]}; }  // height and width of each

 private:
  Values whole(std::int64_t row) const;
  void add_marks(std::int64_t row, std::span<std::uint8_t> marks) const;

  const NodeNetwork& network_;
  const DatasetArray& cubes_;
  const DatasetArray* masks_;  // null: there are none
  Array wavelengths_;
};

}  // namespace stoker::nodes
