#include "torch/modules/residual_mlp.h"

#include <algorithm>

#include <ATen/ops/add.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mul.h>
#include <fmt/format.h>

#include "model/residual_mlp.h"
#include "torch/modules/activate.h"

namespace stoker::torch_door {
namespace {

struct Linear {
  at::Tensor weight;
  at::Tensor bias;
  at::Tensor operator()(const at::Tensor& x) const { return at::linear(x, weight, bias); }
};

struct BatchNorm {
  at::Tensor weight;
  at::Tensor bias;
  at::Tensor mean;
  at::Tensor variance;
  // A single row has no variance: it is normed as in a prediction.
  at::Tensor operator()(const at::Tensor& x, bool is_training) const {
    return at::batch_norm(x, weight, bias, mean, variance, is_training && x.size(0) > 1, batch_norm_momentum,
                          batch_norm_epsilon, /*cudnn_enabled=*/false);
  }
};

struct Block {
  BatchNorm norm;
  Linear inner;
  Linear outer;
};

class ResidualMlp : public Module {
 public:
  ResidualMlp(const Network& network, const Parameters& parameters)
      : settings_(settings_as<ResidualMlpSettings>(network.settings)) {
    const auto linear = [&](const std::string& name) {
      return Linear{parameters(name + ".weight"), parameters(name + ".bias")};
    };
    const auto norm = [&](const std::string& name) {
      return BatchNorm{parameters(name + ".weight"), parameters(name + ".bias"),
                       parameters(name + ".running_mean"), parameters(name + ".running_variance")};
    };
    first_ = linear("first");
    for (std::int64_t i = 0; i < settings_.blocks; ++i) {
      const std::string block = fmt::format("blocks.{}.", i);
      blocks_.push_back({norm(block + "norm"), linear(block + "inner"), linear(block + "outer")});
    }
    norm_ = norm("norm");
    last_ = linear("last");
  }

  at::Tensor outputs(std::span<const at::Tensor> inputs, const Pass& pass) const override {
    at::Tensor x = first_(inputs.front());
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      at::Tensor inner =
          activate(settings_.activation, blocks_[i].inner(blocks_[i].norm(x, pass.is_training)));
      if (!pass.masks.empty()) inner = at::mul(inner, pass.masks[i]);
      x = at::add(x, blocks_[i].outer(inner));
    }
    return last_(activate(settings_.activation, norm_(x, pass.is_training)));
  }

  double dropout() const override { return settings_.dropout; }
  std::vector<std::int64_t> dropout_widths() const override {
    return std::vector<std::int64_t>(blocks_.size(), settings_.block_width);
  }
  std::int64_t widest() const override {
    return std::max({settings_.width, settings_.block_width, first_.weight.size(1), last_.weight.size(0)});
  }

 private:
  ResidualMlpSettings settings_;
  Linear first_;
  std::vector<Block> blocks_;
  BatchNorm norm_;
  Linear last_;
};

}  // namespace

std::unique_ptr<Module> make_residual_mlp(const Network& network, const Parameters& parameters) {
  return std::make_unique<ResidualMlp>(network, parameters);
}

}  // namespace stoker::torch_door
