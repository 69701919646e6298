#include <algorithm>

#include <ATen/ops/add.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/div.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/log.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/max.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/min.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/rsub.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/square.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/where.h>

#include "torch/nodes/node_form.h"

// Nodes whose output is a part of what is trained. Each weighs it itself.
namespace stoker::torch_door {
namespace {

NodeTensors weighed(const NodePass& pass, const at::Tensor& loss) {
  return {{"loss", at::mul(loss.to(at::kDouble), pass.number("weight"))}};
}

at::Tensor sum_of(const at::Tensor& values) {
  return at::sum(values, at::kDouble);
}

at::Tensor reduced(const NodePass& pass, const at::Tensor& values) {
  const at::Tensor sum = sum_of(values);
  if (pass.word("reduction") == "sum") return sum;
  return at::mul(sum, 1 / static_cast<double>(std::max<std::int64_t>(values.numel(), 1)));
}

NodeTensors orthogonality(const NodePass& pass) {
  const at::Tensor axes = pass.input("components").to(at::kDouble);
  const at::Tensor apart =
      at::sub(at::matmul(axes, axes.transpose(0, 1)), at::eye(axes.size(0), axes.options()));
  return weighed(pass, sum_of(at::square(apart)));
}

NodeTensors anomaly_bce(const NodePass& pass) {
  const at::Tensor& logits = pass.input("predictions");
  const at::Tensor unmarked = at::softplus(logits);
  const at::Tensor marked = at::mul(at::sub(unmarked, logits), pass.number_if("pos_weight").value_or(1));
  return weighed(pass, reduced(pass, at::where(pass.input("targets").ne(0), marked, unmarked)));
}

NodeTensors reconstruction(const NodePass& pass) {
  return weighed(pass,
                 reduced(pass, at::square(at::sub(pass.input("reconstruction"), pass.input("target")))));
}

at::Tensor shares_of_scores(const NodePass& pass, const at::Tensor& scores) {
  const std::string method = pass.word("normalize_method");
  if (method == "sigmoid") return at::sigmoid(scores);
  if (method == "clamp") return at::clamp(scores, 0, 1);
  const at::Tensor flat = scores.reshape({-1});
  const at::Tensor least = std::get<0>(at::min(flat, 0));
  const at::Tensor width = at::sub(std::get<0>(at::max(flat, 0)), least);
  const at::Tensor shares = at::div(at::sub(scores, least), at::add(width, pass.number("smooth")));
  return at::where(width.gt(0), shares, at::full_like(shares, 0.5));
}

NodeTensors iou(const NodePass& pass) {
  const at::Tensor shares = shares_of_scores(pass, pass.input("predictions"));
  const at::Tensor marks = pass.input("targets").ne(0).to(at::kFloat);
  const at::Tensor common = at::mul(shares, marks);
  const at::Tensor both = at::add(sum_of(common), pass.number("smooth"));
  const at::Tensor any = at::add(sum_of(at::sub(at::add(shares, marks), common)), pass.number("smooth"));
  return weighed(pass, at::rsub(at::div(both, any), 1));
}

NodeTensors distinctness(const NodePass& pass) {
  const at::Tensor weights = pass.input("selection_weights").to(at::kDouble);
  const auto rows = static_cast<double>(weights.size(0));
  if (weights.size(0) < 2) return weighed(pass, at::mul(sum_of(weights), 0));
  const at::Tensor lengths = at::clamp_min(at::linalg_vector_norm(weights, 2, {1}, true), pass.number("eps"));
  const at::Tensor unit = at::div(weights, lengths);
  // All pairs are half of the square of the sum, less each with itself.
  const at::Tensor cosines = at::sub(sum_of(at::square(at::sum(unit, 0))), sum_of(at::square(unit)));
  return weighed(pass, at::mul(cosines, 1 / (rows * (rows - 1))));
}

NodeTensors selector_entropy(const NodePass& pass) {
  const double eps = pass.number("eps");
  const at::Tensor weights = pass.input("weights").to(at::kDouble);
  const at::Tensor shares = at::div(weights, at::add(sum_of(weights), eps));
  const at::Tensor minus_entropy = sum_of(at::mul(shares, at::log(at::add(shares, eps))));
  const std::optional<double> target = pass.number_if("target_entropy");
  return weighed(pass, target ? at::square(at::add(minus_entropy, *target)) : minus_entropy);
}

NodeTensors selector_diversity(const NodePass& pass) {
  const at::Tensor weights = pass.input("weights").to(at::kDouble);
  return weighed(pass, at::mul(at::mean(at::square(at::sub(weights, at::mean(weights)))), -1));
}

NodeTensors svdd_loss(const NodePass& pass) {
  constexpr double sharpness = 10;      // of the softplus that keeps the radius above 0
  constexpr double plain_beyond = 1e9;  // never: as it is written
  const at::Tensor raw = pass.array("r_unconstrained").to(at::kDouble).reshape({});
  const at::Tensor inside = at::square(at::softplus(raw, sharpness, plain_beyond));
  const at::Tensor apart = at::sub(pass.input("embeddings"), pass.input("center"));
  const at::Tensor distances = at::sum(at::square(apart), -1).to(at::kDouble);
  const at::Tensor outside = at::mean(at::clamp_min(at::sub(distances, inside), 0));
  return weighed(pass, at::add(inside, outside, 1 / pass.number("nu")));
}

}  // namespace

std::vector<NodeForm> forms_of_losses() {
  return {{"OrthogonalityLoss", orthogonality},
          {"AnomalyBCEWithLogits", anomaly_bce},
          {"MSEReconstructionLoss", reconstruction},
          {"IoULoss", iou},
          {"DistinctnessLoss", distinctness},
          {"SelectorEntropyRegularizer", selector_entropy},
          {"SelectorDiversityRegularizer", selector_diversity},
          {"DeepSVDDSoftBoundaryLoss", svdd_loss}};
}

}  // namespace stoker::torch_door
