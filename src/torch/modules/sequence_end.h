#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "model/network/activation.h"
#include "model/network/sequence.h"
#include "torch/modules/layers.h"

namespace stoker::torch_door {

// What follows the moments of a window (model/network/sequence.h).
class SequenceEndLayers {
 public:
  struct Settings {
    SequenceEnd shape;
    Activation activation = Activation::relu;
    double dropout = 0;
    double pooling_dropout = 0;
    // Values from here on are those of a direction that comes to its end at the first moment.
    std::int64_t backwards_from = 0;
  };
  SequenceEndLayers() = default;
  // Its masks follow those of `masks`, to which it adds them.
  SequenceEndLayers(const Settings& settings, std::int64_t length, const Parameters& parameters,
                    std::vector<DropoutLayer>& masks);

  // [rows, outputs] of [rows, length, width].
  at::Tensor operator()(const at::Tensor& moments, const Pass& pass) const;

 private:
  at::Tensor pooled(const at::Tensor& moments, const Pass& pass) const;

  Settings settings_;
  std::size_t first_mask_ = 0;
  Linear scores_;
  Linear weights_;
  LayerNorm norm_;
  Linear hidden_;
  LayerNorm hidden_norm_;
  Linear last_;
};

}  // namespace stoker::torch_door
