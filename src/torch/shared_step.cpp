#include "torch/shared_step.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <ATen/core/grad_mode.h>

#include "torch/cpu_settings.h"

namespace stoker::torch_door {

SharedStep::SharedStep(fused_cpu::WorkerPool& pool, std::vector<Part> parts, at::Tensor outputs,
                       at::Tensor output_gradient)
    : pool_(pool),
      parts_(std::move(parts)),
      outputs_(std::move(outputs)),
      output_gradient_(std::move(output_gradient)) {}

void SharedStep::forward(std::int64_t first_row) {
  share([&](std::size_t part) { parts_[part].step->forward(first_row + parts_[part].first_row); });
}

void SharedStep::backward(bool adds) {
  share([&](std::size_t part) { parts_[part].step->backward(adds && part == 0); });
  share([&](std::size_t part) { add_up_gradients(part); });
}

// Always in the order of the parts, so that sums have the same bits whichever thread makes them.
void SharedStep::add_up_gradients(std::size_t share) {
  const auto size = static_cast<std::size_t>(parts_.front().gradients.numel());
  const std::size_t begin = share * size / parts_.size();
  const std::size_t end = (share + 1) * size / parts_.size();
  float* sums = parts_.front().gradients.mutable_data_ptr<float>();
  for (std::size_t part = 1; part < parts_.size(); ++part) {
    const float* more = parts_[part].gradients.const_data_ptr<float>();
    for (std::size_t i = begin; i < end; ++i) sums[i] += more[i];
  }
}

// The pool takes no exceptions: they are kept, and that of the first part is thrown.
void SharedStep::share(const std::function<void(std::size_t part)>& work) {
  std::vector<std::exception_ptr> errors(parts_.size());
  auto one = [&](std::int64_t item) {
    const auto part = static_cast<std::size_t>(item);
    const OnOneThread alone;
    const at::NoGradGuard no_recording;
    try {
      work(part);
    } catch (...) {
      errors[part] = std::current_exception();
    }
  };
  pool_.share(static_cast<std::int64_t>(parts_.size()), one);
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace stoker::torch_door
