#pragma once

#include "fused/cuda/fp32/plain_work.h"
#include "fused/cuda/plan.h"
#include "kernels/launch.h"

// The same training in the plainest way: one block a model, fp32 throughout, shapes known only at run time.
// What the fast kernels are held to; what trains with fp32 operands where split.h has no kernel for them.
namespace stoker::fused {

kernels::LaunchError train_plainly(const Plan& plan, const PlainModels& models, int count,
                                   kernels::Stream stream);

}  // namespace stoker::fused
