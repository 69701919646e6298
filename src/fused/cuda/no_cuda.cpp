#include "base/error.h"
#include "fused/cuda/fused_cuda.h"
#include "fused/cuda/sequence/sequence_kernels.h"

namespace stoker::fused {

std::string cuda_refusal(const EngineRequest&) {
  return "this program was built without CUDA";
}

std::string slower_alone(const EngineRequest&) {
  return "";
}

void compile_ahead(std::span<const EngineRequest>, const StopSignal&) {}

bool can_group(const EngineRequest&) {
  return false;
}

std::int64_t copies_to_gpu() {
  return 0;
}

std::int64_t waits_for_gpu() {
  return 0;
}

std::unique_ptr<Engine> make_cuda(const EngineRequest& request) {
  refuse("{}", cuda_refusal(request));
}

std::unique_ptr<EngineGroup> make_cuda_group(std::span<const EngineRequest>) {
  refuse("this program was built without CUDA");
}

namespace sequence {

// Those that sequence_kernels.cpp lists.
bool has_kernels_for(const Network& network) {
  return network.family == "lstm" || network.family == "transformer";
}

std::string refusal(const Network&, Device) {
  return "this program was built without CUDA";
}

std::unique_ptr<SequenceKernels> make_kernels(const Network&, const Places&) {
  refuse("this program was built without CUDA");
}

}  // namespace sequence
}  // namespace stoker::fused
