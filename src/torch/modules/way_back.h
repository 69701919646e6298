#pragma once

#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

namespace stoker::torch_door {

// Tells autograd that a node of our own leads from `left` back to `entering`. LibTorch holds its nodes by
// shared pointers, and since 2.12 by intrusive ones.
template <class Node, class Entering, class... Arguments>
void record_way_back(at::Tensor& left, const Entering& entering, Arguments&&... arguments) {
  using Pointer = std::remove_cvref_t<decltype(left.grad_fn())>;
  Pointer node;
  if constexpr (std::is_same_v<Pointer, std::shared_ptr<torch::autograd::Node>>) {
    node = std::make_shared<Node>(std::forward<Arguments>(arguments)...);
  } else {
    node = c10::make_intrusive<Node>(std::forward<Arguments>(arguments)...);
  }
  node->set_next_edges(torch::autograd::collect_next_edges(entering));
  torch::autograd::set_history(left, node);
}

// Where the way back comes to a layer that is written out: its run_back() gives the gradients of all that
// entered, from that of what it put out.
template <class Layer>
class LayerWayBack : public torch::autograd::Node {
 public:
  explicit LayerWayBack(std::unique_ptr<Layer> layer) : layer_(std::move(layer)) {}

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    const at::NoGradGuard no_autograd;
    return layer_->run_back(gradients.front(), /*with_inputs=*/task_should_compute_output(0));
  }
  void release_variables() override { layer_.reset(); }

 private:
  std::unique_ptr<Layer> layer_;
};

// What such a layer makes of x and its weights.
template <class Layer, class... Arguments>
at::Tensor run_own_layer(const at::Tensor& x, std::span<const at::Tensor> weights,
                         const Arguments&... arguments) {
  std::unique_ptr<Layer> layer;
  at::Tensor outputs;
  {
    const at::NoGradGuard no_autograd;
    layer = std::make_unique<Layer>(x, weights, arguments...);
    outputs = layer->run();
  }
  if (!at::GradMode::is_enabled()) return outputs;
  std::vector<at::Tensor> entering{x};
  entering.insert(entering.end(), weights.begin(), weights.end());
  record_way_back<LayerWayBack<Layer>>(outputs, entering, std::move(layer));
  return outputs;
}

}  // namespace stoker::torch_door
