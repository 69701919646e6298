#include "torch/modules/temporal_mlp.h"

#include <algorithm>

#include <ATen/ops/mul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <fmt/format.h>

#include "model/network/temporal_mlp.h"
#include "torch/modules/activate.h"
#include "torch/modules/layers.h"

namespace stoker::torch_door {
namespace {

struct NormedLayer {
  Linear linear;
  BatchNorm norm;
};

class TemporalMlp : public Module {
 public:
  TemporalMlp(const Network& network, const Parameters& parameters)
      : settings_(settings_as<TemporalMlpSettings>(network.settings)), window_(window_shape(network)) {
    input_norm_ = batch_norm_of(parameters, "input_norm");
    for (std::size_t i = 0; i < settings_.hidden_layers.size(); ++i)
      layers_.push_back({linear_of(parameters, fmt::format("layers.{}.linear", i)),
                         batch_norm_of(parameters, fmt::format("layers.{}.norm", i))});
    gate_inner_ = linear_of(parameters, "gate.inner");
    gate_outer_ = linear_of(parameters, "gate.outer");
    last_ = linear_of(parameters, "last");
  }

  at::Tensor outputs(std::span<const at::Tensor> inputs, const Pass& pass) const override {
    const at::Tensor read = inputs.front().narrow(1, window_.length - settings_.moments, settings_.moments);
    at::Tensor x = input_norm_(read.reshape({read.size(0), -1}), pass);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const at::Tensor normed = layers_[i].norm(layers_[i].linear(x), pass);
      x = drop(activate(settings_.activation, normed), pass, i);
    }
    return last_(at::mul(x, at::sigmoid(gate_outer_(at::relu(gate_inner_(x))))));
  }

  std::vector<DropoutLayer> dropout_layers() const override {
    std::vector<DropoutLayer> layers;
    for (const std::int64_t width : settings_.hidden_layers) layers.push_back({width, settings_.dropout});
    return layers;
  }
  bool takes_padding() const override { return true; }
  // The whole window is gathered, whatever is read of it.
  std::int64_t widest() const override {
    return std::max(window_.length * window_.columns, *std::ranges::max_element(settings_.hidden_layers));
  }

 private:
  TemporalMlpSettings settings_;
  WindowShape window_;
  BatchNorm input_norm_;
  std::vector<NormedLayer> layers_;
  Linear gate_inner_;
  Linear gate_outer_;
  Linear last_;
};

}  // namespace

std::unique_ptr<Module> make_temporal_mlp(const Network& network, const Parameters& parameters) {
  return std::make_unique<TemporalMlp>(network, parameters);
}

}  // namespace stoker::torch_door
