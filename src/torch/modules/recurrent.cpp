#include "torch/modules/recurrent.h"

#include <algorithm>
#include <optional>

#include <ATen/ops/gru.h>
#include <ATen/ops/lstm.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include "model/network/recurrent.h"
#include "torch/modules/gru_layer.h"
#include "torch/modules/lstm_layer.h"
#include "torch/modules/recurrent_layer.h"
#include "torch/modules/segment.h"
#include "torch/modules/sequence_end.h"

namespace stoker::torch_door {
namespace {

enum class Cell { lstm, gru };

class NoWarnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override {}
};

class Recurrent : public Module {
 public:
  Recurrent(Cell cell, const Network& network, const Parameters& parameters)
      : cell_(cell),
        settings_(settings_as<RecurrentSettings>(network.settings)),
        window_(window_shape(network)) {
    if (norms_inputs(settings_.layer_norm, window_)) input_norm_ = layer_norm_of(parameters, "input_norm");
    if (settings_.layer_norm) norm_ = layer_norm_of(parameters, "norm");
    for (std::int64_t layer = 0; layer < settings_.layers; ++layer) {
      std::vector<at::Tensor>& weights = layers_.emplace_back();
      for (std::int64_t direction = 0; direction < settings_.directions(); ++direction)
        for (const std::string& name : recurrent_names(layer, direction == 1))
          weights.push_back(parameters(name));
      if (layer + 1 < settings_.layers)
        masks_.push_back({window_.length * settings_.width(), settings_.dropout});
    }
    SequenceEndLayers::Settings end;
    end.shape = {settings_.width(), network.outputs, settings_.pooling, settings_.layer_norm};
    end.dropout = settings_.dropout;
    end.pooling_dropout = settings_.pooling_dropout;
    end.backwards_from = settings_.hidden_size;
    end_ = SequenceEndLayers(end, window_.length, parameters, masks_);
  }

  at::Tensor outputs(std::span<const at::Tensor> inputs, const Pass& pass) const override {
    at::Tensor x = input_norm_(inputs.front());
    for (std::size_t i = 0; i < layers_.size(); ++i)
      x = run_segment(pass, x, [this, pass, i](const at::Tensor& entering) {
        const at::Tensor left = run_layer(i, entering, pass.is_training);
        return i + 1 < layers_.size() ? drop(left, pass, i) : left;
      });
    return end_(norm_(x), pass);
  }

  std::vector<DropoutLayer> dropout_layers() const override { return masks_; }
  bool takes_padding() const override { return true; }
  std::int64_t widest() const override {
    const std::int64_t gates = cell_ == Cell::lstm ? 4 : 3;
    return window_.length * std::max(window_.columns, gates * settings_.width());
  }

 private:
  // One layer at a time, with our masks in between: LibTorch would draw numbers of its own.
  at::Tensor run_layer(std::size_t layer, const at::Tensor& x, bool is_training) const {
    if (suits_own_recurrent(x, settings_.hidden_size))
      return cell_ == Cell::lstm ? own_lstm_layer(x, layers_[layer]) : own_gru_layer(x, layers_[layer]);
    const at::Tensor state =
        at::zeros({settings_.directions(), x.size(0), settings_.hidden_size}, x.options());
    // cuDNN wants the weights of a layer in one piece, and gathers ours in each call; a GPU does that in a
    // few microseconds, and there is nothing that a user could do about it.
    NoWarnings silent;
    std::optional<c10::WarningUtils::WarningHandlerGuard> quiet;
    if (x.is_cuda()) quiet.emplace(&silent);
    if (cell_ == Cell::lstm)
      return std::get<0>(at::lstm(x, {state, state}, layers_[layer], /*has_biases=*/true, /*num_layers=*/1,
                                  /*dropout=*/0, is_training, settings_.bidirectional, /*batch_first=*/true));
    return std::get<0>(at::gru(x, state, layers_[layer], /*has_biases=*/true, /*num_layers=*/1, /*dropout=*/0,
                               is_training, settings_.bidirectional, /*batch_first=*/true));
  }

  Cell cell_;
  RecurrentSettings settings_;
  WindowShape window_;
  std::vector<DropoutLayer> masks_;
  LayerNorm input_norm_;
  std::vector<std::vector<at::Tensor>> layers_;
  LayerNorm norm_;
  SequenceEndLayers end_;
};

}  // namespace

std::unique_ptr<Module> make_lstm(const Network& network, const Parameters& parameters) {
  return std::make_unique<Recurrent>(Cell::lstm, network, parameters);
}

std::unique_ptr<Module> make_gru(const Network& network, const Parameters& parameters) {
  return std::make_unique<Recurrent>(Cell::gru, network, parameters);
}

}  // namespace stoker::torch_door
