#include "torch/request_check.h"

#include <ATen/Context.h>
#include <ATen/ops/aminmax.h>
#include <c10/core/InferenceMode.h>

#include "engine/class_numbers.h"
#include "model/mlp.h"
#include "torch/modules/module.h"
#include "torch/tensors.h"

namespace stoker::torch_door {
namespace {

std::string array_problem(const Array& array, const char* what, DType type, const Shape& shape,
                          Device device) {
  if (array.type() != type || array.shape() != shape) {
    return fmt::format("the {} are {} and not {} of the network's shape", what, name_of(array.type()),
                       name_of(type));
  }
  if (device.is_cuda() && array.memory() == Memory::host) {
    return fmt::format("the {} lie in ordinary memory, which a GPU cannot read; place them first", what);
  }
  if (!device.is_cuda() && array.memory() == Memory::device) {
    return fmt::format("the {} lie in a GPU's memory and training is on the CPU", what);
  }
  return "";
}

std::string dataset_problem(const EngineRequest& request, const Dataset& dataset) {
  const std::int64_t rows = dataset.rows();
  const bool classes = request.loss == Loss::cross_entropy;
  std::string problem = array_problem(dataset.features(), "features", DType::float32,
                                      {rows, feature_width(request.network)}, request.device);
  if (!problem.empty()) return problem;
  problem = array_problem(dataset.targets(), "targets", classes ? DType::int64 : DType::float32,
                          classes ? Shape{rows} : Shape{rows, request.network.outputs}, request.device);
  const Array* weights = dataset.find(Role::weights);
  if (!problem.empty() || weights == nullptr) return problem;
  return array_problem(*weights, "row weights", DType::float32, {rows}, request.device);
}

}  // namespace

std::string request_problem(const EngineRequest& request) {
  if (request.batch_size < 1) return fmt::format("a batch of {} rows", request.batch_size);
  if (request.training.rows() < 1) return "there are no training rows";
  if (!mlp_shape(request.network) && !has_module(request.network))
    return fmt::format("it does not know how to train {}", request.network.family);
  if (request.loss == Loss::binary_cross_entropy && request.network.outputs != 1) {
    return "binary_cross_entropy needs a network with one output";
  }
  if (request.device.is_cuda() && !at::globalContext().hasCUDA()) {
    return "LibTorch sees no CUDA here: its wheel is built for CPUs, or the driver is too old for it";
  }
  std::string problem = dataset_problem(request, request.training);
  if (problem.empty() && request.validation.rows() > 0)
    problem = dataset_problem(request, request.validation);
  return problem;
}

void check_class_numbers(const EngineRequest& request) {
  if (request.loss != Loss::cross_entropy) return;
  const c10::InferenceMode no_autograd;
  for (const Dataset* dataset : {&request.training, &request.validation}) {
    if (dataset->rows() == 0) continue;
    const auto [least, most] = at::aminmax(view_of(dataset->targets()));
    refuse_unknown_classes(least.item<std::int64_t>(), most.item<std::int64_t>(), request.network.outputs);
  }
}

}  // namespace stoker::torch_door
