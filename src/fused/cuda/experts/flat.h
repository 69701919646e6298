#pragma once

#include <string>
#include <vector>

#include "device/array.h"
#include "fused/cuda/experts/layout.h"
#include "model/experts/expert_shape.h"

// The arrays of a mixture of experts and the flat order in which the kernels have them.
namespace stoker::fused::experts {

Layout layout_of(const ExpertShape& shape);

// Writes the arrays called PREFIX + name into `flat`; what lies between them stays as it was. Refuses arrays
// of another shape. Moments are those of parameters alone.
void to_flat(const Layout& layout, const NamedArrays& arrays, const std::string& prefix,
             std::vector<float>& flat);
void append_from_flat(const Layout& layout, const std::vector<float>& flat, const std::string& prefix,
                      NamedArrays& arrays);

// Who lives, in their order. Refuses fewer than have to answer for a row.
std::vector<std::int32_t> living_in(const Layout& layout, const std::vector<float>& flat, std::int64_t top_k);

}  // namespace stoker::fused::experts
