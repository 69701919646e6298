#include "torch/module_step.h"

#include <algorithm>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "model/family.h"
#include "torch/autocast.h"
#include "torch/modules/embedded_mlp.h"
#include "torch/shared_step.h"
#include "torch/tensors.h"

namespace stoker::torch_door {
namespace {

// Every thread has gradients of its own, which are added up after the backward pass. Where a step does fewer
// multiply-adds for each of these numbers, adding up takes too much of its time.
constexpr std::int64_t fewest_multiply_adds_of_gradient = 100;
constexpr std::int64_t most_bytes_of_gradients = std::int64_t{1} << 28;

// [rows, outputs] of a batch or of a part of one.
struct BatchOutputs {
  at::Tensor values;
  at::Tensor gradient;

  BatchOutputs rows(std::int64_t first, std::int64_t count) const {
    return {values.narrow(0, first, count), gradient.narrow(0, first, count)};
  }
};

Inputs rows_of(const Inputs& inputs, std::int64_t first, std::int64_t count) {
  Inputs some;
  for (const at::Tensor& each : inputs) some.push_back(each.narrow(0, first, count));
  return some;
}

class ModuleStep : public Step {
 public:
  struct Shared {
    const Module* module;
    at::Tensor gradients;
    at::Tensor buffers;
    at::Tensor stopped;
  };
  ModuleStep(Shared shared, const ModuleWay& way, Inputs inputs, BatchOutputs outputs, bool is_padded)
      : shared_(std::move(shared)),
        way_(way),
        inputs_(std::move(inputs)),
        dropout_(shared_.module->dropout_layers()),
        outputs_(std::move(outputs.values)),
        output_gradient_(std::move(outputs.gradient)) {
    part_.seed = way.seed;
    part_.counters = way.counters;
    part_.planned_steps = way.planned_steps;
    part_.steps_per_epoch = way.steps_per_epoch;
    part_.place = way.place;
    part_.is_padded = is_padded;
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
      buffers_(flat.values.narrow(0, flat.buffers_from, flat.values.numel() - flat.buffers_from)),
      stopped_(flat.stopped) {
  own_.push_back(own_of(network, flat, flat.gradients));
  way_.threads = threads_dividing_rows(network, flat.gradients.numel());
  for (int i = 1; i < way_.threads; ++i)
    own_.push_back(own_of(network, flat, at::zeros_like(flat.gradients)));
  if (way_.threads > 1) pool_ = std::make_unique<fused_cpu::WorkerPool>(way_.threads);
}

ModuleTrainee::Own ModuleTrainee::own_of(const Network& network, const FlatValues& flat,
                                         const at::Tensor& gradients) {
  const Parameters parameters = [&](const std::string& name) {
    // A tensor of its own over that memory: autograd would take a change of one view for a change of all.
    at::Tensor value = flat.layout.view(flat.values, name).variable_data();
    const NamedArrays& trained = flat.trained_parameters;
    if (std::none_of(trained.begin(), trained.end(),
                     [&](const NamedArray& each) { return each.name == name; }))
      return value;
    value.requires_grad_(true);
    value.mutable_grad() = flat.layout.view(gradients, name);
    return value;
  };
  return {has_module(network) ? make_module(network, parameters) : make_embedded_mlp(network, parameters),
          gradients};
}

// All or one. If rows keep only some threads busy, operations that are divided among all of them are faster.
// A network that computes something of a whole batch cannot be divided: statistics, which are buffers, or its
// losses. Embedded categories would give every thread gradients of whole tables.
int ModuleTrainee::threads_dividing_rows(const Network& network, std::int64_t gradients) const {
  const bool can_be_divided =
      has_module(network) && takes_padding() && !judges_batches() && buffers_.numel() == 0;
  const std::int64_t work = 3 * way_.rows * multiply_adds(network);
  const std::int64_t worth = std::min({way_.rows, work / (fewest_multiply_adds_of_gradient * gradients),
                                       most_bytes_of_gradients / (4 * gradients)});
  return can_be_divided && worth >= way_.threads ? way_.threads : 1;
}

std::unique_ptr<Step> ModuleTrainee::make_step(std::int64_t rows, const Inputs& inputs, bool is_padded) {
  const auto floats = floats_on(way_.place.device);
  // Some outputs may have no loss.
  const BatchOutputs outputs{at::empty({rows, outputs_}, floats), at::zeros({rows, outputs_}, floats)};
  const auto step_of = [&](const Own& own, const Inputs& of_inputs, BatchOutputs of_outputs) {
    return std::make_unique<ModuleStep>(
        ModuleStep::Shared{own.module.get(), own.gradients, buffers_, stopped_}, way_, of_inputs,
        std::move(of_outputs), is_padded);
  };
  const std::int64_t threads = std::min<std::int64_t>(std::ssize(own_), rows);
  if (threads == 1) return step_of(own_.front(), inputs, outputs);
  std::vector<SharedStep::Part> parts;
  for (std::int64_t i = 0; i < threads; ++i) {
    const std::int64_t first = i * rows / threads;
    const std::int64_t count = (i + 1) * rows / threads - first;
    const Own& own = own_[static_cast<std::size_t>(i)];
    parts.push_back(
        {step_of(own, rows_of(inputs, first, count), outputs.rows(first, count)), first, own.gradients});
  }
  return std::make_unique<SharedStep>(*pool_, std::move(parts), outputs.values, outputs.gradient);
}

at::Tensor ModuleTrainee::predict(const Inputs& inputs) {
  const Autocast casts(way_.place.device, way_.precision);
  return own_.front().module->outputs(inputs, {}).to(at::kFloat).contiguous();
}

}  // namespace stoker::torch_door
