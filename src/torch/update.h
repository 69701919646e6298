#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "engine/engine.h"
#include "kernels/place.h"
#include "kernels/weights.h"

namespace stoker::torch_door {

// Gradients into weights: clipping, then LibTorch's fused optimiser or our own over the flat buffers, then
// the moving average. Nothing here waits for the device: the learning rate and the number of the update are
// device scalars.
class Update {
 public:
  struct Tensors {
    at::Tensor parameters;
    at::Tensor gradients;
    at::Tensor first_moment;   // adam, adamw; sgd with momentum: the velocity; lion: the momentum
    at::Tensor second_moment;  // adam, adamw
    at::Tensor learning_rate;
    at::Tensor update_number;
    at::Tensor skipped;  // 1: nothing changes
    at::Tensor average;  // of the parameters; undefined: none is kept
  };
  // With `own_adam` clipping and Adam are two launches of ours instead of some ten of LibTorch's.
  Update(const OptimizerSettings& settings, const Tensors& tensors, double average_decay,
         const kernels::Place& place, bool own_adam = false);

  void run();
  // Of the gradients before they were clipped, and 1e-6 more, so that it can be divided by; undefined where
  // they are not.
  const at::Tensor& norm() const { return norm_; }

 private:
  void clip();
  void run_own_adam();

  OptimizerSettings settings_;
  at::Tensor gradients_;
  at::Tensor learning_rate_;
  at::Tensor skipped_;
  kernels::Place place_;
  kernels::Lion lion_;
  bool has_own_adam_;
  kernels::Adam adam_;
  at::Tensor squares_;
  kernels::WeightAverage average_;
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
