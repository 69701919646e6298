#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "engine/engine.h"

namespace stoker::torch_door {

// Gradients into weights: clipping, then LibTorch's fused optimiser over the flat buffers. Nothing here waits
// for the device: the learning rate and the number of the update are device scalars.
class Update {
 public:
  struct Tensors {
    at::Tensor parameters;
    at::Tensor gradients;
    at::Tensor first_moment;   // adam, adamw; sgd with momentum: the velocity
    at::Tensor second_moment;  // adam, adamw
    at::Tensor learning_rate;
    at::Tensor update_number;
    at::Tensor stopped;  // 1: nothing changes any more
  };
  Update(const OptimizerSettings& settings, const Tensors& tensors);

  void run();
  // Of the gradients before they were clipped, and 1e-6 more, so that it can be divided by; undefined where
  // they are not.
  const at::Tensor& norm() const { return norm_; }

 private:
  void clip();

  OptimizerSettings settings_;
  at::Tensor gradients_;
  at::Tensor learning_rate_;
  at::Tensor stopped_;
  std::vector<at::Tensor> parameter_pieces_;
  std::vector<at::Tensor> gradient_pieces_;
  std::vector<at::Tensor> first_pieces_;
  std::vector<at::Tensor> second_pieces_;
  std::vector<at::Tensor> update_numbers_;
  at::Tensor norm_;
  at::Tensor limit_;
  at::Tensor factor_;
};

}  // namespace stoker::torch_door
