#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>

#include "torch/modules/packed_panels.h"
#include "torch/modules/recurrent_moments.h"

// A recurrent layer whose way back is written out for CPUs, whatever its cell.
namespace stoker::torch_door {

// Of the weights of a direction, in the order of torch.nn, and of the inputs of the layer.
struct RecurrentGradients {
  std::array<at::Tensor, 4> weights;
  at::Tensor inputs;  // undefined where nobody asks
};

// A layer in one direction or both. A Direction is made of its four weights; run_forward(moments, number)
// fills its part of the outputs, run_backward(moments, number, gradient, with_inputs) gives its
// RecurrentGradients.
template <class Direction>
class RecurrentLayer {
 public:
  RecurrentLayer(const at::Tensor& x, std::span<const at::Tensor> weights)
      : moments_(x, static_cast<std::int64_t>(weights.size() / 4), weights[1].size(1)) {
    for (std::size_t i = 0; i + 3 < weights.size(); i += 4) directions_.emplace_back(weights.subspan(i, 4));
  }

  at::Tensor run() {
    moments_.in_all_directions([this](std::int64_t number) {
      directions_[static_cast<std::size_t>(number)].run_forward(moments_, number);
    });
    return moments_.outputs.transpose(0, 1).detach();
  }

  std::vector<at::Tensor> run_back(const at::Tensor& gradient, bool with_inputs) {
    const at::Tensor by_moment = gradient_by_moments(gradient);
    std::vector<RecurrentGradients> found(directions_.size());
    moments_.in_all_directions([&](std::int64_t number) {
      const auto place = static_cast<std::size_t>(number);
      found[place] = directions_[place].run_backward(moments_, number, by_moment, with_inputs);
    });
    std::vector<at::Tensor> all(1);
    for (RecurrentGradients& each : found) {
      if (each.inputs.defined()) all[0] = all[0].defined() ? all[0].add_(each.inputs) : each.inputs;
      all.insert(all.end(), each.weights.begin(), each.weights.end());
    }
    if (all[0].defined()) all[0] = all[0].transpose(0, 1);
    return all;
  }

 private:
  RecurrentMoments moments_;
  std::vector<Direction> directions_;
};

// Whether a layer of so many hidden units can be run here.
inline bool suits_own_recurrent(const at::Tensor& x, std::int64_t hidden) {
  return x.is_cpu() && x.scalar_type() == at::kFloat && hidden % fused_cpu::panel == 0 &&
         !at::autocast::is_autocast_enabled(at::kCPU);
}

}  // namespace stoker::torch_door
