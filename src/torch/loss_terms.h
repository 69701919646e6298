#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "engine/engine.h"
#include "kernels/losses.h"
#include "kernels/place.h"
#include "torch/rows.h"

namespace stoker::torch_door {

// The losses of a request with their sums over an epoch's rows, one per place in a batch.
class LossTerms {
 public:
  LossTerms(const EngineRequest& request, std::int64_t places, Device device, const float* stopped);

  // Rows of a batch that is taken in parts.
  struct Part {
    std::int64_t first = 0;  // its place in the batch
    std::int64_t rows = 0;
    std::int64_t of_rows = 0;  // those of the whole batch
    // Where its true number stands, if it may be padded; else null.
    const std::int64_t* counted_rows = nullptr;
  };
  // What adds the losses of these rows to the sums; with the gradient of the outputs where it is wanted.
  std::vector<kernels::Losses> work_for(const Rows& rows, const Part& part, const at::Tensor& outputs,
                                        const at::Tensor& gradient) const;
  void judge_without_smoothing();

  // Of each loss: [places], or [losses, places] where there are several.
  const at::Tensor& sums() const { return sums_; }
  // What is trained: [places]. Of several losses it is known after add_up().
  const at::Tensor& totals() const { return totals_; }
  // Rows whose class was predicted right, one sum per place; undefined if the losses are not of classes.
  const at::Tensor& hits() const { return hits_; }
  double* hit_sums() const { return hits_.defined() ? hits_.mutable_data_ptr<double>() : nullptr; }
  // Also of one that is weighted: what is trained is then not what is added up.
  bool are_several() const { return terms_.size() > 1 || terms_.front().weight != 1; }
  void add_up();
  at::Tensor sum_of_each() const;  // [losses]
  void begin_epoch();              // of several losses: their sums are 0 again

 private:
  std::vector<LossTerm> terms_;
  std::vector<std::int64_t> widths_;
  const float* stopped_;
  at::Tensor sums_;
  at::Tensor totals_;
  std::size_t of_classes_ = 0;  // the term whose hits are counted
  at::Tensor hits_;
  at::Tensor weights_;  // [1, losses]
};

}  // namespace stoker::torch_door
