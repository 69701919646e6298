#include "torch/modules/embedded_mlp.h"

#include <algorithm>
#include <numbers>

#include <ATen/ops/add.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include "model/network/mlp.h"
#include "torch/modules/activate.h"
#include "torch/modules/layers.h"

namespace stoker::torch_door {
namespace {

struct EntranceTensors {
  at::Tensor frequencies;  // [numbers, frequencies]
  at::Tensor weight;       // [numbers, width, 1 + 2 frequencies]
  at::Tensor bias;         // [numbers, width]
  at::Tensor edges;        // [numbers, bins + 1]
  std::vector<at::Tensor> categories;
};

class EmbeddedMlp : public Module {
 public:
  EmbeddedMlp(const Network& network, const Parameters& parameters) : shape_(mlp_shape(network).value()) {
    for (const ArraySpec& input : network.inputs) names_.push_back(input.name);
    const Entrance& entrance = shape_.entrance;
    if (entrance.kind == NumberEmbedding::periodic) {
      tensors_.frequencies = parameters("entrance.frequencies");
      tensors_.weight = parameters("entrance.weight");
      tensors_.bias = parameters("entrance.bias");
    }
    if (entrance.kind == NumberEmbedding::piecewise_linear) tensors_.edges = parameters("entrance.edges");
    for (std::size_t i = 0; i < entrance.categories.size(); ++i)
      tensors_.categories.push_back(parameters(fmt::format("entrance.categories.{}", i)));
    for (std::size_t i = 0; i < shape_.layer_count(); ++i) {
      weights_.push_back(parameters(fmt::format("layers.{}.weight", i)));
      biases_.push_back(parameters(fmt::format("layers.{}.bias", i)));
    }
  }

  at::Tensor outputs(std::span<const at::Tensor> inputs, const Pass& pass) const override {
    at::Tensor x = enter(inputs);
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      x = at::linear(x, weights_[i], biases_[i]);
      if (i + 1 == weights_.size()) break;
      x = activate(shape_.activation, x);
      x = drop(x, pass, i);
    }
    return x;
  }

  std::vector<DropoutLayer> dropout_layers() const override {
    std::vector<DropoutLayer> layers;
    for (const std::int64_t width : shape_.hidden_layers) layers.push_back({width, shape_.dropout});
    return layers;
  }
  bool takes_padding() const override { return true; }
  std::int64_t widest() const override {
    const std::int64_t waves = shape_.entrance.numbers * (1 + 2 * shape_.entrance.frequencies);
    return std::max({shape_.inputs, waves, shape_.outputs, *std::ranges::max_element(shape_.hidden_layers)});
  }

 private:
  at::Tensor enter(std::span<const at::Tensor> inputs) const {
    std::vector<at::Tensor> parts;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (names_[i] == "numbers") {
        parts.push_back(shape_.entrance.kind == NumberEmbedding::periodic ? waves_of(inputs[i])
                                                                          : bins_of(inputs[i]));
      } else if (names_[i] == "categories") {
        for (std::size_t c = 0; c < tensors_.categories.size(); ++c)
          parts.push_back(
              at::embedding(tensors_.categories[c], inputs[i].select(1, static_cast<std::int64_t>(c))));
      } else {
        parts.push_back(inputs[i]);
      }
    }
    return parts.size() == 1 ? parts.front() : at::cat(parts, 1);
  }

  at::Tensor waves_of(const at::Tensor& numbers) const {
    const at::Tensor each = numbers.unsqueeze(2);
    const at::Tensor angles = at::mul(at::mul(each, tensors_.frequencies), 2 * std::numbers::pi);
    const at::Tensor waves = at::cat({each, at::sin(angles), at::cos(angles)}, 2).transpose(0, 1);
    const at::Tensor sums = at::baddbmm(tensors_.bias.unsqueeze(1), waves, tensors_.weight.transpose(1, 2));
    return at::relu(sums).transpose(0, 1).reshape({numbers.size(0), -1});
  }

  at::Tensor bins_of(const at::Tensor& numbers) const {
    const std::int64_t bins = shape_.entrance.bins;
    const at::Tensor left = tensors_.edges.narrow(1, 0, bins);
    const at::Tensor width = at::sub(tensors_.edges.narrow(1, 1, bins), left);
    const at::Tensor share_of_one = at::where(at::gt(width, 0), at::reciprocal(width), at::zeros_like(width));
    const at::Tensor each = numbers.unsqueeze(2);
    const at::Tensor shares = at::clamp(at::mul(at::sub(each, left), share_of_one), 0, 1);
    return at::cat({each, shares}, 2).reshape({numbers.size(0), -1});
  }

  MlpShape shape_;
  std::vector<std::string> names_;
  EntranceTensors tensors_;
  std::vector<at::Tensor> weights_;
  std::vector<at::Tensor> biases_;
};

}  // namespace

bool has_learning_entrance(const Network& network) {
  const std::optional<MlpShape> shape = mlp_shape(network);
  return shape && !shape->entrance.is_plain();
}

std::unique_ptr<Module> make_embedded_mlp(const Network& network, const Parameters& parameters) {
  return std::make_unique<EmbeddedMlp>(network, parameters);
}

}  // namespace stoker::torch_door
