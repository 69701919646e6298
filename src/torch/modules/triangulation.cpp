#include "torch/modules/triangulation.h"

#include <algorithm>
#include <cmath>

#include <ATen/ops/add.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/div.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>

#include "model/network/triangulation.h"
#include "torch/modules/layers.h"

namespace stoker::torch_door {
namespace {

class Triangulation : public Module {
 public:
  Triangulation(const Network& network, const Parameters& parameters)
      : settings_(settings_as<TriangulationSettings>(network.settings)),
        set_(set_shape(network)),
        inner_(linear_of(parameters, "receiver.inner")),
        outer_(linear_of(parameters, "receiver.outer")),
        projections_{parameters("attention.in_proj_weight"), parameters("attention.in_proj_bias")},
        attended_(linear_of(parameters, "attention.out_proj")),
        norm_(layer_norm_of(parameters, "norm")),
        head_inner_(linear_of(parameters, "head.inner")),
        head_outer_(linear_of(parameters, "head.outer")) {}

  at::Tensor outputs(std::span<const at::Tensor> inputs, const Pass& pass) const override {
    const at::Tensor& present = inputs[1];  // [rows, members]
    // 0 where a receiver is present, else far below whatever is compared with it.
    const at::Tensor absence = at::mul(at::sub(present, 1), -far_below);
    const at::Tensor inner = drop(at::relu(inner_(inputs[0])), pass, 0);
    const at::Tensor receivers = at::relu(outer_(inner));
    const at::Tensor context = attend(projections_(receivers), absence, pass);
    const at::Tensor known = norm_(at::add(receivers, attended_(context)));
    const at::Tensor hidden = at::relu(head_inner_(pooled(known, present, absence)));
    return head_outer_(drop(hidden, pass, 2));
  }

  std::vector<DropoutLayer> dropout_layers() const override {
    return {{set_.members * settings_.receiver_width, settings_.dropout},
            {settings_.attention_heads * set_.members * set_.members, settings_.dropout},
            {settings_.head_width, settings_.dropout}};
  }
  bool takes_padding() const override { return true; }
  std::int64_t widest() const override {
    const std::int64_t of_member = std::max({set_.columns, settings_.receiver_width, 3 * settings_.width,
                                             settings_.attention_heads * set_.members});
    return std::max({set_.members * of_member, 4 * settings_.width, settings_.head_width});
  }

 private:
  at::Tensor attend(const at::Tensor& projected, const at::Tensor& absence, const Pass& pass) const {
    const std::int64_t rows = projected.size(0);
    const std::int64_t share = settings_.width / settings_.attention_heads;
    const at::Tensor heads =
        projected.view({rows, set_.members, 3, settings_.attention_heads, share}).permute({2, 0, 3, 1, 4});
    const double scale = 1.0 / std::sqrt(static_cast<double>(share));
    const at::Tensor scores =
        at::matmul(at::mul(heads.select(0, 0), scale), heads.select(0, 1).transpose(2, 3));
    const at::Tensor shares =
        shares_of(at::add(scores, absence.to(scores.scalar_type()).unsqueeze(1).unsqueeze(1)), 3);
    const at::Tensor context = at::matmul(drop(shares, pass, 1), heads.select(0, 2));
    return context.transpose(1, 2).reshape({rows, set_.members, settings_.width});
  }

  // [rows, 4 * width] of what the receivers that are present have in common.
  at::Tensor pooled(const at::Tensor& known, const at::Tensor& present, const at::Tensor& absence) const {
    const at::Tensor values = known.to(at::kFloat);
    const at::Tensor counts = at::sum(present, 1, true);  // [rows, 1]
    const at::Tensor divisor = at::clamp_min(counts, 1);
    const at::Tensor one_each = present.unsqueeze(2);
    const at::Tensor mean = at::div(at::sum(at::mul(values, one_each), 1), divisor);
    const at::Tensor largest = at::amax(at::add(values, absence.unsqueeze(2)), 1);
    const at::Tensor differences = at::mul(at::sub(values, mean.unsqueeze(1)), one_each);
    const at::Tensor variance = at::div(at::sum(at::mul(differences, differences), 1), divisor);
    const at::Tensor deviation = at::sqrt(at::add(variance, least_set_variance));
    const at::Tensor share = at::div(counts, static_cast<double>(set_.members)).expand({-1, settings_.width});
    return at::cat({mean, largest, deviation, share}, 1);
  }

  TriangulationSettings settings_;
  SetShape set_;
  Linear inner_;
  Linear outer_;
  Linear projections_;  // queries, keys and values
  Linear attended_;
  LayerNorm norm_;
  Linear head_inner_;
  Linear head_outer_;
};

}  // namespace

std::unique_ptr<Module> make_triangulation(const Network& network, const Parameters& parameters) {
  return std::make_unique<Triangulation>(network, parameters);
}

}  // namespace stoker::torch_door
