#pragma once

#include <optional>
#include <string>

#include "engine/engine.h"
#include "fused/cuda/gpu.h"
#include "fused/cuda/sets/layout.h"

namespace stoker::fused::sets {

// Whether the kernels over sets are meant for the network, be it of sizes that they do not have.
bool reads_sets(const Network& network);

// The sizes of the request's network, or why they or something else in it is not for these kernels. Values of
// the rows are not looked at.
std::optional<Sizes> sizes_for(const EngineRequest& request, const Gpu& gpu, std::string& why_not);

}  // namespace stoker::fused::sets
