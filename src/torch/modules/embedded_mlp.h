#pragma once

#include <memory>

#include "torch/modules/module.h"

namespace stoker::torch_door {

// A multi-layer perceptron behind an entrance that learns. One that reads its features as they stand has its
// gradients written out instead (torch/mlp_step.h).
bool has_learning_entrance(const Network& network);
std::unique_ptr<Module> make_embedded_mlp(const Network& network, const Parameters& parameters);

}  // namespace stoker::torch_door
