#include "model/family.h"
#include "torch/torch_engine.h"

// What processes that train one model tell each other.
namespace stoker::torch_door {

void TorchEngine::average_gradients() {
  at::Tensor trained = gradients_.narrow(0, 0, trained_);
  at::Tensor on_host = trained.to(at::kCPU);  // itself on a CPU
  request_.collective->average({on_host.mutable_data_ptr<float>(), static_cast<std::size_t>(trained_)});
  if (place_.device.is_cuda()) trained.copy_(on_host);
}

// What each process gathered from rows of its own. All must judge an epoch alike: one that stopped alone
// would leave the others waiting for its gradients.
void TorchEngine::average_buffers() {
  for (const ParameterSpec& spec : parameter_specs(request_.network)) {
    if (spec.is_trained) continue;
    at::Tensor buffer = layout_.view(parameters_, spec.name);
    at::Tensor on_host = buffer.to(at::kCPU);
    request_.collective->average(
        {on_host.mutable_data_ptr<float>(), static_cast<std::size_t>(on_host.numel())});
    if (place_.device.is_cuda()) buffer.copy_(on_host);
  }
}

}  // namespace stoker::torch_door
