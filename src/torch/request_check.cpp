#include "torch/request_check.h"

#include <ATen/Context.h>
#include <ATen/ops/aminmax.h>
#include <c10/core/InferenceMode.h>

#include "engine/class_numbers.h"
#include "engine/request_check.h"
#include "kernels/begin_step.h"
#include "model/mlp.h"
#include "torch/modules/module.h"
#include "torch/tensors.h"

namespace stoker::torch_door {
namespace {

// Rows are gathered by words of 4 bytes.
std::string size_problem(const EngineRequest& request) {
  if (request.training.arrays.size() > kernels::most_gathers)
    return fmt::format("the data has {} arrays, more than the {} that a step can read",
                       request.training.arrays.size(), kernels::most_gathers);
  for (const DatasetArray& each : request.training.arrays) {
    std::size_t bytes = size_of(each.array.type());
    for (const std::int64_t size : each.row_shape()) bytes *= static_cast<std::size_t>(size);
    if (bytes % sizeof(std::uint32_t) != 0)
      return fmt::format("a row of {} has {} bytes, which is not a multiple of 4", each.name, bytes);
  }
  return "";
}

void check_classes(const LossTerm& term, const Dataset& dataset, const Network& network) {
  if (term.kind != Loss::cross_entropy) return;
  const auto [least, most] = at::aminmax(view_of(dataset.find(term.targets)->array));
  refuse_unknown_classes(least.item<std::int64_t>(), most.item<std::int64_t>(), width_of(term, network));
}

}  // namespace

std::string refusal(const EngineRequest& request) {
  if (!mlp_shape(request.network) && !has_module(request.network))
    return fmt::format("it does not know how to train {}", request.network.family);
  if (request.device.is_cuda() && !at::globalContext().hasCUDA()) {
    return "LibTorch finds no CUDA: its wheel is built for CPUs, or the driver is too old for it";
  }
  std::string problem = request_problem(request);
  return problem.empty() ? size_problem(request) : problem;
}

void check_windows(const DatasetArray& array) {
  if (!array.has_windows()) return;
  const auto [least, most] = at::aminmax(view_of(array.starts));
  const std::int64_t last = array.array.dimension(0) - array.length;
  if (least.item<std::int64_t>() < 0 || most.item<std::int64_t>() > last)
    refuse("a window of the {} begins at {}, outside its series of {} moments", array.name,
           least.item<std::int64_t>() < 0 ? least.item<std::int64_t>() : most.item<std::int64_t>(),
           array.array.dimension(0));
}

void check_values(const EngineRequest& request) {
  const c10::InferenceMode no_autograd;
  for (const Dataset* dataset : {&request.training, &request.validation}) {
    if (dataset->rows() == 0) continue;
    for (const LossTerm& term : request.losses) check_classes(term, *dataset, request.network);
    for (const DatasetArray& each : dataset->arrays) check_windows(each);
  }
}

}  // namespace stoker::torch_door
