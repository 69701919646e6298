#include "torch/modules/batch_norm.h"

#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "kernels/batch_norm.h"
#include "model/network/layer_specs.h"
#include "torch/float_format.h"
#include "torch/modules/way_back.h"

namespace stoker::torch_door {
namespace {

kernels::NormedRows normed_rows(const at::Tensor& values, const BatchPart& part) {
  kernels::NormedRows rows;
  rows.format = float_format_of(values);
  rows.values = values.const_data_ptr();
  rows.rows = values.size(0);
  rows.width = values.size(1);
  rows.first_row = part.first_row;
  rows.counters = part.counters;
  return rows;
}

// What a norm keeps for its way back: moments are [2, width], the mean and the inverse of the deviation.
struct KeptNorm {
  at::Tensor values;
  at::Tensor weight;
  at::Tensor moments;
  BatchPart part;
};

class PaddedNormWayBack : public torch::autograd::Node {
 public:
  explicit PaddedNormWayBack(KeptNorm kept) : kept_(std::move(kept)) {}

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    if (!gradients.front().defined()) return torch::autograd::variable_list(3);
    const at::NoGradGuard no_autograd;
    const at::Tensor gradient = gradients.front().contiguous();
    const at::Tensor values_gradient = at::empty_like(kept_.values);
    const at::Tensor weight_gradient = at::empty_like(kept_.weight);
    const at::Tensor bias_gradient = at::empty_like(kept_.weight);
    kernels::BatchNormBack work;
    work.of = normed_rows(kept_.values, kept_.part);
    work.gradient = gradient.const_data_ptr();
    work.weight = kept_.weight.const_data_ptr<float>();
    work.mean = kept_.moments.const_data_ptr<float>();
    work.inverse_deviation = work.mean + work.of.width;
    work.values_gradient = values_gradient.mutable_data_ptr();
    work.weight_gradient = weight_gradient.mutable_data_ptr<float>();
    work.bias_gradient = bias_gradient.mutable_data_ptr<float>();
    kernels::batch_norm_back(work, kept_.part.place);
    return {values_gradient, weight_gradient, bias_gradient};
  }

  void release_variables() override { kept_ = {}; }

 private:
  KeptNorm kept_;
};

}  // namespace

// A single row has no variance: it is normed as in a prediction.
at::Tensor BatchNorm::operator()(const at::Tensor& x, const Pass& pass) const {
  if (pass.is_training && pass.part.is_padded) return without_padding(x, pass.part);
  return at::batch_norm(x, weight, bias, mean, variance, pass.is_training && x.size(0) > 1,
                        batch_norm_momentum, norm_epsilon, /*cudnn_enabled=*/false);
}

at::Tensor BatchNorm::without_padding(const at::Tensor& x, const BatchPart& part) const {
  KeptNorm kept{x.detach().contiguous(), weight.detach(), {}, part};
  at::Tensor normed;
  {
    const at::NoGradGuard no_autograd;
    const std::int64_t width = kept.values.size(1);
    kept.moments = at::empty({2, width}, kept.weight.options());
    normed = at::empty_like(kept.values);
    kernels::BatchNorm work;
    work.of = normed_rows(kept.values, part);
    work.weight = kept.weight.const_data_ptr<float>();
    work.bias = bias.const_data_ptr<float>();
    work.momentum = static_cast<float>(batch_norm_momentum);
    work.epsilon = static_cast<float>(norm_epsilon);
    work.running_mean = mean.mutable_data_ptr<float>();
    work.running_variance = variance.mutable_data_ptr<float>();
    work.normed = normed.mutable_data_ptr();
    work.mean = kept.moments.mutable_data_ptr<float>();
    work.inverse_deviation = work.mean + width;
    kernels::batch_norm(work, part.place);
  }
  if (at::GradMode::is_enabled())
    record_way_back<PaddedNormWayBack>(normed, std::vector<at::Tensor>{x, weight, bias}, std::move(kept));
  return normed;
}

BatchNorm batch_norm_of(const Parameters& parameters, const std::string& name) {
  return {parameters(name + ".weight"), parameters(name + ".bias"), parameters(name + ".running_mean"),
          parameters(name + ".running_variance")};
}

}  // namespace stoker::torch_door
