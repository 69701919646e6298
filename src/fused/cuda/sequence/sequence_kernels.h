#pragma once

#include <memory>
#include <string>

#include "fused/cuda/sequence/passes.h"
#include "model/network.h"

namespace stoker::fused::sequence {

// Whether its family has any, on some device and of some size.
bool has_kernels_for(const Network& network);
// Why there are no such kernels for this network on this device, or "". They are compiled here, once.
std::string refusal(const Network& network, Device device);
std::unique_ptr<SequenceKernels> make_kernels(const Network& network, const Places& places);

}  // namespace stoker::fused::sequence
