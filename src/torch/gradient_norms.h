#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

#include "engine/engine.h"

namespace stoker::torch_door {

// The mean norm of the gradients in each epoch, summed on the device, where clipping computes it anyway.
class GradientNorms {
 public:
  GradientNorms(Device device, std::int64_t most_epochs);

  // `skipped`: 1 where the step is left out and its norm may not be finite; undefined: none is.
  void add(const at::Tensor& norm, const at::Tensor& skipped);
  // Writes the epoch's into its line: `line` is a tensor [1] with the number of the record to come.
  void end_epoch(const at::Tensor& line);
  // After the device has been waited for, from line 0 on, which fetches them; none where it is not known,
  // which is so in an epoch that an earlier version began.
  std::optional<double> of_line(std::int64_t line);

  void append_to(NamedArrays& state) const;
  void restore(const NamedArrays& state);
  const at::Tensor& sum() const { return sum_; }  // all that it changes and that counts

 private:
  at::Tensor sum_;      // [1, 2]: of norms, and of how many steps
  at::Tensor lines_;    // the same of each epoch
  at::Tensor fetched_;  // those of the last look, on the host
};

}  // namespace stoker::torch_door
