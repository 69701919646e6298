#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linalg_inv.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>

#include "torch/nodes/node_form.h"

// Nodes that give every pixel one number: how far it is from what is usual.
namespace stoker::torch_door {
namespace {

at::Tensor quadratic_form(const at::Tensor& apart, const at::Tensor& matrix) {
  return at::sum(at::mul(at::matmul(apart, matrix), apart), -1, true);
}

NodeTensors rx_global(const NodePass& pass) {
  return {{"scores", quadratic_form(at::sub(pass.input("data"), pass.array("mu")), pass.array("cov_inv"))}};
}

NodeTensors lad_global(const NodePass& pass) {
  return {{"scores", quadratic_form(at::sub(pass.input("data"), pass.array("M")), pass.array("L"))}};
}

// Each pixel beside those of its own image.
NodeTensors rx_per_batch(const NodePass& pass) {
  const at::NoGradGuard no_way_back;
  const at::Tensor& data = pass.input("data");
  const std::int64_t channels = data.size(3);
  const at::Tensor pixels = data.reshape({data.size(0), -1, channels});
  const at::Tensor mean = at::mean(pixels, {1}, true, at::kDouble);
  const at::Tensor apart = at::sub(pixels.to(at::kDouble), mean);
  const auto degrees = static_cast<double>(pixels.size(1) - 1);
  at::Tensor covariance = at::mul(at::matmul(apart.transpose(1, 2), apart), 1 / degrees);
  covariance = at::add(covariance, at::eye(channels, covariance.options()), pass.number("eps"));
  const at::Tensor scores = quadratic_form(apart.to(at::kFloat), at::linalg_inv(covariance).to(at::kFloat));
  return {{"scores", scores.reshape({data.size(0), data.size(1), data.size(2), 1})}};
}

NodeTensors score_to_logit(const NodePass& pass) {
  return {{"logits", at::mul(pass.array("scale"), at::sub(pass.input("scores"), pass.array("bias")))}};
}

// Of a training batch the centre follows the embeddings, and is kept. A loss moves embeddings towards it, not
// it.
NodeTensors svdd_centre(const NodePass& pass) {
  const at::NoGradGuard no_way_back;
  const at::Tensor& kept = pass.array("tracked_center");
  if (!pass.is_training() && !pass.is_set("update_in_eval")) return {{"center", kept.clone()}};
  const double alpha = pass.number("alpha");
  const at::Tensor mean = at::mean(pass.input("embeddings"), {0, 1, 2}, false, at::kDouble).to(at::kFloat);
  at::Tensor centre = at::add(at::mul(kept, 1 - alpha), mean, alpha);
  if (pass.is_training()) kept.copy_(centre);
  return {{"center", centre}};
}

NodeTensors svdd_scores(const NodePass& pass) {
  const at::Tensor apart = at::sub(pass.input("embeddings"), pass.input("center"));
  return {{"scores", at::sum(at::mul(apart, apart), -1, true)}};
}

}  // namespace

std::vector<NodeForm> forms_of_scores() {
  return {{"RXGlobal", rx_global},
          {"LADGlobal", lad_global},
          {"RXPerBatch", rx_per_batch, false},
          {"ScoreToLogit", score_to_logit},
          {"DeepSVDDCenterTracker", svdd_centre},
          {"DeepSVDDScores", svdd_scores}};
}

}  // namespace stoker::torch_door
