#include <cmath>

#include <ATen/ops/add.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/div.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max.h>
#include <ATen/ops/min.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include "torch/nodes/node_form.h"

// Nodes that make other channels of channels.
namespace stoker::torch_door {
namespace {

NodeTensors pca(const NodePass& pass) {
  const at::Tensor& components = pass.array("components");
  at::Tensor projected = at::linear(at::sub(pass.input("data"), pass.array("mean")), components);
  if (pass.is_set("whiten"))
    projected = at::mul(projected, at::rsqrt(at::add(pass.array("explained_variance"), pass.number("eps"))));
  return {{"projected", projected},
          {"explained_variance_ratio", pass.array("explained_variance_ratio")},
          {"components", components}};
}

// The temperature falls from epoch to epoch.
void cool_down(const NodePass& pass, const at::Tensor& epoch) {
  const at::Tensor fallen =
      at::mul(at::pow(pass.number("temperature_decay"), epoch), pass.number("temperature_init"));
  const at::Tensor& kept = pass.array("temperature");
  kept.copy_(at::clamp_min(fallen, pass.number("temperature_min")).reshape(kept.sizes()));
}

at::Tensor chosen_channels(const at::Tensor& logits, std::int64_t count) {
  const at::Tensor order = at::argsort(logits, /*stable=*/true, 0, /*descending=*/true);
  return at::zeros_like(logits).scatter(0, order.narrow(0, 0, count), 1.0);
}

NodeTensors soft_selector(const NodePass& pass) {
  const double count = pass.number("n_select");
  const at::Tensor logits = pass.array("channel_logits").to(at::kDouble);
  const at::Tensor weights =
      pass.is_set("hard") && !pass.is_training()
          ? chosen_channels(logits.detach(), static_cast<std::int64_t>(count))
          : at::mul(at::softmax(at::div(logits, pass.array("temperature").to(at::kDouble)), 0), count);
  const at::Tensor factors = weights.to(at::kFloat);
  return {{"selected", at::mul(pass.input("data"), factors)}, {"weights", factors}};
}

// Each channel of each image from 0 to 1. The gradient of a range goes to the pixels that have its ends.
at::Tensor in_range(const at::Tensor& mixed, double least_range) {
  const at::Tensor pixels = mixed.reshape({mixed.size(0), -1, mixed.size(3)});
  const at::Tensor least = std::get<0>(at::min(pixels, 1, true));
  const at::Tensor range = at::clamp_min(at::sub(std::get<0>(at::max(pixels, 1, true)), least), least_range);
  return at::div(at::sub(pixels, least), range).reshape(mixed.sizes());
}

NodeTensors channel_mixer(const NodePass& pass) {
  at::Tensor values = pass.input("data");
  at::Tensor weight;
  for (std::size_t layer = 0;; ++layer) {
    const auto found = pass.state.find(fmt::format("convs.{}.weight", layer));
    if (found == pass.state.end()) break;
    weight = found->second;
    values =
        at::linear(values, weight,
                   pass.is_set("use_bias") ? std::optional(pass.array(fmt::format("convs.{}.bias", layer)))
                                           : std::nullopt);
    if (pass.is_set("use_activation"))
      values = at::leaky_relu(values, pass.number("leaky_relu_negative_slope"));
  }
  if (pass.is_set("normalize_output")) values = in_range(values, pass.number("eps"));
  return {{"rgb", values}, {"weights", weight}};
}

NodeTensors svdd_projection(const NodePass& pass) {
  at::Tensor entered = pass.input("data");
  if (pass.word("kernel") == "rbf") {
    const at::Tensor phases = at::linear(entered, pass.array("rff.weight"), pass.array("rff.phase"));
    entered = at::mul(at::cos(phases), std::sqrt(2 / pass.number("n_rff")));
  }
  const at::Tensor hidden = at::relu(at::linear(entered, pass.array("fc1.weight"), pass.array("fc1.bias")));
  return {{"embeddings", at::linear(hidden, pass.array("fc2.weight"))}};
}

}  // namespace

std::vector<NodeForm> forms_of_mixtures() {
  return {{"TrainablePCA", pca},
          {"SoftChannelSelector", soft_selector, true, cool_down},
          {"LearnableChannelMixer", channel_mixer},
          {"DeepSVDDProjection", svdd_projection}};
}

}  // namespace stoker::torch_door
