#include "torch/modules/transformer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <fmt/format.h>

#include "model/network/transformer.h"
#include "torch/modules/activate.h"
#include "torch/modules/encoder_layer.h"
#include "torch/modules/segment.h"
#include "torch/modules/sequence_end.h"
#include "torch/tensors.h"

namespace stoker::torch_door {
namespace {

// [length, width]: sines and cosines of the place, from one wave in 2 pi moments to one in 20,000 pi (Vaswani
// et al. 2017).
at::Tensor waves_of_places(std::int64_t length, std::int64_t width) {
  at::Tensor waves = at::empty({length, width}, floats_on(Device::cpu()));
  auto* values = waves.mutable_data_ptr<float>();
  for (std::int64_t place = 0; place < length; ++place)
    for (std::int64_t i = 0; i < width; ++i) {
      const double frequency =
          std::exp(-std::log(10000.0) * static_cast<double>(i - i % 2) / static_cast<double>(width));
      const double angle = static_cast<double>(place) * frequency;
      *values++ = static_cast<float>(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  return waves;
}

struct EncoderLayer {
  Linear projections;  // queries, keys and values
  Linear attended;
  Linear inner;
  Linear outer;
  LayerNorm attention_norm;
  LayerNorm linear_norm;

  // In the order of torch.nn.TransformerEncoderLayer.
  std::vector<at::Tensor> parameters() const {
    return {projections.weight,    projections.bias,    attended.weight,    attended.bias,
            inner.weight,          inner.bias,          outer.weight,       outer.bias,
            attention_norm.weight, attention_norm.bias, linear_norm.weight, linear_norm.bias};
  }
};

class Transformer : public Module {
 public:
  Transformer(const Network& network, const Parameters& parameters)
      : settings_(settings_as<TransformerSettings>(network.settings)), window_(window_shape(network)) {
    const std::int64_t width = settings_.hidden_size;
    input_ = linear_of(parameters, "input");
    input_norm_ = layer_norm_of(parameters, "input_norm");
    places_ = waves_of_places(window_.length, width).to(input_.weight.device());
    masks_.push_back({window_.length * width, settings_.input_dropout});
    for (std::int64_t i = 0; i < settings_.layers; ++i) {
      const std::string layer = fmt::format("layers.{}.", i);
      layers_.push_back(
          {{parameters(layer + "self_attn.in_proj_weight"), parameters(layer + "self_attn.in_proj_bias")},
           linear_of(parameters, layer + "self_attn.out_proj"),
           linear_of(parameters, layer + "linear1"),
           linear_of(parameters, layer + "linear2"),
           layer_norm_of(parameters, layer + "norm1"),
           layer_norm_of(parameters, layer + "norm2")});
      masks_.push_back({settings_.heads * window_.length * window_.length, settings_.attention_dropout});
      masks_.push_back({window_.length * width, settings_.dropout});
      masks_.push_back({window_.length * settings_.feed_forward, settings_.dropout});
      masks_.push_back({window_.length * width, settings_.dropout});
    }
    norm_ = layer_norm_of(parameters, "norm");
    SequenceEndLayers::Settings end;
    end.shape = {width, network.outputs, settings_.pooling, true};
    end.activation = settings_.activation;
    end.dropout = settings_.dropout;
    end.pooling_dropout = settings_.pooling_dropout;
    end.backwards_from = width;
    end_ = SequenceEndLayers(end, window_.length, parameters, masks_);
  }

  at::Tensor outputs(std::span<const at::Tensor> inputs, const Pass& pass) const override {
    at::Tensor x = at::add(drop(input_norm_(input_(inputs.front())), pass, 0), places_);
    for (std::size_t i = 0; i < layers_.size(); ++i)
      x = run_segment(pass, x, [this, pass, i](const at::Tensor& entering) {
        return run_layer(layers_[i], entering, pass, 1 + 4 * i);
      });
    return end_(norm_(x), pass);
  }

  std::vector<DropoutLayer> dropout_layers() const override { return masks_; }
  bool takes_padding() const override { return true; }
  std::int64_t widest() const override {
    return window_.length * std::max({window_.columns, 3 * settings_.hidden_size, settings_.feed_forward,
                                      settings_.heads * window_.length});
  }

 private:
  fused_cpu::EncoderShape shape_of_layers() const {
    fused_cpu::EncoderShape shape;
    shape.attention = {window_.length, settings_.heads, settings_.hidden_size / settings_.heads};
    shape.inner = settings_.feed_forward;
    shape.activation = settings_.activation;
    shape.epsilon = static_cast<float>(norm_epsilon);
    return shape;
  }

  at::Tensor run_layer(const EncoderLayer& layer, const at::Tensor& x, const Pass& pass,
                       std::size_t mask) const {
    if (const fused_cpu::EncoderShape shape = shape_of_layers(); suits_own_encoder(x, shape)) {
      std::array<at::Tensor, 4> masks;
      for (std::size_t i = 0; i < masks.size(); ++i) masks[i] = drawn_mask(pass, mask + i, x.size(0));
      return own_encoder_layer(x, shape, layer.parameters(), masks);
    }
    const at::Tensor context = attend(layer.projections(layer.attention_norm(x)), pass, mask);
    const at::Tensor sum = at::add(x, drop(layer.attended(context), pass, mask + 1));
    const at::Tensor inner = activate(settings_.activation, layer.inner(layer.linear_norm(sum)));
    return at::add(sum, drop(layer.outer(drop(inner, pass, mask + 2)), pass, mask + 3));
  }

  at::Tensor attend(const at::Tensor& projected, const Pass& pass, std::size_t mask) const {
    const std::int64_t rows = projected.size(0);
    const std::int64_t share = settings_.hidden_size / settings_.heads;
    const at::Tensor heads =
        projected.view({rows, window_.length, 3, settings_.heads, share}).permute({2, 0, 3, 1, 4});
    const at::Tensor queries = heads.select(0, 0);
    const at::Tensor keys = heads.select(0, 1);
    const at::Tensor values = heads.select(0, 2);
    at::Tensor context;
    if (!drops(pass, mask)) {
      context = at::scaled_dot_product_attention(queries, keys, values);
    } else {
      const double scale = 1.0 / std::sqrt(static_cast<double>(share));
      const at::Tensor scores = at::matmul(at::mul(queries, scale), keys.transpose(2, 3));
      context = at::matmul(drop(shares_of(scores, 3), pass, mask), values);
    }
    return context.transpose(1, 2).reshape({rows, window_.length, settings_.hidden_size});
  }

  TransformerSettings settings_;
  WindowShape window_;
  std::vector<DropoutLayer> masks_;
  Linear input_;
  LayerNorm input_norm_;
  at::Tensor places_;
  std::vector<EncoderLayer> layers_;
  LayerNorm norm_;
  SequenceEndLayers end_;
};

}  // namespace

std::unique_ptr<Module> make_transformer(const Network& network, const Parameters& parameters) {
  return std::make_unique<Transformer>(network, parameters);
}

}  // namespace stoker::torch_door
