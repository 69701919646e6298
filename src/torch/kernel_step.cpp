#include "torch/kernel_step.h"

#include <algorithm>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "torch/tensors.h"

namespace stoker::torch_door {
namespace {

// What predictions at once hold, in values of a row: rows then fill a GPU, and take little memory.
constexpr std::int64_t values_of_row = 16'384;

class KernelStep : public Step {
 public:
  KernelStep(fused::sequence::SequenceKernels& kernels, const Inputs& inputs, std::int64_t rows,
             std::int64_t outputs, const kernels::Place& place)
      : inputs_(inputs),
        outputs_(at::empty({rows, outputs}, floats_on(place.device))),
        output_gradient_(at::zeros({rows, outputs}, floats_on(place.device))),
        place_(place) {
    passes_ =
        kernels.make_passes({inputs.front().const_data_ptr<float>(), rows, outputs_.mutable_data_ptr<float>(),
                             output_gradient_.const_data_ptr<float>()});
  }

  // Its engine takes batches whole, so that they begin with their first row.
  void forward(std::int64_t) override { passes_->forward(place_.stream); }
  void backward(bool) override { passes_->backward(place_.stream); }
  const at::Tensor& outputs() const override { return outputs_; }
  const at::Tensor& output_gradient() const override { return output_gradient_; }
  std::uint64_t own_bytes() const override { return passes_->bytes(); }

 private:
  Inputs inputs_;
  at::Tensor outputs_;
  at::Tensor output_gradient_;
  kernels::Place place_;
  std::unique_ptr<fused::sequence::Passes> passes_;
};

}  // namespace

KernelTrainee::KernelTrainee(const Network& network, const fused::sequence::Places& places,
                             const kernels::Place& place)
    : kernels_(fused::sequence::make_kernels(network, places)),
      place_(place),
      outputs_(network.outputs),
      widest_(std::max(feature_width(network), values_of_row)) {}

std::unique_ptr<Step> KernelTrainee::make_step(std::int64_t rows, const Inputs& inputs, bool) {
  return std::make_unique<KernelStep>(*kernels_, inputs, rows, outputs_, place_);
}

void KernelTrainee::reserve(std::int64_t rows) {
  kernels_->reserve(rows);
  predicted_ = at::empty({rows, outputs_}, floats_on(place_.device));
}

at::Tensor KernelTrainee::predict(const Inputs& inputs) {
  const std::int64_t rows = inputs.front().size(0);
  const at::Tensor predicted = predicted_.narrow(0, 0, rows);
  kernels_->predict(inputs.front().const_data_ptr<float>(), rows, predicted.mutable_data_ptr<float>(),
                    place_.stream);
  return predicted;
}

}  // namespace stoker::torch_door
