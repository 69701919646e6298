#include "torch/modules/cnn1d.h"

#include <algorithm>

#include <ATen/ops/add.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/linear.h>
#include <fmt/format.h>

#include "model/network/cnn1d.h"
#include "torch/modules/activate.h"
#include "torch/modules/segment.h"
#include "torch/modules/sequence_end.h"

namespace stoker::torch_door {
namespace {

// The moments that each output looks at are laid side by side, so that the convolution is one matrix product:
// on a CPU LibTorch's own has no fast way for values that lie apart, on a GPU cuDNN's way back is not always
// the same to the bit.
struct CausalConvolution {
  at::Tensor weight;  // [outputs, inputs, kernel]
  at::Tensor bias;
  std::int64_t dilation = 1;

  at::Tensor operator()(const at::Tensor& x) const {
    const std::int64_t length = x.size(1);
    const std::int64_t kernel = weight.size(2);
    const std::int64_t before = std::min((kernel - 1) * dilation, length);
    const at::Tensor padded = before > 0 ? at::constant_pad_nd(x, {0, 0, before, 0}) : x;
    std::vector<at::Tensor> looks;
    for (std::int64_t i = 0; i < kernel; ++i) {
      const std::int64_t back = std::min((kernel - 1 - i) * dilation, before);
      looks.push_back(padded.narrow(1, before - back, length));
    }
    const at::Tensor matrix = weight.transpose(1, 2).reshape({weight.size(0), -1});
    return at::linear(at::cat(looks, 2), matrix, bias);
  }
};

struct ConvolutionLayer {
  LayerNorm norm;
  CausalConvolution first;
  CausalConvolution second;
};

class Cnn1d : public Module {
 public:
  Cnn1d(const Network& network, const Parameters& parameters)
      : settings_(settings_as<Cnn1dSettings>(network.settings)), window_(window_shape(network)) {
    const std::int64_t width = settings_.hidden_size;
    const auto norm = [&](const std::string& name) {
      return settings_.layer_norm ? layer_norm_of(parameters, name) : LayerNorm{};
    };
    if (norms_inputs(settings_.layer_norm, window_)) input_norm_ = norm("input_norm");
    input_ = linear_of(parameters, "input");
    for (std::int64_t i = 0; i < settings_.layers; ++i) {
      const std::string layer = fmt::format("layers.{}.", i);
      const auto convolution = [&](const std::string& name) {
        return CausalConvolution{parameters(layer + name + ".weight"), parameters(layer + name + ".bias"),
                                 dilation_of(i)};
      };
      layers_.push_back({norm(layer + "norm"), convolution("first"), convolution("second")});
      masks_.push_back({window_.length * width, settings_.dropout});
      masks_.push_back({window_.length * width, settings_.dropout});
    }
    norm_ = norm("norm");
    SequenceEndLayers::Settings end;
    end.shape = {width, network.outputs, settings_.pooling, settings_.layer_norm};
    end.activation = settings_.activation;
    end.dropout = settings_.dropout;
    end.pooling_dropout = settings_.pooling_dropout;
    end.backwards_from = width;
    end_ = SequenceEndLayers(end, window_.length, parameters, masks_);
  }

  at::Tensor outputs(std::span<const at::Tensor> inputs, const Pass& pass) const override {
    at::Tensor x = input_(input_norm_(inputs.front())).to(at::kFloat);  // what layers add to is not rounded
    for (std::size_t i = 0; i < layers_.size(); ++i)
      x = run_segment(pass, x, [this, pass, i](const at::Tensor& entering) {
        const ConvolutionLayer& layer = layers_[i];
        const at::Tensor inner = activate(settings_.activation, layer.first(layer.norm(entering)));
        return at::add(entering, drop(layer.second(drop(inner, pass, 2 * i)), pass, 2 * i + 1));
      });
    return end_(norm_(x), pass);
  }

  std::vector<DropoutLayer> dropout_layers() const override { return masks_; }
  bool takes_padding() const override { return true; }
  std::int64_t widest() const override {
    return window_.length * std::max(window_.columns, settings_.kernel_size * settings_.hidden_size);
  }

 private:
  Cnn1dSettings settings_;
  WindowShape window_;
  std::vector<DropoutLayer> masks_;
  LayerNorm input_norm_;
  Linear input_;
  std::vector<ConvolutionLayer> layers_;
  LayerNorm norm_;
  SequenceEndLayers end_;
};

}  // namespace

std::unique_ptr<Module> make_cnn1d(const Network& network, const Parameters& parameters) {
  return std::make_unique<Cnn1d>(network, parameters);
}

}  // namespace stoker::torch_door
