#include <algorithm>
#include <array>
#include <cmath>

#include <ATen/ops/sum.h>

#include "torch/gpu.h"
#include "torch/torch_engine.h"

// What an engine gives out and takes back.
namespace stoker::torch_door {

NamedArrays TorchEngine::state() const {
  return on_stream("reading the engine's state", [&] {
    NamedArrays state;
    layout_.append_to(state, "parameters.", parameters_);
    if (first_moment_.defined()) layout_.append_to(state, "first_moment.", first_moment_);
    if (second_moment_.defined()) layout_.append_to(state, "second_moment.", second_moment_);
    if (average_.defined()) layout_.append_to(state, "average.", parameters_given_out());
    if (scaling_) scaling_->append_to(state);
    if (validation_) {
      layout_.append_to(state, "best_parameters.", best_parameters_);
      state.push_back({"best_validation_loss", host_array(best_loss_.view({1}))});
    }
    const kernels::StepCounters counters = host_counters();
    const std::array<std::int64_t, 3> numbers{counters.step, counters.since_best, has_stopped() ? 1 : 0};
    state.push_back({"counters", Array::from<std::int64_t>(numbers, {3})});
    state.push_back({"row_sums", host_array(losses_->sums())});
    if (losses_->hits().defined())
      state.push_back({"train_hits", host_array(at::sum(losses_->hits()).view({1}))});
    if (norms_) norms_->append_to(state);
    return state;
  });
}

void TorchEngine::restore(const NamedArrays& state) {
  on_stream("restoring the engine's state", [&] {
    const auto checked = [&](const std::string& name, DType type, const Shape& shape) -> const Array& {
      const Array& array = find_array(state, name);
      if (array.type() != type || array.shape() != shape) {
        refuse("the array '{}' of the saved state does not fit this training: it belongs to another one",
               name);
      }
      return array;
    };
    parameters_.copy_(layout_.flat_from(state, "parameters."));
    if (first_moment_.defined()) first_moment_.copy_(layout_.flat_from(state, "first_moment."));
    if (second_moment_.defined()) second_moment_.copy_(layout_.flat_from(state, "second_moment."));
    if (average_.defined()) average_.copy_(layout_.flat_from(state, "average."));
    if (scaling_) scaling_->restore(state);
    if (validation_) {
      best_parameters_.copy_(layout_.flat_from(state, "best_parameters."));
      best_loss_.copy_(view_of(checked("best_validation_loss", DType::float64, {1})).squeeze(0));
    }
    const auto numbers = checked("counters", DType::int64, {3}).as<std::int64_t>();
    if (numbers[0] < 0 || numbers[1] < 0) refuse("the saved state has a negative number of steps");
    kernels::StepCounters counters;
    counters.step = numbers[0];
    counters.since_best = numbers[1];
    set_counters(counters);
    stopped_.fill_(numbers[2] != 0 ? 1 : 0);
    const at::Tensor& sums = losses_->sums();
    sums.copy_(view_of(checked("row_sums", DType::float64, sums.sizes().vec())));
    restore_hits(state);
    if (norms_) norms_->restore(state);
    next_step_ = counters.step;
  });
}

// Checkpoints of earlier versions have none: then those of the unfinished epoch are not known.
void TorchEngine::restore_hits(const NamedArrays& state) {
  if (!losses_->hits().defined()) return;
  const auto found = std::ranges::find(state, "train_hits", &NamedArray::name);
  const bool is_known =
      found != state.end() && found->array.type() == DType::float64 && found->array.size() == 1;
  at::Tensor hits = losses_->hits();
  hits.zero_();
  hits.narrow(0, 0, 1).fill_(is_known ? found->array.as<double>()[0] : std::nan(""));
}

NamedArrays TorchEngine::parameters() const {
  return on_stream("reading the parameters", [&] {
    NamedArrays arrays;
    layout_.append_to(arrays, "", parameters_given_out());
    return arrays;
  });
}

// What is not trained has no average.
at::Tensor TorchEngine::parameters_given_out() const {
  if (!average_.defined()) return parameters_;
  at::Tensor all = parameters_.clone();
  all.narrow(0, 0, trained_).copy_(average_.narrow(0, 0, trained_));
  return all;
}

MemoryUse TorchEngine::memory() const {
  if (!place_.device.is_cuda()) return {};
  MemoryUse use = gpu::memory_use(torch_device(place_.device));
  std::uint64_t own = trainee_->own_bytes();
  for (const auto& [rows, step] : steps_) own += step->own_bytes();
  for (std::uint64_t* each : {&use.allocated, &use.reserved, &use.peak}) *each += own;
  return use;
}

NamedArrays TorchEngine::best_parameters() const {
  return on_stream("reading the best parameters", [&] {
    // A run without validation has no best; nor has one whose every validation loss was not a number.
    const bool has_best = validation_ && std::isfinite(best_loss_.to(at::kCPU).const_data_ptr<double>()[0]);
    NamedArrays arrays;
    layout_.append_to(arrays, "", has_best ? best_parameters_ : parameters_given_out());
    return arrays;
  });
}

}  // namespace stoker::torch_door
