#include "fused/cuda/experts/captured_steps.h"

#include <utility>

#include "fused/cuda/device_memory.h"

namespace stoker::fused::experts {

CapturedSteps::CapturedSteps(kernels::Stream stream, const std::function<void()>& launch) {
  // Of this thread alone: others may be making engines of their own.
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "recording a step");
  cudaGraph_t recorded = nullptr;
  try {
    launch();
  } catch (...) {
    cudaStreamEndCapture(stream, &recorded);
    if (recorded != nullptr) cudaGraphDestroy(recorded);
    throw;
  }
  check(cudaStreamEndCapture(stream, &recorded), "recording a step");
  const cudaError_t status = cudaGraphInstantiate(&graph_, recorded, 0);
  cudaGraphDestroy(recorded);
  check(status, "preparing a recorded step");
}

CapturedSteps::CapturedSteps(CapturedSteps&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}

CapturedSteps& CapturedSteps::operator=(CapturedSteps&& other) noexcept {
  std::swap(graph_, other.graph_);
  return *this;
}

CapturedSteps::~CapturedSteps() {
  if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
}

void CapturedSteps::launch(kernels::Stream stream) const {
  check(cudaGraphLaunch(graph_, stream), "training");
}

}  // namespace stoker::fused::experts
