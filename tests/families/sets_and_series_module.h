#pragma once

#include "torch/modules/module.h"

namespace stoker::test {

std::unique_ptr<torch_door::Module> make_sets_and_series(const Network& network,
                                                         const torch_door::Parameters& parameters);

}  // namespace stoker::test
