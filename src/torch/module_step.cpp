#include "torch/module_step.h"

#include <algorithm>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include "model/family.h"
#include "torch/autocast.h"
#include "torch/modules/embedded_mlp.h"
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
  ModuleStep(Shared shared, const ModuleWay& way, Inputs inputs, std::int64_t rows, std::int64_t outputs,
             bool is_padded)
      : shared_(std::move(shared)),
        way_(way),
        inputs_(std::move(inputs)),
        dropout_(shared_.module->dropout_layers()) {
    part_.seed = way.seed;
    part_.counters = way.counters;
    part_.planned_steps = way.planned_steps;
    part_.steps_per_epoch = way.steps_per_epoch;
    part_.place = way.place;
    part_.is_padded = is_padded;
    const Device device = way.place.device;
    outputs_ = at::empty({rows, outputs}, floats_on(device));
    output_gradient_ = at::zeros({rows, outputs}, floats_on(device));  // some outputs may have no loss
    if (shared_.buffers.numel() > 0) buffers_before_ = at::empty_like(shared_.buffers);
  }

  void forward(std::int64_t first_row) override {
    if (buffers_before_.defined()) buffers_before_.copy_(shared_.buffers);
    {
      const at::AutoGradMode recording(true);
      const Autocast casts(way_.place.device, way_.precision);
      part_.first_row = first_row;
      const Pass pass{true, dropout_, part_, way_.recomputes};
      recorded_ = shared_.module->outputs(inputs_, pass).to(at::kFloat);
    }
    outputs_.copy_(recorded_.detach());
    // A run that has stopped early is replayed to the end of its chunk, and must not change any more.
    if (buffers_before_.defined())
      shared_.buffers.copy_(at::where(at::ne(shared_.stopped, 0), buffers_before_, shared_.buffers));
  }

  void backward(bool adds) override {
    if (!adds) shared_.gradients.zero_();
    // Losses may depend on nothing that is trained.
    if (recorded_.requires_grad())
      recorded_.backward(way_.scale.defined() ? at::mul(output_gradient_, way_.scale) : output_gradient_);
    recorded_.reset();
  }

  const at::Tensor& outputs() const override { return outputs_; }
  const at::Tensor& output_gradient() const override { return output_gradient_; }

 private:
  Shared shared_;
  ModuleWay way_;
  Inputs inputs_;
  std::vector<DropoutLayer> dropout_;
  BatchPart part_;
  at::Tensor outputs_;
  at::Tensor output_gradient_;
  at::Tensor buffers_before_;
  at::Tensor recorded_;  // outputs with the way to them
};

}  // namespace

ModuleTrainee::ModuleTrainee(const Network& network, const FlatValues& flat, ModuleWay way)
    : outputs_(network.outputs),
      way_(std::move(way)),
      gradients_(flat.gradients),
      buffers_(flat.values.narrow(0, flat.buffers_from, flat.values.numel() - flat.buffers_from)),
      stopped_(flat.stopped) {
  const Parameters parameters = [&](const std::string& name) {
    // A tensor of its own over that memory: autograd would take a change of one view for a change of all.
    at::Tensor value = flat.layout.view(flat.values, name).variable_data();
    const NamedArrays& trained = flat.trained_parameters;
    if (std::none_of(trained.begin(), trained.end(),
                     [&](const NamedArray& each) { return each.name == name; }))
      return value;
    value.requires_grad_(true);
    value.mutable_grad() = flat.layout.view(flat.gradients, name);
    return value;
  };
  module_ = has_module(network) ? make_module(network, parameters) : make_embedded_mlp(network, parameters);
}

std::unique_ptr<Step> ModuleTrainee::make_step(std::int64_t rows, const Inputs& inputs, bool is_padded) {
  return std::make_unique<ModuleStep>(ModuleStep::Shared{module_.get(), gradients_, buffers_, stopped_}, way_,
                                      inputs, rows, outputs_, is_padded);
}

at::Tensor ModuleTrainee::predict(const Inputs& inputs) {
  const Autocast casts(way_.place.device, way_.precision);
  return module_->outputs(inputs, {}).to(at::kFloat).contiguous();
}

}  // namespace stoker::torch_door
