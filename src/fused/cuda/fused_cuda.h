#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/process/stop.h"
#include "engine/engine.h"

// The fused engine on CUDA: whole trainings of small networks in one launch, one block a model.
namespace stoker::fused {

// Why it cannot run the request, or "". A shape that the program does not bring compiled is compiled here,
// once.
std::string cuda_refusal(const EngineRequest& request);
// Why the graph engine is faster with a single such model, or "": operands in fp32, asked for or needed.
std::string slower_alone(const EngineRequest& request);
// Compiles the kernel of a group to come, which may be a single model and needs no data yet, from a thread of
// its own. Gives up when `stop` is set. Nothing to do on the CPU.
void compile_ahead(std::span<const EngineRequest> group, const StopSignal& stop);
// Whether models of such a request can share a launch: a network over sets takes a cluster alone,
// a mixture of experts the whole GPU.
bool can_group(const EngineRequest& request);
// Copies from the host to a GPU that its engines have made so far: no step may need one.
std::int64_t copies_to_gpu();
// Times that the host has waited for a GPU for them: once for a chunk, whatever its number of steps.
std::int64_t waits_for_gpu();
std::unique_ptr<Engine> make_cuda(const EngineRequest& request);
std::unique_ptr<EngineGroup> make_cuda_group(std::span<const EngineRequest> requests);

}  // namespace stoker::fused
