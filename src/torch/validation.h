#pragma once

#include <ATen/core/Tensor.h>

#include "engine/engine.h"
#include "engine/kernels/losses.h"
#include "engine/kernels/place.h"
#include "torch/step.h"

namespace stoker::torch_door {

// The loss over the validation rows, in slices that bound the memory between the layers.
class Validation {
 public:
  Validation(const EngineRequest& request, Trainee& trainee, const kernels::Place& place,
             const float* stopped);

  std::int64_t rows() const { return rows_; }
  const at::Tensor& row_sums() const { return row_sums_; }  // one per place in a slice

  // Adds the loss of every row to the sums.
  void run();

 private:
  void run_slice(std::int64_t first, std::int64_t count);
  at::Tensor rows_of(std::int64_t first, std::int64_t count);

  Trainee& trainee_;
  kernels::Place place_;
  std::int64_t rows_;
  std::int64_t slice_rows_;
  at::Tensor features_;
  at::Tensor features_slice_;  // where the features lie in pinned memory and the products read device memory
  at::Tensor row_sums_;
  kernels::Losses losses_;
};

}  // namespace stoker::torch_door
