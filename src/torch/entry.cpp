#include "torch/entry.h"

#include <array>

#include <torch/version.h>

#include "fused/cuda/sequence/sequence_kernels.h"
#include "model/nodes/node_network.h"
#include "torch/cpu_settings.h"
#include "torch/large_product.h"
#include "torch/predict.h"
#include "torch/request_check.h"
#include "torch/tensors.h"
#include "torch/torch_engine.h"

namespace stoker::torch_door {
namespace {

std::string graph_refusal(const EngineRequest& request) {
  if (!request.device.is_cuda()) return "the engine graph needs an NVIDIA GPU; on a CPU use eager or fused";
  if (request.collective != nullptr) return "a captured step cannot wait for other processes; eager can";
  if (nodes::is_node_network(request.network))
    return "it does not capture graphs of nodes; eager takes their steps";
  return refusal(request);
}

std::string fused_refusal(const EngineRequest& request) {
  if (request.precision != Precision::automatic && request.precision != Precision::bf16)
    return fmt::format("its kernels for sequences have bf16 operands, not {}",
                       config::name_of(request.precision));
  if (!request.unfrozen.empty()) return "its kernels for sequences train all parameters, but some are frozen";
  std::string problem = graph_refusal(request);
  return problem.empty() ? fused::sequence::refusal(request.network, request.device) : problem;
}

template <TorchEngine::Kind kind>
std::unique_ptr<Engine> make(const EngineRequest& request) {
  translated("setting up an engine", [&] { check_values(request); });
  return std::make_unique<TorchEngine>(request, kind);
}

constexpr std::array<EngineMaker, 3> makers{{
    {"graph", graph_refusal, make<TorchEngine::Kind::graph>},
    {"eager", refusal, make<TorchEngine::Kind::eager>},
    {"fused", fused_refusal, make<TorchEngine::Kind::fused>},
}};

}  // namespace
}  // namespace stoker::torch_door

extern "C" __attribute__((visibility("default"))) const stoker::torch_door::Library* stoker_open_torch() {
  stoker::torch_door::begin_on_one_thread();
  static const stoker::torch_door::Library library{stoker::torch_door::makers.data(),
                                                   stoker::torch_door::makers.size(),
                                                   TORCH_VERSION,
                                                   stoker::torch_door::limit_threads,
                                                   stoker::torch_door::threads_in_use,
                                                   stoker::torch_door::module_outputs,
                                                   stoker::torch_door::multiply_matrices};
  return &library;
}
