#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/softmax.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "model/network/layer_specs.h"
#include "torch/modules/batch_norm.h"
#include "torch/modules/drop.h"
#include "torch/modules/module.h"

// Layers that several modules have, under the names that model/network/layer_specs.h gives their parameters.
namespace stoker::torch_door {

struct Linear {
  at::Tensor weight;
  at::Tensor bias;
  at::Tensor operator()(const at::Tensor& x) const { return at::linear(x, weight, bias); }
};

inline Linear linear_of(const Parameters& parameters, const std::string& name) {
  return {parameters(name + ".weight"), parameters(name + ".bias")};
}

// While it lives, operations take their operands as they are. Autocast would have a GPU widen what a norm or
// a softmax reads, and keep it that way, though both sum up in fp32 anyway.
class WithoutAutocast {
  c10::impl::ExcludeDispatchKeyGuard guard_{c10::autocast_dispatch_keyset};
};

struct LayerNorm {
  at::Tensor weight;  // undefined: a network without norms
  at::Tensor bias;
  at::Tensor operator()(const at::Tensor& x) const {
    if (!weight.defined()) return x;
    const WithoutAutocast in_the_format_of_x;
    const at::ScalarType type = x.scalar_type();
    return at::layer_norm(x, weight.sizes(), weight.to(type), bias.to(type), norm_epsilon);
  }
};

inline at::Tensor shares_of(const at::Tensor& scores, std::int64_t dimension) {
  const WithoutAutocast in_their_format;
  return at::softmax(scores, dimension);
}

inline LayerNorm layer_norm_of(const Parameters& parameters, const std::string& name) {
  return {parameters(name + ".weight"), parameters(name + ".bias")};
}

}  // namespace stoker::torch_door
