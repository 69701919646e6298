#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include <ATen/core/Tensor.h>
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

}  // namespace stoker::torch_door
