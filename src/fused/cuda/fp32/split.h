#pragma once

#include "fused/cuda/fp32/plain_work.h"
#include "fused/cuda/fp32/split_layout.h"
#include "kernels/launch.h"

// The training of the plain kernel, by tensor cores: every operand of a product is split into two numbers of
// TF32, which together are as good as fp32. One block a model, shapes known at run time, the same parameters
// and moments in device memory; from sm_80 on.
namespace stoker::fused {

kernels::LaunchError train_split(const Plan& plan, const SplitLayout& layout, const PlainModels& models,
                                 int count, kernels::Stream stream);

}  // namespace stoker::fused
