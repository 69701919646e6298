#pragma once

#include <ATen/core/Tensor.h>

#include "device/array.h"

namespace stoker::torch_door {

// fp16 cannot hold gradients below 6e-8, so that of the loss is multiplied by a scale on the way back and the
// sum is divided by it. A step whose gradients are not finite is left out and halves the scale; many good
// ones in a row double it. All of it happens on the device, so a captured step does it too.
class LossScaling {
 public:
  static constexpr float first_scale = 65'536;
  static constexpr int good_steps_to_grow = 2000;
  // Below, gradients overflow that are not scaled up at all: fp16 is not enough for the training.
  static constexpr float least_scale = 1;

  // `stopped` is 1 where nothing is to change any more.
  LossScaling(Device device, at::Tensor stopped);

  const at::Tensor& scale() const { return scale_; }
  // 1: the weights stay as they are, because training is over or these gradients are not finite.
  const at::Tensor& skipped() const { return skipped_; }

  void take_out_of(at::Tensor& gradients);
  // Of the step that is under way: steps that were left out are no updates, for Adam's corrections.
  void leave_out_of(at::Tensor& update_number) const;
  void adapt();            // after the update
  bool is_enough() const;  // waits for the device

  std::vector<at::Tensor> changing_tensors() const { return {scale_, good_steps_, left_out_}; }
  void append_to(NamedArrays& state) const;
  void restore(const NamedArrays& state);

 private:
  at::Tensor stopped_;
  at::Tensor scale_;
  at::Tensor good_steps_;
  at::Tensor left_out_;  // steps so far
  at::Tensor skipped_;
  at::Tensor inverse_;
  at::Tensor scale_before_;
  at::Tensor good_steps_before_;
};

}  // namespace stoker::torch_door
