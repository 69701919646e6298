#pragma once

#include <memory>

#include "torch/modules/module.h"

namespace stoker::torch_door {

std::unique_ptr<Module> make_experts(const Network& network, const Parameters& parameters);

}  // namespace stoker::torch_door
