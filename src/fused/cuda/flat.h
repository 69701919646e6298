#pragma once

#include <string>
#include <vector>

#include "fused/cuda/plan.h"
#include "model/network/mlp.h"

// A network's arrays ("layers.0.weight" [outputs, inputs] ...) and the flat, padded order of a Plan.
namespace stoker::fused {

// Writes the arrays called PREFIX + name into `flat`; what is padding stays as it was. Refuses arrays of
// another shape.
void to_flat(const Plan& plan, const NamedArrays& arrays, const std::string& prefix,
             std::vector<float>& flat);
void append_from_flat(const Plan& plan, const float* flat, const std::string& prefix, NamedArrays& arrays);

}  // namespace stoker::fused
