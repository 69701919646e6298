#include "model/network/mlp.h"
#include "torch/cpu_settings.h"
#include "torch/kernel_step.h"
#include "torch/mlp_step.h"
#include "torch/module_step.h"
#include "torch/torch_engine.h"

// How an engine computes the gradients of its network.
namespace stoker::torch_door {

std::unique_ptr<Trainee> TorchEngine::make_trainee() const {
  if (has_kernels_) {
    fused::sequence::Places places;
    places.parameters = parameters_.const_data_ptr<float>();
    places.gradients = gradients_.mutable_data_ptr<float>();
    places.offset_of = [this](const std::string& name) { return layout_.offset_of(name); };
    places.seed = request_.seed;
    places.step = &device_counters()->current_step;
    places.device = request_.device;
    return std::make_unique<KernelTrainee>(request_.network, places, place_);
  }
  // Every thread has copies of the gradients, which are memory too.
  const bool divides_rows = !request_.device.is_cuda() && !request_.is_short_of_memory;
  if (records_gradients_)
    return std::make_unique<ModuleTrainee>(
        request_.network,
        FlatValues{layout_, parameters_, gradients_, trained_parameters_, buffers_from_, stopped_},
        ModuleWay{place_, request_.seed, device_counters(), request_.planned_steps(),
                  request_.steps_per_epoch(), precision_, scaling_ ? scaling_->scale() : at::Tensor(),
                  request_.checkpoint_activations, rows_of_step(request_),
                  divides_rows ? threads_for(request_) : 1});
  const MlpShape shape = mlp_shape(request_.network).value();
  return std::make_unique<MlpTrainee>(shape, mlp_layers(shape, layout_, parameters_, gradients_),
                                      request_.part_rows(),
                                      MlpDropout{request_.seed, device_counters(), place_});
}

}  // namespace stoker::torch_door
