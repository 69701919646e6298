#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "fused/cpu/worker_pool.h"
#include "torch/step.h"

namespace stoker::torch_door {

// A step on the CPU whose rows are divided among threads. Each thread takes its rows through the whole
// network on one core, so that threads wait for each other three times in a step. If every operation were
// divided, they would wait several hundred times.
class SharedStep : public Step {
 public:
  struct Part {
    std::unique_ptr<Step> step;  // its outputs and their gradient are rows of the whole
    std::int64_t first_row = 0;  // of the batch
    at::Tensor gradients;        // flat; those of the first part are the gradients of the whole
  };
  // Both tensors are [rows, outputs] of the whole batch.
  SharedStep(fused_cpu::WorkerPool& pool, std::vector<Part> parts, at::Tensor outputs,
             at::Tensor output_gradient);

  void forward(std::int64_t first_row) override;
  void backward(bool adds) override;
  const at::Tensor& outputs() const override { return outputs_; }
  const at::Tensor& output_gradient() const override { return output_gradient_; }

 private:
  void share(const std::function<void(std::size_t part)>& work);
  void add_up_gradients(std::size_t share);

  fused_cpu::WorkerPool& pool_;
  std::vector<Part> parts_;
  at::Tensor outputs_;
  at::Tensor output_gradient_;
};

}  // namespace stoker::torch_door
