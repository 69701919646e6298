#include "torch/update.h"

#include <algorithm>

#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/add.h>
#include <ATen/ops/div.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>

namespace stoker::torch_door {
namespace {

// On a GPU the fused kernels give each tensor of up to 65,536 elements to one block. Small networks are cut
// into pieces of one sweep of a block (512 threads of 4 elements), so that more than one multiprocessor
// works; large ones into few enough pieces for one launch.
constexpr std::int64_t least_piece = 2048;
constexpr std::int64_t most_pieces = 32;

std::vector<at::Tensor> pieces_of(const at::Tensor& flat) {
  if (!flat.defined()) return {};
  if (!flat.is_cuda()) return {flat};
  const std::int64_t even = (flat.numel() + most_pieces - 1) / most_pieces;
  const std::int64_t size = std::max(least_piece, (even + 15) / 16 * 16);
  std::vector<at::Tensor> pieces;
  for (std::int64_t first = 0; first < flat.numel(); first += size) {
    pieces.push_back(flat.narrow(0, first, std::min(size, flat.numel() - first)));
  }
  return pieces;
}

kernels::Adam adam_of(const OptimizerSettings& settings, const Update::Tensors& tensors) {
  kernels::Adam adam;
  adam.weights = tensors.parameters.mutable_data_ptr<float>();
  adam.first_moment = tensors.first_moment.mutable_data_ptr<float>();
  adam.second_moment = tensors.second_moment.mutable_data_ptr<float>();
  adam.gradients = tensors.gradients.const_data_ptr<float>();
  adam.count = tensors.parameters.numel();
  adam.beta1 = static_cast<float>(settings.beta1);
  adam.beta2 = static_cast<float>(settings.beta2);
  adam.epsilon = static_cast<float>(settings.epsilon);
  adam.decay = static_cast<float>(settings.weight_decay);
  adam.is_decoupled = settings.kind == Optimizer::adamw;
  adam.learning_rate = tensors.learning_rate.const_data_ptr<float>();
  adam.update_number = tensors.update_number.const_data_ptr<float>();
  adam.skipped = tensors.skipped.const_data_ptr<float>();
  return adam;
}

kernels::Lion lion_of(const OptimizerSettings& settings, const Update::Tensors& tensors) {
  kernels::Lion lion;
  if (settings.kind != Optimizer::lion) return lion;
  lion.weights = tensors.parameters.mutable_data_ptr<float>();
  lion.momentum = tensors.first_moment.mutable_data_ptr<float>();
  lion.gradients = tensors.gradients.const_data_ptr<float>();
  lion.count = tensors.parameters.numel();
  lion.beta1 = static_cast<float>(settings.beta1);
  lion.beta2 = static_cast<float>(settings.beta2);
  lion.decay = static_cast<float>(settings.weight_decay);
  lion.learning_rate = tensors.learning_rate.const_data_ptr<float>();
  lion.skipped = tensors.skipped.const_data_ptr<float>();
  return lion;
}

kernels::WeightAverage average_of(const Update::Tensors& tensors, double decay) {
  kernels::WeightAverage average;
  if (!tensors.average.defined()) return average;
  average.averages = tensors.average.mutable_data_ptr<float>();
  average.weights = tensors.parameters.const_data_ptr<float>();
  average.count = tensors.parameters.numel();
  average.decay = static_cast<float>(decay);
  average.update_number = tensors.update_number.const_data_ptr<float>();
  average.skipped = tensors.skipped.const_data_ptr<float>();
  return average;
}

}  // namespace

Update::Update(const OptimizerSettings& settings, const Tensors& tensors, double average_decay,
               const kernels::Place& place, bool own_adam)
    : settings_(settings),
      gradients_(tensors.gradients),
      learning_rate_(tensors.learning_rate),
      skipped_(tensors.skipped),
      place_(place),
      lion_(lion_of(settings, tensors)),
      has_own_adam_(own_adam && settings.has_second_moment()),
      average_(average_of(tensors, average_decay)),
      parameter_pieces_(pieces_of(tensors.parameters)),
      gradient_pieces_(pieces_of(tensors.gradients)),
      first_pieces_(pieces_of(tensors.first_moment)),
      second_pieces_(pieces_of(tensors.second_moment)),
      update_numbers_(parameter_pieces_.size(), tensors.update_number) {
  if (has_own_adam_) {
    adam_ = adam_of(settings, tensors);
    if (settings.max_grad_norm > 0) {
      squares_ = at::empty({kernels::square_parts}, gradients_.options());
      adam_.squares = squares_.const_data_ptr<float>();
      adam_.max_norm = static_cast<float>(settings.max_grad_norm);
      norm_ = at::empty({}, gradients_.options());
      adam_.norm = norm_.mutable_data_ptr<float>();
    }
  } else if (settings.max_grad_norm > 0) {
    norm_ = at::empty({}, gradients_.options());
    factor_ = at::empty({}, gradients_.options());
    limit_ = at::full({}, settings.max_grad_norm, gradients_.options());
  }
}

// As torch.nn.utils.clip_grad_norm_: all gradients together are shortened to the limit.
void Update::clip() {
  at::linalg_vector_norm_out(norm_, gradients_);
  norm_.add_(1e-6);
  at::div_out(factor_, limit_, norm_);
  factor_.clamp_max_(1);
  gradients_.mul_(factor_);
}

void Update::run_own_adam() {
  if (squares_.defined())
    kernels::add_squares({adam_.gradients, adam_.count, squares_.mutable_data_ptr<float>()}, place_);
  kernels::adam(adam_, place_);
  if (average_.averages != nullptr) kernels::average_weights(average_, place_);
}

void Update::run() {
  if (has_own_adam_) return run_own_adam();
  if (settings_.max_grad_norm > 0) clip();
  const OptimizerSettings& s = settings_;
  // The fused kernels leave everything as it is where "an infinity was found" is 1: made for loss scaling,
  // and just what a run that has stopped early needs too.
  switch (s.kind) {
    case Optimizer::adam:
      at::_fused_adam_(parameter_pieces_, gradient_pieces_, first_pieces_, second_pieces_, {},
                       update_numbers_, learning_rate_, s.beta1, s.beta2, s.weight_decay, s.epsilon,
                       /*amsgrad=*/false,
                       /*maximize=*/false, /*grad_scale=*/{}, skipped_);
      break;
    case Optimizer::adamw:
      at::_fused_adamw_(parameter_pieces_, gradient_pieces_, first_pieces_, second_pieces_, {},
                        update_numbers_, learning_rate_, s.beta1, s.beta2, s.weight_decay, s.epsilon,
                        /*amsgrad=*/false,
                        /*maximize=*/false, /*grad_scale=*/{}, skipped_);
      break;
    case Optimizer::sgd:
      // From a velocity of 0, the first step needs no special case.
      at::_fused_sgd_(parameter_pieces_, gradient_pieces_, first_pieces_, s.weight_decay, s.momentum,
                      learning_rate_, /*dampening=*/0, /*nesterov=*/false, /*maximize=*/false,
                      /*is_first_step=*/false, /*grad_scale=*/{}, skipped_);
      break;
    case Optimizer::lion:
      kernels::lion(lion_, place_);
      break;
  }
  if (average_.averages != nullptr) kernels::average_weights(average_, place_);
}

}  // namespace stoker::torch_door
