#pragma once

#include <string>
#include <vector>

#include "device/array.h"
#include "fused/cuda/sets/layout.h"

// The arrays of a triangulation and the flat, padded order in which the kernels over sets have them.
namespace stoker::fused::sets {

// Writes the arrays called PREFIX + name into `flat`; padding stays as it was. Refuses arrays of another
// shape.
void to_flat(const Sizes& sizes, const NamedArrays& arrays, const std::string& prefix,
             std::vector<float>& flat);
void append_from_flat(const Sizes& sizes, const std::vector<float>& flat, const std::string& prefix,
                      NamedArrays& arrays);

}  // namespace stoker::fused::sets
