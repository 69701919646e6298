#include "torch/mlp_step.h"

#include <algorithm>

#include <ATen/ops/add.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

#include "base/error.h"
#include "torch/activation.h"
#include "torch/tensors.h"

namespace stoker::torch_door {

std::vector<MlpLayer> mlp_layers(const MlpShape& shape, const ParameterLayout& layout,
                                 const at::Tensor& parameters, const at::Tensor& gradients) {
  std::vector<MlpLayer> layers;
  for (std::size_t i = 0; i < shape.layer_count(); ++i) {
    const std::string weight = fmt::format("layers.{}.weight", i);
    const std::string bias = fmt::format("layers.{}.bias", i);
    MlpLayer layer;
    layer.weight = layout.view(parameters, weight);
    layer.bias = layout.view(parameters, bias);
    if (layer.weight.sizes() != at::IntArrayRef({shape.layer_outputs(i), shape.layer_inputs(i)}) ||
        layer.bias.sizes() != at::IntArrayRef({shape.layer_outputs(i)})) {
      refuse("the initial parameters of layer {} do not have the network's shape", i);
    }
    layer.weight_transposed = layer.weight.t();
    layer.weight_gradient = layout.view(gradients, weight);
    layer.bias_gradient = layout.view(gradients, bias);
    layers.push_back(std::move(layer));
  }
  return layers;
}

MlpBuffers::MlpBuffers(const MlpShape& shape, std::int64_t rows, Device device) {
  const auto buffer = [&](std::int64_t width) { return at::empty({rows, width}, floats_on(device)); };
  for (const std::int64_t width : shape.hidden_layers) {
    Hidden layer;
    layer.linear = buffer(width);
    layer.active = buffer(width);
    layer.dropped = layer.active;
    if (shape.dropout > 0) layer.dropped = buffer(width);
    layer.gradient = buffer(width);
    layer.linear_gradient = buffer(width);
    hidden.push_back(std::move(layer));
  }
  outputs = buffer(shape.outputs);
  output_gradient = at::zeros({rows, shape.outputs}, floats_on(device));  // some outputs may have no loss
}

MlpBuffers MlpBuffers::first_rows(std::int64_t rows) const {
  const auto cut = [rows](const at::Tensor& buffer) { return buffer.narrow(0, 0, rows); };
  MlpBuffers part;
  for (const Hidden& layer : hidden) {
    part.hidden.push_back({cut(layer.linear), cut(layer.active), cut(layer.dropped), cut(layer.gradient),
                           cut(layer.linear_gradient)});
  }
  part.outputs = cut(outputs);
  part.output_gradient = cut(output_gradient);
  return part;
}

MlpStep::MlpStep(const MlpShape& shape, std::vector<MlpLayer> layers, MlpBuffers buffers, at::Tensor features,
                 const MlpDropout& dropout)
    : shape_(shape),
      layers_(std::move(layers)),
      buffers_(std::move(buffers)),
      features_(std::move(features)),
      dropout_(dropout) {
  for (const MlpBuffers::Hidden& hidden : buffers_.hidden) {
    transposed_gradients_.push_back(hidden.linear_gradient.t());
  }
  transposed_gradients_.push_back(buffers_.output_gradient.t());
}

// The same each time within a step.
void MlpStep::drop(std::size_t layer, const at::Tensor& values, const at::Tensor& left) const {
  if (shape_.dropout <= 0) return;
  kernels::Drop work;
  work.values = values.const_data_ptr();
  work.left = left.mutable_data_ptr();
  work.elements = values.numel();
  work.first = first_row_ * values.size(1);
  work.layer = static_cast<std::uint32_t>(layer);
  work.seed = dropout_.seed;
  work.probability = static_cast<float>(shape_.dropout);
  work.counters = dropout_.counters;
  kernels::drop(work, dropout_.place);
}

const at::Tensor& MlpStep::input_of(std::size_t layer) const {
  return layer == 0 ? features_ : buffers_.hidden[layer - 1].dropped;
}

void MlpStep::forward(std::int64_t first_row) {
  first_row_ = first_row;
  for (std::size_t i = 0; i < buffers_.hidden.size(); ++i) {
    MlpBuffers::Hidden& hidden = buffers_.hidden[i];
    activated_linear(shape_.activation, hidden.active, hidden.linear, input_of(i),
                     layers_[i].weight_transposed, layers_[i].bias);
    drop(i, hidden.active, hidden.dropped);
  }
  const std::size_t last = layers_.size() - 1;
  at::addmm_out(buffers_.outputs, layers_[last].bias, input_of(last), layers_[last].weight_transposed);
}

void MlpStep::backward(bool adds) {
  for (std::size_t i = layers_.size(); i-- > 0;) {
    const bool is_last = i == layers_.size() - 1;
    const at::Tensor& gradient = is_last ? buffers_.output_gradient : buffers_.hidden[i].linear_gradient;
    if (adds) {
      layers_[i].weight_gradient.addmm_(transposed_gradients_[i], input_of(i));
      layers_[i].bias_gradient.add_(at::sum(gradient, 0));
    } else {
      at::mm_out(layers_[i].weight_gradient, transposed_gradients_[i], input_of(i));
      at::sum_out(layers_[i].bias_gradient, gradient, 0);
    }
    if (i == 0) break;
    MlpBuffers::Hidden& below = buffers_.hidden[i - 1];
    at::mm_out(below.gradient, gradient, layers_[i].weight);
    drop(i - 1, below.gradient, below.gradient);
    activation_gradient(shape_.activation, below.linear_gradient, below.gradient, below.linear, below.active);
  }
}

MlpTrainee::MlpTrainee(const MlpShape& shape, std::vector<MlpLayer> layers, std::int64_t most_rows,
                       const MlpDropout& dropout)
    : shape_(shape),
      layers_(std::move(layers)),
      buffers_(shape, most_rows, dropout.place.device),
      dropout_(dropout) {}

// Its rows know nothing of each other, so padding is nothing to it.
std::unique_ptr<Step> MlpTrainee::make_step(std::int64_t rows, const Inputs& inputs, bool) {
  return std::make_unique<MlpStep>(shape_, layers_, buffers_.first_rows(rows), inputs.front(), dropout_);
}

std::int64_t MlpTrainee::widest() const {
  std::int64_t widest = std::max(shape_.inputs, shape_.outputs);
  for (const std::int64_t width : shape_.hidden_layers) widest = std::max(widest, width);
  return widest;
}

void MlpTrainee::reserve(std::int64_t rows) {
  even_ = at::empty({rows * widest()}, floats_on(dropout_.place.device));
  odd_ = at::empty({rows * widest()}, floats_on(dropout_.place.device));
}

at::Tensor MlpTrainee::predict(const Inputs& inputs) {
  at::Tensor input = inputs.front();
  const std::int64_t count = input.size(0);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const std::int64_t width = shape_.layer_outputs(i);
    at::Tensor output = (i % 2 == 0 ? even_ : odd_).narrow(0, 0, count * width).view({count, width});
    if (i + 1 < layers_.size()) {
      activated_linear(shape_.activation, output, output, input, layers_[i].weight_transposed,
                       layers_[i].bias);
    } else {
      at::addmm_out(output, layers_[i].bias, input, layers_[i].weight_transposed);
    }
    input = output;
  }
  return input;
}

}  // namespace stoker::torch_door
