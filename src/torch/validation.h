#pragma once

#include <cstdint>

#include "engine/engine.h"
#include "kernels/place.h"
#include "torch/loss_terms.h"
#include "torch/rows.h"
#include "torch/step.h"

namespace stoker::torch_door {

// The loss over the validation rows, in slices that bound the memory between the layers.
class Validation {
 public:
  // The request must outlive it.
  Validation(const EngineRequest& request, Trainee& trainee, const kernels::Place& place,
             const float* stopped);

  std::int64_t rows() const { return rows_; }
  LossTerms& losses() { return losses_; }

  // Adds the loss of every row to the sums.
  void run();

 private:
  void run_slice(std::int64_t first, std::int64_t count);

  Trainee& trainee_;
  kernels::Place place_;
  std::int64_t rows_;
  std::int64_t slice_rows_;
  Slices inputs_;
  Slices compared_;  // targets, then weights
  LossTerms losses_;
};

}  // namespace stoker::torch_door
