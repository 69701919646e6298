#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "fused/cuda/sequence/sequence_kernels.h"
#include "kernels/place.h"
#include "torch/step.h"

namespace stoker::torch_door {

// A network whose passes are kernels of our own. They draw their dropout themselves.
class KernelTrainee : public Trainee {
 public:
  KernelTrainee(const Network& network, const fused::sequence::Places& places, const kernels::Place& place);

  std::unique_ptr<Step> make_step(std::int64_t rows, const Inputs& inputs, bool is_padded) override;
  bool takes_padding() const override { return false; }  // a short batch costs its kernels nothing
  void reserve(std::int64_t rows) override;
  at::Tensor predict(const Inputs& inputs) override;
  std::int64_t widest() const override { return widest_; }
  std::uint64_t own_bytes() const override { return kernels_->bytes(); }

 private:
  std::unique_ptr<fused::sequence::SequenceKernels> kernels_;
  kernels::Place place_;
  std::int64_t outputs_;
  std::int64_t widest_;
  at::Tensor predicted_;
};

}  // namespace stoker::torch_door
