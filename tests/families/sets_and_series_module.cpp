#include "families/sets_and_series_module.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/div.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>

#include "families/sets_and_series.h"
#include "torch/modules/drop.h"

namespace stoker::test {
namespace {

class SetsAndSeries : public torch_door::Module {
 public:
  explicit SetsAndSeries(const torch_door::Parameters& parameters)
      : embed_weight_(parameters("embed.weight")),
        embed_bias_(parameters("embed.bias")),
        head_weight_(parameters("head.weight")),
        head_bias_(parameters("head.bias")),
        members_mean_(parameters("members.mean")),
        members_scale_(parameters("members.scale")),
        window_mean_(parameters("window.mean")),
        window_scale_(parameters("window.scale")) {}

  at::Tensor outputs(std::span<const at::Tensor> inputs, const torch_door::Pass& pass) const override {
    const at::Tensor members = at::div(at::sub(inputs[0], members_mean_), members_scale_);
    const at::Tensor present = inputs[1].unsqueeze(2);
    const at::Tensor embedded = at::mul(at::relu(at::linear(members, embed_weight_, embed_bias_)), present);
    at::Tensor set = at::div(at::sum(embedded, 1), at::clamp_min(at::sum(present, 1), 1));
    set = torch_door::drop(set, pass, 0);
    const at::Tensor window = at::div(at::sub(inputs[2], window_mean_), window_scale_);
    return at::linear(at::cat({set, window.flatten(1)}, 1), head_weight_, head_bias_);
  }

  std::vector<torch_door::DropoutLayer> dropout_layers() const override { return {{embedded_width, 0.1}}; }
  bool takes_padding() const override { return true; }
  std::int64_t widest() const override { return set_size * embedded_width; }

 private:
  at::Tensor embed_weight_, embed_bias_, head_weight_, head_bias_;
  at::Tensor members_mean_, members_scale_, window_mean_, window_scale_;
};

}  // namespace

std::unique_ptr<torch_door::Module> make_sets_and_series(const Network&,
                                                         const torch_door::Parameters& parameters) {
  return std::make_unique<SetsAndSeries>(parameters);
}

}  // namespace stoker::test
