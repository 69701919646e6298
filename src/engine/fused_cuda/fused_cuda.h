#pragma once

#include <memory>
#include <span>
#include <string>

#include "engine/engine.h"

// The fused engine on CUDA: whole trainings of small networks in one launch, one block a model.
namespace stoker::fused {

// Why it cannot run the request, or "". A shape that the program does not bring compiled is compiled here,
// once.
std::string cuda_refusal(const EngineRequest& request);
std::unique_ptr<Engine> make_cuda(const EngineRequest& request);
std::unique_ptr<EngineGroup> make_cuda_group(std::span<const EngineRequest> requests);

}  // namespace stoker::fused
