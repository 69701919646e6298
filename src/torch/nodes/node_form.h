#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/value.h"
#include "model/nodes/node.h"

// Nodes over spectral cubes as LibTorch computes them: forward alone, autograd finds the way back. What each
// of them does is said by the file of its type in model/nodes, which these are held to.
namespace stoker::torch_door {

using NodeTensors = std::map<std::string, at::Tensor, std::less<>>;  // by port, or by the name of an array

struct NodePass {
  const NodeTensors& inputs;
  const NodeTensors& state;
  const config::Value& settings;
  const std::vector<double>& wavelengths;
  nodes::Stage stage = nodes::Stage::train;

  const at::Tensor& input(std::string_view port) const { return inputs.find(port)->second; }
  const at::Tensor& array(std::string_view name) const { return state.find(name)->second; }
  bool is_training() const { return stage == nodes::Stage::train; }

  // Settings of the node, which are written out with every default.
  std::optional<double> number_if(std::string_view name) const;
  double number(std::string_view name) const { return number_if(name).value(); }
  bool is_set(std::string_view name) const;  // to true
  std::string word(std::string_view name) const;
};

struct NodeForm {
  std::string_view type;
  NodeTensors (*run)(const NodePass& pass);
  bool has_way_back = true;  // else nothing before it can be trained
  // What changes with time, given the number of an epoch, from 0, on the device.
  void (*begin_epoch)(const NodePass& pass, const at::Tensor& epoch) = nullptr;
};

// Null where there is none.
const NodeForm* find_form(std::string_view type);

// Each a file of its own. Losses are numbers of double precision.
std::vector<NodeForm> forms_of_scales();
std::vector<NodeForm> forms_of_scores();
std::vector<NodeForm> forms_of_mixtures();
std::vector<NodeForm> forms_of_losses();

}  // namespace stoker::torch_door
