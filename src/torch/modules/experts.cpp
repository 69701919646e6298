#include "torch/modules/experts.h"

#include <algorithm>
#include <limits>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/div.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/log.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "kernels/drawn_experts.h"
#include "kernels/noise.h"
#include "model/experts/experts.h"
#include "torch/modules/layers.h"

namespace stoker::torch_door {
namespace {

// Every row goes through every expert, whoever answers for it: slow, plain, and what other engines are held
// to.
class Experts : public Module {
 public:
  Experts(const Network& network, const Parameters& parameters)
      : shape_(expert_shape(network).value()),
        inner_(linear_of(parameters, "router.inner")),
        outer_(linear_of(parameters, "router.outer")),
        alive_(parameters(alive_name)),
        activations_(parameters(activations_name)),
        idle_steps_(parameters(idle_steps_name)),
        followers_(parameters(followers_name)),
        hesitation_(parameters(hesitation_name)) {
    for (std::size_t i = 0; i < shape_.layer_count(); ++i)
      layers_.push_back({parameters(expert_weight(i)), parameters(expert_bias(i))});
  }

  at::Tensor outputs(std::span<const at::Tensor> inputs, const Pass& pass) const override {
    const at::Tensor& x = inputs.front();
    const at::Tensor scores = scores_of(x, pass);  // [rows, room]
    const auto [best, liked] = at::topk(scores, shape_.settings.top_k, 1);
    const bool explores = pass.is_training && shape_.settings.router_exploration > 0;
    const at::Tensor chosen = explores ? with_drawn_ones(liked, pass) : liked;
    const at::Tensor shares = shares_of(explores ? at::gather(scores, 1, chosen) : best, 1);
    const at::Tensor of_all = at::zeros_like(scores).scatter(1, chosen, shares);
    // By the router itself: who is drawn tells nothing of what it likes.
    const at::Tensor asked = at::zeros_like(scores).scatter(1, liked, 1.0);
    const at::Tensor probabilities = shares_of(scores, 1);
    if (pass.is_training) count_usage(asked, liked, probabilities);

    at::Tensor mixed = mix(x, of_all, pass);
    if (!pass.is_training) return with_zeros_behind(mixed);
    if (shape_.has_balance()) mixed = at::cat({mixed, balance_of(asked, probabilities)}, 1);
    if (shape_.has_z()) {
      const at::Tensor logarithm = at::logsumexp(scores, 1, true);
      mixed = at::cat({mixed, at::mul(logarithm, logarithm)}, 1);
    }
    return mixed;
  }

  std::vector<DropoutLayer> dropout_layers() const override {
    std::vector<DropoutLayer> layers;
    for (const std::int64_t width : shape_.settings.hidden_layers)
      layers.push_back({shape_.room() * width, shape_.settings.dropout});
    return layers;
  }
  std::int64_t widest() const override {
    std::int64_t width = std::max(shape_.inputs, shape_.outputs);
    for (const std::int64_t each : shape_.settings.hidden_layers) width = std::max(width, each);
    return shape_.room() * width;
  }

 private:
  // What has no loss outside of training.
  at::Tensor with_zeros_behind(const at::Tensor& outputs) const {
    const std::int64_t behind = (shape_.has_balance() ? 1 : 0) + (shape_.has_z() ? 1 : 0);
    if (behind == 0) return outputs;
    return at::cat({outputs, at::zeros({outputs.size(0), behind}, outputs.options())}, 1);
  }

  struct Layer {
    at::Tensor weight;  // [room, outputs, inputs]
    at::Tensor bias;    // [room, outputs]
  };

  // In fp32 whatever the format of the experts: a rounded score sends a row elsewhere.
  at::Tensor scores_of(const at::Tensor& x, const Pass& pass) const {
    const WithoutAutocast in_fp32;
    const at::Tensor inner = at::relu(inner_(x.to(at::kFloat)));
    at::Tensor scores = outer_(inner);
    if (pass.is_training && shape_.settings.router_noise > 0) {
      const at::NoGradGuard no_autograd;
      at::Tensor noise = at::zeros(scores.sizes(), scores.options());
      kernels::Noise work;
      work.values = noise.mutable_data_ptr<float>();
      work.elements = noise.numel();
      work.first = pass.part.first_row * shape_.room();
      work.seed = pass.part.seed;
      work.deviation = static_cast<float>(shape_.settings.router_noise);
      work.counters = pass.part.counters;
      kernels::add_noise(work, pass.part.place);
      const at::AutoGradMode recording(true);
      scores = at::add(scores, noise);
    }
    scores = at::mul(scores, 1 / shape_.settings.temperature);
    return at::where(alive_.ne(0).unsqueeze(0), scores,
                     at::zeros({}, scores.options()).fill_(-std::numeric_limits<float>::infinity()));
  }

  at::Tensor with_drawn_ones(const at::Tensor& liked, const Pass& pass) const {
    const at::Tensor chosen = liked.clone();
    kernels::DrawnExperts work;
    work.chosen = chosen.mutable_data_ptr<std::int64_t>();
    work.alive = alive_.const_data_ptr<float>();
    work.rows = chosen.size(0);
    work.first_row = pass.part.first_row;
    work.room = shape_.room();
    work.top_k = shape_.settings.top_k;
    work.share = shape_.settings.router_exploration;
    work.planned_steps = pass.part.planned_steps;
    work.seed = pass.part.seed;
    work.counters = pass.part.counters;
    kernels::draw_experts(work, pass.part.place);
    return chosen;
  }

  at::Tensor mix(const at::Tensor& x, const at::Tensor& shares, const Pass& pass) const {
    at::Tensor values = x.unsqueeze(0).expand({shape_.room(), x.size(0), x.size(1)});
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      values = at::baddbmm(layers_[i].bias.unsqueeze(1), values, layers_[i].weight.transpose(1, 2));
      if (i + 1 < layers_.size()) values = drop(at::relu(values), pass, i);
    }
    const at::Tensor weights = shares.transpose(0, 1).unsqueeze(2);  // [room, rows, 1]
    return at::sum(at::mul(values.to(at::kFloat), weights), 0);
  }

  // Of a row: the number of experts times the sum of its shares, each times that of all rows that its expert
  // is asked for; 1 where they are equally busy.
  at::Tensor balance_of(const at::Tensor& asked, const at::Tensor& probabilities) const {
    const at::Tensor busy =
        at::mul(at::sum(asked, 0, true), 1.0 / static_cast<double>(asked.size(0) * shape_.settings.top_k));
    return at::mul(at::sum(at::mul(probabilities, busy), 1, true), at::sum(alive_));
  }

  void count_usage(const at::Tensor& asked, const at::Tensor& liked, const at::Tensor& probabilities) const {
    const at::NoGradGuard no_autograd;
    const at::Tensor counts = at::sum(asked, 0);
    activations_.add_(counts);
    idle_steps_.copy_(at::where(counts.ne(0), at::zeros_like(counts), at::add(idle_steps_, 1)));
    idle_steps_.mul_(alive_);
    const at::Tensor first = at::zeros_like(asked).scatter(1, liked.narrow(1, 0, 1), 1.0);
    followers_.add_(at::matmul(first.transpose(0, 1), at::sub(asked, first)));
    const at::Tensor logarithms = at::log(at::clamp_min(probabilities, 1e-37));
    const at::Tensor most = at::log(at::clamp_min(at::sum(alive_), 2.0));
    hesitation_.narrow(0, 0, 1).sub_(at::div(at::sum(at::mul(probabilities, logarithms)), most));
    hesitation_.narrow(0, 1, 1).add_(static_cast<double>(asked.size(0)));
  }

  ExpertShape shape_;
  Linear inner_;
  Linear outer_;
  std::vector<Layer> layers_;
  at::Tensor alive_;
  // Buffers that change with each step of training.
  mutable at::Tensor activations_;
  mutable at::Tensor idle_steps_;
  mutable at::Tensor followers_;
  mutable at::Tensor hesitation_;
};

}  // namespace

std::unique_ptr<Module> make_experts(const Network& network, const Parameters& parameters) {
  return std::make_unique<Experts>(network, parameters);
}

}  // namespace stoker::torch_door
