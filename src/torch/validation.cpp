#include "torch/validation.h"

#include <algorithm>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "torch/tensors.h"

namespace stoker::torch_door {
namespace {

// Elements of the widest layer's slice: on a CPU what its cache holds, on a GPU what keeps it busy.
constexpr std::int64_t cpu_slice_elements = 1 << 18;
constexpr std::int64_t gpu_slice_elements = 1 << 24;
constexpr std::int64_t most_slice_rows = 65'536;

std::int64_t rows_per_slice(std::int64_t widest, std::int64_t rows, Device device) {
  const std::int64_t elements = device.is_cuda() ? gpu_slice_elements : cpu_slice_elements;
  const std::int64_t fitting = std::max<std::int64_t>(elements / widest, 1);
  return std::min({rows, fitting, most_slice_rows});
}

}  // namespace

Validation::Validation(const EngineRequest& request, Trainee& trainee, const kernels::Place& place,
                       const float* stopped)
    : trainee_(trainee),
      place_(place),
      rows_(request.validation.rows()),
      slice_rows_(rows_per_slice(trainee.widest(), rows_, place.device)),
      features_(view_of(request.validation.features())) {
  trainee.reserve(slice_rows_);
  row_sums_ = at::zeros({slice_rows_}, doubles_on(place.device));
  if (features_.device().type() != torch_device(place.device).type()) {
    features_slice_ = at::empty({slice_rows_, features_.size(1)}, floats_on(place.device));
  }
  losses_.loss = request.loss;
  losses_.huber_delta = static_cast<float>(request.huber_delta);
  losses_.width = request.network.outputs;
  losses_.stopped = stopped;
  losses_.row_sums = row_sums_.mutable_data_ptr<double>();
  if (const Array* weights = request.validation.find(Role::weights))
    losses_.row_weights = static_cast<const float*>(weights->data());
  const Array& targets = request.validation.targets();
  if (request.loss == Loss::cross_entropy) {
    losses_.class_targets = static_cast<const std::int64_t*>(targets.data());
  } else {
    losses_.float_targets = static_cast<const float*>(targets.data());
  }
}

void Validation::run() {
  for (std::int64_t first = 0; first < rows_; first += slice_rows_) {
    run_slice(first, std::min(slice_rows_, rows_ - first));
  }
}

at::Tensor Validation::rows_of(std::int64_t first, std::int64_t count) {
  const at::Tensor rows = features_.narrow(0, first, count);
  if (!features_slice_.defined()) return rows;
  at::Tensor copy = features_slice_.narrow(0, 0, count);
  copy.copy_(rows, /*non_blocking=*/true);
  return copy;
}

void Validation::run_slice(std::int64_t first, std::int64_t count) {
  const at::Tensor outputs = trainee_.predict(rows_of(first, count));
  kernels::Losses slice = losses_;
  slice.rows = count;
  slice.outputs = outputs.const_data_ptr<float>();
  if (slice.float_targets != nullptr) slice.float_targets += first * losses_.width;
  if (slice.class_targets != nullptr) slice.class_targets += first;
  if (slice.row_weights != nullptr) slice.row_weights += first;
  kernels::losses(slice, place_);
}

}  // namespace stoker::torch_door
