#include "torch/request_check.h"

#include <ATen/Context.h>
#include <ATen/ops/aminmax.h>
#include <c10/core/InferenceMode.h>

#include "device/device.h"
#include "engine/class_numbers.h"
#include "engine/precision.h"
#include "engine/request_check.h"
#include "kernels/begin_step.h"
#include "model/network/mlp.h"
#include "model/nodes/node_network.h"
#include "torch/autocast.h"
#include "torch/modules/module.h"
#include "torch/modules/node_graph.h"
#include "torch/tensors.h"

namespace stoker::torch_door {
namespace {

// Nothing larger has been tried.
constexpr std::int64_t most_bytes_of_row = std::int64_t{1} << 30;

std::string size_problem(const EngineRequest& request) {
  if (request.training.arrays.size() > kernels::most_gathers)
    return fmt::format("the data has {} arrays, more than the {} that a step can read",
                       request.training.arrays.size(), kernels::most_gathers);
  for (const DatasetArray& each : request.training.arrays)
    if (std::string problem = gather_problem(each); !problem.empty()) return problem;
  return "";
}

std::string node_problem(const EngineRequest& request) {
  if (has_16_bits(request.precision))
    return fmt::format("graphs of nodes are computed in fp32 or tf32, not in {}",
                       config::name_of(request.precision));
  if (request.brings_batches) return "it does not bring cubes to a GPU batch by batch";
  if (request.order.is_sharded()) return "it reads all cubes where they lie, and not through a window";
  if (!request.unfrozen.empty()) return "which nodes are trained is a setting of the model";
  return problem_of_nodes(request.network, request.validation.rows() > 0);
}

DeviceInfo info_of(Device device) {
  if (device.is_cuda())
    for (const DeviceInfo& info : list_devices().devices)
      if (info.device == device) return info;
  DeviceInfo info;
  info.device = device;
  return info;
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
  if (nodes::is_node_network(request.network)) {
    if (std::string problem = node_problem(request); !problem.empty()) return problem;
  }
  std::string problem = precision_problem(request.precision, info_of(request.device));
  if (problem.empty()) problem = request_problem(request);
  return problem.empty() ? size_problem(request) : problem;
}

Precision precision_of(const EngineRequest& request) {
  // What pixels have in common is lost in 16 bits.
  if (nodes::is_node_network(request.network))
    return request.precision == Precision::tf32 ? Precision::tf32 : Precision::fp32;
  if (request.precision != Precision::automatic) return request.precision;
  return automatic_precision(request.network, info_of(request.device));
}

std::string gather_problem(const DatasetArray& array) {
  const std::int64_t bytes = array.array.dimension(0) == 0
                                 ? 0
                                 : static_cast<std::int64_t>(array.array.bytes()) / array.array.dimension(0);
  const std::int64_t of_row = array.has_windows() ? array.length : 1;
  if (bytes > most_bytes_of_row / of_row)
    return fmt::format("a row of the {} has more than {} bytes", array.name, most_bytes_of_row);
  return "";
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
