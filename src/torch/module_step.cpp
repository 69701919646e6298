#include "torch/module_step.h"

#include <algorithm>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include "model/family.h"
#include "torch/dropout.h"
#include "torch/tensors.h"

namespace stoker::torch_door {
namespace {

class ModuleStep : public Step {
 public:
  struct Shared {
    const Module* module;
    at::Tensor gradients;
    at::Tensor buffers;
    at::Tensor stopped;
  };
  ModuleStep(Shared shared, Inputs inputs, std::int64_t rows, std::int64_t outputs, Device device)
      : shared_(std::move(shared)), inputs_(std::move(inputs)) {
    outputs_ = at::empty({rows, outputs}, floats_on(device));
    output_gradient_ = at::zeros({rows, outputs}, floats_on(device));  // some outputs may have no loss
    if (shared_.buffers.numel() > 0) buffers_before_ = at::empty_like(shared_.buffers);
    for (const DropoutLayer& layer : shared_.module->dropout_layers())
      masks_.push_back(layer.probability > 0 ? at::empty({rows, layer.width}, floats_on(device))
                                             : at::Tensor());
  }

  std::vector<kernels::DropoutMasks> dropout_masks(std::uint64_t seed,
                                                   const kernels::StepCounters* counters) const override {
    const std::vector<DropoutLayer> layers = shared_.module->dropout_layers();
    std::vector<DrawnMask> masks;
    for (std::size_t i = 0; i < layers.size(); ++i) masks.push_back({masks_[i], layers[i].probability});
    return launches_of(masks, seed, counters);
  }

  void forward() override {
    if (buffers_before_.defined()) buffers_before_.copy_(shared_.buffers);
    {
      const at::AutoGradMode recording(true);
      recorded_ = shared_.module->outputs(inputs_, {true, masks_});
    }
    outputs_.copy_(recorded_.detach());
    // A run that has stopped early is replayed to the end of its chunk, and must not change any more.
    if (buffers_before_.defined())
      shared_.buffers.copy_(at::where(at::ne(shared_.stopped, 0), buffers_before_, shared_.buffers));
  }

  void backward() override {
    shared_.gradients.zero_();
    recorded_.backward(output_gradient_);
    recorded_.reset();
  }

  const at::Tensor& outputs() const override { return outputs_; }
  const at::Tensor& output_gradient() const override { return output_gradient_; }

 private:
  Shared shared_;
  Inputs inputs_;
  std::vector<at::Tensor> masks_;
  at::Tensor outputs_;
  at::Tensor output_gradient_;
  at::Tensor buffers_before_;
  at::Tensor recorded_;  // outputs with the way to them
};

}  // namespace

ModuleTrainee::ModuleTrainee(const Network& network, const FlatValues& flat, Device device)
    : outputs_(network.outputs),
      device_(device),
      gradients_(flat.gradients),
      buffers_(flat.values.narrow(0, flat.buffers_from, flat.values.numel() - flat.buffers_from)),
      stopped_(flat.stopped) {
  module_ = make_module(network, [&](const std::string& name) {
    // A tensor of its own over that memory: autograd would take a change of one view for a change of all.
    at::Tensor value = flat.layout.view(flat.values, name).variable_data();
    const NamedArrays& trained = flat.trained_parameters;
    if (std::none_of(trained.begin(), trained.end(),
                     [&](const NamedArray& each) { return each.name == name; }))
      return value;
    value.requires_grad_(true);
    value.mutable_grad() = flat.layout.view(flat.gradients, name);
    return value;
  });
}

std::unique_ptr<Step> ModuleTrainee::make_step(std::int64_t rows, const Inputs& inputs) {
  return std::make_unique<ModuleStep>(ModuleStep::Shared{module_.get(), gradients_, buffers_, stopped_},
                                      inputs, rows, outputs_, device_);
}

at::Tensor ModuleTrainee::predict(const Inputs& inputs) {
  return module_->outputs(inputs, {}).contiguous();
}

}  // namespace stoker::torch_door
