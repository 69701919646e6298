#include "torch/modules/residual_mlp.h"

#include <algorithm>

#include <ATen/ops/add.h>
#include <fmt/format.h>

#include "model/network/residual_mlp.h"
#include "torch/modules/activate.h"
#include "torch/modules/layers.h"

namespace stoker::torch_door {
namespace {

struct Block {
  BatchNorm norm;
  Linear inner;
  Linear outer;
};

class ResidualMlp : public Module {
 public:
  ResidualMlp(const Network& network, const Parameters& parameters)
      : settings_(settings_as<ResidualMlpSettings>(network.settings)) {
    first_ = linear_of(parameters, "first");
    for (std::int64_t i = 0; i < settings_.blocks; ++i) {
      const std::string block = fmt::format("blocks.{}.", i);
      blocks_.push_back({batch_norm_of(parameters, block + "norm"), linear_of(parameters, block + "inner"),
                         linear_of(parameters, block + "outer")});
    }
    norm_ = batch_norm_of(parameters, "norm");
    last_ = linear_of(parameters, "last");
  }

  at::Tensor outputs(std::span<const at::Tensor> inputs, const Pass& pass) const override {
    at::Tensor x = first_(inputs.front());
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const at::Tensor inner = activate(settings_.activation, blocks_[i].inner(blocks_[i].norm(x, pass)));
      x = at::add(x, blocks_[i].outer(drop(inner, pass, i)));
    }
    return last_(activate(settings_.activation, norm_(x, pass)));
  }

  std::vector<DropoutLayer> dropout_layers() const override {
    return std::vector<DropoutLayer>(blocks_.size(), {settings_.block_width, settings_.dropout});
  }
  bool takes_padding() const override { return true; }
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
