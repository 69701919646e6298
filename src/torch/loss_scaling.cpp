#include "torch/loss_scaling.h"

#include <algorithm>
#include <cmath>

#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include "base/error.h"
#include "torch/tensors.h"

namespace stoker::torch_door {

LossScaling::LossScaling(Device device, at::Tensor stopped)
    : stopped_(std::move(stopped)),
      scale_(at::full({1}, first_scale, floats_on(device))),
      good_steps_(at::zeros({1}, options_of(DType::int32, device))),
      left_out_(at::zeros({1}, floats_on(device))),
      skipped_(at::zeros({1}, floats_on(device))),
      inverse_(at::empty_like(scale_)),
      scale_before_(at::empty_like(scale_)),
      good_steps_before_(at::empty_like(good_steps_)) {}

void LossScaling::take_out_of(at::Tensor& gradients) {
  skipped_.copy_(stopped_);
  at::reciprocal_out(inverse_, scale_);
  at::_amp_foreach_non_finite_check_and_unscale_({gradients}, skipped_, inverse_);
}

void LossScaling::leave_out_of(at::Tensor& update_number) const {
  update_number.sub_(left_out_.select(0, 0)).clamp_min_(1);
}

// A run that has stopped early is replayed to the end of its chunk.
void LossScaling::adapt() {
  scale_before_.copy_(scale_);
  good_steps_before_.copy_(good_steps_);
  at::_amp_update_scale_(scale_, good_steps_, skipped_, 2.0, 0.5, good_steps_to_grow);
  const at::Tensor is_over = at::ne(stopped_, 0);
  scale_.copy_(at::where(is_over, scale_before_, scale_));
  good_steps_.copy_(at::where(is_over, good_steps_before_, good_steps_));
  left_out_.add_(at::where(is_over, 0, skipped_));
}

bool LossScaling::is_enough() const {
  return scale_.to(at::kCPU).const_data_ptr<float>()[0] >= least_scale;
}

void LossScaling::append_to(NamedArrays& state) const {
  state.push_back({"loss_scale", host_array(scale_)});
  state.push_back({"good_steps_of_scale", host_array(good_steps_)});
  state.push_back({"steps_left_out", host_array(left_out_)});
}

void LossScaling::restore(const NamedArrays& state) {
  const Array& scale = find_array(state, "loss_scale");
  const Array& good_steps = find_array(state, "good_steps_of_scale");
  const bool fits = scale.type() == DType::float32 && scale.shape() == Shape{1} &&
                    good_steps.type() == DType::int32 && good_steps.shape() == Shape{1};
  if (!fits || !std::isfinite(scale.as<float>()[0]) || scale.as<float>()[0] <= 0)
    refuse("the saved state has no scale of the loss");
  const auto left_out = std::ranges::find(state, "steps_left_out", &NamedArray::name);
  if (left_out == state.end()) {
    left_out_.zero_();  // earlier versions did not count them
  } else {
    const Array& steps = left_out->array;
    if (steps.type() != DType::float32 || steps.shape() != Shape{1} || !(steps.as<float>()[0] >= 0))
      refuse("the saved state does not say how many steps were left out");
    left_out_.copy_(view_of(steps));
  }
  scale_.copy_(view_of(scale));
  good_steps_.copy_(view_of(good_steps));
}

}  // namespace stoker::torch_door
