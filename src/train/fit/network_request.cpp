#include "train/fit/network_request.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "device/device.h"
#include "device/host_memory.h"
#include "model/restructuring.h"

namespace stoker {
namespace {

Loss loss_of(Task task, LossChoice choice) {
  if (task != Task::regression && choice != LossChoice::automatic)
    refuse("loss {} is for quantities, but the target contains classes: leave loss at auto",
           config::name_of(choice));
  switch (task) {
    case Task::binary:
      return Loss::binary_cross_entropy;
    case Task::multiclass:
      return Loss::cross_entropy;
    case Task::regression:
      break;
  }
  return choice == LossChoice::huber      ? Loss::huber
         : choice == LossChoice::quantile ? Loss::quantile
                                          : Loss::mse;
}

std::uint64_t free_bytes_of(Device device) {
  if (!device.is_cuda()) return free_host_memory();
  for (const DeviceInfo& info : list_devices().devices)
    if (info.device == device) return info.free_bytes;
  return std::numeric_limits<std::uint64_t>::max();
}

// Before anything is allocated for it.
void refuse_without_room(const Network& network, Device device) {
  const Restructuring* changes = family_of(network).restructuring;
  if (changes == nullptr) return;
  const std::string problem = changes->room_problem(network, free_bytes_of(device));
  if (!problem.empty()) refuse("{}", problem);
}

}  // namespace

EngineRequest request_without_data(const ModelSpec& spec, const Preparation& preparation, Device device) {
  const TrainingSettings& config = spec.training;
  EngineRequest request;
  request.network = network_for(family_of(spec), spec.settings, preparation);
  LossTerm of_task;
  of_task.kind = loss_of(preparation.task(), config.loss);
  of_task.huber_delta = config.huber_delta;
  of_task.quantile = config.quantile;
  if (config.label_smoothing > 0 && preparation.task() == Task::regression)
    refuse("label_smoothing is {}, but the target is a quantity: it is for classes; set it to 0",
           config.label_smoothing);
  of_task.label_smoothing = config.label_smoothing;
  const Family& family = family_of(spec);
  request.losses = family.losses == nullptr ? std::vector{of_task} : family.losses(request.network, of_task);
  request.optimizer.kind = config.optimizer;
  request.optimizer.momentum = config.optimizer == Optimizer::sgd ? config.momentum : 0;
  if (config.optimizer == Optimizer::lion) request.optimizer.beta2 = 0.99;  // as its paper has it
  request.optimizer.weight_decay = config.weight_decay;
  request.optimizer.max_grad_norm = config.max_grad_norm;
  request.epochs = config.epochs;
  request.batch_size = config.batch_size;
  request.accumulation_steps = config.accumulation_steps;
  request.weight_average = config.weight_average;
  request.checkpoint_activations = config.checkpoint_activations;
  request.seed = config.seed;
  // By another metric it is not for the engine to stop.
  const bool by_loss = config.early_stopping_metric == validation_loss_metric;
  request.patience = by_loss ? config.early_stopping_patience : 0;
  request.min_delta = config.early_stopping_min_delta;
  request.device = device;
  return request;
}

EngineRequest request_without_rows(const ModelSpec& spec, const PreparedData& data, Device device,
                                   const FitConfig& config) {
  EngineRequest request = request_without_data(spec, data.preparation, device);
  request.precision = config.precision;
  request.is_deterministic = config.deterministic;
  request.batch_size = std::min(request.batch_size, data.training.rows());
  if (request.batch_size != automatic_batch)
    request.accumulation_steps = std::min(request.accumulation_steps, request.batch_size);
  return request;
}

EngineRequest engine_request(const ModelSpec& spec, const PreparedData& data, Device device,
                             const FitConfig& config) {
  EngineRequest request = request_without_rows(spec, data, device, config);
  request.training = data.training;
  request.validation = data.validation;
  refuse_without_room(request.network, device);
  request.initial_parameters = initial_parameters(request.network, request.seed, &request.training);
  return request;
}

}  // namespace stoker
