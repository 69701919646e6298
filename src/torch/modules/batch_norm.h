#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "torch/modules/module.h"

namespace stoker::torch_door {

// Of [rows, width], under the names that model/network/layer_specs.h gives its parameters and buffers.
struct BatchNorm {
  at::Tensor weight;
  at::Tensor bias;
  at::Tensor mean;
  at::Tensor variance;

  at::Tensor operator()(const at::Tensor& x, const Pass& pass) const;

 private:
  // Over the rows that are of the batch, with its way back (kernels/batch_norm.h).
  at::Tensor without_padding(const at::Tensor& x, const BatchPart& part) const;
};

BatchNorm batch_norm_of(const Parameters& parameters, const std::string& name);

}  // namespace stoker::torch_door
